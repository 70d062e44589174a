//! The leaves of schemas, those of files and of presented files, with their levels.

use super::{Node, NodeKind, OutputKind, OutputNode, PhysicalType, Repetition};

/// How deep a node of a schema lies, as its levels count it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Levels {
    /// The optional and repeated nodes from the top to it, itself included.
    pub definition: u16,
    /// The repeated ones among them.
    pub repetition: u16,
}

impl Levels {
    /// Those of a child that occurs so often.
    pub fn below(self, repetition: Repetition) -> Levels {
        Levels {
            definition: self.definition + u16::from(repetition != Repetition::Required),
            repetition: self.repetition + u16::from(repetition == Repetition::Repeated),
        }
    }
}

/// What is to be known of a leaf to read its pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeafShape {
    /// How values are stored.
    pub physical: PhysicalType,
    /// The levels of a value that is there: the most that an entry can have.
    pub levels: Levels,
}

impl LeafShape {
    /// The shape of each leaf under `columns`, in order.
    pub(super) fn of_leaves(columns: &[Node]) -> Vec<LeafShape> {
        let mut shapes = Vec::new();
        visit_leaves(columns, |_, shape, _| shapes.push(shape));
        shapes
    }
}

/// A node of a schema: that of a file, or of a presented file.
pub trait SchemaNode: Sized {
    /// Its name.
    fn name(&self) -> &str;

    /// How often it occurs within its parent.
    fn repetition(&self) -> Repetition;

    /// The parts of a group, or how a leaf is stored.
    fn parts(&self) -> Result<&[Self], PhysicalType>;
}

impl SchemaNode for Node {
    fn name(&self) -> &str {
        &self.name
    }

    fn repetition(&self) -> Repetition {
        self.repetition
    }

    fn parts(&self) -> Result<&[Node], PhysicalType> {
        match &self.kind {
            NodeKind::Group(children) => Ok(children),
            NodeKind::Leaf { physical, .. } => Err(*physical),
        }
    }
}

impl SchemaNode for OutputNode {
    fn name(&self) -> &str {
        &self.name
    }

    fn repetition(&self) -> Repetition {
        self.repetition
    }

    fn parts(&self) -> Result<&[OutputNode], PhysicalType> {
        match &self.kind {
            OutputKind::Group(children) => Ok(children),
            OutputKind::Leaf { physical, .. } => Err(*physical),
        }
    }
}

/// Calls `visit` for each leaf under `columns`, in the order of column chunks, with the names from
/// the top-level column down to it.
pub fn visit_leaves<'a, N: SchemaNode>(
    columns: &'a [N],
    mut visit: impl FnMut(&[&'a str], LeafShape, &'a N),
) {
    fn walk<'a, N: SchemaNode>(
        nodes: &'a [N],
        parent: Levels,
        path: &mut Vec<&'a str>,
        visit: &mut impl FnMut(&[&'a str], LeafShape, &'a N),
    ) {
        for node in nodes {
            let levels = parent.below(node.repetition());
            path.push(node.name());
            match node.parts() {
                Ok(children) => walk(children, levels, path, visit),
                Err(physical) => visit(path, LeafShape { physical, levels }, node),
            }
            path.pop();
        }
    }
    walk(columns, Levels::default(), &mut Vec::new(), &mut visit);
}

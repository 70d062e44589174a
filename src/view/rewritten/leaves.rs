//! The leaves of schemas, with their levels.

use crate::parquet::{
    Annotation, LeafSource, Node, NodeKind, OutputKind, OutputNode, PhysicalType, Repetition,
};

/// A leaf of the file, or of the presented file.
#[derive(Debug, Clone)]
pub(super) struct Leaf {
    /// The dotted path.
    pub(super) path: String,
    /// How values are stored.
    pub(super) physical: PhysicalType,
    /// What they mean.
    pub(super) annotation: Annotation,
    /// The definition level of a value that is there.
    pub(super) max_definition: u16,
    /// The repetition level of the innermost list around it.
    pub(super) max_repetition: u16,
}

/// Levels on the way down a schema.
#[derive(Debug, Clone, Copy, Default)]
struct Levels {
    definition: u16,
    repetition: u16,
}

impl Levels {
    fn below(self, repetition: Repetition) -> Levels {
        Levels {
            definition: self.definition + u16::from(repetition != Repetition::Required),
            repetition: self.repetition + u16::from(repetition == Repetition::Repeated),
        }
    }
}

/// The leaves of a file, in the order of its column chunks.
pub(super) fn file_leaves(columns: &[Node]) -> Vec<Leaf> {
    fn walk(node: &Node, path: &str, levels: Levels, leaves: &mut Vec<Leaf>) {
        let levels = levels.below(node.repetition);
        let path = dotted(path, &node.name);
        match &node.kind {
            NodeKind::Leaf { physical, .. } => leaves.push(Leaf {
                path,
                physical: *physical,
                annotation: node.annotation,
                max_definition: levels.definition,
                max_repetition: levels.repetition,
            }),
            NodeKind::Group(children) => {
                for child in children {
                    walk(child, &path, levels, leaves);
                }
            }
        }
    }
    let mut leaves = Vec::new();
    for column in columns {
        walk(column, "", Levels::default(), &mut leaves);
    }
    leaves
}

/// The leaves of a presented file in order, and where each comes from.
pub(super) fn output_leaves(columns: &[OutputNode]) -> Vec<(Leaf, LeafSource)> {
    fn walk(node: &OutputNode, path: &str, levels: Levels, leaves: &mut Vec<(Leaf, LeafSource)>) {
        let levels = levels.below(node.repetition);
        let path = dotted(path, &node.name);
        match &node.kind {
            OutputKind::Leaf { physical, source } => {
                let leaf = Leaf {
                    path,
                    physical: *physical,
                    annotation: node.annotation,
                    max_definition: levels.definition,
                    max_repetition: levels.repetition,
                };
                leaves.push((leaf, source.clone()));
            }
            OutputKind::Group(children) => {
                for child in children {
                    walk(child, &path, levels, leaves);
                }
            }
        }
    }
    let mut leaves = Vec::new();
    for column in columns {
        walk(column, "", Levels::default(), &mut leaves);
    }
    leaves
}

fn dotted(path: &str, name: &str) -> String {
    match path.is_empty() {
        true => name.to_owned(),
        false => format!("{path}.{name}"),
    }
}

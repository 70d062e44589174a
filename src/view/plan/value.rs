//! Types of a table over the nodes of a file.

use super::{Planner, leaf, missing};
use crate::parquet::{Annotation, Levels, Node, NodeKind, OutputNode, Repetition};
use crate::schema::{DataType, PrimitiveType};
use crate::view::Mismatch;

impl Planner<'_> {
    /// A type where it occurs at most once: a field, an element, a key, a value. A repeated node
    /// stands for a list that has no annotation.
    pub(super) fn part(
        &self,
        data_type: &DataType,
        node: &Node,
        parent: Levels,
        column: &str,
    ) -> Result<OutputNode, Mismatch> {
        if let Some(leaf) = always_null(node) {
            let absence = missing::Absence::of(leaf, parent);
            let made = missing::part(data_type, self.mapping, &absence, column)?;
            return Ok(made.named(&node.name));
        }
        if node.repetition != Repetition::Repeated {
            return self.value(data_type, node, parent, column);
        }
        match data_type {
            DataType::Foreign(foreign) => {
                (self.unmapped()).part(&foreign.stored_as, node, parent, column)
            }
            DataType::Array(array) => self.bare_list(array, node, parent, column),
            _ => Err(Mismatch::of(column, node, data_type)),
        }
    }

    /// A type, however often it occurs. The name is that of the file, the id is absent.
    pub(super) fn value(
        &self,
        data_type: &DataType,
        node: &Node,
        parent: Levels,
        column: &str,
    ) -> Result<OutputNode, Mismatch> {
        let levels = parent.below(node.repetition);
        match (data_type, &node.kind, node.annotation) {
            (DataType::Foreign(foreign), _, _) => {
                (self.unmapped()).value(&foreign.stored_as, node, parent, column)
            }
            (DataType::Primitive(primitive), NodeKind::Leaf { .. }, _) => {
                self.leaf(*primitive, node, column)
            }
            (DataType::Struct(fields), NodeKind::Group(_), Annotation::None) => {
                self.structure(fields, node, levels, column)
            }
            (DataType::Array(array), NodeKind::Group(_), Annotation::List)
                if let Some(repeated) = node.repeated_child() =>
            {
                self.list(array, node, repeated, levels, column)
            }
            (DataType::Map(map), NodeKind::Group(_), Annotation::Map | Annotation::MapKeyValue)
                if let Some(entries) = node.repeated_child() =>
            {
                self.map(map, node, entries, levels, column)
            }
            (DataType::Variant, NodeKind::Group(children), _)
                if node.is_variant() && children.iter().all(is_writable) =>
            {
                Ok(variant(node))
            }
            _ => Err(Mismatch::of(column, node, data_type)),
        }
    }

    /// A primitive type, of a leaf.
    fn leaf(
        &self,
        primitive: PrimitiveType,
        node: &Node,
        column: &str,
    ) -> Result<OutputNode, Mismatch> {
        let data_type = DataType::Primitive(primitive);
        let (annotation, kind) =
            leaf::convert(primitive, node).ok_or_else(|| Mismatch::of(column, node, &data_type))?;
        let kind = match self.footer.may_be_old(node) {
            false => kind,
            true => {
                if primitive == PrimitiveType::Timestamp {
                    self.check_old_zone(column)?;
                }
                leaf::out_of_old_calendar(primitive, kind)
            }
        };
        Ok(OutputNode {
            name: node.name.clone(),
            id: None,
            repetition: node.repetition,
            annotation,
            kind,
        })
    }

    /// Instants of the older calendar are those of a time zone, which has to be known.
    fn check_old_zone(&self, column: &str) -> Result<(), Mismatch> {
        self.footer.old_zone().map(drop).map_err(|zone| Mismatch {
            column: column.to_owned(),
            found: format!(
                "times before 1900 in an older calendar, of the time zone {zone:?}, which is not \
                 known here"
            ),
            expected: DataType::Primitive(PrimitiveType::Timestamp).to_string(),
        })
    }
}

/// A variant, as it is.
fn variant(node: &Node) -> OutputNode {
    let annotation = match node.is_shredded() {
        true => Annotation::Variant,
        false => node.annotation,
    };
    let parts = node.children().iter().map(OutputNode::copy_of).collect();
    OutputNode::group(&node.name, node.repetition, annotation, parts)
}

/// Whether a node and all below it have annotations that can be written.
fn is_writable(node: &Node) -> bool {
    let is_known = !matches!(
        node.annotation,
        Annotation::Other(_) | Annotation::Unknown(_)
    );
    is_known && node.children().iter().all(is_writable)
}

/// The position of an optional leaf that has nothing but nulls; `None` for any other node.
pub(super) fn always_null(node: &Node) -> Option<usize> {
    match node.kind {
        NodeKind::Leaf { leaf, .. }
            if node.annotation == Annotation::ALWAYS_NULL
                && node.repetition == Repetition::Optional =>
        {
            Some(leaf)
        }
        _ => None,
    }
}

//! What groups stand for: lists and variants.

use super::{Annotation, Node, NodeKind, PhysicalType, Repetition};

/// What the repeated node in a list is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListForm<'a> {
    /// The element itself: the two-level form.
    Element,
    /// A group around the element, which is this: the three-level form.
    Around(&'a Node),
    /// One or the other, depending on the reader.
    Disputed,
}

impl Node {
    /// What the repeated node in a list is to readers that keep to parquet-format,
    /// "LogicalTypes.md", "Lists", and to those that do not.
    pub fn list_form(&self) -> ListForm<'_> {
        match &self.kind {
            NodeKind::Leaf { .. } => ListForm::Element,
            NodeKind::Group(_) if self.annotation == Annotation::List => ListForm::Element,
            NodeKind::Group(children) => match children.as_slice() {
                [child] if self.name != "array" && !self.name.ends_with("_tuple") => {
                    ListForm::Around(child)
                }
                [_] | [] => ListForm::Disputed,
                _ => ListForm::Element,
            },
        }
    }

    /// Whether it has the form of a variant: two binary fields, and `typed_value` where it is
    /// shredded (PROTOCOL.md, "Variant Data Type"; parquet-format, "VariantShredding.md").
    pub fn is_variant(&self) -> bool {
        let children = self.children();
        let binary = |name: &str| {
            children.iter().any(|node| {
                let is_bytes = matches!(
                    node.kind,
                    NodeKind::Leaf {
                        physical: PhysicalType::ByteArray,
                        ..
                    }
                );
                node.name == name
                    && node.repetition != Repetition::Repeated
                    && node.annotation == Annotation::None
                    && is_bytes
            })
        };
        let has_fields = match (children.len(), self.is_shredded()) {
            (2, true) => binary("metadata"),
            (2, false) => binary("metadata") && binary("value"),
            (3, true) => binary("metadata") && binary("value"),
            _ => false,
        };
        matches!(self.annotation, Annotation::None | Annotation::Variant) && has_fields
    }

    /// Whether what has the form of a variant has values of a type of their own in it.
    pub fn is_shredded(&self) -> bool {
        self.children()
            .iter()
            .any(|node| node.name == "typed_value")
    }
}

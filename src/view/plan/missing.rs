//! Columns that a file does not have: null.

use crate::parquet::{
    Annotation, Footer, LeafSource, Levels, Node, NodeKind, OutputKind, OutputNode, PhysicalType,
    Repetition,
};
use crate::schema::{DataType, MappingMode, StructField};

use super::leaf;
use crate::view::Mismatch;
use crate::view::schema::{field_id, shown_fields};

/// Where a column is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Absence {
    /// At the top level: null in every row.
    Whole,
    /// In a struct of that definition level that is there in every row.
    InEveryRow {
        /// The definition level.
        definition: u16,
    },
    /// In a struct of that definition level, which is there as often as the levels of a leaf of
    /// it say.
    Beside {
        /// The position of that leaf among the file's.
        leaf: usize,
        /// The definition level.
        definition: u16,
        /// Its repetition level.
        repetition: u16,
    },
}

impl Absence {
    /// In place of a leaf of the file, an optional one that stands in `parent`.
    pub(super) fn of(leaf: usize, parent: Levels) -> Absence {
        match parent.definition {
            0 => Absence::Whole,
            definition => Absence::Beside {
                leaf,
                definition,
                repetition: parent.repetition,
            },
        }
    }

    fn source(self) -> LeafSource {
        match self {
            Absence::Whole => LeafSource::Null { definition: 0 },
            Absence::InEveryRow { definition } => LeafSource::Null { definition },
            Absence::Beside {
                leaf,
                definition,
                repetition,
            } => LeafSource::NullBeside {
                beside: leaf,
                definition,
                repetition,
            },
        }
    }
}

/// How a field is absent from the struct `node`.
pub(super) fn beside(footer: &Footer, node: &Node, levels: Levels) -> Absence {
    let definition = levels.definition;
    if definition == 0 {
        return Absence::InEveryRow { definition };
    }
    let mut leaves = Vec::new();
    below(node, false, &mut leaves);
    let everywhere = levels.repetition == 0
        && leaves
            .iter()
            .any(|(leaf, repeated)| !repeated && footer.null_count(*leaf) == Some(0));
    // One that does not repeat has fewer levels to be read.
    let beside = leaves.iter().min_by_key(|(_, repeated)| *repeated);
    match beside {
        Some((leaf, _)) if !everywhere => Absence::Beside {
            leaf: *leaf,
            definition,
            repetition: levels.repetition,
        },
        _ => Absence::InEveryRow { definition },
    }
}

/// The leaves below `node`, and whether each may occur several times in one occurrence of it.
fn below(node: &Node, repeated: bool, leaves: &mut Vec<(usize, bool)>) {
    for child in node.children() {
        let repeated = repeated || child.repetition == Repetition::Repeated;
        match &child.kind {
            NodeKind::Leaf { leaf, .. } => leaves.push((*leaf, repeated)),
            NodeKind::Group(_) => below(child, repeated, leaves),
        }
    }
}

/// A column that is null wherever it could be.
pub(in crate::view) fn missing(
    field: &StructField,
    mapping: MappingMode,
    absence: &Absence,
) -> Result<OutputNode, Mismatch> {
    let maker = Maker {
        mapping,
        source: absence.source(),
    };
    maker
        .field(field)
        .ok_or_else(|| not_stored(&field.name, &field.data_type))
}

/// A type with nulls only. It has no name and no id.
pub(super) fn part(
    data_type: &DataType,
    mapping: MappingMode,
    absence: &Absence,
    column: &str,
) -> Result<OutputNode, Mismatch> {
    let maker = Maker {
        mapping,
        source: absence.source(),
    };
    maker
        .value(data_type, Repetition::Optional)
        .ok_or_else(|| not_stored(column, data_type))
}

fn not_stored(column: &str, data_type: &DataType) -> Mismatch {
    Mismatch {
        column: column.to_owned(),
        found: "no such column".to_owned(),
        expected: format!("{data_type}, which has no column to be stored in"),
    }
}

/// Makes columns of nulls.
struct Maker {
    mapping: MappingMode,
    source: LeafSource,
}

impl Maker {
    /// `None` where nothing of it is stored: a struct of void columns.
    fn field(&self, field: &StructField) -> Option<OutputNode> {
        let node = self.value(&field.data_type, Repetition::Optional)?;
        let mut node = node.named(&field.name);
        node.id = field_id(field, self.mapping);
        Some(node)
    }

    fn value(&self, data_type: &DataType, repetition: Repetition) -> Option<OutputNode> {
        let (annotation, kind) = match data_type {
            DataType::Primitive(primitive) => {
                let (annotation, physical) = leaf::storage(*primitive)?;
                (annotation, self.leaf(physical))
            }
            DataType::Struct(fields) => {
                let children: Vec<OutputNode> = shown_fields(fields)
                    .filter_map(|field| self.field(field))
                    .collect();
                if children.is_empty() {
                    return None;
                }
                (Annotation::None, OutputKind::Group(children))
            }
            DataType::Array(array) => {
                let element = self.value(&array.element_type, Repetition::Optional)?;
                let list = repeated("list", vec![element.named("element")]);
                (Annotation::List, OutputKind::Group(vec![list]))
            }
            DataType::Map(map) => {
                let key = self.value(&map.key_type, Repetition::Required)?;
                let value = self.value(&map.value_type, Repetition::Optional)?;
                let entries = repeated("key_value", vec![key.named("key"), value.named("value")]);
                (Annotation::Map, OutputKind::Group(vec![entries]))
            }
            DataType::Foreign(foreign) => {
                let maker = Maker {
                    mapping: MappingMode::None,
                    source: self.source.clone(),
                };
                return maker.value(&foreign.stored_as, repetition);
            }
            DataType::Variant => {
                let part = |name: &str| OutputNode {
                    name: name.to_owned(),
                    id: None,
                    repetition: Repetition::Required,
                    annotation: Annotation::None,
                    kind: self.leaf(PhysicalType::ByteArray),
                };
                let parts = vec![part("metadata"), part("value")];
                (Annotation::None, OutputKind::Group(parts))
            }
        };
        Some(OutputNode {
            name: String::new(),
            id: None,
            repetition,
            annotation,
            kind,
        })
    }

    fn leaf(&self, physical: PhysicalType) -> OutputKind {
        OutputKind::Leaf {
            physical,
            source: self.source.clone(),
        }
    }
}

fn repeated(name: &str, children: Vec<OutputNode>) -> OutputNode {
    OutputNode::group(name, Repetition::Repeated, Annotation::None, children)
}

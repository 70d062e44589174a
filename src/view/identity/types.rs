//! Comparing the types of a table with the schema of a file.

use std::collections::{HashMap, HashSet};

use crate::parquet::{Annotation, ListForm, Node, NodeKind, PhysicalType, Repetition};
use crate::schema::{
    ArrayType, DataType, MapType, MappingMode, PrimitiveType, StructField, column_path,
};

use crate::view::Mismatch;
use crate::view::mismatch::key_and_value;
use crate::view::plan::storage;
use crate::view::schema::shown_fields;

/// Compares fields and types under one mapping mode.
#[derive(Debug, Clone, Copy)]
pub(super) struct Comparison {
    pub(super) mapping: MappingMode,
}

impl Comparison {
    /// The same fields by name, in the same order, of the same types.
    pub(super) fn fields(
        self,
        fields: &[&StructField],
        nodes: &[Node],
        parent: &str,
    ) -> Result<(), Mismatch> {
        let same_names = fields.len() == nodes.len()
            && fields
                .iter()
                .zip(nodes)
                .all(|(field, node)| field.name == node.name);
        if !same_names {
            return Err(self.explain_names(fields, nodes, parent));
        }
        fields
            .iter()
            .zip(nodes)
            .try_for_each(|(field, node)| self.field(field, node, parent))
    }

    /// The first difference between names that are not the same in the same order.
    fn explain_names(self, fields: &[&StructField], nodes: &[Node], parent: &str) -> Mismatch {
        let place = |index: usize| format!("it as column {}", index + 1);
        // Of names that repeat, the first counts.
        let places: HashMap<&str, usize> = nodes
            .iter()
            .enumerate()
            .rev()
            .map(|(index, node)| (node.name.as_str(), index))
            .collect();
        let names: HashSet<&str> = fields.iter().map(|field| field.name.as_str()).collect();
        for field in fields {
            let physical = field.name_in_files(self.mapping);
            if physical != field.name && places.contains_key(physical) {
                return Mismatch {
                    column: column_path(parent, &field.name),
                    found: format!("it under its physical name {physical:?}"),
                    expected: "it under its logical name".to_owned(),
                };
            }
        }
        if let Some(node) = nodes
            .iter()
            .find(|node| !names.contains(node.name.as_str()))
        {
            return Mismatch::of(&column_path(parent, &node.name), node, "no such column");
        }
        for (index, field) in fields.iter().enumerate() {
            let column = column_path(parent, &field.name);
            let (found, expected) = match places.get(field.name.as_str()).copied() {
                Some(found) if found == index => continue,
                Some(found) => (place(found), place(index)),
                None => ("no such column".to_owned(), field.data_type.to_string()),
            };
            return Mismatch {
                column,
                found,
                expected,
            };
        }
        // Every name of the file is one of the table, and none is missing: some repeat.
        Mismatch {
            column: parent.to_owned(),
            found: format!("{} columns, some of the same name", nodes.len()),
            expected: format!("{} columns", fields.len()),
        }
    }

    fn field(self, field: &StructField, node: &Node, parent: &str) -> Result<(), Mismatch> {
        let column = column_path(parent, &field.name);
        match self.mapping {
            MappingMode::None => {}
            MappingMode::Name => {
                let physical = field.name_in_files(self.mapping);
                if physical != field.name {
                    return Err(Mismatch {
                        column,
                        found: "a column of that name, which is another one".to_owned(),
                        expected: format!("the physical name {physical:?}"),
                    });
                }
            }
            MappingMode::Id => {
                if node.id.is_none() || node.id != field.column_id() {
                    let id = |id: Option<i32>| match id {
                        Some(id) => format!("the column id {id}"),
                        None => "no column id".to_owned(),
                    };
                    return Err(Mismatch {
                        column,
                        found: id(node.id),
                        expected: id(field.column_id()),
                    });
                }
            }
        }
        self.part(&field.data_type, node, &column)
    }

    /// A type where it occurs once: a field, an element, a key, a value.
    fn part(self, data_type: &DataType, node: &Node, column: &str) -> Result<(), Mismatch> {
        if node.repetition == Repetition::Repeated {
            return Err(Mismatch::of(column, node, data_type));
        }
        self.value(data_type, node, column)
    }

    /// A type, however often it occurs.
    fn value(self, data_type: &DataType, node: &Node, column: &str) -> Result<(), Mismatch> {
        match (data_type, &node.kind) {
            (DataType::Primitive(primitive), NodeKind::Leaf { physical, .. })
                if same_primitive(*primitive, *physical, node.annotation) =>
            {
                Ok(())
            }
            (DataType::Struct(fields), NodeKind::Group(children))
                if node.annotation == Annotation::None =>
            {
                let fields: Vec<&StructField> = shown_fields(fields).collect();
                self.fields(&fields, children, column)
            }
            (DataType::Array(array), NodeKind::Group(_))
                if node.annotation == Annotation::List
                    && let Some(repeated) = node.repeated_child() =>
            {
                self.list(array, repeated, column)
            }
            (DataType::Map(map), NodeKind::Group(_))
                if node.annotation == Annotation::Map
                    && let Some(entries) = node.repeated_child() =>
            {
                self.entries(map, entries, column)
            }
            (DataType::Foreign(foreign), _) => {
                let comparison = Comparison {
                    mapping: MappingMode::None,
                };
                comparison.value(&foreign.stored_as, node, column)
            }
            (DataType::Variant, NodeKind::Group(_)) if node.is_variant() && !node.is_shredded() => {
                Ok(())
            }
            _ => Err(Mismatch::of(column, node, data_type)),
        }
    }

    fn list(self, array: &ArrayType, repeated: &Node, column: &str) -> Result<(), Mismatch> {
        let element = column_path(column, "element");
        let is_group = matches!(repeated.kind, NodeKind::Group(_));
        if is_group && !matches!(repeated.annotation, Annotation::None | Annotation::List) {
            return Err(Mismatch::of(&element, repeated, &array.element_type));
        }
        match repeated.list_form() {
            ListForm::Element => self.value(&array.element_type, repeated, &element),
            ListForm::Around(child) => self.part(&array.element_type, child, &element),
            ListForm::Disputed => Err(Mismatch {
                column: element,
                found: format!(
                    "{repeated} named {:?}, which readers disagree on",
                    repeated.name
                ),
                expected: array.element_type.to_string(),
            }),
        }
    }

    /// Whatever annotation the repeated group in a map has, readers pass over it.
    fn entries(self, map: &MapType, entries: &Node, column: &str) -> Result<(), Mismatch> {
        let (key, value) = key_and_value(entries, column)?;
        self.part(&map.key_type, key, &column_path(column, "key"))?;
        self.part(&map.value_type, value, &column_path(column, "value"))
    }
}

/// Whether readers see values so stored as that type.
fn same_primitive(
    primitive: PrimitiveType,
    physical: PhysicalType,
    annotation: Annotation,
) -> bool {
    let Some((meaning, stored)) = storage(primitive) else {
        return false;
    };
    // Whole numbers of 32 and 64 bits need no annotation, and may have it.
    let said = match primitive {
        PrimitiveType::Integer => Some(32),
        PrimitiveType::Long => Some(64),
        _ => None,
    }
    .map(|bits| Annotation::Integer { bits, signed: true });
    let same_storage = match primitive {
        PrimitiveType::Decimal { precision, .. } => precision <= physical.decimal_digits(),
        _ => physical == stored,
    };
    same_storage && (annotation == meaning || Some(annotation) == said)
}

//! What a schema needs to be a table's: names, features, and the ids of column mapping.

use serde_json::Value;
use uuid::Uuid;

use crate::schema::{DataType, MappingMode, PrimitiveType, StructField, StructType, column_path};

/// The metadata keys of column mapping.
const ID: &str = "delta.columnMapping.id";
const PHYSICAL_NAME: &str = "delta.columnMapping.physicalName";
/// The table property of the greatest id that was ever assigned.
pub(super) const MAX_ID: &str = "delta.columnMapping.maxColumnId";

/// Gives every column without an id the next one after `greatest`, and a physical name of its own;
/// returns the greatest there is then (PROTOCOL.md, "Writer Requirements for Column Mapping").
pub(super) fn assign_ids(schema: &mut StructType, greatest: i64) -> i64 {
    let mut next = greatest.max(greatest_id(schema));
    each_field(schema, &mut |field| {
        if !field.metadata.contains_key(ID) {
            next += 1;
            field.metadata.insert(ID.to_owned(), Value::from(next));
        }
        if !field.metadata.contains_key(PHYSICAL_NAME) {
            let name = format!("col-{}", Uuid::new_v4());
            field.metadata.insert(PHYSICAL_NAME.to_owned(), name.into());
        }
    });
    next
}

/// The greatest id of a column; 0 where there is none.
fn greatest_id(schema: &StructType) -> i64 {
    let mut greatest = 0;
    // The walk changes nothing here.
    each_field(&mut schema.clone(), &mut |field| {
        let id = field.metadata.get(ID).and_then(Value::as_i64);
        greatest = greatest.max(id.unwrap_or(0));
    });
    greatest
}

/// Calls `visit` with every field, those of structs at any depth too, parents first.
fn each_field(schema: &mut StructType, visit: &mut dyn FnMut(&mut StructField)) {
    for field in &mut schema.fields {
        visit(field);
        each_within(&mut field.data_type, visit);
    }
}

fn each_within(data_type: &mut DataType, visit: &mut dyn FnMut(&mut StructField)) {
    match data_type {
        DataType::Primitive(_) | DataType::Variant | DataType::Foreign(_) => {}
        DataType::Struct(fields) => each_field(fields, visit),
        DataType::Array(array) => each_within(&mut array.element_type, visit),
        DataType::Map(map) => {
            each_within(&mut map.key_type, visit);
            each_within(&mut map.value_type, visit);
        }
    }
}

/// Whether a column, at any depth, has that metadata key.
pub(super) fn column_metadata(schema: &StructType, key: &str) -> bool {
    let mut found = false;
    // The walk changes nothing here.
    each_field(&mut schema.clone(), &mut |field| {
        found |= field.metadata.contains_key(key);
    });
    found
}

/// A column by the name of one that a change data feed has besides the table's (PROTOCOL.md, "Add
/// CDC File").
pub(super) fn reserved_column(schema: &StructType) -> Option<&str> {
    const RESERVED: [&str; 3] = ["_change_type", "_commit_version", "_commit_timestamp"];
    let names = schema.fields.iter().map(|field| field.name.as_str());
    names.into_iter().find(|name| {
        let mut reserved = RESERVED.iter();
        reserved.any(|reserved| super::columns::same_name(name, reserved))
    })
}

/// The first column, at any depth, whose name cannot be one: its path and what is wrong with it.
pub(super) fn first_bad_name(
    schema: &StructType,
    mapping: MappingMode,
) -> Option<(String, String)> {
    fn within(data_type: &DataType, path: &str, mapping: MappingMode) -> Option<(String, String)> {
        match data_type {
            DataType::Primitive(_) | DataType::Variant | DataType::Foreign(_) => None,
            DataType::Struct(fields) => in_fields(fields, path, mapping),
            DataType::Array(array) => {
                within(&array.element_type, &column_path(path, "element"), mapping)
            }
            DataType::Map(map) => within(&map.key_type, &column_path(path, "key"), mapping)
                .or_else(|| within(&map.value_type, &column_path(path, "value"), mapping)),
        }
    }
    fn in_fields(
        fields: &StructType,
        path: &str,
        mapping: MappingMode,
    ) -> Option<(String, String)> {
        fields.fields.iter().enumerate().find_map(|(index, field)| {
            let path = column_path(path, &field.name);
            let mut earlier = fields.fields[..index].iter();
            if let Some(other) = earlier.find(|f| super::columns::same_name(&f.name, &field.name)) {
                let problem = format!("{:?} has the same name regardless of case", other.name);
                return Some((path, problem));
            }
            match name_problem(&field.name, mapping) {
                Some(problem) => Some((path, problem)),
                None => within(&field.data_type, &path, mapping),
            }
        })
    }
    in_fields(schema, "", mapping)
}

/// Why a name cannot be that of a column. Without column mapping the names stand in data files, and
/// Delta forbids what older readers cannot parse.
pub(super) fn name_problem(name: &str, mapping: MappingMode) -> Option<String> {
    if name.is_empty() {
        return Some("its name is empty".to_owned());
    }
    let bad = name
        .chars()
        .find(|character| " ,;{}()\n\t=".contains(*character));
    match (bad, mapping) {
        (Some(bad), MappingMode::None) => Some(format!(
            "its name contains {bad:?}, which takes column mapping; rename it to one without any of \
             \" ,;{{}}()=\", tabs and newlines"
        )),
        _ => None,
    }
}

/// The table features that types of a schema demand.
pub(super) fn features_of_types(schema: &StructType) -> Vec<&'static str> {
    let ntz = DataType::Primitive(PrimitiveType::TimestampNtz);
    [(ntz, "timestampNtz"), (DataType::Variant, "variantType")]
        .into_iter()
        .filter(|(data_type, _)| schema.has_type(data_type))
        .map(|(_, feature)| feature)
        .collect()
}

//! The schema of a Parquet file as one of Delta, as Spark reads it.

use super::columns::same_name;
use super::staged::Opened;
use super::types::is_always_null;
use super::{IntakeError, StagedFile};
use crate::parquet::{Annotation, ListForm, Node, NodeKind, PhysicalType, Repetition};
use crate::schema::{
    ArrayType, DataType, MapType, PrimitiveType, StructField, StructType, column_path,
};

/// The types of the columns of a file, in its order, all of them nullable. Columns of a type that
/// Delta does not have are [`IntakeError::NoDeltaType`]. The `col=value` directories of the file
/// are passed over.
///
/// Unsigned numbers become the next wider type, unsigned ones of 64 bits `decimal(20,0)`; times
/// with a zone become `timestamp`, those without one `timestamp_ntz`, whatever their unit.
pub fn schema_of_file(staged: &StagedFile) -> Result<StructType, IntakeError> {
    let opened = Opened::open(staged)?;
    fields(&staged.name, opened.footer.columns(), "")
}

pub(super) fn fields(file: &str, nodes: &[Node], parent: &str) -> Result<StructType, IntakeError> {
    let mut made: Vec<StructField> = Vec::with_capacity(nodes.len());
    for node in nodes {
        if let Some(first) = made.iter().find(|field| same_name(&field.name, &node.name)) {
            return Err(IntakeError::AmbiguousColumn {
                file: file.to_owned(),
                first: column_path(parent, &first.name),
                second: column_path(parent, &node.name),
            });
        }
        made.push(field(file, node, parent)?);
    }
    Ok(StructType { fields: made })
}

/// A node as a new column.
pub(super) fn field(file: &str, node: &Node, parent: &str) -> Result<StructField, IntakeError> {
    Ok(StructField {
        name: node.name.clone(),
        data_type: part(file, node, &column_path(parent, &node.name))?,
        nullable: true,
        metadata: serde_json::Map::new(),
    })
}

/// The type of a node that occurs once.
fn part(file: &str, node: &Node, path: &str) -> Result<DataType, IntakeError> {
    if node.repetition == Repetition::Repeated {
        let advice = "write it as a list with the annotation LIST";
        return Err(no_type(file, node, path, advice));
    }
    value(file, node, path)
}

/// The type of a node, however often it occurs.
fn value(file: &str, node: &Node, path: &str) -> Result<DataType, IntakeError> {
    let children = match &node.kind {
        NodeKind::Leaf { physical, .. } => {
            return primitive(*physical, node.annotation)
                .map(DataType::Primitive)
                .map_err(|advice| no_type(file, node, path, advice));
        }
        NodeKind::Group(children) => children.as_slice(),
    };
    const LEVELS: &str = "write it in the three-level form of the Parquet format";
    match (node.annotation, children) {
        (Annotation::None, [_, ..]) => Ok(DataType::Struct(fields(file, children, path)?)),
        (Annotation::Variant, _) => Ok(DataType::Variant),
        (Annotation::List, [repeated]) if repeated.repetition == Repetition::Repeated => {
            let path = column_path(path, "element");
            let element_type = match repeated.list_form() {
                ListForm::Element => value(file, repeated, &path)?,
                ListForm::Around(child) => part(file, child, &path)?,
                ListForm::Disputed => return Err(no_type(file, repeated, &path, LEVELS)),
            };
            Ok(DataType::Array(Box::new(ArrayType {
                element_type,
                contains_null: true,
            })))
        }
        (Annotation::Map | Annotation::MapKeyValue, [entries])
            if entries.repetition == Repetition::Repeated =>
        {
            let [key, value] = entries.children() else {
                let advice = "a map has entries of a key and a value";
                return Err(no_type(file, entries, path, advice));
            };
            Ok(DataType::Map(Box::new(MapType {
                key_type: part(file, key, &column_path(path, "key"))?,
                value_type: part(file, value, &column_path(path, "value"))?,
                value_contains_null: true,
            })))
        }
        _ => Err(no_type(file, node, path, LEVELS)),
    }
}

fn primitive(
    physical: PhysicalType,
    annotation: Annotation,
) -> Result<PrimitiveType, &'static str> {
    const OTHER: &str = "cast it to a type that Delta has";
    if is_always_null(annotation) {
        return Err("it holds nothing but null and has no type: give it one, or drop it");
    }
    if let Annotation::Decimal { precision, scale } = annotation {
        let decimal = u8::try_from(precision).ok().zip(u8::try_from(scale).ok());
        return match decimal {
            Some((precision @ 1..=38, scale)) if scale <= precision => {
                Ok(PrimitiveType::Decimal { precision, scale })
            }
            _ => Err("decimals have at most 38 digits in Delta; cast it"),
        };
    }
    let integer = |bits: i8, signed: bool| match (bits, signed) {
        (8, true) => Ok(PrimitiveType::Byte),
        (16, true) | (8, false) => Ok(PrimitiveType::Short),
        (32, true) | (16, false) => Ok(PrimitiveType::Integer),
        (64, true) | (32, false) => Ok(PrimitiveType::Long),
        (64, false) => Ok(PrimitiveType::Decimal {
            precision: 20,
            scale: 0,
        }),
        _ => Err(OTHER),
    };
    match (physical, annotation) {
        (PhysicalType::Boolean, Annotation::None) => Ok(PrimitiveType::Boolean),
        (PhysicalType::Int32, Annotation::None) => Ok(PrimitiveType::Integer),
        (PhysicalType::Int32, Annotation::Date) => Ok(PrimitiveType::Date),
        (PhysicalType::Int64, Annotation::None) => Ok(PrimitiveType::Long),
        (PhysicalType::Int32 | PhysicalType::Int64, Annotation::Integer { bits, signed }) => {
            integer(bits, signed)
        }
        (PhysicalType::Int64, Annotation::Timestamp { utc: false, .. }) => {
            Ok(PrimitiveType::TimestampNtz)
        }
        (PhysicalType::Int64, Annotation::Timestamp { .. } | Annotation::LegacyTimestamp(_))
        | (PhysicalType::Int96, _) => Ok(PrimitiveType::Timestamp),
        (PhysicalType::Float, Annotation::None) => Ok(PrimitiveType::Float),
        (PhysicalType::Double, Annotation::None) => Ok(PrimitiveType::Double),
        (PhysicalType::FixedLenByteArray(2), Annotation::Other("FLOAT16")) => {
            Ok(PrimitiveType::Float)
        }
        (PhysicalType::ByteArray, Annotation::String | Annotation::Other("JSON" | "ENUM")) => {
            Ok(PrimitiveType::String)
        }
        (PhysicalType::ByteArray, Annotation::None | Annotation::Other("BSON"))
        | (PhysicalType::FixedLenByteArray(_), Annotation::None) => Ok(PrimitiveType::Binary),
        (_, Annotation::Other("UUID" | "TIME" | "INTERVAL")) => {
            Err("Delta has no such type; write it as a string or a number")
        }
        _ => Err(OTHER),
    }
}

fn no_type(file: &str, node: &Node, path: &str, advice: &str) -> IntakeError {
    IntakeError::NoDeltaType {
        file: file.to_owned(),
        column: path.to_owned(),
        found: node.to_string(),
        advice: advice.to_owned(),
    }
}

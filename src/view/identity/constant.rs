//! Partition columns that a file holds itself: proof that they hold what the log says.
//!
//! Delta takes partition values from the log, whatever the file holds. The bytes may be presented
//! only where the statistics of the file prove that both are the same.

use crate::parquet::{Constant, Footer, Node, NodeKind, PhysicalType};
use crate::schema::{DataType, PrimitiveType, StructField, is_null_partition_value};

use crate::view::Mismatch;
use crate::view::plan::partition::encode;

/// `Ok` only where every row of the column `node` provably holds `value`, a partition value of
/// `field` in its serialized form (PROTOCOL.md, "Partition Value Serialization").
pub(super) fn check(
    footer: &Footer,
    field: &StructField,
    node: &Node,
    value: Option<&str>,
) -> Result<(), Mismatch> {
    let proven = match (&field.data_type, &node.kind) {
        (DataType::Primitive(primitive), NodeKind::Leaf { physical, leaf }) => {
            match footer.constant(*leaf) {
                Some(Constant::NoRows) => true,
                Some(Constant::Null) => is_null_partition_value(value),
                Some(Constant::Value(stored)) => value
                    .filter(|text| !text.is_empty())
                    .and_then(|text| bound(text, *primitive, *physical))
                    .is_some_and(|encoded| encoded == stored),
                None => false,
            }
        }
        _ => false,
    };
    if proven {
        return Ok(());
    }
    Err(Mismatch {
        column: field.name.clone(),
        found: "values that its statistics do not prove to be the partition value".to_owned(),
        expected: match value.filter(|value| !value.is_empty()) {
            Some(value) => format!("the partition value {value:?} in every row"),
            None => "null in every row".to_owned(),
        },
    })
}

/// A partition value as statistics hold it. `None` where bounds prove nothing (floating point) and
/// where the text is no such value.
fn bound(text: &str, primitive: PrimitiveType, physical: PhysicalType) -> Option<Vec<u8>> {
    match primitive {
        PrimitiveType::Float | PrimitiveType::Double | PrimitiveType::Binary => None,
        _ => encode(text, primitive, physical),
    }
}

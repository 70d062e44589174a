//! Dates and instants that Spark marks as being in the calendar it used before 3.0, Julian until
//! 1582, as java.sql.Timestamp has it. Spark converts them, and nobody else does, so they are taken
//! only where they are the same in both calendars.

use super::IntakeError;
use super::columns::{Column, Shape};
use crate::parquet::{Footer, Node, NodeKind, PhysicalType};

/// The key by which Spark marks a file whose dates and instants are such; older versions, which the
/// file names, do not mark it.
const DATES: &str = "org.apache.spark.legacyDateTime";
/// The same for instants stored as INT96.
const INT96: &str = "org.apache.spark.legacyINT96";
/// 1900-01-01T00:00:00Z, from which on an instant is the same in both, in every time zone, in
/// microseconds.
const SAME_INSTANTS: i64 = -2_208_988_800_000_000;

/// Refuses a file whose statistics do not prove that its dates and instants are the same in both
/// calendars. Those stored as INT96 have no statistics; see [`is_old_int96`].
pub(super) fn check(
    file: &str,
    footer: &Footer,
    columns: &[Column<'_>],
) -> Result<(), IntakeError> {
    if !footer.old_calendar().dates {
        return Ok(());
    }
    for column in columns {
        let Some(part) = column.part() else { continue };
        match &part.shape {
            Shape::Struct(columns) => check(file, footer, columns)?,
            _ if is_recent(&part.node, footer) => {}
            _ => return Err(legacy(file, &column.path, DATES)),
        }
    }
    Ok(())
}

/// Whether an INT96 value, in microseconds since the epoch, may mean another instant.
pub(super) fn is_old_int96(micros: i64, footer: &Footer) -> bool {
    micros < SAME_INSTANTS && footer.old_calendar().int96
}

/// That a column holds such INT96 values.
pub(super) fn old_int96(file: &str, column: &str) -> IntakeError {
    legacy(file, column, INT96)
}

fn legacy(file: &str, column: &str, key: &'static str) -> IntakeError {
    IntakeError::LegacyCalendar {
        file: file.to_owned(),
        column: column.to_owned(),
        key,
    }
}

/// Whether all dates and instants below a node are proven to be the same in both calendars.
fn is_recent(node: &Node, footer: &Footer) -> bool {
    match node.kind {
        NodeKind::Leaf {
            physical: PhysicalType::Int96,
            ..
        } => true,
        NodeKind::Leaf { .. } => !footer.may_be_old(node),
        NodeKind::Group(_) => node.children().iter().all(|child| is_recent(child, footer)),
    }
}

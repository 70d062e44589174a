//! What an error is called, for programs.

use super::IntakeError;

impl IntakeError {
    /// A short name of what went wrong: Delta's where it has one.
    pub fn delta_name(&self) -> &'static str {
        match self {
            IntakeError::Footer { .. } | IntakeError::Damaged { .. } => "InvalidParquet",
            IntakeError::UnknownColumn { .. }
            | IntakeError::AmbiguousColumn { .. }
            | IntakeError::MissingColumn { .. }
            | IntakeError::WrongType { .. }
            | IntakeError::NoDeltaType { .. }
            | IntakeError::SchemaChange { .. } => "SchemaMismatch",
            IntakeError::ValueLost { .. }
            | IntakeError::TooLong { .. }
            | IntakeError::LegacyCalendar { .. } => "InvalidValue",
            IntakeError::Null { .. } | IntakeError::Constraint { .. } => "InvariantViolation",
            IntakeError::UnknownDirectory { .. }
            | IntakeError::RepeatedDirectory { .. }
            | IntakeError::PartitionValue { .. }
            | IntakeError::PartitionDisagrees { .. }
            | IntakeError::NoPartitionValue { .. }
            | IntakeError::TooManyPartitions { .. } => "InvalidPartition",
            IntakeError::Expression { .. } => "UnsupportedExpression",
            IntakeError::NewTable { .. } => "InvalidTable",
            IntakeError::Protocol(_) => "UnsupportedTableFeature",
            IntakeError::Schema(_) => "InvalidSchema",
            IntakeError::Storage(_) => "StorageFailed",
        }
    }
}

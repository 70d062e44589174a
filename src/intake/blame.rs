//! What an error is called, and what is to blame, for programs.

use super::{Demand, IntakeError};

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

    /// The file it is about, by its path in the staging directory.
    pub fn file(&self) -> Option<&str> {
        match self {
            IntakeError::Footer { file, .. }
            | IntakeError::Damaged { file, .. }
            | IntakeError::UnknownColumn { file, .. }
            | IntakeError::AmbiguousColumn { file, .. }
            | IntakeError::MissingColumn { file, .. }
            | IntakeError::WrongType { file, .. }
            | IntakeError::ValueLost { file, .. }
            | IntakeError::TooLong { file, .. }
            | IntakeError::Null { file, .. }
            | IntakeError::LegacyCalendar { file, .. }
            | IntakeError::UnknownDirectory { file, .. }
            | IntakeError::RepeatedDirectory { file, .. }
            | IntakeError::PartitionValue { file, .. }
            | IntakeError::PartitionDisagrees { file, .. }
            | IntakeError::NoPartitionValue { file, .. }
            | IntakeError::TooManyPartitions { file, .. }
            | IntakeError::Constraint { file, .. }
            | IntakeError::NoDeltaType { file, .. }
            | IntakeError::SchemaChange { file, .. } => Some(file),
            IntakeError::Expression { .. }
            | IntakeError::NewTable { .. }
            | IntakeError::Protocol(_)
            | IntakeError::Schema(_)
            | IntakeError::Storage(_) => None,
        }
    }

    /// The column it is about, by its path.
    pub fn column(&self) -> Option<&str> {
        match self {
            IntakeError::UnknownColumn { column, .. }
            | IntakeError::MissingColumn { column, .. }
            | IntakeError::WrongType { column, .. }
            | IntakeError::ValueLost { column, .. }
            | IntakeError::TooLong { column, .. }
            | IntakeError::Null { column, .. }
            | IntakeError::LegacyCalendar { column, .. }
            | IntakeError::RepeatedDirectory { column, .. }
            | IntakeError::PartitionValue { column, .. }
            | IntakeError::PartitionDisagrees { column, .. }
            | IntakeError::NoPartitionValue { column, .. }
            | IntakeError::NoDeltaType { column, .. }
            | IntakeError::SchemaChange { column, .. } => Some(column),
            IntakeError::AmbiguousColumn { second, .. } => Some(second),
            IntakeError::UnknownDirectory { directory, .. } => Some(directory),
            IntakeError::Constraint { demand, .. } | IntakeError::Expression { demand, .. } => {
                demand.column()
            }
            IntakeError::Footer { .. }
            | IntakeError::Damaged { .. }
            | IntakeError::TooManyPartitions { .. }
            | IntakeError::NewTable { .. }
            | IntakeError::Protocol(_)
            | IntakeError::Schema(_)
            | IntakeError::Storage(_) => None,
        }
    }

    /// The row it is about, from 0 within the file.
    pub fn row(&self) -> Option<u64> {
        match self {
            IntakeError::ValueLost { row, .. }
            | IntakeError::TooLong { row, .. }
            | IntakeError::Null { row, .. }
            | IntakeError::PartitionDisagrees { row, .. }
            | IntakeError::Constraint { row, .. } => Some(*row),
            IntakeError::Footer { .. }
            | IntakeError::Damaged { .. }
            | IntakeError::UnknownColumn { .. }
            | IntakeError::AmbiguousColumn { .. }
            | IntakeError::MissingColumn { .. }
            | IntakeError::WrongType { .. }
            | IntakeError::LegacyCalendar { .. }
            | IntakeError::UnknownDirectory { .. }
            | IntakeError::RepeatedDirectory { .. }
            | IntakeError::PartitionValue { .. }
            | IntakeError::NoPartitionValue { .. }
            | IntakeError::TooManyPartitions { .. }
            | IntakeError::Expression { .. }
            | IntakeError::NoDeltaType { .. }
            | IntakeError::SchemaChange { .. }
            | IntakeError::NewTable { .. }
            | IntakeError::Protocol(_)
            | IntakeError::Schema(_)
            | IntakeError::Storage(_) => None,
        }
    }

    /// What the table demands of rows that is not so, or cannot be looked at.
    pub fn demand(&self) -> Option<Demand> {
        match self {
            IntakeError::Constraint { demand, .. } | IntakeError::Expression { demand, .. } => {
                Some((**demand).clone())
            }
            IntakeError::Null { column, .. } | IntakeError::MissingColumn { column, .. } => {
                Some(Demand::not_null(column))
            }
            _ => None,
        }
    }
}

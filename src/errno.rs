//! The only place that chooses an errno: exhaustive over every floor's errors, no `_` arm.

use crate::intake::IntakeError;
use crate::log::LogError;
use crate::log::deletion_vector::DeletionVectorError;
use crate::parquet::ParquetError;
use crate::protocol::ProtocolError;
use crate::schema::SchemaError;
use crate::snapshot::SnapshotError;
use crate::staging::StagingError;
use crate::storage::StorageError;
use crate::storage::posix::PosixError;
use crate::tree::TreeError;
use crate::txn::TxnError;
use crate::view::{VersionError, ViewError};

/// An errno value as in `libc`.
pub type Errno = i32;

/// The errno of a [`TreeError`].
pub fn of_tree(error: &TreeError) -> Errno {
    match error {
        TreeError::NotFound { .. } => libc::ENOENT,
        TreeError::UnknownInode(_) | TreeError::OtherSize(_) => libc::ESTALE,
        TreeError::UnknownHandle(_) => libc::EBADF,
        TreeError::NotADirectory(_) => libc::ENOTDIR,
        TreeError::IsADirectory(_) => libc::EISDIR,
        TreeError::NotASymlink(_) => libc::EINVAL,
        TreeError::NoAttribute(_) => libc::ENODATA,
        TreeError::ReadOnly(_) => libc::EROFS,
        TreeError::NotPermitted { .. } => libc::EPERM,
        TreeError::NotSupported(_) => libc::EOPNOTSUPP,
        TreeError::Exists(_) => libc::EEXIST,
        TreeError::Raced | TreeError::Removed(_) => libc::ESTALE,
        TreeError::OtherTransaction => libc::EXDEV,
        TreeError::SameNumber(_) => libc::EOVERFLOW,
        TreeError::Posix(error) => of_posix(error),
        TreeError::Staging(error) => of_staging(error),
        TreeError::Snapshot(error) => of_snapshot(error),
        TreeError::View(error) => of_view(error),
    }
}

/// The errno of a [`PosixError`]: the system's own, as on any file system.
pub fn of_posix(error: &PosixError) -> Errno {
    error.errno()
}

/// The errno of a [`StagingError`].
pub fn of_staging(error: &StagingError) -> Errno {
    match error {
        StagingError::NotWritable { .. } | StagingError::Unsupported { .. } => libc::EOPNOTSUPP,
        StagingError::Exists { .. } => libc::EEXIST,
        StagingError::NoTransaction { .. } | StagingError::NoSuchFile { .. } => libc::ENOENT,
        StagingError::NotEmpty { .. } => libc::ENOTEMPTY,
        StagingError::Committing { .. } | StagingError::Changed { .. } => libc::EBUSY,
        StagingError::Committed { .. } => libc::EROFS,
        StagingError::BadName { .. }
        | StagingError::NoMarker
        | StagingError::BadMarker { .. }
        | StagingError::BadOption { .. }
        | StagingError::NotADataFile { .. }
        | StagingError::Nothing { .. }
        | StagingError::RowsChange { .. } => libc::EINVAL,
        StagingError::AppendOnly { .. } => libc::EPERM,
        // Whatever conflicts: read again, and begin anew.
        StagingError::Conflict(_) | StagingError::OtherTable { .. } => libc::ESTALE,
        // Not EINTR, which would hang who waits: as for a race that was lost, to be tried again.
        StagingError::Retryable { .. } | StagingError::Interrupted => libc::EAGAIN,
        StagingError::Unknown { .. } | StagingError::BadRecord { .. } => libc::EIO,
        StagingError::Intake(error) => of_intake(error),
        StagingError::Protocol(error) => of_protocol(error),
        StagingError::Txn(error) => of_txn(error),
        StagingError::Snapshot(error) => of_snapshot(error),
        StagingError::Version(VersionError::Snapshot(error)) => of_snapshot(error),
        StagingError::Version(VersionError::View(error)) => of_view(error),
        StagingError::Storage(error) => of_storage(error),
        StagingError::Posix(error) => of_posix(error),
    }
}

/// The errno of a [`TxnError`].
pub fn of_txn(error: &TxnError) -> Errno {
    match error {
        TxnError::Snapshot(error) => of_snapshot(error),
        TxnError::Log(error) => of_log(error),
        TxnError::Protocol(error) => of_protocol(error),
        TxnError::Put { source, .. } => of_storage(source),
        TxnError::LogCleaned { .. } | TxnError::OtherTable { .. } => libc::ESTALE,
        TxnError::Invalid { .. } | TxnError::NoRecordCount { .. } => libc::EINVAL,
        TxnError::RowIds { .. }
        | TxnError::CommitTime { .. }
        | TxnError::Occupied { .. }
        | TxnError::NoMoreVersions { .. } => libc::EUCLEAN,
    }
}

/// The errno of an [`IntakeError`]: what a staged file is refused for is for its owner to mend, so
/// that a damaged one is no input/output error.
pub fn of_intake(error: &IntakeError) -> Errno {
    match error {
        IntakeError::Footer { source, .. } => match source {
            ParquetError::Storage(error) => of_storage(error),
            ParquetError::NotParquet { .. }
            | ParquetError::FooterLength { .. }
            | ParquetError::Malformed { .. }
            | ParquetError::DamagedChunk { .. }
            | ParquetError::ValueOutOfRange { .. }
            | ParquetError::LargerThanFooter { .. }
            | ParquetError::DoesNotFit { .. }
            | ParquetError::Encrypted { .. }
            | ParquetError::UnsupportedCompression { .. }
            | ParquetError::ChunkTooLarge { .. }
            | ParquetError::NoConversion { .. }
            | ParquetError::Unpresentable { .. } => libc::EINVAL,
        },
        IntakeError::Damaged { .. }
        | IntakeError::UnknownColumn { .. }
        | IntakeError::AmbiguousColumn { .. }
        | IntakeError::MissingColumn { .. }
        | IntakeError::WrongType { .. }
        | IntakeError::ValueLost { .. }
        | IntakeError::TooLong { .. }
        | IntakeError::Null { .. }
        | IntakeError::LegacyCalendar { .. }
        | IntakeError::UnknownDirectory { .. }
        | IntakeError::RepeatedDirectory { .. }
        | IntakeError::PartitionValue { .. }
        | IntakeError::PartitionDisagrees { .. }
        | IntakeError::NoPartitionValue { .. }
        | IntakeError::TooManyPartitions { .. }
        | IntakeError::Constraint { .. }
        | IntakeError::NoDeltaType { .. }
        | IntakeError::SchemaChange { .. }
        | IntakeError::NewTable { .. } => libc::EINVAL,
        IntakeError::Expression { .. } => libc::EOPNOTSUPP,
        IntakeError::Protocol(error) => of_protocol(error),
        IntakeError::Schema(error) => of_schema(error),
        IntakeError::Storage(error) => of_storage(error),
    }
}

/// The errno of a [`ViewError`].
pub fn of_view(error: &ViewError) -> Errno {
    match error {
        ViewError::UnknownLayout { .. } | ViewError::UnknownView { .. } => libc::EINVAL,
        ViewError::HiveColumn { .. } | ViewError::HiveValue { .. } | ViewError::Mismatch { .. } => {
            libc::EOPNOTSUPP
        }
        ViewError::DeletionVector(error) => of_deletion_vector(error),
        ViewError::Cache { .. } | ViewError::WrongSize { .. } => libc::EIO,
        ViewError::Missing { .. } => libc::ENOENT,
        ViewError::Parquet(error) => of_parquet(error),
        ViewError::Storage(error) => of_storage(error),
    }
}

/// The errno of a [`ParquetError`].
pub fn of_parquet(error: &ParquetError) -> Errno {
    match error {
        ParquetError::NotParquet { .. }
        | ParquetError::FooterLength { .. }
        | ParquetError::Malformed { .. }
        | ParquetError::DamagedChunk { .. }
        | ParquetError::ValueOutOfRange { .. }
        | ParquetError::LargerThanFooter { .. }
        | ParquetError::DoesNotFit { .. } => libc::EIO,
        ParquetError::Encrypted { .. }
        | ParquetError::UnsupportedCompression { .. }
        | ParquetError::ChunkTooLarge { .. }
        | ParquetError::NoConversion { .. }
        | ParquetError::Unpresentable { .. } => libc::EOPNOTSUPP,
        ParquetError::Storage(error) => of_storage(error),
    }
}

/// The errno of a [`SnapshotError`].
pub fn of_snapshot(error: &SnapshotError) -> Errno {
    match error {
        SnapshotError::Log(error) => of_log(error),
        SnapshotError::Protocol { source, .. } => of_protocol(source),
        SnapshotError::Schema { source, .. } => of_schema(source),
        SnapshotError::MissingAction { .. } => libc::EUCLEAN,
        SnapshotError::NotParquet { .. } => libc::EOPNOTSUPP,
    }
}

/// The errno of a [`ProtocolError`].
pub fn of_protocol(error: &ProtocolError) -> Errno {
    match error {
        ProtocolError::ReaderVersion { .. }
        | ProtocolError::ReaderFeatures { .. }
        | ProtocolError::WriterVersion { .. }
        | ProtocolError::WriterFeatures { .. }
        | ProtocolError::ForeignType { .. } => libc::EOPNOTSUPP,
        ProtocolError::Contradiction { .. }
        | ProtocolError::Property { .. }
        | ProtocolError::ColumnRule { .. } => libc::EUCLEAN,
    }
}

/// The errno of a [`SchemaError`].
pub fn of_schema(error: &SchemaError) -> Errno {
    match error {
        SchemaError::UnknownType { .. } => libc::EOPNOTSUPP,
        SchemaError::Malformed { .. }
        | SchemaError::MalformedColumn { .. }
        | SchemaError::InvalidDecimal { .. }
        | SchemaError::DuplicateColumn { .. }
        | SchemaError::UnknownPartitionColumn { .. }
        | SchemaError::RepeatedPartitionColumn { .. }
        | SchemaError::PartitionColumnType { .. }
        | SchemaError::UnknownMappingMode { .. }
        | SchemaError::Unmapped { .. }
        | SchemaError::AmbiguousMapping { .. } => libc::EUCLEAN,
    }
}

/// The errno of a [`LogError`].
pub fn of_log(error: &LogError) -> Errno {
    match error {
        LogError::NotATable { .. }
        | LogError::VersionNotFound { .. }
        | LogError::NoVersionAtTime { .. } => libc::ENOENT,
        LogError::Gap { .. }
        | LogError::EmptyCommit { .. }
        | LogError::BadLine { .. }
        | LogError::BadAction { .. }
        | LogError::BadCheckpoint { .. }
        | LogError::CheckpointWithout { .. }
        | LogError::NoUsableCheckpoint { .. } => libc::EUCLEAN,
        LogError::Storage(error) => of_storage(error),
    }
}

/// The errno of a [`DeletionVectorError`].
pub fn of_deletion_vector(error: &DeletionVectorError) -> Errno {
    match error {
        DeletionVectorError::Descriptor { .. } => libc::EUCLEAN,
        DeletionVectorError::Format { .. } | DeletionVectorError::TooLarge { .. } => {
            libc::EOPNOTSUPP
        }
        DeletionVectorError::Damaged { .. } => libc::EIO,
        DeletionVectorError::Storage { source, .. } => of_storage(source),
    }
}

/// The errno of a [`StorageError`].
pub fn of_storage(error: &StorageError) -> Errno {
    match error {
        StorageError::NotFound { .. } => libc::ENOENT,
        StorageError::Outside { .. } => libc::EACCES,
        StorageError::PermissionDenied { .. } => libc::EACCES,
        StorageError::InvalidLocation { .. } | StorageError::UnknownOption { .. } => libc::EINVAL,
        StorageError::Unsupported { .. } => libc::EOPNOTSUPP,
        StorageError::Full { .. } => libc::ENOSPC,
        StorageError::Io { source, .. } => match source.raw_os_error() {
            Some(errno @ (libc::EMFILE | libc::ENFILE | libc::EROFS)) => errno,
            _ => libc::EIO,
        },
        StorageError::Remote { .. } => libc::EIO,
    }
}

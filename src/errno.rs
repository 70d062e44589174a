//! The only place that chooses an errno: exhaustive over every floor's errors, no `_` arm.

use crate::log::LogError;
use crate::log::deletion_vector::DeletionVectorError;
use crate::parquet::ParquetError;
use crate::protocol::ProtocolError;
use crate::schema::SchemaError;
use crate::snapshot::SnapshotError;
use crate::storage::StorageError;
use crate::tree::TreeError;
use crate::view::ViewError;

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
        TreeError::Snapshot(error) => of_snapshot(error),
        TreeError::View(error) => of_view(error),
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
        ProtocolError::ReaderVersion { .. } | ProtocolError::ReaderFeatures { .. } => {
            libc::EOPNOTSUPP
        }
        ProtocolError::Contradiction { .. } | ProtocolError::Property { .. } => libc::EUCLEAN,
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
        StorageError::InvalidLocation { .. } => libc::EINVAL,
        StorageError::Unsupported { .. } => libc::EOPNOTSUPP,
        StorageError::Full { .. } => libc::ENOSPC,
        StorageError::Io { .. } => libc::EIO,
        StorageError::Remote { .. } => libc::EIO,
    }
}

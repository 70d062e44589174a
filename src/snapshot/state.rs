//! The state of one version.

use std::collections::BTreeMap;
use std::sync::Arc;

use roaring::RoaringBitmap;

use super::SnapshotError;
use crate::base::Version;
use crate::log::actions::{DomainMetadata, Metadata, Protocol, SetTransaction};
use crate::protocol::{ReaderFeature, check_readable, column_mapping_mode};
use crate::schema::{DataType, MappingMode, PrimitiveType, StructType, shape_fingerprint};

/// What a schema and the properties around it come to.
///
/// Invariants: every partition column is in the schema; data files are Parquet.
#[derive(Debug)]
pub struct TableShape {
    /// The table schema.
    pub schema: StructType,
    /// How columns are found in files.
    pub mapping: MappingMode,
    /// Stands for all of the schema that shapes files.
    pub fingerprint: u64,
}

impl TableShape {
    /// What `protocol` and `metadata` come to. `version` is the first in which they are in force;
    /// errors name it.
    pub fn of(
        version: Version,
        protocol: &Protocol,
        metadata: &Metadata,
    ) -> Result<TableShape, SnapshotError> {
        work_out_shape(version, protocol, metadata)
    }
}

/// A protocol and a metadata action in force together, and what they come to.
#[derive(Debug)]
pub(super) struct Definition {
    pub protocol: Arc<Protocol>,
    pub metadata: Arc<Metadata>,
    shape: Result<TableShape, Arc<SnapshotError>>,
}

impl Definition {
    /// `version` is the first in which they are in force; errors name it.
    pub(super) fn new(
        version: Version,
        protocol: Arc<Protocol>,
        metadata: Arc<Metadata>,
    ) -> Definition {
        Definition {
            shape: work_out_shape(version, &protocol, &metadata).map_err(Arc::new),
            protocol,
            metadata,
        }
    }

    /// Logs what a reader of the table should know although it is readable.
    pub(super) fn warn(&self, version: Version) {
        let Ok(features) = check_readable(&self.protocol) else {
            return;
        };
        if features.contains(&ReaderFeature::CatalogManaged) {
            tracing::warn!(
                version,
                "the table is managed by a catalog: only published commits are seen, and the \
                 catalog may know newer ones"
            );
        }
        let Ok(shape) = &self.shape else {
            return;
        };
        let ntz = DataType::Primitive(PrimitiveType::TimestampNtz);
        for (data_type, feature, name) in [
            (ntz, ReaderFeature::TimestampNtz, "timestampNtz"),
            (DataType::Variant, ReaderFeature::VariantType, "variantType"),
        ] {
            if !features.contains(&feature) && shape.schema.has_type(&data_type) {
                tracing::warn!(
                    version,
                    "the schema has a column of type {data_type}, for which the protocol action \
                     should list the table feature {name}; it is served all the same"
                );
            }
        }
    }

    /// The fingerprint of the schema; `None` when it cannot be read.
    pub(super) fn fingerprint(&self) -> Option<u64> {
        self.shape.as_ref().ok().map(|shape| shape.fingerprint)
    }
}

/// The state of a table at one version (PROTOCOL.md, "Action Reconciliation").
#[derive(Debug, Clone)]
pub struct Snapshot {
    pub(super) version: Version,
    pub(super) definition: Arc<Definition>,
    /// Live logical files, as numbers of the file table of the same generation.
    pub(super) files: RoaringBitmap,
    pub(super) transactions: Arc<BTreeMap<String, SetTransaction>>,
    pub(super) domains: Arc<BTreeMap<String, DomainMetadata>>,
}

impl Snapshot {
    /// The version.
    pub fn version(&self) -> Version {
        self.version
    }

    /// The protocol in force.
    pub fn protocol(&self) -> &Protocol {
        &self.definition.protocol
    }

    /// The metadata in force.
    pub fn metadata(&self) -> &Metadata {
        &self.definition.metadata
    }

    /// The live logical files.
    pub fn files(&self) -> &RoaringBitmap {
        &self.files
    }

    /// The newest `txn` action of each application.
    pub fn transactions(&self) -> &BTreeMap<String, SetTransaction> {
        &self.transactions
    }

    /// The metadata domains that are not removed.
    pub fn domains(&self) -> &BTreeMap<String, DomainMetadata> {
        &self.domains
    }

    /// The schema, checked; an error when this version's data cannot be read by this release: an
    /// unsupported protocol, a schema that makes no sense, data files that are not Parquet.
    pub fn readable(&self) -> Result<&TableShape, Arc<SnapshotError>> {
        self.definition.shape.as_ref().map_err(Arc::clone)
    }

    /// Whether `other` has the very protocol and metadata actions of this one.
    pub fn same_definition(&self, other: &Snapshot) -> bool {
        Arc::ptr_eq(&self.definition, &other.definition)
    }
}

/// Works out what [`Snapshot::readable`] answers.
fn work_out_shape(
    version: Version,
    protocol: &Protocol,
    metadata: &Metadata,
) -> Result<TableShape, SnapshotError> {
    let unsupported = |source| SnapshotError::Protocol { version, source };
    check_readable(protocol).map_err(unsupported)?;
    if !metadata.format.provider.eq_ignore_ascii_case("parquet") {
        return Err(SnapshotError::NotParquet {
            version,
            found: metadata.format.provider.clone(),
        });
    }
    let mapping = column_mapping_mode(protocol, metadata).map_err(unsupported)?;
    let unusable = |source| SnapshotError::Schema { version, source };
    let schema = match metadata.schema_string.as_str() {
        "" => StructType { fields: Vec::new() },
        text => StructType::parse(text).map_err(unusable)?,
    };
    schema
        .partition_fields(&metadata.partition_columns)
        .map_err(unusable)?;
    schema.check_mapping(mapping).map_err(unusable)?;
    let fingerprint = shape_fingerprint(&schema, &metadata.partition_columns, mapping);
    Ok(TableShape {
        schema,
        mapping,
        fingerprint,
    })
}

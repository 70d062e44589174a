//! File actions from JSON, as rows.

use std::borrow::Cow;

use arrow::array::{
    ArrayRef, BooleanBuilder, Int32Builder, Int64Builder, MapBuilder, MapFieldNames,
    NullBufferBuilder, StringBuilder, StructArray,
};
use arrow::datatypes::{DataType, Fields};
use serde::Deserialize;
use std::sync::Arc;

use super::fields::{add_fields, remove_fields};
use crate::base::clock::TimestampMs;
use crate::log::actions::{
    DeletionVectorDescriptor, PartitionValues, Sidecar, whole, whole_or_null,
};

/// One line of the log, as far as it holds file actions.
#[derive(Debug, Deserialize)]
pub(super) struct FileLine<'a> {
    #[serde(borrow, default)]
    pub add: Option<WholeAdd<'a>>,
    #[serde(borrow, default)]
    pub remove: Option<WholeRemove<'a>>,
    #[serde(default)]
    pub sidecar: Option<Sidecar>,
}

/// A text map that is absent where the log has null.
#[derive(Debug, Default, Deserialize)]
#[serde(transparent)]
struct TextPairs<'a>(
    #[serde(borrow, deserialize_with = "crate::log::actions::partition_values")]
    PartitionValues<'a>,
);

/// `add` with all that PROTOCOL.md knows of ("Add File and Remove File").
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WholeAdd<'a> {
    #[serde(borrow)]
    pub path: Cow<'a, str>,
    #[serde(borrow, default)]
    partition_values: TextPairs<'a>,
    #[serde(deserialize_with = "whole")]
    size: i64,
    #[serde(default, deserialize_with = "whole")]
    modification_time: TimestampMs,
    #[serde(borrow, default)]
    stats: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    tags: Option<TextPairs<'a>>,
    #[serde(default)]
    pub deletion_vector: Option<DeletionVectorDescriptor>,
    #[serde(default)]
    base_row_id: Option<i64>,
    #[serde(default)]
    default_row_commit_version: Option<i64>,
    #[serde(borrow, default)]
    clustering_provider: Option<Cow<'a, str>>,
}

/// `remove`, as a tombstone keeps it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WholeRemove<'a> {
    #[serde(borrow)]
    pub path: Cow<'a, str>,
    #[serde(default, deserialize_with = "whole_or_null")]
    pub deletion_timestamp: Option<TimestampMs>,
    #[serde(default)]
    extended_file_metadata: Option<bool>,
    #[serde(borrow, default)]
    partition_values: Option<TextPairs<'a>>,
    #[serde(default, deserialize_with = "whole_or_null")]
    size: Option<i64>,
    #[serde(default)]
    pub deletion_vector: Option<DeletionVectorDescriptor>,
    #[serde(default)]
    base_row_id: Option<i64>,
    #[serde(default)]
    default_row_commit_version: Option<i64>,
}

/// Rows that wait to be written together, at most.
const ROWS: usize = 8192;

/// Bytes of text that wait to be written together, about.
const BYTES: usize = 16 * 1024 * 1024;

/// A builder of `map<string,string>`.
pub(super) fn map_builder() -> MapBuilder<StringBuilder, StringBuilder> {
    let names = MapFieldNames {
        entry: "key_value".to_owned(),
        key: "key".to_owned(),
        value: "value".to_owned(),
    };
    MapBuilder::new(Some(names), StringBuilder::new(), StringBuilder::new())
}

fn append_map(
    builder: &mut MapBuilder<StringBuilder, StringBuilder>,
    pairs: Option<&TextPairs<'_>>,
) -> Result<(), String> {
    for (key, value) in pairs.iter().flat_map(|pairs| &pairs.0) {
        builder.keys().append_value(key);
        builder.values().append_option(value.as_deref());
    }
    builder
        .append(pairs.is_some())
        .map_err(|error| error.to_string())
}

#[derive(Default)]
struct DeletionVectors {
    present: Vec<bool>,
    storage_type: StringBuilder,
    path: StringBuilder,
    offset: Int32Builder,
    size: Int32Builder,
    cardinality: Int64Builder,
}

impl DeletionVectors {
    fn push(&mut self, dv: Option<&DeletionVectorDescriptor>) {
        self.present.push(dv.is_some());
        self.storage_type
            .append_option(dv.map(|dv| &*dv.storage_type));
        self.path.append_option(dv.map(|dv| &*dv.path_or_inline_dv));
        self.offset.append_option(dv.and_then(|dv| dv.offset));
        self.size.append_option(dv.map(|dv| dv.size_in_bytes));
        self.cardinality.append_option(dv.map(|dv| dv.cardinality));
    }

    fn finish(&mut self, fields: &Fields) -> Result<ArrayRef, String> {
        let mut nulls = NullBufferBuilder::new(self.present.len());
        for present in self.present.drain(..) {
            nulls.append(present);
        }
        let children: Vec<ArrayRef> = vec![
            Arc::new(self.storage_type.finish()),
            Arc::new(self.path.finish()),
            Arc::new(self.offset.finish()),
            Arc::new(self.size.finish()),
            Arc::new(self.cardinality.finish()),
        ];
        StructArray::try_new(fields.clone(), children, nulls.finish())
            .map(|array| Arc::new(array) as ArrayRef)
            .map_err(|error| error.to_string())
    }
}

/// The columns that `add` and `remove` share.
struct Common {
    rows: usize,
    bytes: usize,
    path: StringBuilder,
    data_change: BooleanBuilder,
    partition_values: MapBuilder<StringBuilder, StringBuilder>,
    size: Int64Builder,
    deletion_vectors: DeletionVectors,
    base_row_id: Int64Builder,
    default_row_commit_version: Int64Builder,
}

impl Common {
    fn new() -> Common {
        Common {
            rows: 0,
            bytes: 0,
            path: StringBuilder::new(),
            data_change: BooleanBuilder::new(),
            partition_values: map_builder(),
            size: Int64Builder::new(),
            deletion_vectors: DeletionVectors::default(),
            base_row_id: Int64Builder::new(),
            default_row_commit_version: Int64Builder::new(),
        }
    }

    fn is_full(&self) -> bool {
        self.rows >= ROWS || self.bytes >= BYTES
    }

    /// The struct of all `fields`, taken out: `own` takes out those that are not shared.
    fn finish(
        &mut self,
        fields: Fields,
        mut own: impl FnMut(&str) -> Option<ArrayRef>,
    ) -> Result<StructArray, String> {
        let columns = fields
            .iter()
            .map(|field| match own(field.name()) {
                Some(column) => Ok(column),
                None => self.take(field.name(), field.data_type()),
            })
            .collect::<Result<Vec<ArrayRef>, String>>()?;
        self.rows = 0;
        self.bytes = 0;
        StructArray::try_new(fields, columns, None).map_err(|error| error.to_string())
    }

    /// The column of that name, taken out.
    fn take(&mut self, name: &str, data_type: &DataType) -> Result<ArrayRef, String> {
        Ok(match (name, data_type) {
            ("path", _) => Arc::new(self.path.finish()),
            ("dataChange", _) => Arc::new(self.data_change.finish()),
            ("partitionValues", _) => Arc::new(self.partition_values.finish()),
            ("size", _) => Arc::new(self.size.finish()),
            ("baseRowId", _) => Arc::new(self.base_row_id.finish()),
            ("defaultRowCommitVersion", _) => Arc::new(self.default_row_commit_version.finish()),
            ("deletionVector", DataType::Struct(fields)) => self.deletion_vectors.finish(fields)?,
            (other, _) => return Err(format!("no column {other} is built")),
        })
    }
}

/// Collects `add` actions.
pub(super) struct AddRows {
    common: Common,
    modification_time: Int64Builder,
    stats: StringBuilder,
    tags: MapBuilder<StringBuilder, StringBuilder>,
    clustering_provider: StringBuilder,
}

impl AddRows {
    pub(super) fn new() -> AddRows {
        AddRows {
            common: Common::new(),
            modification_time: Int64Builder::new(),
            stats: StringBuilder::new(),
            tags: map_builder(),
            clustering_provider: StringBuilder::new(),
        }
    }

    /// Takes in one action. "dataChange" is false of all that a checkpoint holds: what it says has
    /// been in the table before.
    pub(super) fn push(&mut self, add: &WholeAdd<'_>, length: usize) -> Result<(), String> {
        let common = &mut self.common;
        common.rows += 1;
        common.bytes += length;
        common.path.append_value(&add.path);
        common.data_change.append_value(false);
        append_map(&mut common.partition_values, Some(&add.partition_values))?;
        common.size.append_value(add.size);
        common.deletion_vectors.push(add.deletion_vector.as_ref());
        common.base_row_id.append_option(add.base_row_id);
        common
            .default_row_commit_version
            .append_option(add.default_row_commit_version);
        self.modification_time.append_value(add.modification_time);
        self.stats.append_option(add.stats.as_deref());
        append_map(&mut self.tags, add.tags.as_ref())?;
        self.clustering_provider
            .append_option(add.clustering_provider.as_deref());
        Ok(())
    }

    /// Whether they should be taken out.
    pub(super) fn is_full(&self) -> bool {
        self.common.is_full()
    }

    /// What was collected, of [`add_fields`].
    pub(super) fn finish(&mut self) -> Result<StructArray, String> {
        self.common.finish(add_fields(), |name| match name {
            "modificationTime" => Some(Arc::new(self.modification_time.finish())),
            "stats" => Some(Arc::new(self.stats.finish())),
            "tags" => Some(Arc::new(self.tags.finish())),
            "clusteringProvider" => Some(Arc::new(self.clustering_provider.finish())),
            _ => None,
        })
    }
}

/// Collects `remove` actions.
pub(super) struct RemoveRows {
    common: Common,
    deletion_timestamp: Int64Builder,
    extended_file_metadata: BooleanBuilder,
}

impl RemoveRows {
    pub(super) fn new() -> RemoveRows {
        RemoveRows {
            common: Common::new(),
            deletion_timestamp: Int64Builder::new(),
            extended_file_metadata: BooleanBuilder::new(),
        }
    }

    /// Takes in one action.
    pub(super) fn push(&mut self, remove: &WholeRemove<'_>, length: usize) -> Result<(), String> {
        let common = &mut self.common;
        common.rows += 1;
        common.bytes += length;
        common.path.append_value(&remove.path);
        common.data_change.append_value(false);
        append_map(
            &mut common.partition_values,
            remove.partition_values.as_ref(),
        )?;
        common.size.append_option(remove.size);
        common
            .deletion_vectors
            .push(remove.deletion_vector.as_ref());
        common.base_row_id.append_option(remove.base_row_id);
        common
            .default_row_commit_version
            .append_option(remove.default_row_commit_version);
        self.deletion_timestamp
            .append_option(remove.deletion_timestamp);
        self.extended_file_metadata
            .append_option(remove.extended_file_metadata);
        Ok(())
    }

    /// Whether they should be taken out.
    pub(super) fn is_full(&self) -> bool {
        self.common.is_full()
    }

    /// What was collected, of [`remove_fields`].
    pub(super) fn finish(&mut self) -> Result<StructArray, String> {
        self.common.finish(remove_fields(), |name| match name {
            "deletionTimestamp" => Some(Arc::new(self.deletion_timestamp.finish())),
            "extendedFileMetadata" => Some(Arc::new(self.extended_file_metadata.finish())),
            _ => None,
        })
    }
}

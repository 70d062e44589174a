//! The columns of a checkpoint (PROTOCOL.md, "Checkpoint Schema"), named and typed as Delta on Spark
//! writes them: every field optional, lists and maps in their three-level form.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Fields, Schema, SchemaRef};

use super::statistics::StatisticsLayout;

/// What the columns of a checkpoint depend on.
#[derive(Debug, Clone)]
pub(super) struct Layout {
    /// Whether `add.stats` is there.
    pub stats_as_json: bool,
    /// `add.stats_parsed` and `add.partitionValues_parsed`, where the table asks for them.
    pub parsed: Option<StatisticsLayout>,
}

fn optional(name: &str, data_type: DataType) -> Field {
    Field::new(name, data_type, true)
}

fn structure(fields: Vec<Field>) -> DataType {
    DataType::Struct(fields.into())
}

/// `map<string,string>`.
pub(super) fn text_map() -> DataType {
    let entries = structure(vec![
        Field::new("key", DataType::Utf8, false),
        optional("value", DataType::Utf8),
    ]);
    DataType::Map(Arc::new(Field::new("key_value", entries, false)), false)
}

/// `array<string>`.
pub(super) fn text_list() -> DataType {
    DataType::List(Arc::new(optional("element", DataType::Utf8)))
}

/// PROTOCOL.md, "Deletion Vector Descriptor Schema".
fn deletion_vector() -> Field {
    let fields = vec![
        optional("storageType", DataType::Utf8),
        optional("pathOrInlineDv", DataType::Utf8),
        optional("offset", DataType::Int32),
        optional("sizeInBytes", DataType::Int32),
        optional("cardinality", DataType::Int64),
    ];
    optional("deletionVector", structure(fields))
}

/// The fields of `add` that are read from the log: all that PROTOCOL.md knows.
pub(super) fn add_fields() -> Fields {
    use DataType::{Boolean, Int64, Utf8};
    Fields::from(vec![
        optional("path", Utf8),
        optional("partitionValues", text_map()),
        optional("size", Int64),
        optional("modificationTime", Int64),
        optional("dataChange", Boolean),
        optional("tags", text_map()),
        deletion_vector(),
        optional("baseRowId", Int64),
        optional("defaultRowCommitVersion", Int64),
        optional("clusteringProvider", Utf8),
        optional("stats", Utf8),
    ])
}

/// The fields of `remove`: "the `remove` struct does not contain the `stats` and `tags` fields".
pub(super) fn remove_fields() -> Fields {
    use DataType::{Boolean, Int64, Utf8};
    Fields::from(vec![
        optional("path", Utf8),
        optional("deletionTimestamp", Int64),
        optional("dataChange", Boolean),
        optional("extendedFileMetadata", Boolean),
        optional("partitionValues", text_map()),
        optional("size", Int64),
        deletion_vector(),
        optional("baseRowId", Int64),
        optional("defaultRowCommitVersion", Int64),
    ])
}

impl Layout {
    /// The fields of `add` as they are written: with the statistics in the forms that the table
    /// wants.
    pub(super) fn add_fields(&self) -> Fields {
        let mut fields: Vec<Arc<Field>> = add_fields()
            .iter()
            .filter(|field| self.stats_as_json || field.name() != "stats")
            .cloned()
            .collect();
        if let Some(parsed) = &self.parsed {
            fields.extend(parsed.fields());
        }
        fields.into()
    }

    /// The columns of a sidecar: "The sidecar files can have only add file and remove file entries".
    pub(super) fn sidecar(&self) -> SchemaRef {
        Arc::new(Schema::new(self.file_columns()))
    }

    /// The columns of a checkpoint of the V1 spec.
    pub(super) fn v1(&self) -> SchemaRef {
        let mut columns = other_columns();
        columns.extend(self.file_columns());
        Arc::new(Schema::new(columns))
    }

    /// The columns of a checkpoint of the V2 spec whose file actions are in sidecars. Those of
    /// `add` and `remove` are there all the same, empty: readers that project them need not find
    /// out that they are missing.
    pub(super) fn v2(&self) -> SchemaRef {
        let mut columns = other_columns();
        columns.push(optional("checkpointMetadata", {
            structure(vec![
                optional("version", DataType::Int64),
                optional("tags", text_map()),
            ])
        }));
        columns.push(optional("sidecar", {
            structure(vec![
                optional("path", DataType::Utf8),
                optional("sizeInBytes", DataType::Int64),
                optional("modificationTime", DataType::Int64),
                optional("tags", text_map()),
            ])
        }));
        columns.extend(self.file_columns());
        Arc::new(Schema::new(columns))
    }

    fn file_columns(&self) -> Vec<Field> {
        vec![
            optional("add", DataType::Struct(self.add_fields())),
            optional("remove", DataType::Struct(remove_fields())),
        ]
    }
}

/// The columns of actions that are no file actions.
fn other_columns() -> Vec<Field> {
    use DataType::{Boolean, Int32, Int64, Utf8};
    let format = structure(vec![
        optional("provider", Utf8),
        optional("options", text_map()),
    ]);
    let metadata = structure(vec![
        optional("id", Utf8),
        optional("name", Utf8),
        optional("description", Utf8),
        optional("format", format),
        optional("schemaString", Utf8),
        optional("partitionColumns", text_list()),
        optional("configuration", text_map()),
        optional("createdTime", Int64),
    ]);
    let protocol = structure(vec![
        optional("minReaderVersion", Int32),
        optional("minWriterVersion", Int32),
        optional("readerFeatures", text_list()),
        optional("writerFeatures", text_list()),
    ]);
    let transaction = structure(vec![
        optional("appId", Utf8),
        optional("version", Int64),
        optional("lastUpdated", Int64),
    ]);
    let domain = structure(vec![
        optional("domain", Utf8),
        optional("configuration", Utf8),
        optional("removed", Boolean),
    ]);
    vec![
        optional("protocol", protocol),
        optional("metaData", metadata),
        optional("txn", transaction),
        optional("domainMetadata", domain),
    ]
}

//! Tables to take files into, and staged files, for tests of the library and of its parts.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::{Field, Schema};
use deltafs::intake::{Content, DataFile, IntakeError, Scratch, ScratchFile, StagedFile, Target};
use deltafs::log::actions::{Metadata, Protocol};
use deltafs::protocol::{WriteRules, check_writable, column_mapping_mode};
use deltafs::schema::StructType;
use deltafs::snapshot::TableShape;
use deltafs::storage::StorageError;
use parquet::arrow::arrow_reader::{ArrowReaderOptions, ParquetRecordBatchReaderBuilder};
use parquet::arrow::arrow_writer::{ArrowWriter, ArrowWriterOptions};
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;

/// A table as it is taken into.
pub struct IntakeTable {
    pub protocol: Protocol,
    pub metadata: Metadata,
    pub shape: TableShape,
    pub rules: WriteRules,
    pub clustering: Vec<Vec<String>>,
}

/// Builds an [`IntakeTable`].
#[derive(Clone, Default)]
pub struct IntakeBuilder {
    fields: Vec<String>,
    partition_columns: Vec<String>,
    properties: BTreeMap<String, String>,
    features: Option<Vec<String>>,
    clustering: Vec<Vec<String>>,
}

/// A column of the JSON type `data_type`: `"long"`, or an object.
pub fn typed(name: &str, data_type: &str) -> IntakeBuilder {
    IntakeBuilder::default().column(name, data_type)
}

impl IntakeBuilder {
    pub fn column(self, name: &str, data_type: &str) -> IntakeBuilder {
        self.field(name, data_type, true, "{}")
    }

    pub fn not_null(self, name: &str, data_type: &str) -> IntakeBuilder {
        self.field(name, data_type, false, "{}")
    }

    pub fn field(mut self, name: &str, data_type: &str, nullable: bool, metadata: &str) -> Self {
        let data_type = match data_type.starts_with('{') {
            true => data_type.to_owned(),
            false => format!("{data_type:?}"),
        };
        self.fields.push(format!(
            r#"{{"name":{name:?},"type":{data_type},"nullable":{nullable},"metadata":{metadata}}}"#
        ));
        self
    }

    pub fn partitioned_by(mut self, columns: &[&str]) -> IntakeBuilder {
        self.partition_columns = columns.iter().map(|name| (*name).to_owned()).collect();
        self
    }

    pub fn property(mut self, key: &str, value: &str) -> IntakeBuilder {
        self.properties.insert(key.to_owned(), value.to_owned());
        self
    }

    /// Clustered by a column, by its path in data files.
    pub fn clustered_by(mut self, path: &[&str]) -> IntakeBuilder {
        let path = path.iter().map(|name| (*name).to_owned());
        self.clustering.push(path.collect());
        self
    }

    /// Writer features, and reader features where they are.
    pub fn features(mut self, names: &[&str]) -> IntakeBuilder {
        self.features = Some(names.iter().map(|name| (*name).to_owned()).collect());
        self
    }

    pub fn try_build(self) -> Result<IntakeTable, deltafs::protocol::ProtocolError> {
        const READER: &[&str] = &[
            "columnMapping",
            "deletionVectors",
            "timestampNtz",
            "typeWidening",
            "v2Checkpoint",
            "variantType",
        ];
        let schema_string = format!(
            r#"{{"type":"struct","fields":[{}]}}"#,
            self.fields.join(",")
        );
        let schema = StructType::parse(&schema_string).expect("a schema");
        let protocol = match &self.features {
            None => Protocol {
                min_reader_version: 1,
                min_writer_version: 4,
                reader_features: None,
                writer_features: None,
            },
            Some(names) => Protocol {
                min_reader_version: 3,
                min_writer_version: 7,
                reader_features: Some(
                    (names.iter())
                        .filter(|name| READER.contains(&name.as_str()))
                        .cloned()
                        .collect(),
                ),
                writer_features: Some(names.clone()),
            },
        };
        let metadata = Metadata {
            id: "00000000-0000-0000-0000-000000000000".to_owned(),
            name: None,
            description: None,
            format: Default::default(),
            schema_string,
            partition_columns: self.partition_columns,
            created_time: None,
            configuration: self.properties,
        };
        let mapping = column_mapping_mode(&protocol, &metadata)?;
        let rules = check_writable(&protocol, &metadata, &schema)?;
        Ok(IntakeTable {
            protocol,
            metadata,
            shape: TableShape {
                schema,
                mapping,
                fingerprint: 0,
            },
            rules,
            clustering: self.clustering,
        })
    }

    pub fn build(self) -> IntakeTable {
        self.try_build().expect("a writable table")
    }
}

/// A file that was taken in.
pub struct Taken {
    pub file: DataFile,
    pub bytes: Vec<u8>,
    pub stats: serde_json::Value,
}

impl IntakeTable {
    pub fn target(&self) -> Target<'_> {
        Target {
            protocol: &self.protocol,
            metadata: &self.metadata,
            shape: &self.shape,
            rules: &self.rules,
            clustering: &self.clustering,
            now: deltafs::base::clock::now_ms(),
        }
    }

    /// Takes a file in that lies in `directories`.
    pub fn accept_in(
        &self,
        directories: &[(&str, Option<&str>)],
        bytes: &[u8],
    ) -> Result<Vec<Taken>, IntakeError> {
        let staged = staged("in.parquet", directories, bytes);
        let files = deltafs::intake::accept(&self.target(), &staged, &TemporaryScratch)?;
        Ok(files.into_iter().map(|file| taken(file, bytes)).collect())
    }

    /// Takes a file in.
    pub fn accept(&self, bytes: &[u8]) -> Result<Vec<Taken>, IntakeError> {
        self.accept_in(&[], bytes)
    }

    /// Takes a file in that becomes one.
    pub fn one(&self, bytes: &[u8]) -> Taken {
        let mut taken = self.accept(bytes).expect("the file is taken in");
        assert_eq!(taken.len(), 1);
        taken.remove(0)
    }

    /// The message with which a file is refused.
    pub fn refusal(&self, bytes: &[u8]) -> String {
        match self.accept(bytes) {
            Ok(_) => panic!("the file was taken in"),
            Err(error) => error.to_string(),
        }
    }
}

fn taken(file: DataFile, staged: &[u8]) -> Taken {
    let bytes = match &file.content {
        Content::AsStaged => staged.to_vec(),
        Content::Made(made) => {
            let mut handle = &*made.open().expect("a handle");
            let mut bytes = Vec::new();
            handle.seek(SeekFrom::Start(0)).expect("a file");
            handle.read_to_end(&mut bytes).expect("a file");
            bytes
        }
    };
    assert_eq!(bytes.len() as u64, file.size);
    Taken {
        stats: serde_json::from_str(&file.stats).expect("statistics are JSON"),
        bytes,
        file,
    }
}

impl Taken {
    pub fn is_as_staged(&self) -> bool {
        matches!(self.file.content, Content::AsStaged)
    }

    /// All rows, by Arrow types that the Parquet schema gives.
    pub fn rows(&self) -> RecordBatch {
        rows_of(&self.bytes)
    }

    pub fn column(&self, name: &str) -> ArrayRef {
        let rows = self.rows();
        rows.column_by_name(name).expect("the column").clone()
    }

    pub fn partition(&self, name: &str) -> Option<&str> {
        self.file.partition_values[name].as_deref()
    }

    pub fn names(&self) -> Vec<String> {
        let schema = self.rows().schema();
        schema.fields().iter().map(|f| f.name().clone()).collect()
    }
}

/// All rows of a Parquet file, by Arrow types that the Parquet schema gives.
pub fn rows_of(bytes: &[u8]) -> RecordBatch {
    let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
    let reader = ParquetRecordBatchReaderBuilder::try_new_with_options(
        bytes::Bytes::copy_from_slice(bytes),
        options,
    )
    .expect("a Parquet file");
    let schema = reader.schema().clone();
    let batches: Vec<RecordBatch> = reader
        .build()
        .expect("a Parquet file")
        .map(|batch| batch.expect("readable rows"))
        .collect();
    arrow::compute::concat_batches(&schema, &batches).expect("batches of one schema")
}

/// A file that was staged.
pub fn staged(name: &str, directories: &[(&str, Option<&str>)], bytes: &[u8]) -> StagedFile {
    let mut file = tempfile::tempfile().expect("a temporary file");
    file.write_all(bytes).expect("a temporary file");
    StagedFile {
        name: name.to_owned(),
        bytes: Arc::new(Arc::new(file)),
        size: bytes.len() as u64,
        directories: directories
            .iter()
            .map(|(column, value)| ((*column).to_owned(), value.map(str::to_owned)))
            .collect(),
    }
}

/// Scratch files without a name.
pub struct TemporaryScratch;

struct TemporaryFile(Arc<File>);

impl Scratch for TemporaryScratch {
    fn create(&self) -> Result<Box<dyn ScratchFile>, StorageError> {
        Ok(Box::new(TemporaryFile(Arc::new(
            tempfile::tempfile().expect("a temporary file"),
        ))))
    }
}

impl Write for TemporaryFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl Seek for TemporaryFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.0.seek(to)
    }
}

impl ScratchFile for TemporaryFile {
    fn open(&self) -> Result<Arc<File>, StorageError> {
        Ok(self.0.clone())
    }

    fn close(&mut self) -> Result<(), StorageError> {
        Ok(())
    }

    fn name(&self) -> &str {
        "scratch"
    }
}

/// A Parquet file of nullable columns, in row groups of three rows, compressed with snappy.
pub fn file_of<const N: usize>(columns: [(&str, ArrayRef); N]) -> Vec<u8> {
    let fields: Vec<Field> = columns
        .iter()
        .map(|(name, array)| Field::new(*name, array.data_type().clone(), true))
        .collect();
    let arrays = columns.into_iter().map(|(_, array)| array).collect();
    file_of_batch(&RecordBatch::try_new(Arc::new(Schema::new(fields)), arrays).expect("a batch"))
}

/// The same of a batch of any schema.
pub fn file_of_batch(batch: &RecordBatch) -> Vec<u8> {
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_max_row_group_row_count(Some(3));
    file_with(batch, properties.build())
}

/// The same with any properties.
pub fn file_with(batch: &RecordBatch, properties: WriterProperties) -> Vec<u8> {
    let mut bytes = Vec::new();
    let options = ArrowWriterOptions::new().with_properties(properties);
    let mut writer = ArrowWriter::try_new_with_options(&mut bytes, batch.schema(), options)
        .expect("the schema can be written");
    writer.write(batch).expect("writing to memory");
    writer.close().expect("writing to memory");
    bytes
}

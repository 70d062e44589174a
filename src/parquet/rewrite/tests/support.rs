//! Column chunks for the tests: made, written and read back.

use std::sync::{Arc, LazyLock, Mutex};

use ::parquet::basic::{Compression, Encoding};
use ::parquet::column::reader::{get_column_reader, get_typed_column_reader};
use ::parquet::column::writer::{get_column_writer, get_typed_column_writer};
use ::parquet::data_type::{DataType, Int96};
use ::parquet::file::metadata::ColumnChunkMetaData;
use ::parquet::file::properties::{WriterProperties, WriterVersion};
use ::parquet::file::reader::SerializedPageReader;
use ::parquet::file::writer::TrackedWrite;
use bytes::Bytes;
use roaring::RoaringBitmap;

use crate::parquet::pages::page_encodings;
use crate::parquet::rewrite::output::SharedPages;
use crate::parquet::rewrite::{
    Change, ChunkShape, SourceChunk, SourceStatistics, codec, encoded_anew, input, patch,
};
use crate::parquet::testing::MemoryObject;
use crate::parquet::{Annotation, ChunkLimits, MadeChunk, OldZone, ParquetError, PhysicalType};

/// The zone of instants in an older calendar.
static UTC: LazyLock<OldZone> = LazyLock::new(OldZone::default);

/// Where the chunk starts in its file.
const START: usize = 11;

/// A xorshift generator.
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

/// Bytes that `n` determines and that do not compress.
pub(super) fn bytes(n: u64, length: usize) -> Vec<u8> {
    let mut random = Random(n.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    (0..length).map(|_| random.below(1 << 40) as u8).collect()
}

pub(super) fn int96(n: u64) -> Int96 {
    let mut value = Int96::new();
    value.set_data(n as u32, (n >> 32) as u32 % 20_000, 2_440_588);
    value
}

/// How a chunk is written.
#[derive(Debug, Clone)]
pub(super) struct Style {
    pub(super) dictionary: bool,
    pub(super) version_2: bool,
    pub(super) codec: i32,
    /// 0: plain; 1: delta, or streams of bytes where there is none; 2: strings with prefixes, too.
    pub(super) encoding: u8,
    pub(super) page_rows: usize,
    pub(super) dictionary_limit: usize,
}

impl Default for Style {
    fn default() -> Style {
        Style {
            dictionary: true,
            version_2: false,
            codec: 1,
            encoding: 0,
            page_rows: 20_000,
            dictionary_limit: 1 << 20,
        }
    }
}

impl Style {
    fn encoding(&self, physical: PhysicalType) -> Encoding {
        match (self.encoding, physical) {
            (1 | 2, PhysicalType::Int32 | PhysicalType::Int64) => Encoding::DELTA_BINARY_PACKED,
            (1 | 2, PhysicalType::Float | PhysicalType::Double) => Encoding::BYTE_STREAM_SPLIT,
            (1, PhysicalType::ByteArray) => Encoding::DELTA_LENGTH_BYTE_ARRAY,
            (2, PhysicalType::ByteArray) => Encoding::DELTA_BYTE_ARRAY,
            (1, PhysicalType::FixedLenByteArray(_)) => Encoding::BYTE_STREAM_SPLIT,
            (2, PhysicalType::FixedLenByteArray(_)) => Encoding::DELTA_BYTE_ARRAY,
            (1 | 2, PhysicalType::Boolean) => Encoding::RLE,
            _ => Encoding::PLAIN,
        }
    }
}

/// Levels and values of a leaf.
#[derive(Debug, Clone)]
pub(super) struct Column<V> {
    pub(super) physical: PhysicalType,
    pub(super) max_definition: i16,
    pub(super) max_repetition: i16,
    pub(super) rows: usize,
    pub(super) definition: Vec<i16>,
    pub(super) repetition: Vec<i16>,
    pub(super) values: Vec<V>,
}

impl<V> Column<V> {
    pub(super) fn required(physical: PhysicalType, values: Vec<V>) -> Column<V> {
        Column {
            physical,
            max_definition: 0,
            max_repetition: 0,
            rows: values.len(),
            definition: Vec::new(),
            repetition: Vec::new(),
            values,
        }
    }

    pub(super) fn random(
        random: &mut Random,
        physical: PhysicalType,
        (max_definition, max_repetition): (i16, i16),
        rows: usize,
        value: impl Fn(&mut Random) -> V,
    ) -> Column<V> {
        let mut column = Column {
            max_definition,
            max_repetition,
            rows,
            ..Column::required(physical, Vec::new())
        };
        for _ in 0..rows {
            let more = if max_repetition > 0 {
                random.below(4)
            } else {
                0
            };
            for entry in 0..=more {
                if max_repetition > 0 {
                    let level = 1 + random.below(max_repetition as u64) as i16;
                    column.repetition.push(if entry == 0 { 0 } else { level });
                }
                let mut level = max_definition;
                if max_definition > 0 && random.below(5) == 0 {
                    level = random.below(max_definition as u64) as i16;
                }
                if max_definition > 0 {
                    column.definition.push(level);
                }
                if level == max_definition {
                    column.values.push(value(random));
                }
            }
        }
        column
    }

    pub(super) fn entries(&self) -> usize {
        self.definition
            .len()
            .max(self.repetition.len())
            .max(self.values.len())
    }
}

/// The chunk without those rows, all of its values encoded anew.
pub(super) fn anew(
    source: &SourceChunk<'_>,
    deleted: &RoaringBitmap,
) -> Result<MadeChunk, ParquetError> {
    let chunk = input::read_chunk(source)?;
    encoded_anew(source, &chunk, deleted, Change::Keep)
}

/// The chunk without those rows, its pages patched.
pub(super) fn patched(
    source: &SourceChunk<'_>,
    deleted: &RoaringBitmap,
) -> Result<MadeChunk, String> {
    let chunk = input::read_chunk(source).map_err(|error| error.to_string())?;
    patch::patch_chunk(source, &chunk, deleted)
}

/// A file that holds one column chunk and what a footer would say of it.
pub(super) struct Written {
    pub(super) object: MemoryObject,
    pub(super) length: u64,
    /// The size of all pages but the dictionary.
    pub(super) data_pages: u64,
    pub(super) encodings: Vec<i32>,
    pub(super) has_dictionary: bool,
    pub(super) num_values: u64,
    pub(super) rows: u64,
    pub(super) uncompressed_size: u64,
    pub(super) codec: i32,
    pub(super) physical: PhysicalType,
    pub(super) annotation: Annotation,
    pub(super) levels: (i16, i16),
    /// What the footer says of the values.
    pub(super) null_count: Option<u64>,
    pub(super) bounds: Option<(Vec<u8>, Vec<u8>)>,
}

impl Written {
    pub(super) fn shape(&self) -> ChunkShape<'_> {
        ChunkShape {
            codec: self.codec,
            encodings: &self.encodings,
            has_dictionary: self.has_dictionary,
            num_values: self.num_values,
            rows: self.rows,
            uncompressed_size: self.uncompressed_size,
            physical: self.physical,
            annotation: self.annotation,
            max_definition: self.levels.0,
            max_repetition: self.levels.1,
        }
    }

    pub(super) fn source(&self) -> SourceChunk<'_> {
        SourceChunk {
            reader: &self.object,
            location: "part-0.parquet",
            column: "a.b",
            start: START as u64,
            length: self.length,
            shape: self.shape(),
            statistics: self.statistics(),
            zone: Some(&UTC),
        }
    }

    fn statistics(&self) -> SourceStatistics<'_> {
        let bounds = self.bounds.as_ref();
        SourceStatistics {
            null_count: self.null_count,
            bounds: bounds.map(|(least, greatest)| (&least[..], &greatest[..])),
        }
    }

    /// The same with what a footer would say of the values.
    pub(super) fn with_statistics(&self) -> Written {
        let made = anew(&self.source(), &RoaringBitmap::new()).expect("made");
        let statistics = made.statistics.expect("always there");
        let bounds = statistics.bounds;
        Written {
            null_count: Some(statistics.null_count),
            bounds: bounds.map(|(least, greatest)| (least.to_vec(), greatest.to_vec())),
            object: object(&self.pages()),
            encodings: self.encodings.clone(),
            ..*self
        }
    }

    /// The pages.
    pub(super) fn pages(&self) -> Vec<u8> {
        let mut pages = vec![0; self.length as usize];
        let read = crate::storage::ObjectReader::read_at(&self.object, &mut pages, START as u64);
        assert_eq!(read.expect("in memory"), pages.len());
        pages
    }

    /// The same with other pages.
    pub(super) fn with_pages(self, pages: &[u8]) -> Written {
        Written {
            object: object(pages),
            length: pages.len() as u64,
            ..self
        }
    }
}

fn object(pages: &[u8]) -> MemoryObject {
    MemoryObject::new([&[b'x'; START], pages, &[b'y'; 9]].concat())
}

pub(super) fn write<T: DataType>(column: &Column<T::T>, style: &Style) -> Written {
    let (max_definition, max_repetition) = (column.max_definition, column.max_repetition);
    let leaf = input::descriptor(column.physical, max_definition, max_repetition).expect("a leaf");
    let properties = WriterProperties::builder()
        .set_writer_version(if style.version_2 {
            WriterVersion::PARQUET_2_0
        } else {
            WriterVersion::PARQUET_1_0
        })
        .set_compression(codec::source_codec(style.codec).unwrap_or(Compression::UNCOMPRESSED))
        .set_dictionary_enabled(style.dictionary)
        .set_dictionary_page_size_limit(style.dictionary_limit)
        .set_encoding(style.encoding(column.physical))
        .set_data_page_row_count_limit(style.page_rows)
        .set_write_batch_size(64)
        .build();
    let pages = Arc::new(Mutex::new(TrackedWrite::new(Vec::new())));
    let sink = Box::new(SharedPages(Arc::clone(&pages)));
    let mut writer =
        get_typed_column_writer::<T>(get_column_writer(leaf, Arc::new(properties), sink));
    if column.rows > 0 {
        writer
            .write_batch(
                &column.values,
                (max_definition > 0).then_some(&column.definition[..]),
                (max_repetition > 0).then_some(&column.repetition[..]),
            )
            .expect("written");
    }
    let metadata = writer.close().expect("closed").metadata;
    let pages = Arc::into_inner(pages).expect("the writer is gone");
    let pages = pages
        .into_inner()
        .expect("no panic")
        .into_inner()
        .expect("in memory");
    Written {
        object: object(&pages),
        length: pages.len() as u64,
        data_pages: pages.len() as u64 - metadata.data_page_offset() as u64,
        encodings: metadata.encodings().map(|used| used as i32).collect(),
        has_dictionary: metadata.dictionary_page_offset().is_some(),
        num_values: column.entries() as u64,
        rows: column.rows as u64,
        uncompressed_size: metadata.uncompressed_size() as u64,
        codec: style.codec,
        physical: column.physical,
        annotation: Annotation::None,
        levels: (max_definition, max_repetition),
        null_count: None,
        bounds: None,
    }
}

/// The encodings of data pages in their order, each once for those that follow each other.
pub(super) fn data_encodings(pages: &Bytes) -> Vec<i32> {
    let limits = ChunkLimits {
        length: pages.len() as u64,
        expansion: u64::MAX,
        smallest_value: 0,
    };
    let mut encodings = Vec::new();
    let read = |at: u64, length| Ok(pages.slice(at as usize..at as usize + length));
    page_encodings(limits, read, |encoding| encodings.push(encoding)).expect("sound pages");
    encodings.dedup();
    encodings
}

/// Reads what was made, all at once, and checks what it says of itself.
pub(super) fn read<T: DataType>(
    made: &MadeChunk,
    physical: PhysicalType,
    (max_definition, max_repetition): (i16, i16),
    rows: usize,
) -> Column<T::T> {
    let leaf = input::descriptor(physical, max_definition, max_repetition).expect("a leaf");
    let metadata = ColumnChunkMetaData::builder(Arc::clone(&leaf))
        .set_compression(codec::source_codec(made.codec).expect("a codec"))
        .set_data_page_offset(made.data_page_at as i64)
        .set_dictionary_page_offset(made.dictionary_page_at.map(|at| at as i64))
        .set_total_compressed_size(made.bytes.len() as i64)
        .build()
        .expect("metadata");
    let bytes = Arc::new(made.bytes.clone());
    let pages = SerializedPageReader::new(bytes, &metadata, rows, None).expect("pages");
    let mut reader = get_typed_column_reader::<T>(get_column_reader(leaf, Box::new(pages)));
    let mut column = Column {
        max_definition,
        max_repetition,
        rows,
        ..Column::required(physical, Vec::new())
    };
    let (records, values, levels) = reader
        .read_records(
            usize::MAX,
            Some(&mut column.definition),
            Some(&mut column.repetition),
            &mut column.values,
        )
        .expect("read");
    assert_eq!((records, values), (rows, column.values.len()));
    assert_eq!(levels as u64, made.num_values);
    for encoding in &made.encodings {
        assert!([0, 2, 3, 8].contains(encoding), "{encoding}");
    }
    column
}

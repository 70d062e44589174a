//! Reading row groups and column chunks, and checking that they agree with the schema and lie in the
//! file.

use std::ops::Range;

use super::{Bounds, ChunkMeta, RowGroupMeta, SortingColumn};
use crate::parquet::leaves::LeafShape;
use crate::parquet::thrift::{Damage, Field, Kind, Reader};

/// The magic number in front of the first column chunk, bytes.
const MAGIC: u64 = 4;

/// How many column chunks are read, a bound for memory: 10,000 columns in 200 row groups.
const MAX_CHUNKS: usize = 2_000_000;

/// Reads row groups of a footer.
pub(super) struct Parser<'a> {
    /// The thrift struct `FileMetaData`.
    pub(super) metadata: &'a [u8],
    /// Where it starts in the file.
    pub(super) data_end: u64,
    /// Those of the schema.
    pub(super) leaves: Vec<LeafShape>,
}

impl Parser<'_> {
    /// The row groups whose list starts at `at` of the metadata.
    pub(super) fn row_groups(&self, at: usize) -> Result<Vec<RowGroupMeta>, Damage> {
        let mut reader = Reader::new(&self.metadata[at..]);
        let count = reader.struct_list("row_groups")?;
        // Grown one by one: `count` is a claim until its elements have been read.
        let (mut groups, mut chunks) = (Vec::new(), 0);
        for index in 0..count {
            chunks += self.leaves.len();
            if chunks > MAX_CHUNKS {
                return Err(Damage(format!(
                    "it has more than {MAX_CHUNKS} column chunks, which is the most that are read"
                )));
            }
            let group = self
                .row_group(&mut reader)
                .map_err(|Damage(reason)| Damage(format!("row group {index}: {reason}")))?;
            groups.push(group);
        }
        Ok(groups)
    }

    fn row_group(&self, reader: &mut Reader<'_>) -> Result<RowGroupMeta, Damage> {
        let (mut num_rows, mut chunks, mut sorting) = (None, Vec::new(), Vec::new());
        let mut last = 0;
        while let Some(field) = reader.field(&mut last)? {
            match field.id {
                1 => {
                    field.expect(Kind::List, "RowGroup.columns")?;
                    chunks = self.column_chunks(reader)?;
                }
                3 => num_rows = Some(unsigned(reader, field, "RowGroup.num_rows")?),
                4 => {
                    field.expect(Kind::List, "RowGroup.sorting_columns")?;
                    sorting = sorting_columns(reader)?;
                }
                _ => reader.skip(field)?,
            }
        }
        Ok(RowGroupMeta {
            num_rows: num_rows.ok_or_else(|| Damage("it has no num_rows".to_owned()))?,
            chunks,
            sorting,
        })
    }

    fn column_chunks(&self, reader: &mut Reader<'_>) -> Result<Vec<ChunkMeta>, Damage> {
        let count = reader.struct_list("RowGroup.columns")?;
        let mut chunks = Vec::new();
        for leaf in 0..count {
            let start = self.metadata.len() - reader.remaining();
            let bytes = reader.raw_struct()?;
            let chunk = self
                .column_chunk(bytes, start, leaf)
                .map_err(|Damage(reason)| Damage(format!("column chunk {leaf}: {reason}")))?;
            chunks.push(chunk);
        }
        Ok(chunks)
    }

    fn column_chunk(&self, bytes: &[u8], at: usize, leaf: usize) -> Result<ChunkMeta, Damage> {
        let mut found = Found::default();
        found.read_chunk(&mut Reader::new(bytes))?;
        let LeafShape { physical, .. } = *self.leaves.get(leaf).ok_or_else(|| {
            Damage("there are more column chunks than leaves in the schema".to_owned())
        })?;
        let stored = require(found.physical, "type")?;
        if stored != physical.number() {
            return Err(Damage(format!(
                "it has the physical type {stored}, but its leaf is {physical}"
            )));
        }
        let length = require(found.compressed_size, "total_compressed_size")?;
        let data_page_offset = require(found.data_page_offset, "data_page_offset")?;
        // Writers leave the offset out or write 0 where there is no dictionary page.
        let dictionary_page_offset = found.dictionary_page_offset.filter(|&offset| offset > 0);
        let num_values = require(found.num_values, "num_values")?;
        // pyarrow writes the dictionary page of a chunk without values, and no data page.
        let has_data = num_values > 0 || data_page_offset > 0;
        let start = dictionary_page_offset.map_or(data_page_offset, |dictionary| match has_data {
            true => dictionary.min(data_page_offset),
            false => dictionary,
        });
        let chunk = self.within("it", start, length)?;
        if length > 0 && has_data && !chunk.contains(&data_page_offset) {
            return Err(Damage(format!(
                "its first data page is at {data_page_offset}, but it takes the bytes {chunk:?}"
            )));
        }
        let bounds = found.bounds();
        Ok(ChunkMeta {
            codec: require(found.codec, "codec")?,
            encodings: require(found.encodings, "encodings")?,
            num_values,
            uncompressed_size: require(found.uncompressed_size, "total_uncompressed_size")?,
            start,
            length,
            data_page_offset,
            dictionary_page_offset,
            null_count: found.null_count.filter(|&nulls| nulls <= num_values),
            column_index: self.index("column index", found.column_index)?,
            offset_index: self.index("offset index", found.offset_index)?,
            bounds,
            thrift: at..at + bytes.len(),
        })
    }

    /// The range, which has to lie in front of the footer and behind the magic number unless it is
    /// empty.
    fn within(&self, what: &str, start: u64, length: u64) -> Result<Range<u64>, Damage> {
        match start.checked_add(length) {
            Some(end) if end <= self.data_end && (length == 0 || start >= MAGIC) => Ok(start..end),
            _ => Err(Damage(format!(
                "{what} takes {length} bytes from {start} on, but the data of the file is the \
                 bytes {MAGIC}..{}",
                self.data_end
            ))),
        }
    }

    fn index(
        &self,
        what: &str,
        found: (Option<u64>, Option<u64>),
    ) -> Result<Option<Range<u64>>, Damage> {
        match found {
            (Some(start), Some(length)) if length > 0 => {
                Ok(Some(self.within(what, start, length)?))
            }
            _ => Ok(None),
        }
    }
}

/// The fields of `ColumnChunk` and of the structs in it that have been read.
#[derive(Default)]
struct Found {
    physical: Option<i32>,
    encodings: Option<Vec<i32>>,
    codec: Option<i32>,
    num_values: Option<u64>,
    uncompressed_size: Option<u64>,
    compressed_size: Option<u64>,
    data_page_offset: Option<u64>,
    dictionary_page_offset: Option<u64>,
    offset_index: (Option<u64>, Option<u64>),
    column_index: (Option<u64>, Option<u64>),
    null_count: Option<u64>,
    /// Whether there are the older `min` or `max`; `min_value` or `max_value`; and both of those.
    older: bool,
    any: bool,
    both: bool,
    inexact: bool,
}

impl Found {
    fn read_chunk(&mut self, reader: &mut Reader<'_>) -> Result<(), Damage> {
        let mut seen = false;
        let mut last = 0;
        while let Some(field) = reader.field(&mut last)? {
            let (number, name) = match field.id {
                3 => {
                    field.expect(Kind::Struct, "ColumnChunk.meta_data")?;
                    // Were there two, readers would disagree about which one holds.
                    if std::mem::replace(&mut seen, true) {
                        return Err(Damage("it has meta_data twice".to_owned()));
                    }
                    self.read_meta_data(reader)?;
                    continue;
                }
                4 => (&mut self.offset_index.0, "offset_index_offset"),
                5 => (&mut self.offset_index.1, "offset_index_length"),
                6 => (&mut self.column_index.0, "column_index_offset"),
                7 => (&mut self.column_index.1, "column_index_length"),
                _ => {
                    reader.skip(field)?;
                    continue;
                }
            };
            set(number, unsigned(reader, field, name)?, name)?;
        }
        Ok(())
    }

    fn read_meta_data(&mut self, reader: &mut Reader<'_>) -> Result<(), Damage> {
        let mut last = 0;
        while let Some(field) = reader.field(&mut last)? {
            let (number, name) = match field.id {
                1 => {
                    field.expect(Kind::I32, "type")?;
                    set(&mut self.physical, reader.i32()?, "type")?;
                    continue;
                }
                2 => {
                    field.expect(Kind::List, "encodings")?;
                    set(
                        &mut self.encodings,
                        reader.i32_list("encodings")?,
                        "encodings",
                    )?;
                    continue;
                }
                4 => {
                    field.expect(Kind::I32, "codec")?;
                    set(&mut self.codec, reader.i32()?, "codec")?;
                    continue;
                }
                12 => {
                    field.expect(Kind::Struct, "statistics")?;
                    self.read_statistics(reader)?;
                    continue;
                }
                5 => (&mut self.num_values, "num_values"),
                6 => (&mut self.uncompressed_size, "total_uncompressed_size"),
                7 => (&mut self.compressed_size, "total_compressed_size"),
                9 => (&mut self.data_page_offset, "data_page_offset"),
                11 => (&mut self.dictionary_page_offset, "dictionary_page_offset"),
                _ => {
                    reader.skip(field)?;
                    continue;
                }
            };
            set(number, unsigned(reader, field, name)?, name)?;
        }
        Ok(())
    }

    fn read_statistics(&mut self, reader: &mut Reader<'_>) -> Result<(), Damage> {
        let (mut min, mut max) = (false, false);
        let mut last = 0;
        while let Some(field) = reader.field(&mut last)? {
            match field.id {
                1 | 2 => self.older = true,
                3 => {
                    field.expect(Kind::I64, "null_count")?;
                    self.null_count = u64::try_from(reader.i64()?).ok();
                    continue;
                }
                5 => max = true,
                6 => min = true,
                7 | 8 => self.inexact |= !field.bool("is_value_exact")?,
                _ => {}
            }
            reader.skip(field)?;
        }
        self.any |= min || max;
        self.both |= min && max;
        Ok(())
    }

    fn bounds(&self) -> Bounds {
        match (self.both, self.inexact, self.any || self.older) {
            (true, false, _) => Bounds::Exact,
            (_, _, true) => Bounds::Partial,
            _ => Bounds::Absent,
        }
    }
}

fn sorting_columns(reader: &mut Reader<'_>) -> Result<Vec<SortingColumn>, Damage> {
    let mut columns = Vec::new();
    for _ in 0..reader.struct_list("RowGroup.sorting_columns")? {
        let (mut leaf, mut descending, mut nulls_first) = (None, None, None);
        let mut last = 0;
        while let Some(field) = reader.field(&mut last)? {
            match field.id {
                1 => {
                    field.expect(Kind::I32, "SortingColumn.column_idx")?;
                    leaf = Some(reader.i32()?);
                }
                2 => descending = Some(field.bool("SortingColumn.descending")?),
                3 => nulls_first = Some(field.bool("SortingColumn.nulls_first")?),
                _ => reader.skip(field)?,
            }
        }
        columns.push(SortingColumn {
            leaf: require(leaf, "column_idx")?,
            descending: require(descending, "descending")?,
            nulls_first: require(nulls_first, "nulls_first")?,
        });
    }
    Ok(columns)
}

/// A number of 32 or 64 bits that is not negative.
fn unsigned(reader: &mut Reader<'_>, field: Field, name: &str) -> Result<u64, Damage> {
    if field.kind != Kind::I32 {
        field.expect(Kind::I64, name)?;
    }
    let value = reader.i64()?;
    u64::try_from(value).map_err(|_| Damage(format!("{name} is {value}")))
}

fn set<T>(slot: &mut Option<T>, value: T, name: &str) -> Result<(), Damage> {
    match slot.replace(value) {
        None => Ok(()),
        Some(_) => Err(Damage(format!("it has {name} twice"))),
    }
}

fn require<T>(value: Option<T>, name: &str) -> Result<T, Damage> {
    value.ok_or_else(|| Damage(format!("it has no {name}")))
}

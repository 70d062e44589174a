//! What the statistics of a file prove about its columns.

use super::chunks::{Bounds, ChunkMeta};
use super::footer::Footer;
use super::rewrite::SourceStatistics;
use super::thrift::{Damage, Kind, Reader};

/// What a leaf column holds in every row of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Constant<'a> {
    /// The file has no rows, so whatever one likes.
    NoRows,
    /// Null.
    Null,
    /// This value, plainly encoded, a byte array without its length: numbers little-endian.
    Value(&'a [u8]),
}

/// What the statistics of one column chunk say.
#[derive(Default)]
struct ChunkStatistics<'a> {
    /// The rows of the row group.
    num_rows: Option<i64>,
    num_values: Option<i64>,
    null_count: Option<i64>,
    min: Option<&'a [u8]>,
    max: Option<&'a [u8]>,
}

impl Footer {
    /// What the leaf column at position `leaf` is proven to hold in every row; `None` without proof.
    ///
    /// The proof is that each row group has only nulls, or has none and a `min_value` that is its
    /// `max_value`: bounds that are equal are values, also where they may be inexact. It does not
    /// hold for floating-point columns, whose bounds leave out NaN and take -0.0 for 0.0, nor for
    /// repeated ones.
    pub fn constant(&self, leaf: usize) -> Option<Constant<'_>> {
        let mut reader = Reader::new(&self.metadata[self.row_groups_at..]);
        constant(&mut reader, leaf).expect("the row groups were read once before")
    }

    /// How many nulls the leaf column at position `leaf` has; `None` where a row group does not say.
    pub fn null_count(&self, leaf: usize) -> Option<u64> {
        self.sum(leaf, |chunk| {
            let values = chunk.num_values?;
            chunk.null_count.filter(|&nulls| nulls <= values)
        })
    }

    /// How many values and nulls the leaf column at position `leaf` has: entries, for a repeated
    /// one.
    pub fn num_values(&self, leaf: usize) -> Option<u64> {
        self.sum(leaf, |chunk| chunk.num_values)
    }

    /// What the statistics of a chunk, one of the footer's, say of its values.
    pub fn chunk_statistics(&self, chunk: &ChunkMeta) -> SourceStatistics<'_> {
        let bytes = self.metadata.get(chunk.thrift.clone()).unwrap_or_default();
        let found = read_column_chunk(&mut Reader::new(bytes)).unwrap_or_default();
        SourceStatistics {
            null_count: chunk.null_count,
            bounds: match chunk.bounds {
                Bounds::Exact => found.min.zip(found.max),
                Bounds::Partial | Bounds::Absent => None,
            },
        }
    }

    fn sum(
        &self,
        leaf: usize,
        number: impl Fn(&ChunkStatistics<'_>) -> Option<i64>,
    ) -> Option<u64> {
        let mut reader = Reader::new(&self.metadata[self.row_groups_at..]);
        let groups = reader.struct_list("row_groups");
        (0..groups.expect("the row groups were read once before")).try_fold(0u64, |sum, _| {
            let chunk = read_row_group(&mut reader, leaf);
            let chunk = chunk.expect("the row groups were read once before");
            sum.checked_add(u64::try_from(number(&chunk)?).ok()?)
        })
    }

    /// Whether the numbers of the leaf column at position `leaf`, an INT32 or INT64 one, are proven
    /// to be `bound` or more, nulls aside.
    pub fn is_at_least(&self, leaf: usize, bound: i64) -> bool {
        let mut reader = Reader::new(&self.metadata[self.row_groups_at..]);
        is_at_least(&mut reader, leaf, bound).expect("the row groups were read once before")
    }
}

fn is_at_least(reader: &mut Reader<'_>, leaf: usize, bound: i64) -> Result<bool, Damage> {
    for _ in 0..reader.struct_list("row_groups")? {
        let chunk = read_row_group(reader, leaf)?;
        let only_nulls = chunk.num_values.is_some() && chunk.num_values == chunk.null_count;
        if !only_nulls && chunk.least().is_none_or(|least| least < bound) {
            return Ok(false);
        }
    }
    Ok(true)
}

fn constant<'a>(reader: &mut Reader<'a>, leaf: usize) -> Result<Option<Constant<'a>>, Damage> {
    let mut all = Constant::NoRows;
    for _ in 0..reader.struct_list("row_groups")? {
        let chunk = read_row_group(reader, leaf)?;
        let Some(found) = chunk.constant() else {
            return Ok(None);
        };
        if all == Constant::NoRows {
            all = found;
        } else if found != Constant::NoRows && found != all {
            return Ok(None);
        }
    }
    Ok(Some(all))
}

impl<'a> ChunkStatistics<'a> {
    /// The lower bound of numbers.
    fn least(&self) -> Option<i64> {
        match *self.min? {
            [b0, b1, b2, b3] => Some(i32::from_le_bytes([b0, b1, b2, b3]).into()),
            [..] => Some(i64::from_le_bytes(self.min?.try_into().ok()?)),
        }
    }

    fn constant(&self) -> Option<Constant<'a>> {
        if self.num_values != self.num_rows {
            return None;
        }
        match (self.num_rows?, self.null_count) {
            (0, _) => Some(Constant::NoRows),
            (rows, Some(nulls)) if nulls == rows => Some(Constant::Null),
            (_, Some(0)) if self.min == self.max => self.min.map(Constant::Value),
            _ => None,
        }
    }
}

/// The statistics of one leaf in a row group. Statistics that are not what the format says count as
/// absent, since a footer may be read without them.
fn read_row_group<'a>(reader: &mut Reader<'a>, leaf: usize) -> Result<ChunkStatistics<'a>, Damage> {
    let (mut chunk, mut num_rows) = (ChunkStatistics::default(), None);
    let mut last = 0;
    while let Some(field) = reader.field(&mut last)? {
        match field.id {
            1 => {
                for index in 0..reader.struct_list("RowGroup.columns")? {
                    let mut here = *reader;
                    skip_struct(reader)?;
                    if index == leaf {
                        chunk = read_column_chunk(&mut here).unwrap_or_default();
                    }
                }
            }
            3 => num_rows = Some(reader.i64()?),
            _ => reader.skip(field)?,
        }
    }
    chunk.num_rows = num_rows;
    Ok(chunk)
}

fn skip_struct(reader: &mut Reader<'_>) -> Result<(), Damage> {
    let mut last = 0;
    while let Some(field) = reader.field(&mut last)? {
        reader.skip(field)?;
    }
    Ok(())
}

fn read_column_chunk<'a>(reader: &mut Reader<'a>) -> Result<ChunkStatistics<'a>, Damage> {
    let mut chunk = ChunkStatistics::default();
    let mut last = 0;
    while let Some(field) = reader.field(&mut last)? {
        if field.id != 3 {
            reader.skip(field)?;
            continue;
        }
        field.expect(Kind::Struct, "ColumnChunk.meta_data")?;
        let mut last = 0;
        while let Some(field) = reader.field(&mut last)? {
            match field.id {
                5 => {
                    field.expect(Kind::I64, "ColumnMetaData.num_values")?;
                    chunk.num_values = Some(reader.i64()?);
                }
                12 => {
                    field.expect(Kind::Struct, "ColumnMetaData.statistics")?;
                    read_statistics(reader, &mut chunk)?;
                }
                _ => reader.skip(field)?,
            }
        }
    }
    Ok(chunk)
}

/// Reads `Statistics`. The older `min` and `max` are passed over: for some types they were ordered
/// wrongly.
fn read_statistics<'a>(
    reader: &mut Reader<'a>,
    chunk: &mut ChunkStatistics<'a>,
) -> Result<(), Damage> {
    let mut last = 0;
    while let Some(field) = reader.field(&mut last)? {
        match field.id {
            3 => {
                field.expect(Kind::I64, "Statistics.null_count")?;
                chunk.null_count = Some(reader.i64()?);
            }
            5 | 6 => {
                field.expect(Kind::Binary, "of Statistics")?;
                let bound = if field.id == 5 {
                    &mut chunk.max
                } else {
                    &mut chunk.min
                };
                *bound = Some(reader.binary()?);
            }
            _ => reader.skip(field)?,
        }
    }
    Ok(())
}

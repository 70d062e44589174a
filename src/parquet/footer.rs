//! Reading the footer of a file.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};

use super::ParquetError;
use super::schema::{Node, read_schema};
use super::thrift::{Damage, Field, Kind, Reader};
use crate::storage::ObjectReader;

/// What is read from the end of a file at once: the whole footer of all but very wide files.
const TAIL: u64 = 64 * 1024;

/// The longest footer that is read, in bytes: a bound for memory. 10,000 columns in 150 row groups
/// need about as much.
const MAX_FOOTER: u64 = 256 * 1024 * 1024;

/// The length of the footer and the magic number, behind the footer.
const TRAILER: u64 = 8;

/// The shortest file: a magic number at both ends, and the length.
const SHORTEST: u64 = 4 + TRAILER;

/// The footer of a file, read to its end: a schema, and row groups that agree with it.
///
/// Invariants:
/// 1. `num_rows` is the sum of the rows of the row groups.
/// 2. Each row group has one column chunk for each leaf of the schema.
/// 3. Nothing is encrypted.
#[derive(Debug, Clone)]
pub struct Footer {
    pub(super) location: Arc<str>,
    /// The thrift struct `FileMetaData`.
    pub(super) metadata: Bytes,
    /// Where `metadata` starts in the file.
    pub(super) data_end: u64,
    pub(super) columns: Vec<Node>,
    pub(super) num_rows: u64,
    pub(super) row_groups: usize,
    /// Where the list of row groups starts in `metadata`.
    pub(super) row_groups_at: usize,
    /// Where the list of key-value entries starts in `metadata`.
    pub(super) key_values_at: Option<usize>,
}

impl Footer {
    /// Reads the footer of `reader` in one read of its last 64 KiB (or of all of it), and one more
    /// where the footer is longer.
    pub fn read(reader: &dyn ObjectReader) -> Result<Footer, ParquetError> {
        let location = &reader.meta().path;
        let size = reader.meta().size;
        let tail = read_exactly(reader, size.saturating_sub(TAIL)..size)?;
        let not_parquet = |found: &[u8]| ParquetError::NotParquet {
            location: location.clone(),
            size,
            found: format!("\"{}\"", found.escape_ascii()),
        };
        let Some((head, &[l0, l1, l2, l3, m0, m1, m2, m3])) = tail.split_last_chunk::<8>() else {
            return Err(not_parquet(&tail));
        };
        match &[m0, m1, m2, m3] {
            b"PAR1" if size >= SHORTEST => {}
            b"PARE" if size >= SHORTEST => {
                return Err(ParquetError::Encrypted {
                    location: location.clone(),
                    what: "its footer is",
                });
            }
            magic => return Err(not_parquet(magic)),
        }

        let length = u64::from(u32::from_le_bytes([l0, l1, l2, l3]));
        let too_long = |limit, reason| ParquetError::FooterLength {
            location: location.clone(),
            length,
            limit,
            reason,
        };
        if length > size - SHORTEST {
            return Err(too_long(size - SHORTEST, "fits the file"));
        }
        if length > MAX_FOOTER {
            return Err(too_long(MAX_FOOTER, "is read"));
        }
        let end = size - TRAILER;
        let metadata = match (head.len() as u64).checked_sub(length) {
            // A copy: footers are kept, and a part of the tail would keep all of it.
            Some(start) => Bytes::copy_from_slice(&head[start as usize..]),
            None => {
                let missing = length - head.len() as u64;
                let mut whole = BytesMut::with_capacity(length as usize);
                whole.extend_from_slice(&read_exactly(
                    reader,
                    end - length..end - length + missing,
                )?);
                whole.extend_from_slice(head);
                whole.freeze()
            }
        };
        Footer::parse(metadata, end - length, location)
    }

    /// Parses `metadata`, the thrift struct `FileMetaData` of the file at `location`, which starts
    /// `data_end` bytes into that file.
    pub fn parse(metadata: Bytes, data_end: u64, location: &str) -> Result<Footer, ParquetError> {
        let mut found = Found::default();
        found.read(&metadata).map_err(|stop| match stop {
            Stop::Damage(Damage(reason)) => ParquetError::Malformed {
                location: location.to_owned(),
                reason,
            },
            Stop::Encrypted(what) => ParquetError::Encrypted {
                location: location.to_owned(),
                what,
            },
        })?;
        let missing = |name| ParquetError::Malformed {
            location: location.to_owned(),
            reason: format!("it has no {name}"),
        };
        let (columns, leaves) = found.schema.ok_or_else(|| missing("schema"))?;
        let num_rows = found.num_rows.ok_or_else(|| missing("num_rows"))?;
        let groups = found.row_groups.ok_or_else(|| missing("row_groups"))?;
        let malformed = |reason| ParquetError::Malformed {
            location: location.to_owned(),
            reason,
        };
        if groups.rows != num_rows {
            return Err(malformed(format!(
                "it counts {num_rows} rows, but its row groups {}",
                groups.rows
            )));
        }
        if let Some(chunks) = groups.chunks.filter(|&chunks| chunks != leaves) {
            return Err(malformed(format!(
                "its schema has {leaves} leaf columns, but a row group {chunks}"
            )));
        }
        Ok(Footer {
            columns,
            num_rows,
            row_groups: groups.count,
            row_groups_at: found.row_groups_at,
            key_values_at: found.key_values_at,
            location: location.into(),
            metadata,
            data_end,
        })
    }

    /// The top-level columns.
    pub fn columns(&self) -> &[Node] {
        &self.columns
    }

    /// The rows of the file.
    pub fn num_rows(&self) -> u64 {
        self.num_rows
    }

    /// How many bytes of the file come before the footer.
    pub fn data_end(&self) -> u64 {
        self.data_end
    }

    /// The memory that it takes, about, in bytes.
    pub fn held(&self) -> u64 {
        self.metadata.len() as u64
    }

    /// The number of row groups.
    pub fn row_groups(&self) -> usize {
        self.row_groups
    }

    /// The key-value metadata entry of that name, the first one if there are several; empty where
    /// the entry has no value.
    pub fn key_value(&self, key: &str) -> Option<&[u8]> {
        let mut reader = Reader::new(&self.metadata[self.key_values_at?..]);
        let mut found = None;
        visit_key_values(&mut reader, |name, value| {
            if name == key.as_bytes() {
                found.get_or_insert(value);
            }
        })
        .expect("the entries were read once before, when the footer was parsed");
        found
    }
}

/// Bytes that have to be there.
fn read_exactly(
    reader: &dyn ObjectReader,
    range: std::ops::Range<u64>,
) -> Result<Bytes, ParquetError> {
    let mut buffer = BytesMut::zeroed((range.end - range.start) as usize);
    let count = reader.read_at(&mut buffer, range.start)?;
    if count < buffer.len() {
        return Err(ParquetError::Malformed {
            location: reader.meta().path.clone(),
            reason: format!(
                "only {count} of the {} bytes from {} on are there, though the file was {} bytes \
                 long when it was opened",
                buffer.len(),
                range.start,
                reader.meta().size
            ),
        });
    }
    Ok(buffer.freeze())
}

/// Why reading stops.
enum Stop {
    Damage(Damage),
    Encrypted(&'static str),
}

impl From<Damage> for Stop {
    fn from(damage: Damage) -> Stop {
        Stop::Damage(damage)
    }
}

/// The fields of `FileMetaData` that have been read.
#[derive(Default)]
struct Found {
    schema: Option<(Vec<Node>, usize)>,
    num_rows: Option<u64>,
    row_groups: Option<RowGroups>,
    row_groups_at: usize,
    key_values_at: Option<usize>,
}

/// What all row groups together say.
#[derive(Default)]
struct RowGroups {
    count: usize,
    rows: u64,
    /// The column chunks of each.
    chunks: Option<usize>,
}

impl Found {
    fn read(&mut self, metadata: &[u8]) -> Result<(), Stop> {
        let mut reader = Reader::new(metadata);
        let mut last = 0;
        while let Some(field) = reader.field(&mut last)? {
            match field.id {
                2 => {
                    field.expect(Kind::List, "FileMetaData.schema")?;
                    once("schema", self.schema.is_some())?;
                    self.schema = Some(read_schema(&mut reader)?);
                }
                3 => {
                    once("num_rows", self.num_rows.is_some())?;
                    self.num_rows = Some(row_count(&mut reader, field)?);
                }
                4 => {
                    field.expect(Kind::List, "FileMetaData.row_groups")?;
                    once("row_groups", self.row_groups.is_some())?;
                    self.row_groups_at = metadata.len() - reader.remaining();
                    self.row_groups = Some(read_row_groups(&mut reader)?);
                }
                5 => {
                    field.expect(Kind::List, "FileMetaData.key_value_metadata")?;
                    once("key_value_metadata", self.key_values_at.is_some())?;
                    self.key_values_at = Some(metadata.len() - reader.remaining());
                    visit_key_values(&mut reader, |_, _| {})?;
                }
                8 => return Err(Stop::Encrypted("its columns are")),
                _ => reader.skip(field)?,
            }
        }
        Ok(())
    }
}

fn once(name: &str, seen: bool) -> Result<(), Damage> {
    if seen {
        return Err(Damage(format!("it has {name} twice")));
    }
    Ok(())
}

fn row_count(reader: &mut Reader<'_>, field: Field) -> Result<u64, Damage> {
    field.expect(Kind::I64, "num_rows")?;
    let rows = reader.i64()?;
    u64::try_from(rows).map_err(|_| Damage(format!("it counts {rows} rows")))
}

fn read_row_groups(reader: &mut Reader<'_>) -> Result<RowGroups, Stop> {
    let mut groups = RowGroups {
        count: reader.struct_list("row_groups")?,
        ..RowGroups::default()
    };
    for _ in 0..groups.count {
        let (mut rows, mut chunks) = (None, None);
        let mut last = 0;
        while let Some(field) = reader.field(&mut last)? {
            match field.id {
                1 => {
                    field.expect(Kind::List, "RowGroup.columns")?;
                    chunks = Some(read_column_chunks(reader)?);
                }
                3 => rows = Some(row_count(reader, field)?),
                _ => reader.skip(field)?,
            }
        }
        let (Some(rows), Some(chunks)) = (rows, chunks) else {
            return Err(Damage("a row group lacks its columns or num_rows".to_owned()).into());
        };
        groups.rows = groups
            .rows
            .checked_add(rows)
            .ok_or_else(|| Damage("its row groups count too many rows".to_owned()))?;
        let earlier = *groups.chunks.get_or_insert(chunks);
        if earlier != chunks {
            let reason = format!("its row groups have {earlier} column chunks, and {chunks}");
            return Err(Damage(reason).into());
        }
    }
    Ok(groups)
}

/// Passes over the column chunks of a row group and returns their number.
fn read_column_chunks(reader: &mut Reader<'_>) -> Result<usize, Stop> {
    let count = reader.struct_list("RowGroup.columns")?;
    for _ in 0..count {
        let mut last = 0;
        while let Some(field) = reader.field(&mut last)? {
            if matches!(field.id, 8 | 9) {
                return Err(Stop::Encrypted("its columns are"));
            }
            reader.skip(field)?;
        }
    }
    Ok(count)
}

/// Calls `visit` with each key and value; they are texts, but not checked to be.
fn visit_key_values<'a>(
    reader: &mut Reader<'a>,
    mut visit: impl FnMut(&'a [u8], &'a [u8]),
) -> Result<(), Damage> {
    for _ in 0..reader.struct_list("key_value_metadata")? {
        let (mut key, mut value): (&[u8], &[u8]) = (b"", b"");
        let mut last = 0;
        while let Some(field) = reader.field(&mut last)? {
            let text = match field.id {
                1 => &mut key,
                2 => &mut value,
                _ => {
                    reader.skip(field)?;
                    continue;
                }
            };
            field.expect(Kind::Binary, "of KeyValue")?;
            *text = reader.binary()?;
        }
        visit(key, value);
    }
    Ok(())
}

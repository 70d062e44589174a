//! Deletion vectors: which rows of a data file are no longer in the table (PROTOCOL.md, "Deletion
//! Vectors").

mod bitmap;
mod error;
mod z85;

use std::fmt;

use roaring::{RoaringBitmap, RoaringTreemap};
use uuid::Uuid;

use super::actions::DeletionVectorDescriptor;
use crate::storage::{Location, ObjectReader, TableRoots};

use bitmap::BitmapError;
pub use error::DeletionVectorError;

/// The largest serialised vector that is read, bytes: enough for every other row of a file of
/// four thousand million.
pub const MAX_SIZE: u64 = 512 << 20;

/// The largest row group whose rows [`deleted_in`] numbers.
pub const MAX_GROUP_ROWS: u64 = 1 << 32;

/// The only version of the deletion vector file format.
const FILE_VERSION: u8 = 1;

/// How many bytes a UUID has in Z85.
const UUID_LEN: usize = 20;

/// A vector that begins no later than this is read together with the file's first byte, so that it
/// costs one request.
const NEAR: u64 = 64 << 10;

/// Where a serialised deletion vector lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DvLocation {
    /// In the log: the serialised vector itself.
    Inline(Vec<u8>),
    /// In a deletion vector file.
    File {
        /// The file.
        location: Location,
        /// Where the vector's `dataSize` field begins, bytes; at least 1.
        offset: u64,
        /// Size of the serialised vector, bytes, without `dataSize` and checksum.
        size: u64,
    },
}

/// Its place in words, for messages.
impl fmt::Display for DvLocation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DvLocation::Inline(_) => formatter.write_str("inline in the log"),
            DvLocation::File {
                location, offset, ..
            } => write!(formatter, "{location} at byte {offset}"),
        }
    }
}

/// Where the vector that `descriptor` describes lies (PROTOCOL.md, "Deletion Vector Descriptor
/// Schema" and "Derived Fields"). `file` is the data file, for messages.
///
/// [`DeletionVectorError::Descriptor`] when it breaks the schema, [`DeletionVectorError::TooLarge`]
/// when the vector has more than [`MAX_SIZE`] bytes.
pub fn locate(
    descriptor: &DeletionVectorDescriptor,
    file: &str,
) -> Result<DvLocation, DeletionVectorError> {
    let malformed = |problem: String| DeletionVectorError::Descriptor {
        file: file.to_owned(),
        problem,
    };
    let size = u64::try_from(descriptor.size_in_bytes)
        .map_err(|_| malformed(format!("sizeInBytes is {}", descriptor.size_in_bytes)))?;
    if descriptor.cardinality < 0 {
        let problem = format!("cardinality is {}", descriptor.cardinality);
        return Err(malformed(problem));
    }
    if size > MAX_SIZE {
        return Err(DeletionVectorError::TooLarge {
            file: file.to_owned(),
            what: "the size of its deletion vector in bytes",
            found: size,
            limit: MAX_SIZE,
            advice: "rewrite the data file without its deleted rows: REORG TABLE ... APPLY (PURGE)",
        });
    }
    let text = descriptor.path_or_inline_dv.as_str();
    let location = match descriptor.storage_type.as_str() {
        "i" => {
            return inline(text, size)
                .map(DvLocation::Inline)
                .map_err(malformed);
        }
        "u" => relative(text).map_err(malformed)?,
        "p" => absolute(text).map_err(malformed)?,
        other => {
            let other = beginning(other);
            let problem = format!("storageType is {other:?}, expected u, p or i");
            return Err(malformed(problem));
        }
    };
    // Absent means 0, and byte 0 is the version: either way the first vector is meant. That it is
    // the right one is for its size, checksum and cardinality to prove.
    let offset = match descriptor.offset.unwrap_or(0) {
        0 => 1,
        offset => u64::try_from(offset).map_err(|_| malformed(format!("offset is {offset}")))?,
    };
    Ok(DvLocation::File {
        location,
        offset,
        size,
    })
}

/// The rows that `descriptor` deletes from the data file `file`, counted from 0. `rows` is how many
/// the data file has, where that is known; a vector that deletes others is
/// [`DeletionVectorError::Damaged`], as is one whose size, checksum or cardinality is not what file
/// and log say.
pub fn read(
    roots: &TableRoots,
    descriptor: &DeletionVectorDescriptor,
    file: &str,
    rows: Option<u64>,
) -> Result<RoaringTreemap, DeletionVectorError> {
    let located = locate(descriptor, file)?;
    let vector = Vector {
        file,
        place: &located,
    };
    let deleted = match &located {
        // What Delta on Spark writes for a vector without rows.
        DvLocation::Inline(bytes) if bytes.is_empty() => RoaringTreemap::new(),
        DvLocation::Inline(bytes) => vector.decode(bytes)?,
        DvLocation::File {
            location,
            offset,
            size,
        } => {
            let reader = roots
                .open(location)
                .map_err(|source| vector.storage(source))?;
            vector.read_from(&*reader, *offset, *size)?
        }
    };
    vector.check(&deleted, descriptor.cardinality, rows)?;
    Ok(deleted)
}

/// The rows among `deleted` that lie in a row group of `rows` rows whose first is row `first_row`
/// of the file, counted from the group's first. Takes time by how many there are, not by `rows`.
///
/// [`DeletionVectorError::TooLarge`] when the group has more than [`MAX_GROUP_ROWS`] rows, or ends
/// beyond what 64 bits count. `file` is the data file, for messages.
pub fn deleted_in(
    deleted: &RoaringTreemap,
    first_row: u64,
    rows: u64,
    file: &str,
) -> Result<RoaringBitmap, DeletionVectorError> {
    let end = first_row.checked_add(rows);
    let (Some(end), true) = (end, rows <= MAX_GROUP_ROWS) else {
        return Err(DeletionVectorError::TooLarge {
            file: file.to_owned(),
            what: "the number of rows of a row group",
            found: rows,
            limit: MAX_GROUP_ROWS,
            advice: "rewrite the data file with smaller row groups",
        });
    };
    let mut within = deleted.iter();
    within.advance_to(first_row);
    let relative = within
        .take_while(|row| *row < end)
        .map(|row| (row - first_row) as u32);
    Ok(RoaringBitmap::from_sorted_iter(relative).expect("a set iterates in ascending order"))
}

/// The bytes of an inline vector, with or without padding to a multiple of four.
fn inline(text: &str, size: u64) -> Result<Vec<u8>, String> {
    let mut bytes =
        z85::decode(text).map_err(|problem| format!("pathOrInlineDv is no Z85: {problem}"))?;
    if ![size, size.next_multiple_of(4)].contains(&(bytes.len() as u64)) {
        return Err(format!(
            "sizeInBytes is {size}, and pathOrInlineDv holds {} bytes",
            bytes.len()
        ));
    }
    bytes.truncate(size as usize);
    Ok(bytes)
}

/// `<random prefix>/deletion_vector_<uuid>.bin`, from the prefix, which may be empty, and the UUID
/// in Z85.
fn relative(text: &str) -> Result<Location, String> {
    let split = text
        .len()
        .checked_sub(UUID_LEN)
        .and_then(|at| text.split_at_checked(at));
    let Some((prefix, uuid)) = split else {
        return Err(format!(
            "pathOrInlineDv is {:?}, expected an optional prefix and a UUID as {UUID_LEN} Z85 \
             characters",
            beginning(text)
        ));
    };
    let bytes = z85::decode(uuid)
        .map_err(|problem| format!("pathOrInlineDv ends in {uuid:?}, no Z85: {problem}"))?;
    let Ok(bytes) = <[u8; 16]>::try_from(bytes) else {
        return Err(format!(
            "pathOrInlineDv ends in {uuid:?}, expected 16 bytes"
        ));
    };
    let name = format!("deletion_vector_{}.bin", Uuid::from_bytes(bytes));
    Ok(Location::Relative(match prefix {
        "" => name,
        prefix => format!("{prefix}/{name}"),
    }))
}

fn absolute(text: &str) -> Result<Location, String> {
    match Location::parse(text) {
        Ok(location @ Location::Absolute(_)) => Ok(location),
        Ok(Location::Relative(_)) => Err(format!(
            "pathOrInlineDv is {:?}, expected an absolute path for storageType p",
            beginning(text)
        )),
        Err(error) => Err(format!("pathOrInlineDv is no path: {error}")),
    }
}

/// As much of a text from the log as a message can bear.
fn beginning(text: &str) -> &str {
    &text[..text.floor_char_boundary(100)]
}

/// A vector that is being read.
struct Vector<'a> {
    file: &'a str,
    place: &'a DvLocation,
}

impl Vector<'_> {
    /// Reads a vector by PROTOCOL.md, "Deletion Vector File Storage Format".
    fn read_from(
        &self,
        reader: &dyn ObjectReader,
        offset: u64,
        size: u64,
    ) -> Result<RoaringTreemap, DeletionVectorError> {
        let end = offset + 4 + size + 4;
        let there = reader.meta().size;
        if end > there {
            return Err(self.damaged(format!(
                "it ends at byte {end}, and its file has only {there} bytes"
            )));
        }
        let start = if offset <= NEAR { 0 } else { offset };
        let bytes = self.bytes(reader, start, end)?;
        let version = match start {
            0 => bytes[0],
            _ => self.bytes(reader, 0, 1)?[0],
        };
        if version != FILE_VERSION {
            return Err(DeletionVectorError::Format {
                file: self.file.to_owned(),
                place: self.place.to_string(),
                field: "file format version",
                found: version.into(),
                expected: FILE_VERSION.into(),
            });
        }
        let framed = &bytes[(offset - start) as usize..];
        let (data_size, framed) = framed
            .split_first_chunk()
            .expect("offset + 8 bytes were read");
        let data_size = u32::from_be_bytes(*data_size);
        if u64::from(data_size) != size {
            return Err(self.damaged(format!(
                "its file says it has {data_size} bytes, and the log says {size}"
            )));
        }
        let (data, checksum) = framed
            .split_last_chunk()
            .expect("four bytes follow the data");
        let checksum = u32::from_be_bytes(*checksum);
        let computed = crc32fast::hash(data);
        if checksum != computed {
            return Err(self.damaged(format!(
                "its checksum is {checksum:#010x}, and that of its bytes {computed:#010x}"
            )));
        }
        self.decode(data)
    }

    /// The bytes from `start` to `end`, which the object's size covers.
    fn bytes(
        &self,
        reader: &dyn ObjectReader,
        start: u64,
        end: u64,
    ) -> Result<Vec<u8>, DeletionVectorError> {
        let mut bytes = vec![0; (end - start) as usize];
        let count = reader
            .read_at(&mut bytes, start)
            .map_err(|source| self.storage(source))?;
        if count < bytes.len() {
            let at = start + count as u64;
            return Err(self.damaged(format!("its file ends at byte {at}, before byte {end}")));
        }
        Ok(bytes)
    }

    fn decode(&self, bytes: &[u8]) -> Result<RoaringTreemap, DeletionVectorError> {
        bitmap::decode(bytes).map_err(|error| match error {
            BitmapError::Magic(found) => DeletionVectorError::Format {
                file: self.file.to_owned(),
                place: self.place.to_string(),
                field: "magic number",
                found,
                expected: bitmap::MAGIC,
            },
            BitmapError::Damaged(problem) => self.damaged(problem),
        })
    }

    /// Compares what was decoded with what log and data file say.
    fn check(
        &self,
        deleted: &RoaringTreemap,
        cardinality: i64,
        rows: Option<u64>,
    ) -> Result<(), DeletionVectorError> {
        let count = deleted.len();
        if i64::try_from(count) != Ok(cardinality) {
            return Err(self.damaged(format!(
                "it deletes {count} rows, and the log says {cardinality}"
            )));
        }
        match (deleted.max(), rows) {
            (Some(last), Some(rows)) if last >= rows => Err(self.damaged(format!(
                "it deletes row {last} (counted from 0), and the data file has {rows} rows"
            ))),
            _ => Ok(()),
        }
    }

    fn damaged(&self, problem: String) -> DeletionVectorError {
        DeletionVectorError::Damaged {
            file: self.file.to_owned(),
            place: self.place.to_string(),
            problem,
        }
    }

    fn storage(&self, source: crate::storage::StorageError) -> DeletionVectorError {
        DeletionVectorError::Storage {
            file: self.file.to_owned(),
            place: self.place.to_string(),
            source,
        }
    }
}

#[cfg(test)]
mod tests;

//! Making one column chunk of another: rows dropped, values converted, or nulls beside it.
//!
//! Values and levels are decoded in batches and encoded anew, without going through rows: records
//! of any nesting, INT96 and fixed-length arrays stay what they are. Where rows are dropped and
//! nothing else is done, pages are patched instead if they can be, which is faster. The chunk is
//! hostile: its pages are checked before they are decoded, a panic of the decoder is an error, and
//! what the footer says of the number of rows and values has to come true.

mod batch;
mod bounds;
mod codec;
mod compressor;
mod convert;
mod delta;
mod input;
mod output;
mod pages;
mod patch;
mod records;
mod size;
#[cfg(test)]
mod tests;

use ::parquet::data_type::{
    BoolType, ByteArrayType, DataType, DoubleType, FixedLenByteArrayType, FloatType, Int32Type,
    Int64Type, Int96Type,
};
use bytes::Bytes;
use roaring::RoaringBitmap;

use super::format::encoding;
use super::{
    Annotation, Conversion, MadeChunk, MadeStatistics, OldZone, ParquetError, PhysicalType,
};
use crate::base::panics::caught_as;
use crate::storage::ObjectReader;
use batch::Batch;
use bounds::{Bounds, Order, Value};
use input::ChunkInput;
use output::ChunkOutput;

pub use codec::expansion_of;
pub use patch::SourceStatistics;
pub use size::size_bound;

/// The largest chunk that is read or made, bytes. Readers take the size of a page as 32 bits.
const MAX_MADE: u64 = i32::MAX as u64;

/// A column chunk of a file, and where its bytes are.
#[derive(Debug, Clone, Copy)]
pub struct SourceChunk<'a> {
    /// The file.
    pub reader: &'a dyn ObjectReader,
    /// The path of the file, for messages.
    pub location: &'a str,
    /// The dotted path of the leaf, for messages.
    pub column: &'a str,
    /// Where the first page starts, the dictionary page where there is one.
    pub start: u64,
    /// Size of all pages, bytes.
    pub length: u64,
    /// What the footer says of it.
    pub shape: ChunkShape<'a>,
    /// What the footer says of its values. It is believed.
    pub statistics: SourceStatistics<'a>,
    /// The time zone in which instants are in an older calendar ([`Footer::old_zone`]).
    ///
    /// [`Footer::old_zone`]: super::Footer::old_zone
    pub zone: Option<&'a OldZone>,
}

/// What a footer says of a column chunk, as far as it bears on making another of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChunkShape<'a> {
    /// The compression, by its number in the format (`CompressionCodec`).
    pub codec: i32,
    /// The encodings, by their numbers in the format (`Encoding`).
    pub encodings: &'a [i32],
    /// Whether it has a `dictionary_page_offset`.
    pub has_dictionary: bool,
    /// Values and nulls: entries, for a repeated leaf.
    pub num_values: u64,
    /// The rows of the row group.
    pub rows: u64,
    /// `total_uncompressed_size`.
    pub uncompressed_size: u64,
    /// How values are stored.
    pub physical: PhysicalType,
    /// What they mean. It decides their order.
    pub annotation: Annotation,
    /// The definition level of a value that is there.
    pub max_definition: i16,
    /// The repetition level of the innermost list the leaf is in.
    pub max_repetition: i16,
}

impl ChunkShape<'_> {
    /// The encodings of the format that are said to be used, by their numbers.
    fn uses(&self, encodings: &[i32]) -> bool {
        self.encodings.iter().any(|used| encodings.contains(used))
    }

    /// Whether values lie in a dictionary, all or some.
    fn is_dictionary_encoded(&self) -> bool {
        self.has_dictionary || self.encodings.iter().copied().any(encoding::is_dictionary)
    }
}

/// What becomes of the values of the rows that stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// They stay, too.
    Keep,
    /// Each is converted.
    Convert {
        /// How.
        conversion: Conversion,
        /// To what.
        physical: PhysicalType,
    },
    /// There are none: a null for each entry of the leaf, or of the struct it lies in.
    NullBeside {
        /// The most that definition levels are: that of the struct. Less than `max_definition`.
        definition: i16,
        /// The repetition level of the struct: entries that repeat within it are left out.
        repetition: i16,
        /// The type of the values there are none of.
        physical: PhysicalType,
        /// The definition level that a value would have.
        max_definition: i16,
        /// The repetition level of the innermost list that a value would be in.
        max_repetition: i16,
    },
}

impl Change {
    /// How values are stored afterwards.
    fn physical(&self, shape: &ChunkShape<'_>) -> PhysicalType {
        match *self {
            Change::Keep => shape.physical,
            Change::Convert { physical, .. } | Change::NullBeside { physical, .. } => physical,
        }
    }

    /// The highest definition and repetition level afterwards.
    fn max_levels(&self, shape: &ChunkShape<'_>) -> (i16, i16) {
        match *self {
            Change::Keep | Change::Convert { .. } => (shape.max_definition, shape.max_repetition),
            Change::NullBeside {
                max_definition,
                max_repetition,
                ..
            } => (max_definition, max_repetition),
        }
    }
}

/// Makes a chunk of `source` without the rows in `deleted`, which count from 0 at the first row of
/// the row group. Deterministic but for the library's version; blocks while it reads, and may run on
/// many threads at once. Takes memory in proportion to what the chunk is uncompressed.
///
/// # Errors
///
/// A chunk that cannot be read, is damaged, or is compressed in a way that cannot be read; a value
/// that the conversion does not have; a conversion to a type that it does not lead to; a chunk that
/// becomes larger than [`size_bound`] says.
pub fn rewrite_chunk(
    source: &SourceChunk<'_>,
    deleted: &RoaringBitmap,
    change: Change,
) -> Result<MadeChunk, ParquetError> {
    // Nothing that the decoder could leave half done is used after a panic: all of its state, and
    // what was written, goes with it.
    let work = || {
        let chunk = input::read_chunk(source)?;
        if change == Change::Keep
            && let Some(made) = patched(source, &chunk, deleted)?
        {
            return Ok(made);
        }
        encoded_anew(source, &chunk, deleted, change)
    };
    caught_as(work, |problem| source.damaged(problem))
}

/// Makes a chunk by patching its pages; `None` if that cannot be done, or takes more bytes than
/// [`size_bound`] says.
fn patched(
    source: &SourceChunk<'_>,
    chunk: &Bytes,
    deleted: &RoaringBitmap,
) -> Result<Option<MadeChunk>, ParquetError> {
    input::check_headers(source, chunk)?;
    let made = patch::patch_chunk(source, chunk, deleted).ok();
    let bound = bound_without(source, deleted, Change::Keep);
    Ok(made.filter(|made| bound.is_none_or(|bound| made.bytes.len() as u64 <= bound)))
}

/// Makes a chunk by decoding and encoding all of its values.
fn encoded_anew(
    source: &SourceChunk<'_>,
    chunk: &Bytes,
    deleted: &RoaringBitmap,
    change: Change,
) -> Result<MadeChunk, ParquetError> {
    let made = dispatch(source, chunk, deleted, change)?;
    let size = made.bytes.len() as u64;
    match bound_without(source, deleted, change) {
        Some(bound) if size > bound => Err(ParquetError::LargerThanFooter {
            location: source.location.to_owned(),
            column: source.column.to_owned(),
            size,
            bound,
        }),
        _ => Ok(made),
    }
}

/// [`size_bound`] without the rows in `deleted`.
fn bound_without(source: &SourceChunk<'_>, deleted: &RoaringBitmap, change: Change) -> Option<u64> {
    let dropped = dropped_rows(source.shape.rows, deleted);
    size_bound(&source.shape, source.shape.rows - dropped, change)
}

/// How many of the first `rows` rows are in `deleted`.
fn dropped_rows(rows: u64, deleted: &RoaringBitmap) -> u64 {
    match u32::try_from(rows) {
        Ok(rows) => deleted.range_cardinality(0..rows),
        Err(_) => deleted.len(),
    }
}

/// Settles the types.
fn dispatch(
    source: &SourceChunk<'_>,
    chunk: &Bytes,
    deleted: &RoaringBitmap,
    change: Change,
) -> Result<MadeChunk, ParquetError> {
    let job = Job {
        source,
        chunk,
        deleted,
        change,
    };
    match change {
        Change::Keep => match source.shape.physical {
            PhysicalType::Boolean => job.run::<BoolType, BoolType>(kept),
            PhysicalType::Int32 => job.run::<Int32Type, Int32Type>(kept),
            PhysicalType::Int64 => job.run::<Int64Type, Int64Type>(kept),
            PhysicalType::Int96 => job.run::<Int96Type, Int96Type>(kept),
            PhysicalType::Float => job.run::<FloatType, FloatType>(kept),
            PhysicalType::Double => job.run::<DoubleType, DoubleType>(kept),
            PhysicalType::ByteArray => job.run::<ByteArrayType, ByteArrayType>(kept),
            PhysicalType::FixedLenByteArray(_) => {
                job.run::<FixedLenByteArrayType, FixedLenByteArrayType>(kept)
            }
        },
        Change::Convert {
            conversion,
            physical,
        } => convert::run(&job, conversion, physical),
        Change::NullBeside { physical, .. } => match source.shape.physical {
            PhysicalType::Boolean => job.beside::<BoolType>(physical),
            PhysicalType::Int32 => job.beside::<Int32Type>(physical),
            PhysicalType::Int64 => job.beside::<Int64Type>(physical),
            PhysicalType::Int96 => job.beside::<Int96Type>(physical),
            PhysicalType::Float => job.beside::<FloatType>(physical),
            PhysicalType::Double => job.beside::<DoubleType>(physical),
            PhysicalType::ByteArray => job.beside::<ByteArrayType>(physical),
            PhysicalType::FixedLenByteArray(_) => job.beside::<FixedLenByteArrayType>(physical),
        },
    }
}

/// What is wrong with a value: its position among those given, and a clause.
struct BadValue {
    at: usize,
    problem: String,
}

fn kept<T>(values: &mut Vec<T>, into: &mut Vec<T>) -> Result<(), BadValue> {
    std::mem::swap(values, into);
    Ok(())
}

fn none<I, O>(_: &mut Vec<I>, into: &mut Vec<O>) -> Result<(), BadValue> {
    into.clear();
    Ok(())
}

/// One call of [`rewrite_chunk`].
struct Job<'a> {
    source: &'a SourceChunk<'a>,
    chunk: &'a Bytes,
    deleted: &'a RoaringBitmap,
    change: Change,
}

impl Job<'_> {
    fn beside<I: DataType>(&self, physical: PhysicalType) -> Result<MadeChunk, ParquetError>
    where
        I::T: Value,
    {
        match physical {
            PhysicalType::Boolean => self.run::<I, BoolType>(none),
            PhysicalType::Int32 => self.run::<I, Int32Type>(none),
            PhysicalType::Int64 => self.run::<I, Int64Type>(none),
            PhysicalType::Int96 => self.run::<I, Int96Type>(none),
            PhysicalType::Float => self.run::<I, FloatType>(none),
            PhysicalType::Double => self.run::<I, DoubleType>(none),
            PhysicalType::ByteArray => self.run::<I, ByteArrayType>(none),
            PhysicalType::FixedLenByteArray(_) => self.run::<I, FixedLenByteArrayType>(none),
        }
    }

    /// Reads, drops, converts and writes. `convert` takes the values out of its first argument and
    /// replaces those in its second.
    fn run<I: DataType, O: DataType>(
        &self,
        convert: impl Fn(&mut Vec<I::T>, &mut Vec<O::T>) -> Result<(), BadValue>,
    ) -> Result<MadeChunk, ParquetError>
    where
        I::T: Value,
        O::T: Value,
    {
        let shape = &self.source.shape;
        let mut input = ChunkInput::<I>::open(self.source, self.chunk)?;
        let mut output = ChunkOutput::<O>::new(self)?;
        let mut bounds = Bounds::new(self.order());
        let mut batch = Batch::default();
        let mut values = Vec::new();
        let mut null_count = 0;
        loop {
            // Asked before the batch is read: its first values may still be in the dictionary.
            let plain = input.is_plain_from_here();
            let Some(first_row) = input.next(&mut batch)? else {
                break;
            };
            if plain {
                output.turn_plain()?;
            }
            batch.drop_rows(first_row, self.deleted, shape.max_definition);
            // The row is found before levels change and values go.
            convert(&mut batch.values, &mut values).map_err(|bad| {
                ParquetError::ValueOutOfRange {
                    location: self.source.location.to_owned(),
                    column: self.source.column.to_owned(),
                    row: batch.row_of_value(bad.at, first_row, self.deleted, shape.max_definition),
                    problem: bad.problem,
                }
            })?;
            if let Change::NullBeside {
                definition,
                repetition,
                ..
            } = self.change
            {
                batch.cap_levels(definition, repetition);
            }
            null_count += (batch.entries - values.len()) as u64;
            bounds.add(&values);
            output.write(&batch, &values)?;
        }
        let mut made = output.finish()?;
        made.statistics = Some(MadeStatistics {
            null_count,
            bounds: bounds.finish(),
        });
        Ok(made)
    }

    fn order(&self) -> Order {
        match self.change {
            Change::Keep => Order::of(self.source.shape.physical, self.source.shape.annotation),
            Change::Convert {
                conversion: Conversion::FixedToByteArray,
                ..
            } => Order::Bytes,
            // All others lead to numbers, and to decimals where they lead to bytes.
            Change::Convert { physical, .. } => Order::of_number(physical),
            Change::NullBeside { .. } => Order::Undefined,
        }
    }
}

impl SourceChunk<'_> {
    /// The error that says the chunk is damaged; `reason` is a clause.
    fn damaged(&self, reason: impl ToString) -> ParquetError {
        ParquetError::DamagedChunk {
            location: self.location.to_owned(),
            column: self.column.to_owned(),
            start: self.start,
            reason: reason.to_string(),
        }
    }

    fn too_large(&self, problem: String) -> ParquetError {
        ParquetError::ChunkTooLarge {
            location: self.location.to_owned(),
            column: self.column.to_owned(),
            problem,
        }
    }
}

//! What a presented file is made of: a schema, and for each of its leaves where the values come
//! from.
//!
//! A presented file begins with what it has of the original one, untouched and at the same offsets,
//! then come column chunks that were made for it, then a footer of its own.

use bytes::Bytes;

use super::{Annotation, Node, NodeKind, PhysicalType, Repetition};

/// One column or part of a column of a presented file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputNode {
    /// The name.
    pub name: String,
    /// The field id.
    pub id: Option<i32>,
    /// How often the node occurs within its parent. Leaves that come from the file lie under as
    /// many optional and repeated nodes, in the same order, as in the file.
    pub repetition: Repetition,
    /// What the node means. Never [`Annotation::Other`] or [`Annotation::Unknown`].
    pub annotation: Annotation,
    /// What stands behind it.
    pub kind: OutputKind,
}

impl OutputNode {
    /// A group without a field id.
    pub fn group(
        name: impl Into<String>,
        repetition: Repetition,
        annotation: Annotation,
        children: Vec<OutputNode>,
    ) -> OutputNode {
        OutputNode {
            name: name.into(),
            id: None,
            repetition,
            annotation,
            kind: OutputKind::Group(children),
        }
    }

    /// The node under another name.
    pub fn named(mut self, name: &str) -> OutputNode {
        name.clone_into(&mut self.name);
        self
    }

    /// A node of the file with all below it, as it is. The annotations may be ones that cannot be
    /// written.
    pub fn copy_of(node: &Node) -> OutputNode {
        OutputNode {
            name: node.name.clone(),
            id: node.id,
            repetition: node.repetition,
            annotation: node.annotation,
            kind: match &node.kind {
                NodeKind::Leaf { physical, leaf } => OutputKind::Leaf {
                    physical: *physical,
                    source: LeafSource::Original(*leaf),
                },
                NodeKind::Group(children) => {
                    OutputKind::Group(children.iter().map(OutputNode::copy_of).collect())
                }
            },
        }
    }
}

/// What stands behind a node of a presented file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OutputKind {
    /// Values.
    Leaf {
        /// How they are stored in the presented file.
        physical: PhysicalType,
        /// Where they come from.
        source: LeafSource,
    },
    /// Other nodes, at least one.
    Group(Vec<OutputNode>),
}

/// Where the values of a leaf come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LeafSource {
    /// The column chunks of the file's leaf of that position, as they are.
    Original(usize),
    /// The values of the file's leaf of that position, changed one by one. The levels stay.
    Converted {
        /// The position among the file's leaves.
        leaf: usize,
        /// What is done to each value.
        conversion: Conversion,
    },
    /// One value in every row: plainly encoded, a byte array without its length. Of a leaf at the
    /// top level that is required or optional.
    Constant(Bytes),
    /// One entry in every row that ends at that definition level, below the most the leaf can
    /// have; the repetition level is 0.
    Null {
        /// The definition level: 0 where the top-level column is null as a whole.
        definition: u16,
    },
    /// Null in every entry that the file's leaf `beside` has: its levels, the definition level
    /// being at most `definition`. For a field that is missing from a struct which is itself null
    /// in places, or repeated.
    NullBeside {
        /// The position among the file's leaves of one that lies in the same struct.
        beside: usize,
        /// The definition level at which that struct is there.
        definition: u16,
        /// The repetition level of that struct: entries that repeat within it are left out.
        repetition: u16,
    },
}

/// A change of each value of a leaf to another physical type, without loss unless said otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Conversion {
    /// INT32 to INT64.
    Int32ToInt64,
    /// INT32 without a sign to INT64.
    Unsigned32ToInt64,
    /// INT32 to DOUBLE.
    Int32ToDouble,
    /// FLOAT to DOUBLE.
    FloatToDouble,
    /// Days since the epoch, INT32, to microseconds since the epoch, INT64.
    DaysToMicros,
    /// INT96, a Julian day and nanoseconds in it, to microseconds since the epoch, INT64; what is
    /// below a microsecond is cut off towards the past.
    Int96ToMicros,
    /// INT64 milliseconds since the epoch to microseconds; overflow is an error.
    MillisToMicros,
    /// INT64 nanoseconds since the epoch to microseconds, what is below cut off towards the past.
    NanosToMicros,
    /// An unscaled decimal or integer stored as INT32, INT64, or big-endian bytes, times
    /// 10^`shift`, to one stored as the physical type of the output leaf: INT32, INT64, or a
    /// fixed number of big-endian bytes. A value that does not fit is an error.
    Decimal {
        /// Digits added behind the point.
        shift: u8,
    },
    /// An integer without a sign stored as INT32 or INT64, times 10^`shift`, to a decimal as that of
    /// [`Conversion::Decimal`].
    UnsignedToDecimal {
        /// Digits added behind the point.
        shift: u8,
    },
    /// Bytes of a fixed length to BYTE_ARRAY.
    FixedToByteArray,
    /// Days of the calendar that Spark used before 3.0 to those that are called alike.
    OldDays,
    /// The same for instants, INT64 microseconds.
    OldMicros,
    /// [`Conversion::OldDays`], then [`Conversion::DaysToMicros`].
    OldDaysToMicros,
    /// [`Conversion::MillisToMicros`], then [`Conversion::OldMicros`].
    OldMillisToMicros,
    /// [`Conversion::Int96ToMicros`], then [`Conversion::OldMicros`].
    OldInt96ToMicros,
}

/// One row group of a presented file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutputGroup {
    /// The position of the row group in the file.
    pub original: usize,
    /// The rows that stay; at least one unless the file's row group has none.
    pub rows: u64,
    /// Whether rows were dropped, so that every chunk of the group is made anew.
    pub dropped: bool,
}

/// A column chunk that was made for a presented file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MadeChunk {
    /// The pages, with their headers: a dictionary page, where there is one, then data pages.
    pub bytes: Bytes,
    /// The compression, by its number in the format (`CompressionCodec`).
    pub codec: i32,
    /// The encodings, by their numbers in the format (`Encoding`).
    pub encodings: Vec<i32>,
    /// Values and nulls of all pages: entries, for a repeated leaf.
    pub num_values: u64,
    /// What `bytes` were without compression, page headers included.
    pub uncompressed_size: u64,
    /// Where the dictionary page starts in `bytes`.
    pub dictionary_page_at: Option<u64>,
    /// Where the first data page starts in `bytes`.
    pub data_page_at: u64,
    /// What is exactly known of the values.
    pub statistics: Option<MadeStatistics>,
    /// The page index.
    pub page_index: Option<MadePageIndex>,
}

/// Exact statistics of a made chunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MadeStatistics {
    /// Nulls.
    pub null_count: u64,
    /// The least and the greatest value, plainly encoded; `None` where there is no value or the
    /// order of the type is not defined.
    pub bounds: Option<(Bytes, Bytes)>,
}

/// The page index of a made chunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MadePageIndex {
    /// The thrift struct `ColumnIndex`; empty where there is none, as for values without an order.
    pub column_index: Bytes,
    /// Each data page: where it starts in the chunk, its size with its header, its first row.
    pub pages: Vec<(u64, u32, u64)>,
}

/// A piece of a presented file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// These bytes of the original file.
    Original {
        /// The first.
        start: u64,
        /// How many.
        length: u64,
    },
    /// These bytes of what was made.
    Made {
        /// The first.
        start: u64,
        /// How many.
        length: u64,
    },
    /// That many zero bytes.
    Zeros(u64),
}

impl Extent {
    /// How many bytes it has.
    pub fn len(&self) -> u64 {
        match *self {
            Extent::Original { length, .. } | Extent::Made { length, .. } => length,
            Extent::Zeros(length) => length,
        }
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

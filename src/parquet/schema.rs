//! The schema of a Parquet file, as its footer gives it.

mod forms;
mod read;

use std::fmt;

pub use forms::ListForm;
pub(super) use read::read_schema;

/// How deep schemas and other thrift values may nest. The deepest structs that a Delta schema may
/// have are 42 levels.
pub(super) const MAX_DEPTH: usize = 128;

/// One column or part of a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// The name.
    pub name: String,
    /// The field id.
    pub id: Option<i32>,
    /// How often the node occurs within its parent.
    pub repetition: Repetition,
    /// What the node means; the logical type, or the converted type where there is none.
    pub annotation: Annotation,
    /// How the node is stored.
    pub kind: NodeKind,
}

/// How a node is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NodeKind {
    /// Values.
    Leaf {
        /// Their storage type.
        physical: PhysicalType,
        /// The position among all leaves, which is that of the column chunk in each row group.
        leaf: usize,
    },
    /// Other nodes.
    Group(Vec<Node>),
}

/// How often a node occurs within its parent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repetition {
    /// Once.
    Required,
    /// Once or not at all.
    Optional,
    /// Any number of times.
    Repeated,
}

/// How values are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PhysicalType {
    /// One bit.
    Boolean,
    /// 32 bits.
    Int32,
    /// 64 bits.
    Int64,
    /// 96 bits: what Spark and Impala store timestamps in.
    Int96,
    /// IEEE single precision.
    Float,
    /// IEEE double precision.
    Double,
    /// Any number of bytes.
    ByteArray,
    /// This many bytes.
    FixedLenByteArray(u32),
}

/// What stored values mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Annotation {
    /// What the storage type says.
    None,
    /// UTF-8 text.
    String,
    /// A list; of a group.
    List,
    /// A map; of a group.
    Map,
    /// The older annotation of maps: of the group itself, or of the repeated group in it.
    MapKeyValue,
    /// A decimal number.
    Decimal {
        /// Digits in all.
        precision: i32,
        /// Digits right of the point.
        scale: i32,
    },
    /// Days since the epoch.
    Date,
    /// An integer of that many bits.
    Integer {
        /// 8, 16, 32 or 64 in a file that keeps to the format.
        bits: i8,
        /// Whether it may be negative.
        signed: bool,
    },
    /// Time since the epoch, UTC or wall clock.
    Timestamp {
        /// Whether the value is an instant.
        utc: bool,
        /// The unit.
        unit: TimeUnit,
    },
    /// Time since the epoch by the converted type alone. The format says it is an instant, but
    /// some readers (pyarrow) take it for a wall-clock time.
    LegacyTimestamp(TimeUnit),
    /// Semi-structured data; of a group.
    Variant,
    /// Any other, by the format's name for it.
    Other(&'static str),
    /// One that the format did not have when this was written, by its field id in the union.
    Unknown(i16),
}

impl Annotation {
    /// The annotation of a column that has nothing but nulls: what writers make of one without a type.
    pub const ALWAYS_NULL: Annotation = Annotation::Other("UNKNOWN (always null)");
}

/// A unit of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeUnit {
    /// Milliseconds.
    Millis,
    /// Microseconds.
    Micros,
    /// Nanoseconds.
    Nanos,
}

impl PhysicalType {
    /// The number that the format gives it (`Type`).
    pub(super) fn number(self) -> i32 {
        match self {
            PhysicalType::Boolean => 0,
            PhysicalType::Int32 => 1,
            PhysicalType::Int64 => 2,
            PhysicalType::Int96 => 3,
            PhysicalType::Float => 4,
            PhysicalType::Double => 5,
            PhysicalType::ByteArray => 6,
            PhysicalType::FixedLenByteArray(_) => 7,
        }
    }

    /// The most digits that all decimals so stored can have; 0 where decimals are not stored so.
    /// Fixed-length values of more than 16 bytes are a wider decimal type to readers.
    pub fn decimal_digits(self) -> u8 {
        /// By the number of bytes, from 1 on.
        const DIGITS: [u8; 16] = [2, 4, 6, 9, 11, 14, 16, 18, 21, 23, 26, 28, 31, 33, 35, 38];
        match self {
            PhysicalType::Int32 => 9,
            PhysicalType::Int64 => 18,
            PhysicalType::ByteArray => 38,
            PhysicalType::FixedLenByteArray(length @ 1..=16) => DIGITS[length as usize - 1],
            _ => 0,
        }
    }

    /// The bytes of each value; `None` for byte arrays of any length, and for booleans, which are
    /// bits.
    pub(super) fn width(self) -> Option<usize> {
        match self {
            PhysicalType::Boolean | PhysicalType::ByteArray => None,
            PhysicalType::Int32 | PhysicalType::Float => Some(4),
            PhysicalType::Int64 | PhysicalType::Double => Some(8),
            PhysicalType::Int96 => Some(12),
            PhysicalType::FixedLenByteArray(length) => Some(length as usize),
        }
    }
}

impl Node {
    /// The parts of a group; none for a leaf.
    pub fn children(&self) -> &[Node] {
        match &self.kind {
            NodeKind::Group(children) => children,
            NodeKind::Leaf { .. } => &[],
        }
    }

    /// The repeated node of a list or a map, as the format has them: the only part of the group.
    pub fn repeated_child(&self) -> Option<&Node> {
        match self.children() {
            [child] if child.repetition == Repetition::Repeated => Some(child),
            _ => None,
        }
    }
}

/// The type as messages show it: `INT64 TIMESTAMP(MICROS, UTC)`, `LIST group of 1`.
impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.repetition == Repetition::Repeated {
            f.write_str("repeated ")?;
        }
        match (&self.kind, self.annotation) {
            (NodeKind::Leaf { physical, .. }, Annotation::None) => physical.fmt(f),
            (NodeKind::Leaf { physical, .. }, annotation) => write!(f, "{physical} {annotation}"),
            (NodeKind::Group(children), Annotation::None) => {
                write!(f, "a group of {}", children.len())
            }
            (NodeKind::Group(children), annotation) => {
                write!(f, "a {annotation} group of {}", children.len())
            }
        }
    }
}

impl fmt::Display for PhysicalType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            PhysicalType::Boolean => "BOOLEAN",
            PhysicalType::Int32 => "INT32",
            PhysicalType::Int64 => "INT64",
            PhysicalType::Int96 => "INT96",
            PhysicalType::Float => "FLOAT",
            PhysicalType::Double => "DOUBLE",
            PhysicalType::ByteArray => "BYTE_ARRAY",
            PhysicalType::FixedLenByteArray(length) => {
                return write!(f, "FIXED_LEN_BYTE_ARRAY({length})");
            }
        })
    }
}

impl fmt::Display for Annotation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Annotation::None => Ok(()),
            Annotation::String => f.write_str("STRING"),
            Annotation::List => f.write_str("LIST"),
            Annotation::Map => f.write_str("MAP"),
            Annotation::MapKeyValue => f.write_str("MAP_KEY_VALUE"),
            Annotation::Decimal { precision, scale } => write!(f, "DECIMAL({precision}, {scale})"),
            Annotation::Date => f.write_str("DATE"),
            Annotation::Integer { bits, signed } => {
                write!(f, "{}({bits})", if *signed { "INT" } else { "UINT" })
            }
            Annotation::Timestamp { utc, unit } => {
                write!(
                    f,
                    "TIMESTAMP({unit}, {})",
                    if *utc { "UTC" } else { "local" }
                )
            }
            Annotation::LegacyTimestamp(unit) => {
                write!(f, "TIMESTAMP_{unit} (converted type only)")
            }
            Annotation::Variant => f.write_str("VARIANT"),
            Annotation::Other(name) => f.write_str(name),
            Annotation::Unknown(id) => write!(f, "logical type {id}, which is unknown"),
        }
    }
}

impl fmt::Display for TimeUnit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TimeUnit::Millis => "MILLIS",
            TimeUnit::Micros => "MICROS",
            TimeUnit::Nanos => "NANOS",
        })
    }
}

//! Why a staged file is not taken into the table.

use super::Demand;
use crate::parquet::ParquetError;
use crate::protocol::ProtocolError;
use crate::schema::SchemaError;
use crate::storage::StorageError;

/// An error of the intake floor. `file` is the path of the file in the staging directory; `column`
/// is the path from the top of the table's schema, its parts joined by dots, `element`, `key` and
/// `value` being the parts inside arrays and maps; `row` counts from 0 within the file.
#[derive(Debug, thiserror::Error)]
pub enum IntakeError {
    /// Not a Parquet file, a damaged one, or an encrypted one.
    #[error("{source}; copy the file anew, or leave it out")]
    Footer {
        /// The file.
        file: String,
        /// What is wrong with it.
        #[source]
        source: ParquetError,
    },
    /// The pages of a file cannot be decoded.
    #[error(
        "{file} cannot be read: {problem}; the file is damaged: copy it into the staging directory \
         again, or write it anew"
    )]
    Damaged {
        /// The file.
        file: String,
        /// What the decoder found.
        problem: String,
    },
    /// A column that the table does not have.
    #[error(
        "{file} has a column {column} ({found}), which the table does not have (its columns there \
         are {columns}); drop it from the file, or commit with \"mergeSchema\": true to add it to \
         the table"
    )]
    UnknownColumn {
        /// The file.
        file: String,
        /// The column, as the file names it.
        column: String,
        /// Its type in the file.
        found: String,
        /// The columns of the table, or of the struct.
        columns: String,
    },
    /// Two columns of a file that Delta takes for one.
    #[error(
        "{file} has the columns {first:?} and {second:?}, whose names are the same regardless of \
         case, as Delta compares them; rename or drop one of them"
    )]
    AmbiguousColumn {
        /// The file.
        file: String,
        /// The one that comes first.
        first: String,
        /// The one that repeats it.
        second: String,
    },
    /// A file lacks a column that must not be null.
    #[error(
        "{file} has no column {column}, which is {expected} NOT NULL in the table; add it to the file"
    )]
    MissingColumn {
        /// The file.
        file: String,
        /// The column.
        column: String,
        /// Its type in the table.
        expected: String,
    },
    /// A column of a type whose values are not all values of the table's type.
    #[error("{file}: column {column} is {found}, the table has {expected}; {advice}")]
    WrongType {
        /// The file.
        file: String,
        /// The column.
        column: String,
        /// What the file has.
        found: String,
        /// What the table has.
        expected: String,
        /// What to do.
        advice: String,
    },
    /// A value that the table's type does not have.
    #[error(
        "{file}: column {column} has {value} in row {row}, which the table's type {expected} does not \
         have without loss; correct the value, or round it in the file"
    )]
    ValueLost {
        /// The file.
        file: String,
        /// The column.
        column: String,
        /// The row.
        row: u64,
        /// The value.
        value: String,
        /// What the table has.
        expected: String,
    },
    /// A text that is longer than the table allows.
    #[error(
        "{file}: column {column} has a text of {length} characters in row {row}, but the table has \
         {expected}; shorten it"
    )]
    TooLong {
        /// The file.
        file: String,
        /// The column.
        column: String,
        /// The row.
        row: u64,
        /// The characters it has.
        length: usize,
        /// `char(n)` or `varchar(n)`.
        expected: String,
    },
    /// A null where the table has none.
    #[error(
        "{file}: column {column} is null in row {row}, but NOT NULL in the table; correct the row"
    )]
    Null {
        /// The file.
        file: String,
        /// The column.
        column: String,
        /// The row.
        row: u64,
    },
    /// Dates or instants in the calendar of old, which only Spark would read right.
    #[error(
        "{file} holds dates or times before 1900 in column {column} in the calendar that Spark used \
         before 3.0 (metadata {key}); write it with spark.sql.parquet.datetimeRebaseModeInWrite and \
         int96RebaseModeInWrite set to CORRECTED"
    )]
    LegacyCalendar {
        /// The file.
        file: String,
        /// The column.
        column: String,
        /// The key of the entry that says so.
        key: &'static str,
    },
    /// A `col=value` directory that says nothing of the table.
    #[error(
        "{file} lies in a directory {directory}=..., but {directory} is no partition column of the \
         table (those are {columns}); move the file out of it"
    )]
    UnknownDirectory {
        /// The file.
        file: String,
        /// What stands before the `=`.
        directory: String,
        /// The partition columns.
        columns: String,
    },
    /// Two directories for one partition column.
    #[error("{file} lies in two directories for the partition column {column}; move it out of one")]
    RepeatedDirectory {
        /// The file.
        file: String,
        /// The partition column.
        column: String,
    },
    /// A text that is no value of the partition column.
    #[error(
        "{file}: the partition column {column} is {found:?}, which is no value of its type {expected}; \
         rename the directory or correct the value"
    )]
    PartitionValue {
        /// The file.
        file: String,
        /// The partition column.
        column: String,
        /// The text.
        found: String,
        /// The type in the table.
        expected: String,
    },
    /// Directory and file contradict each other.
    #[error(
        "{file} lies in a directory for {column} = {directory}, but holds {found} in that column \
         in row {row}; move the file, or correct the rows"
    )]
    PartitionDisagrees {
        /// The file.
        file: String,
        /// The partition column.
        column: String,
        /// The value of the directory.
        directory: String,
        /// The value in the file.
        found: String,
        /// The row.
        row: u64,
    },
    /// Nothing says what the value of a partition column is.
    #[error(
        "{file} says nothing of the partition column {column} ({expected}): it has no such column and \
         lies in no {column}=... directory; move it into one, or add the column"
    )]
    NoPartitionValue {
        /// The file.
        file: String,
        /// The partition column.
        column: String,
        /// The type in the table.
        expected: String,
    },
    /// A file that would become too many.
    #[error(
        "{file} holds rows of more than {limit} partitions; split it, by {columns}, into files of \
         fewer partitions each"
    )]
    TooManyPartitions {
        /// The file.
        file: String,
        /// The most that one file is split into.
        limit: usize,
        /// The partition columns.
        columns: String,
    },
    /// A row that breaks a CHECK constraint or an invariant.
    #[error(
        "{file}: row {row} breaks the {demand} ({sql}): {values}; correct or drop the row",
        sql = demand.expression
    )]
    Constraint {
        /// The file.
        file: String,
        /// What it breaks.
        demand: Box<Demand>,
        /// The row.
        row: u64,
        /// What the expression is instead of true.
        found: Box<str>,
        /// The values of the columns that the expression reads.
        values: Box<str>,
    },
    /// An expression of the table that cannot be evaluated here.
    #[error(
        "the {demand} ({sql}) cannot be evaluated by this release of deltafs: {problem}; write to the \
         table with a tool that can",
        sql = demand.expression
    )]
    Expression {
        /// What the expression belongs to.
        demand: Box<Demand>,
        /// What it lacks.
        problem: String,
    },
    /// A staged column, or table property, that a schema cannot be made of.
    #[error("{file}: column {column} ({found}) has no type in Delta: {advice}")]
    NoDeltaType {
        /// The file.
        file: String,
        /// The column.
        column: String,
        /// What the file has.
        found: String,
        /// What to do.
        advice: String,
    },
    /// A change of the schema that Delta does not allow.
    #[error("{file}: the schema cannot change so: column {column}: {problem}")]
    SchemaChange {
        /// The file that asks for it.
        file: String,
        /// The column.
        column: String,
        /// What was found, what is allowed, and what to do.
        problem: String,
    },
    /// What a new table was to be like makes no sense.
    #[error("the table cannot be created: {problem}")]
    NewTable {
        /// What was found, what was expected, and what to do.
        problem: String,
    },
    /// What the table demands of writers.
    #[error(transparent)]
    Protocol(#[from] ProtocolError),
    /// A schema that came out wrong.
    #[error(transparent)]
    Schema(#[from] SchemaError),
    /// Bytes that could not be read or written.
    #[error(transparent)]
    Storage(#[from] StorageError),
}

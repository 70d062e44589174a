//! What can be wrong with an expression, and with the rows it is evaluated over.

/// Characters of an expression that a message quotes.
const QUOTED: usize = 200;

/// An error of an expression. `expression` is its text, cut where it is long.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExpressionError {
    /// The text is no expression of Spark SQL.
    #[error(
        "the expression {expression:?} cannot be read: found {found} at character {position}, \
         expected {expected}; correct the expression"
    )]
    Syntax {
        /// The expression.
        expression: String,
        /// Characters before what was found, counted from 1.
        position: usize,
        /// What was found.
        found: String,
        /// What was expected.
        expected: String,
    },
    /// The text is longer, or nested deeper, than is read.
    #[error(
        "the expression {expression:?} is too large: found {found}, expected at most {limit}; write \
         it shorter"
    )]
    TooLarge {
        /// The expression.
        expression: String,
        /// How large it is.
        found: String,
        /// How large it may be.
        limit: String,
    },
    /// Something that Spark may evaluate and this release does not.
    #[error(
        "the expression {expression:?} cannot be evaluated here: {construct} is not supported \
         ({reason}); write to the table with Spark, or change the expression (docs/EXPRESSIONS.md \
         lists what is evaluated)"
    )]
    Unsupported {
        /// The expression.
        expression: String,
        /// The part that is not supported.
        construct: String,
        /// Why, or what is supported in its place.
        reason: String,
    },
    /// A name that is no column.
    #[error(
        "the expression {expression:?} names the column {column:?}, which does not exist; expected \
         one of {columns}"
    )]
    UnknownColumn {
        /// The expression.
        expression: String,
        /// The name.
        column: String,
        /// The columns there are.
        columns: String,
    },
    /// A name that is several columns, regardless of case.
    #[error(
        "the expression {expression:?} names the column {column:?}, which may be any of {columns}; \
         rename one of them"
    )]
    AmbiguousColumn {
        /// The expression.
        expression: String,
        /// The name.
        column: String,
        /// The columns of that name.
        columns: String,
    },
    /// An operand of a type that the operation does not take.
    #[error(
        "the expression {expression:?} has {found} in {construct}, expected {expected}; correct the \
         types, or add a CAST"
    )]
    Type {
        /// The expression.
        expression: String,
        /// The operation.
        construct: String,
        /// The types there are.
        found: String,
        /// The types it takes.
        expected: String,
    },
    /// A predicate over columns that do not partition the table.
    #[error(
        "the predicate {expression:?} is over {column:?}, which is no column that partitions the \
         table; expected partition columns only ({partition_columns})"
    )]
    NotPartitionColumn {
        /// The expression.
        expression: String,
        /// The column that does not partition the table.
        column: String,
        /// The columns that do.
        partition_columns: String,
    },
    /// A row for which the expression has no value that every release and setting of Spark agrees
    /// on.
    #[error(
        "the expression {expression:?} has no certain value in row {row}: {problem}; correct the \
         row, or write it with Spark"
    )]
    Row {
        /// The expression.
        expression: String,
        /// The row of the batch, counted from 0.
        row: usize,
        /// Why.
        problem: String,
    },
    /// Rows that do not have the columns of the table.
    #[error(
        "column {column:?} of the rows is {found}, but the expression {expression:?} needs {expected}"
    )]
    Batch {
        /// The expression.
        expression: String,
        /// The column.
        column: String,
        /// What the rows have.
        found: String,
        /// What they must have.
        expected: String,
    },
    /// A partition value that is none of its type.
    #[error(
        "partition column {column:?} of type {type_name} has the value {value} in the log, on which \
         the predicate {expression:?} cannot be evaluated; the log is damaged, or of a newer format"
    )]
    PartitionValue {
        /// The expression.
        expression: String,
        /// The partition column.
        column: String,
        /// Its type.
        type_name: String,
        /// The value, quoted, or "missing".
        value: String,
    },
}

impl ExpressionError {
    /// [`ExpressionError::Syntax`] at byte `at`.
    pub(super) fn syntax(sql: &str, at: usize, found: &str, expected: &str) -> ExpressionError {
        let before = sql.get(..at).unwrap_or(sql);
        ExpressionError::Syntax {
            expression: quoted(sql),
            position: before.chars().count() + 1,
            found: found.to_owned(),
            expected: expected.to_owned(),
        }
    }
}

/// `text`, cut where it is long.
pub(super) fn quoted(text: &str) -> String {
    match text.char_indices().nth(QUOTED) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

//! What can be wrong with a schema.

/// An error of the schema floor. `column` is the path from the top of the schema, its parts joined
/// by dots; `element`, `key` and `value` are the parts inside arrays and maps.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SchemaError {
    /// The schema string is not JSON of the right form.
    #[error(
        "the table schema is not valid: {reason}; expected a JSON struct as in PROTOCOL.md, \
         \"Schema Serialization Format\"; the metaData action that holds it is damaged"
    )]
    Malformed {
        /// What the JSON parser found, with line and column.
        reason: String,
    },
    /// Something is missing or of the wrong JSON type at one column.
    #[error(
        "column {column}: found {found} where the table schema needs {expected}; the metaData \
         action that holds it is damaged"
    )]
    MalformedColumn {
        /// The column.
        column: String,
        /// What is there.
        found: String,
        /// What has to be there.
        expected: &'static str,
    },
    /// A type that Delta does not have, or that this release does not know.
    #[error(
        "column {column} has the unknown type {type_name:?}; known are the types of PROTOCOL.md, \
         \"Schema Serialization Format\"; a newer release may read this table"
    )]
    UnknownType {
        /// The column.
        column: String,
        /// The type as the schema spells it.
        type_name: String,
    },
    /// A decimal outside Delta's range.
    #[error(
        "column {column} has the type {type_name:?}; a decimal has a precision from 1 to 38 and a \
         scale from 0 to its precision"
    )]
    InvalidDecimal {
        /// The column.
        column: String,
        /// The type as the schema spells it.
        type_name: String,
    },
    /// Two columns of one struct have the same name, regardless of case.
    #[error(
        "columns {first:?} and {second:?} of {parent} have the same name regardless of case, \
         which Delta forbids; rename one of them"
    )]
    DuplicateColumn {
        /// The struct: a column path, or "the table".
        parent: String,
        /// The name that comes first.
        first: String,
        /// The name that repeats it.
        second: String,
    },
    /// A partition column that the schema does not have.
    #[error(
        "partitionColumns names {column:?}, which is no column of the table schema ({columns}); \
         the metaData action is damaged"
    )]
    UnknownPartitionColumn {
        /// The partition column.
        column: String,
        /// The columns there are.
        columns: String,
    },
    /// A partition column that is listed twice.
    #[error("partitionColumns names {column:?} twice; the metaData action is damaged")]
    RepeatedPartitionColumn {
        /// The partition column.
        column: String,
    },
    /// A partition column whose type has no partition values.
    #[error(
        "partition column {column:?} has the type {type_name}, but only columns of primitive type \
         can partition a table; the metaData action is damaged"
    )]
    PartitionColumnType {
        /// The partition column.
        column: String,
        /// Its type.
        type_name: String,
    },
    /// A value of `delta.columnMapping.mode` that is not a mode.
    #[error(
        "delta.columnMapping.mode is {found:?}; expected none, name or id; a newer release may read \
         this table"
    )]
    UnknownMappingMode {
        /// What the property says.
        found: String,
    },
    /// Column mapping is on, but a column lacks what the mode needs.
    #[error(
        "column {column} has no {key} in its metadata, which column mapping mode {mode} needs; the \
         metaData action is damaged"
    )]
    Unmapped {
        /// The column.
        column: String,
        /// The missing key.
        key: &'static str,
        /// The mode in force.
        mode: crate::schema::MappingMode,
    },
    /// Two columns share what must tell them apart in data files.
    #[error(
        "columns {first} and {second} have the same {key} ({value}); column mapping needs them \
         unique; the metaData action is damaged"
    )]
    AmbiguousMapping {
        /// The column that comes first.
        first: String,
        /// The column that repeats it.
        second: String,
        /// The key they share.
        key: &'static str,
        /// The value they share.
        value: String,
    },
}

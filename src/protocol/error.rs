//! What can be wrong with a protocol or a property.

/// An error of the protocol floor.
#[derive(Debug, thiserror::Error)]
pub enum ProtocolError {
    /// A reader version that this release does not know.
    #[error(
        "the table needs reader version {found}; this release of deltafs supports 1 to 3: upgrade \
         deltafs, or read a version of the table before the upgrade"
    )]
    ReaderVersion {
        /// `minReaderVersion`.
        found: i32,
    },
    /// Reader features that this release does not know.
    #[error(
        "the table needs the reader feature{} {}, which this release of deltafs does not support \
         (it supports {supported}): upgrade deltafs, or read a version of the table before the \
         feature was added",
        if .features.len() == 1 { "" } else { "s" },
        .features.join(", ")
    )]
    ReaderFeatures {
        /// The features, as named in `readerFeatures`.
        features: Vec<String>,
        /// What is supported.
        supported: String,
    },
    /// A writer version that this release does not know.
    #[error(
        "the table needs writer version {found}; this release of deltafs supports 1 to 7: upgrade \
         deltafs; reading is not affected"
    )]
    WriterVersion {
        /// `minWriterVersion`.
        found: i32,
    },
    /// Writer features that are active and that this release does not enforce.
    #[error(
        "the table uses the writer feature{} {}, which this release of deltafs does not enforce, so \
         it does not write to the table: write with a tool that does, or drop the feature; reading \
         is not affected",
        if .features.len() == 1 { "" } else { "s" },
        .features.join(", ")
    )]
    WriterFeatures {
        /// The features, as named in `writerFeatures`, each with what makes it active.
        features: Vec<String>,
    },
    /// A column of a type that means more to some engine than what is stored.
    #[error(
        "column {column} is, or holds, a user-defined type or an interval, whose values this release \
         of deltafs can read and not judge, so it does not write to the table: write with the engine \
         that has the type; reading is not affected"
    )]
    ForeignType {
        /// The column.
        column: String,
    },
    /// Metadata of a column that should bind writers and means nothing.
    #[error(
        "column {column} has {key} {found}, which is not of the form that PROTOCOL.md gives it; the \
         metaData action that holds it is damaged"
    )]
    ColumnRule {
        /// The column.
        column: String,
        /// The metadata key.
        key: &'static str,
        /// What it says.
        found: String,
    },
    /// A protocol action that contradicts itself.
    #[error("the protocol action is contradictory: {problem}")]
    Contradiction {
        /// What was found and what PROTOCOL.md demands.
        problem: String,
    },
    /// A table property with a value that means nothing.
    #[error("table property {property} is {found:?}; expected {expected}")]
    Property {
        /// The property.
        property: &'static str,
        /// Its value.
        found: String,
        /// What would have been right.
        expected: &'static str,
    },
}

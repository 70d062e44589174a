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

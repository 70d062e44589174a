//! Table features that readers must support (PROTOCOL.md, "Table Features", "Reader Version
//! Requirements", "Valid Feature Names in Table Features").

use super::ProtocolError;
use crate::log::actions::Protocol;

/// A reader feature that this release supports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReaderFeature {
    /// Column mapping by name or id.
    ColumnMapping,
    /// Deletion vectors.
    DeletionVectors,
    /// `timestamp_ntz`.
    TimestampNtz,
    /// V2 checkpoints.
    V2Checkpoint,
    /// Only VACUUM minds it.
    VacuumProtocolCheck,
    /// Widened column types.
    TypeWidening,
    /// `variant`.
    VariantType,
    /// Shredded variants.
    VariantShredding,
    /// `geometry` and `geography`.
    Geospatial,
    /// Published commits are read; see [`check_readable`].
    CatalogManaged,
}

/// Names, as they stand in `readerFeatures`; a preview's name means the same as the final one.
const SUPPORTED: &[(&str, ReaderFeature)] = &[
    ("columnMapping", ReaderFeature::ColumnMapping),
    ("deletionVectors", ReaderFeature::DeletionVectors),
    ("timestampNtz", ReaderFeature::TimestampNtz),
    ("v2Checkpoint", ReaderFeature::V2Checkpoint),
    ("vacuumProtocolCheck", ReaderFeature::VacuumProtocolCheck),
    ("typeWidening", ReaderFeature::TypeWidening),
    ("typeWidening-preview", ReaderFeature::TypeWidening),
    ("variantType", ReaderFeature::VariantType),
    ("variantType-preview", ReaderFeature::VariantType),
    ("variantShredding", ReaderFeature::VariantShredding),
    ("variantShredding-preview", ReaderFeature::VariantShredding),
    ("geospatial", ReaderFeature::Geospatial),
    ("catalogManaged", ReaderFeature::CatalogManaged),
    ("catalogOwned-preview", ReaderFeature::CatalogManaged),
];

/// The reader features of a table, or why it cannot be read.
///
/// A catalog-managed table is readable as far as its commits are published: "The existence of a
/// `<v>.json` file proves that the corresponding version `v` is ratified"; whether newer ones exist
/// only the catalog knows.
pub fn check_readable(protocol: &Protocol) -> Result<Vec<ReaderFeature>, ProtocolError> {
    match protocol.min_reader_version {
        1 => Ok(Vec::new()),
        2 => Ok(vec![ReaderFeature::ColumnMapping]),
        3 => by_name(protocol),
        found => Err(ProtocolError::ReaderVersion { found }),
    }
}

fn by_name(protocol: &Protocol) -> Result<Vec<ReaderFeature>, ProtocolError> {
    if protocol.min_writer_version < 7 {
        return Err(ProtocolError::Contradiction {
            problem: format!(
                "minReaderVersion 3 with minWriterVersion {}; reader version 3 demands writer \
                 version 7",
                protocol.min_writer_version
            ),
        });
    }
    let Some(names) = &protocol.reader_features else {
        return Err(ProtocolError::Contradiction {
            problem: "minReaderVersion 3 without readerFeatures, which must exist then".to_owned(),
        });
    };
    let mut features = Vec::with_capacity(names.len());
    let mut unknown = Vec::new();
    for name in names {
        match SUPPORTED.iter().find(|(known, _)| known == name) {
            Some((_, feature)) => features.push(*feature),
            None => unknown.push(name.clone()),
        }
    }
    if unknown.is_empty() {
        Ok(features)
    } else {
        Err(ProtocolError::ReaderFeatures {
            features: unknown,
            supported: SUPPORTED
                .iter()
                .map(|(name, _)| *name)
                .filter(|name| !name.ends_with("-preview"))
                .collect::<Vec<_>>()
                .join(", "),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn protocol(reader: i32, writer: i32, features: Option<&[&str]>) -> Protocol {
        let names = features.map(|names| names.iter().map(|n| (*n).to_owned()).collect());
        Protocol {
            min_reader_version: reader,
            min_writer_version: writer,
            reader_features: names,
            writer_features: None,
        }
    }

    #[test]
    fn b19_unknown_features_are_refused_by_name_and_known_ones_are_not() {
        assert!(check_readable(&protocol(2, 5, None)).is_ok());
        assert_eq!(
            check_readable(&protocol(3, 7, Some(&["deletionVectors"]))).unwrap(),
            vec![ReaderFeature::DeletionVectors]
        );
        let error = check_readable(&protocol(3, 7, Some(&["deletionVectors", "fooBar"])))
            .unwrap_err()
            .to_string();
        assert!(error.contains("feature fooBar,"), "{error}");
    }

    #[test]
    fn impossible_versions_are_refused() {
        for (reader, writer, features) in [(0, 2, None), (4, 7, None), (3, 7, None)] {
            assert!(check_readable(&protocol(reader, writer, features)).is_err());
        }
        assert!(check_readable(&protocol(3, 5, Some(&[]))).is_err());
    }
}

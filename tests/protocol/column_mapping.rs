//! "Column Mapping".

use deltafs::schema::MappingMode;
use deltafs::snapshot::SnapshotError;
use serde_json::json;

use crate::support::{Action, TableBuilder, add, field, metadata, other, protocol, table_features};

/// `metaData` with one mapped column and the property `delta.columnMapping.mode`.
fn mapped(mode: Option<&str>) -> Action {
    let column = field(
        "b",
        json!("long"),
        json!({"delta.columnMapping.id": 1, "delta.columnMapping.physicalName": "col-x"}),
    );
    let action = metadata(&[]).with(
        "schemaString",
        json!({"type": "struct", "fields": [column]}).to_string(),
    );
    match mode {
        Some(mode) => action.property("delta.columnMapping.mode", mode),
        None => action,
    }
}

fn mode(protocol: Action, metadata: Action) -> Result<MappingMode, String> {
    let table = TableBuilder::with_actions([protocol, metadata]);
    let snapshot = table.snapshot(0).unwrap();
    match snapshot.readable() {
        Ok(shape) => Ok(shape.mapping),
        Err(error) => Err(error.to_string()),
    }
}

/// "The table property should only be honored if the table's protocol has reader and writer versions
/// and/or table features that support the `columnMapping` table feature. For readers this is Reader
/// Version 2, or Reader Version 3 with the `columnMapping` table feature listed as supported."
#[test]
fn the_property_counts_only_where_the_protocol_supports_it() {
    for (protocol, expected) in [
        (protocol(1, 2), MappingMode::None),
        (protocol(1, 5), MappingMode::None),
        (table_features(&["deletionVectors"]), MappingMode::None),
        (protocol(2, 5), MappingMode::Name),
        (table_features(&["columnMapping"]), MappingMode::Name),
        // Delta on Spark has left the name out of `readerFeatures`.
        (
            table_features(&[]).with("writerFeatures", json!(["columnMapping"])),
            MappingMode::Name,
        ),
        (
            protocol(2, 7).with(
                "writerFeatures",
                json!(["columnMapping", "icebergCompatV1"]),
            ),
            MappingMode::Name,
        ),
    ] {
        assert_eq!(
            mode(protocol.clone(), mapped(Some("name"))),
            Ok(expected),
            "{protocol:?}"
        );
    }
}

/// "the table property `delta.columnMapping.mode` being one of `none`, `id`, and `name`"; "In `none`
/// mode, or if the table property is not present, readers must read the parquet files by using the
/// display names".
#[test]
fn the_mode_is_what_the_property_says() {
    for (property, expected) in [
        (None, MappingMode::None),
        (Some("none"), MappingMode::None),
        (Some("name"), MappingMode::Name),
        (Some("id"), MappingMode::Id),
    ] {
        assert_eq!(
            mode(protocol(2, 5), mapped(property)),
            Ok(expected),
            "{property:?}"
        );
    }
    let error = mode(protocol(2, 5), mapped(Some("sideways"))).unwrap_err();
    assert!(
        error.contains("delta.columnMapping.mode") && error.contains("sideways"),
        "{error}"
    );
}

/// "In both modes, every column - nested or leaf - is assigned a unique _physical_ name, and a
/// unique 32-bit integer as an id."
#[test]
fn a_mapped_table_with_an_unmapped_column_is_refused() {
    for property in ["name", "id"] {
        let plain = metadata(&[("b", "long")]).property("delta.columnMapping.mode", property);
        let error = mode(protocol(2, 5), plain).unwrap_err();
        assert!(
            error.contains('b') && error.contains("delta.columnMapping"),
            "{error}"
        );
    }
}

/// "Track partition values ... with the physical name of the column in the transaction log."
#[test]
fn partition_values_are_found_by_physical_name() {
    let mut table = TableBuilder::with_actions([
        protocol(2, 5),
        mapped(Some("name")).partitioned_by(&["b"]),
        add("f.parquet").partition("col-x", "1"),
    ]);
    table.commit([]);
    let tree = table.tree_with(deltafs::tree::TreeOptions {
        view: deltafs::view::ViewOptions {
            layout: deltafs::view::Layout::Hive,
            ..deltafs::view::ViewOptions::default()
        },
        ..Default::default()
    });
    assert_eq!(crate::support::list(&tree, "@v0").unwrap(), ["b=1"]);
}

/// A mapping that comes later changes what later versions are, and only those.
#[test]
fn a_version_is_read_by_its_own_mapping() {
    let mut table = TableBuilder::with_actions([protocol(1, 2), mapped(None)]);
    table.commit([protocol(2, 5), mapped(Some("name"))]);
    table.commit([other("commitInfo", json!({}))]);
    let generation = table.generation();
    let mode = |version| -> Result<MappingMode, SnapshotError> {
        Ok(generation
            .snapshot(version)?
            .readable()
            .expect("readable")
            .mapping)
    };
    assert_eq!(mode(2).unwrap(), MappingMode::Name);
    assert_eq!(mode(1).unwrap(), MappingMode::Name);
    assert_eq!(mode(0).unwrap(), MappingMode::None);
}

//! Actions as JSON (PROTOCOL.md, "Actions").

use std::fmt;

use serde_json::{Map, Value, json};

/// One action: its name in the log and its fields.
#[derive(Clone, PartialEq)]
pub struct Action {
    /// `add`, `metaData`, ...
    pub name: &'static str,
    /// Its fields.
    pub fields: Map<String, Value>,
}

impl fmt::Debug for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.to_line())
    }
}

/// Any action, also one that the protocol does not know.
pub fn other(name: &'static str, fields: Value) -> Action {
    let Value::Object(fields) = fields else {
        panic!("the fields of an action are an object, not {fields}");
    };
    Action { name, fields }
}

impl Action {
    /// With the field `name` set to `value`.
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Action {
        self.fields.insert(name.to_owned(), value.into());
        self
    }

    /// Without the field `name`.
    pub fn without(mut self, name: &str) -> Action {
        self.fields.shift_remove(name);
        self
    }

    fn with_entry(mut self, map: &str, key: &str, value: Value) -> Action {
        self.fields
            .entry(map)
            .or_insert_with(|| json!({}))
            .as_object_mut()
            .expect("it is an object")
            .insert(key.to_owned(), value);
        self
    }

    /// `partitionValues[column] = value`; `None` for null.
    pub fn partition<'a>(self, column: &str, value: impl Into<Option<&'a str>>) -> Action {
        self.with_entry("partitionValues", column, json!(value.into()))
    }

    /// With a deletion vector: see [`dv`].
    pub fn dv(self, descriptor: &Value) -> Action {
        self.with("deletionVector", descriptor.clone())
    }

    /// `size`, bytes.
    pub fn size(self, size: i64) -> Action {
        self.with("size", size)
    }

    /// `modificationTime`, milliseconds since the epoch.
    pub fn modified(self, ms: i64) -> Action {
        self.with("modificationTime", ms)
    }

    /// `stats`, JSON within JSON.
    pub fn stats(self, stats: Value) -> Action {
        self.with("stats", stats.to_string())
    }

    /// `configuration[name] = value`.
    pub fn property(self, name: &str, value: &str) -> Action {
        self.with_entry("configuration", name, json!(value))
    }

    /// `partitionColumns`.
    pub fn partitioned_by(self, columns: &[&str]) -> Action {
        self.with("partitionColumns", json!(columns))
    }

    /// `id` of a table.
    pub fn id(self, id: &str) -> Action {
        self.with("id", id)
    }

    /// `inCommitTimestamp`, milliseconds since the epoch.
    pub fn in_commit_timestamp(self, ms: i64) -> Action {
        self.with("inCommitTimestamp", ms)
    }

    /// The field `name`, text.
    pub fn text(&self, name: &str) -> &str {
        self.fields[name].as_str().expect("it is text")
    }

    /// `{"NAME":{...}}`.
    pub fn to_value(&self) -> Value {
        json!({ self.name: self.fields })
    }

    /// The line of a commit file, without the line feed.
    pub fn to_line(&self) -> String {
        self.to_value().to_string()
    }
}

/// `protocol` with reader and writer versions.
pub fn protocol(reader: i32, writer: i32) -> Action {
    other(
        "protocol",
        json!({"minReaderVersion": reader, "minWriterVersion": writer}),
    )
}

/// `protocol` 3/7 with features that stand in both lists.
pub fn table_features(features: &[&str]) -> Action {
    protocol(3, 7)
        .with("readerFeatures", json!(features))
        .with("writerFeatures", json!(features))
}

/// A field of a schema; `kind` is the JSON of its type: `json!("long")`.
pub fn field(name: &str, kind: Value, metadata: Value) -> Value {
    json!({"name": name, "type": kind, "nullable": true, "metadata": metadata})
}

/// The text of a schema of nullable columns with primitive types.
pub fn schema(columns: &[(&str, &str)]) -> String {
    let fields: Vec<Value> = columns
        .iter()
        .map(|(name, kind)| field(name, json!(kind), json!({})))
        .collect();
    json!({"type": "struct", "fields": fields}).to_string()
}

/// `metaData` of a table of nullable columns with primitive types, not partitioned.
pub fn metadata(columns: &[(&str, &str)]) -> Action {
    other(
        "metaData",
        json!({
            "id": "1a2b3c4d-0000-4000-8000-000000000001",
            "format": {"provider": "parquet", "options": {}},
            "schemaString": schema(columns),
            "partitionColumns": [],
            "configuration": {},
            "createdTime": 1_700_000_000_000_i64,
        }),
    )
}

/// `add` of a file of 100 bytes that no test needs to exist.
pub fn add(path: &str) -> Action {
    other(
        "add",
        json!({
            "path": path,
            "partitionValues": {},
            "size": 100,
            "modificationTime": 1_700_000_000_000_i64,
            "dataChange": true,
        }),
    )
}

/// `remove`.
pub fn remove(path: &str) -> Action {
    other(
        "remove",
        json!({"path": path, "deletionTimestamp": 1_700_000_000_000_i64, "dataChange": true}),
    )
}

/// A deletion vector descriptor with the unique id `uID@1`.
pub fn dv(id: &str) -> Value {
    json!({
        "storageType": "u",
        "pathOrInlineDv": id,
        "offset": 1,
        "sizeInBytes": 40,
        "cardinality": 1,
    })
}

/// `txn`.
pub fn txn(app_id: &str, version: i64) -> Action {
    other("txn", json!({"appId": app_id, "version": version}))
}

/// `domainMetadata`.
pub fn domain(name: &str, configuration: &str) -> Action {
    other(
        "domainMetadata",
        json!({"domain": name, "configuration": configuration, "removed": false}),
    )
}

/// `domainMetadata` as tombstone.
pub fn domain_removed(name: &str) -> Action {
    domain(name, "").with("removed", true)
}

/// `commitInfo`.
pub fn commit_info() -> Action {
    other("commitInfo", json!({"operation": "WRITE"}))
}

/// `sidecar`.
pub fn sidecar(path: &str, size: usize) -> Action {
    other(
        "sidecar",
        json!({"path": path, "sizeInBytes": size, "modificationTime": 1_700_000_000_000_i64}),
    )
}

//! From types to the JSON form, key for key as Spark writes it.

use serde::ser::{Serialize, SerializeMap, Serializer};

use super::types::{DataType, StructField, StructType};

impl StructType {
    /// The `schemaString` of this schema (PROTOCOL.md, "Schema Serialization Format"), compact,
    /// with the keys in Spark's order. What [`StructType::parse`] reads comes out as it was, but
    /// for keys it does not know, the older spellings of types, and `char(n)` or `varchar(n)`
    /// inside arrays and maps.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("a schema has only text keys and writes to memory")
    }
}

impl Serialize for StructType {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(2))?;
        map.serialize_entry("type", "struct")?;
        map.serialize_entry("fields", &self.fields)?;
        map.end()
    }
}

impl Serialize for StructField {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(4))?;
        map.serialize_entry("name", &self.name)?;
        map.serialize_entry("type", &self.data_type)?;
        map.serialize_entry("nullable", &self.nullable)?;
        map.serialize_entry("metadata", &self.metadata)?;
        map.end()
    }
}

impl Serialize for DataType {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            DataType::Primitive(primitive) => serializer.collect_str(primitive),
            DataType::Variant => serializer.serialize_str("variant"),
            DataType::Foreign(foreign) => foreign.json.serialize(serializer),
            DataType::Struct(fields) => fields.serialize(serializer),
            DataType::Array(array) => {
                let mut map = serializer.serialize_map(Some(3))?;
                map.serialize_entry("type", "array")?;
                map.serialize_entry("elementType", &array.element_type)?;
                map.serialize_entry("containsNull", &array.contains_null)?;
                map.end()
            }
            DataType::Map(entries) => {
                let mut map = serializer.serialize_map(Some(4))?;
                map.serialize_entry("type", "map")?;
                map.serialize_entry("keyType", &entries.key_type)?;
                map.serialize_entry("valueType", &entries.value_type)?;
                map.serialize_entry("valueContainsNull", &entries.value_contains_null)?;
                map.end()
            }
        }
    }
}

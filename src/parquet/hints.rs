//! Key-value metadata by which readers see other columns than the Parquet schema describes.

mod geo;
mod pandas;
mod spark;

use std::sync::Arc;

use ::parquet::arrow::parquet_to_arrow_schema;
use ::parquet::file::metadata::{KeyValue, ParquetMetaDataReader};
use arrow::datatypes::{DataType, Field, FieldRef, Schema};

use super::calendar;
use super::footer::Footer;
use super::schema::Node;

/// The Arrow schema that Arrow writers keep in a file.
const ARROW_SCHEMA: &str = "ARROW:schema";
/// The field metadata that turns an Arrow field into one of an extension type.
const EXTENSION: &str = "ARROW:extension:name";

/// A key-value entry that changes what some readers make of a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReaderHint {
    /// The key of the entry.
    pub key: &'static str,
    /// The column, by its path; empty where it concerns the whole file.
    pub column: String,
    /// What readers that follow the entry see.
    pub effect: String,
}

impl Footer {
    /// The first key-value entry by which some readers see columns of other types, or fewer
    /// columns, than the Parquet schema describes; `None` for most files.
    ///
    /// - `ARROW:schema` (pyarrow, polars, DataFusion): a type that is more than another way to hold
    ///   the same (`large_string` for `string` is only that), such as a duration, a dictionary, an
    ///   extension type or a time zone other than UTC.
    /// - `pandas` (pandas): columns that become the index, other names, extension types of others.
    /// - `org.apache.spark.sql.parquet.row.metadata` (Spark): other columns or types than the file
    ///   has, as in what pyarrow made of a file that Spark wrote.
    /// - `geo` (DuckDB, ClickHouse, hyparquet): columns of bytes that become geometries.
    /// - `org.apache.spark.version` and `org.apache.spark.legacyDateTime` (Spark): dates and instants
    ///   in an older calendar, which Spark converts and nobody else does; harmless where statistics
    ///   prove that all are recent enough to be the same.
    pub fn misleading_hint(&self) -> Option<ReaderHint> {
        self.misleading_arrow_schema()
            .or_else(|| pandas::misleading(self))
            .or_else(|| spark::misleading(self))
            .or_else(|| geo::misleading(self))
            .or_else(|| self.misleading_calendar())
    }

    fn misleading_arrow_schema(&self) -> Option<ReaderHint> {
        let value = self.key_value(ARROW_SCHEMA)?;
        let hint = |column, effect| ReaderHint {
            key: ARROW_SCHEMA,
            column,
            effect,
        };
        match self.arrow_schemas(value) {
            Ok((plain, hinted)) => {
                let (column, effect) = fields_differ(plain.fields(), hinted.fields(), "")?;
                Some(hint(column, effect))
            }
            Err(reason) => Some(hint(String::new(), format!("an error: {reason}"))),
        }
    }

    /// What Arrow makes of the file without and with the hint.
    ///
    /// The schema decoder of the `parquet` crate recurses as deep and reserves as much as the
    /// footer tells it to; [`Footer`] has bounded both.
    fn arrow_schemas(&self, hint: &[u8]) -> Result<(Schema, Schema), String> {
        let schema = ParquetMetaDataReader::decode_schema(&self.metadata)
            .map_err(|error| error.to_string())?;
        let hint = std::str::from_utf8(hint).map_err(|error| error.to_string())?;
        let entries = vec![KeyValue::new(ARROW_SCHEMA.to_owned(), hint.to_owned())];
        let plain = parquet_to_arrow_schema(&schema, None);
        let hinted = parquet_to_arrow_schema(&schema, Some(&entries));
        match (plain, hinted) {
            (Ok(plain), Ok(hinted)) => Ok((plain, hinted)),
            (Err(error), _) | (_, Err(error)) => Err(error.to_string()),
        }
    }

    fn misleading_calendar(&self) -> Option<ReaderHint> {
        let column = calendar_differs(self, self.columns(), "")?;
        Some(ReaderHint {
            key: match self.key_value(calendar::DATES) {
                Some(_) => calendar::DATES,
                None => calendar::VERSION,
            },
            column,
            effect: "other days for dates before 1582, and other times before 1900".to_owned(),
        })
    }
}

/// The first leaf below `nodes` that may hold dates or instants which are not the same in the older
/// calendar, by its path.
fn calendar_differs(footer: &Footer, nodes: &[Node], parent: &str) -> Option<String> {
    nodes.iter().find_map(|node| {
        let column = match parent {
            "" => node.name.clone(),
            _ => format!("{parent}.{}", node.name),
        };
        match footer.may_be_old(node) {
            true => Some(column),
            false => calendar_differs(footer, node.children(), &column),
        }
    })
}

type Difference = (String, String);

fn fields_differ(plain: &[FieldRef], hinted: &[FieldRef], parent: &str) -> Option<Difference> {
    if plain.len() != hinted.len() {
        return Some((parent.to_owned(), format!("{} fields", hinted.len())));
    }
    plain
        .iter()
        .zip(hinted)
        .find_map(|(plain, hinted)| field_differs(plain, hinted, parent))
}

fn field_differs(plain: &Field, hinted: &Field, parent: &str) -> Option<Difference> {
    let column = match parent {
        "" => plain.name().clone(),
        _ => format!("{parent}.{}", plain.name()),
    };
    let extension = hinted.metadata().get(EXTENSION);
    if let Some(extension) = extension.filter(|_| !plain.metadata().contains_key(EXTENSION)) {
        return Some((column, format!("the extension type {extension}")));
    }
    type_differs(plain.data_type(), hinted.data_type(), &column)
}

fn type_differs(plain: &DataType, hinted: &DataType, column: &str) -> Option<Difference> {
    use DataType::{
        Binary, BinaryView, LargeBinary, LargeList, LargeUtf8, List, Map, Struct, Timestamp, Utf8,
        Utf8View,
    };
    let part = |plain: &Arc<Field>, hinted: &Arc<Field>| field_differs(plain, hinted, column);
    match (plain, hinted) {
        (Utf8, Utf8 | LargeUtf8 | Utf8View) | (Binary, Binary | LargeBinary | BinaryView) => None,
        (Timestamp(unit, None), Timestamp(hinted_unit, None)) if unit == hinted_unit => None,
        (Timestamp(unit, Some(_)), Timestamp(hinted_unit, Some(zone)))
            if unit == hinted_unit && matches!(zone.as_ref(), "UTC" | "+00:00" | "Z") =>
        {
            None
        }
        (List(plain), List(hinted) | LargeList(hinted)) => part(plain, hinted),
        (Map(plain, _), Map(hinted, _)) => part(plain, hinted),
        (Struct(plain), Struct(hinted)) => fields_differ(plain, hinted, column),
        _ if plain == hinted => None,
        _ => Some((column.to_owned(), hinted.to_string())),
    }
}

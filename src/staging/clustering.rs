//! The columns that a table is clustered by (PROTOCOL.md, "Clustered Table").
//!
//! Files added here are unclustered, which any writer may leave them. Their statistics of the
//! clustering columns are a duty.

use serde_json::Value;

use super::StagingError;
use crate::schema::{DataType, MappingMode, StructType};
use crate::snapshot::{Snapshot, TableShape};

/// The metadata domain that names them.
const DOMAIN: &str = "delta.clustering";

/// Their paths, by the names in data files. None where the table is not clustered.
pub(super) fn columns(base: &Snapshot) -> Result<Vec<Vec<String>>, StagingError> {
    let Some(domain) = base.domains().get(DOMAIN) else {
        return Ok(Vec::new());
    };
    parse(&domain.configuration).ok_or_else(|| StagingError::Unsupported {
        what: "writing to a table that is clustered otherwise than by columns",
        reason: format!(
            "the metadata domain {DOMAIN} is {:?}, expected {{\"clusteringColumns\": [[\"NAME\"], \
             ...]}}; write with the tool that clusters the table",
            domain.configuration
        ),
    })
}

fn parse(configuration: &str) -> Option<Vec<Vec<String>>> {
    let configuration: Value = serde_json::from_str(configuration).ok()?;
    let columns = configuration.get("clusteringColumns")?.as_array()?;
    let path = |column: &Value| {
        let parts = column.as_array().filter(|parts| !parts.is_empty())?;
        let names = parts.iter().map(|part| part.as_str().map(str::to_owned));
        names.collect::<Option<Vec<String>>>()
    };
    columns.iter().map(path).collect()
}

/// Refuses a schema that lacks one of them. `before` is the shape that they are columns of.
pub(super) fn check_kept(
    columns: &[Vec<String>],
    before: &TableShape,
    after: &TableShape,
) -> Result<(), StagingError> {
    let is_gone = |path: &&Vec<String>| logical(path, &after.schema, after.mapping).is_none();
    match columns.iter().find(is_gone) {
        None => Ok(()),
        Some(path) => {
            let name = logical(path, &before.schema, before.mapping);
            Err(StagingError::BadOption {
                option: "overwriteSchema",
                problem: format!(
                    "the table is clustered by column {}, which would go, or become another column \
                     of that name; keep it with its type, or have the clustering changed first \
                     (ALTER TABLE ... CLUSTER BY)",
                    name.unwrap_or_else(|| path.join("."))
                ),
            })
        }
    }
}

/// The name of the column at a path of names in data files.
fn logical(path: &[String], fields: &StructType, mapping: MappingMode) -> Option<String> {
    let (first, rest) = path.split_first()?;
    let mut fields = fields.fields.iter();
    let field = fields.find(|field| field.name_in_files(mapping) == first)?;
    match (rest, &field.data_type) {
        ([], _) => Some(field.name.clone()),
        (rest, DataType::Struct(fields)) => {
            let below = logical(rest, fields, mapping)?;
            Some(format!("{}.{below}", field.name))
        }
        _ => None,
    }
}

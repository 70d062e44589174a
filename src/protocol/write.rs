//! What a table demands of its writers (PROTOCOL.md, "Writer Version Requirements", "Table
//! Features", and the writer requirements of each feature).
//!
//! A feature that is listed but not active does not hinder: a property or a column has to use it.
//! What is active is enforced, by whoever reads the [`WriteRules`], or refused here by name.
//!
//! Constraints and invariants are rules wherever the metadata has them, also where the protocol
//! does not list their feature, as in Delta on Spark: a row that breaks them is wanted by nobody.

mod features;

#[cfg(test)]
mod tests;

use serde::Deserialize;
use serde_json::Value;

use super::{ProtocolError, check_readable, column_mapping_mode, in_commit_timestamps};
use crate::log::actions::{Metadata, Protocol};
use crate::schema::{DataType, MappingMode, StructField, StructType};
use features::Supported;

/// The prefix of the table properties that hold CHECK constraints.
const CONSTRAINT_PREFIX: &str = "delta.constraints.";
/// The column metadata keys that bind a writer.
const INVARIANTS: &str = "delta.invariants";
const GENERATION: &str = "delta.generationExpression";
const DEFAULT: &str = "CURRENT_DEFAULT";
const IDENTITY: &str = "delta.identity.";
const COLLATIONS: &str = "__COLLATIONS";

/// An SQL expression that binds a table or a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// The name of the CHECK constraint, or the top-level column the rule stands at.
    pub name: String,
    /// The expression, in Spark's SQL.
    pub sql: String,
}

/// What a writer of the table has to do and to leave.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WriteRules {
    /// Nothing may change or remove data (`delta.appendOnly`). Data may be rearranged.
    pub append_only: bool,
    /// Commits that change rows otherwise than by adding or removing files of which every row is
    /// new or gone need `cdc` actions (`delta.enableChangeDataFeed`; PROTOCOL.md, "Add CDC File").
    /// Appends need none; readers take the rows of `add` for inserts.
    pub change_data_feed: bool,
    /// `add` actions need `baseRowId` and `defaultRowCommitVersion`, and commits the high-water
    /// mark: the table supports row tracking and has not suspended it.
    pub row_tracking: bool,
    /// Row ids have to outlive the rewriting of rows (`delta.enableRowTracking`); a commit that
    /// rewrites rows without preserving them says so in its `commitInfo`.
    pub row_tracking_enabled: bool,
    /// Each commit carries its own time.
    pub in_commit_timestamps: bool,
    /// How columns are named in data files, partition values and statistics.
    pub column_mapping: MappingMode,
    /// The table supports deletion vectors, so statistics say whether their bounds are tight.
    pub deletion_vectors: bool,
    /// Multi-part checkpoints are forbidden, and V2 ones allowed.
    pub v2_checkpoint: bool,
    /// Domains may be written.
    pub domain_metadata: bool,
    /// The table supports and enables type widening (`delta.enableTypeWidening`).
    pub type_widening: bool,
    /// New files may hold shredded variants.
    pub variant_shredding: bool,
    /// The table is clustered: statistics of the clustering columns are a duty.
    pub clustering: bool,
    /// Data files hold the partition columns, too.
    pub materialize_partition_columns: bool,
    /// CHECK constraints by name: each has to be true in every row.
    pub check_constraints: Vec<Rule>,
    /// Column invariants: each has to be true in every row.
    pub invariants: Vec<Rule>,
    /// Generated columns: `value <=> expression` in every row.
    pub generated: Vec<Rule>,
    /// Default values: of columns that the new rows lack.
    pub defaults: Vec<Rule>,
}

/// What writing to a table of that protocol and metadata demands, or why this release does not
/// write to it. `schema` is the parsed schema of `metadata`.
///
/// [`ProtocolError::WriterVersion`] and [`ProtocolError::WriterFeatures`] name what is not
/// supported; contradictions are as in [`check_readable`].
pub fn check_writable(
    protocol: &Protocol,
    metadata: &Metadata,
    schema: &StructType,
) -> Result<WriteRules, ProtocolError> {
    check_readable(protocol)?;
    let supported = Supported::of(protocol)?;
    features::check(&supported, metadata, schema)?;
    let is_on = |property| is_true(metadata, property);
    let suspended = is_on("delta.rowTrackingSuspended");
    let mut rules = WriteRules {
        append_only: is_on("delta.appendOnly"),
        change_data_feed: supported.has("changeDataFeed") && is_on("delta.enableChangeDataFeed"),
        row_tracking: supported.has("rowTracking") && !suspended,
        row_tracking_enabled: supported.has("rowTracking") && is_on("delta.enableRowTracking"),
        in_commit_timestamps: supported.has("inCommitTimestamp")
            && in_commit_timestamps(metadata)?.is_some(),
        column_mapping: column_mapping_mode(protocol, metadata)?,
        deletion_vectors: supported.has("deletionVectors"),
        v2_checkpoint: supported.has("v2Checkpoint"),
        domain_metadata: supported.has("domainMetadata"),
        type_widening: supported.has("typeWidening") && is_on("delta.enableTypeWidening"),
        variant_shredding: supported.has("variantShredding")
            && is_on("delta.enableVariantShredding"),
        clustering: supported.has("clustering"),
        materialize_partition_columns: supported.has("materializePartitionColumns"),
        ..WriteRules::default()
    };
    for (key, sql) in &metadata.configuration {
        if let Some(name) = key.strip_prefix(CONSTRAINT_PREFIX) {
            rules.check_constraints.push(rule(name, sql));
        }
    }
    for field in &schema.fields {
        add_column_rules(&mut rules, &supported, field)?;
    }
    Ok(rules)
}

fn add_column_rules(
    rules: &mut WriteRules,
    supported: &Supported,
    field: &StructField,
) -> Result<(), ProtocolError> {
    let text = |key: &str| field.metadata.get(key).and_then(Value::as_str);
    if let Some(invariant) = field.metadata.get(INVARIANTS) {
        let sql = invariant.as_str().and_then(invariant_sql).ok_or_else(|| {
            ProtocolError::ColumnRule {
                column: field.name.clone(),
                key: INVARIANTS,
                found: invariant.to_string(),
            }
        })?;
        rules.invariants.push(rule(&field.name, &sql));
    }
    for (key, feature, list) in [
        (GENERATION, "generatedColumns", &mut rules.generated),
        (DEFAULT, "allowColumnDefaults", &mut rules.defaults),
    ] {
        if supported.has(feature)
            && let Some(sql) = text(key)
        {
            list.push(rule(&field.name, sql));
        }
    }
    Ok(())
}

fn rule(name: &str, sql: &str) -> Rule {
    Rule {
        name: name.to_owned(),
        sql: sql.to_owned(),
    }
}

/// The SQL in `{"expression": {"expression": "<SQL>"}}`.
fn invariant_sql(json: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Inner {
        expression: String,
    }
    #[derive(Deserialize)]
    struct Outer {
        expression: Inner,
    }
    let outer: Outer = serde_json::from_str(json).ok()?;
    Some(outer.expression.expression)
}

/// Whether a table property is `true`, whatever its case.
fn is_true(metadata: &Metadata, property: &str) -> bool {
    metadata
        .configuration
        .get(property)
        .is_some_and(|value| value.eq_ignore_ascii_case("true"))
}

/// The first field, at any depth, that `wanted` takes, by its dotted path.
fn find_field(schema: &StructType, wanted: &dyn Fn(&StructField) -> bool) -> Option<String> {
    fn in_type(data_type: &DataType, wanted: &dyn Fn(&StructField) -> bool) -> Option<String> {
        match data_type {
            DataType::Primitive(_) | DataType::Variant | DataType::Foreign(_) => None,
            DataType::Struct(fields) => find_field(fields, wanted),
            DataType::Array(array) => {
                Some(format!("element.{}", in_type(&array.element_type, wanted)?))
            }
            DataType::Map(map) => in_type(&map.key_type, wanted)
                .map(|path| format!("key.{path}"))
                .or_else(|| Some(format!("value.{}", in_type(&map.value_type, wanted)?))),
        }
    }
    schema.fields.iter().find_map(|field| {
        if wanted(field) {
            return Some(field.name.clone());
        }
        let path = in_type(&field.data_type, wanted)?;
        Some(format!("{}.{path}", field.name))
    })
}

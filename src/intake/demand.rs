//! What a table demands of its rows, for who is told that one does not keep to it.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What kind of demand it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum DemandKind {
    /// A property `delta.constraints.NAME`.
    #[serde(rename = "CHECK constraint")]
    Check,
    /// `nullable: false` of a column.
    #[serde(rename = "NOT NULL")]
    NotNull,
    /// `delta.invariants` of a column.
    #[serde(rename = "invariant")]
    Invariant,
    /// `delta.generationExpression` of a column.
    #[serde(rename = "generation expression")]
    Generated,
    /// `CURRENT_DEFAULT` of a column.
    #[serde(rename = "default value")]
    Default,
}

/// A demand of the table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Demand {
    /// Its kind.
    pub kind: DemandKind,
    /// The name of the constraint; of the other kinds, the path of the column.
    pub name: String,
    /// The expression, as the table has it.
    pub expression: String,
    /// The columns that the expression reads; none where it cannot be read itself.
    pub columns: Vec<String>,
}

impl Demand {
    /// That a column is not null.
    pub(super) fn not_null(column: &str) -> Demand {
        Demand {
            kind: DemandKind::NotNull,
            name: column.to_owned(),
            expression: format!("{column} IS NOT NULL"),
            columns: vec![column.to_owned()],
        }
    }

    /// The one column that is to blame, where there is one.
    pub(super) fn column(&self) -> Option<&str> {
        match (self.kind, self.columns.as_slice()) {
            (DemandKind::Check, [column]) => Some(column),
            (DemandKind::Check, _) => None,
            _ => Some(&self.name),
        }
    }
}

impl fmt::Display for Demand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            DemandKind::Check => "CHECK constraint",
            DemandKind::NotNull => "NOT NULL constraint of column",
            DemandKind::Invariant => "invariant of column",
            DemandKind::Generated => "generation expression of column",
            DemandKind::Default => "default value of column",
        };
        write!(f, "{kind} {}", self.name)
    }
}

//! Partition values as directories: `region=US/day=2024-01-01`.

use crate::schema::{HIVE_DEFAULT_PARTITION, escape_hive, is_null_partition_value};

use super::ViewError;

/// The longest name of a directory entry, in bytes.
const NAME_MAX: usize = 255;

/// How partition values become directories, for one list of partition columns.
///
/// Invariant: readers take every column name for what it is. None starts with `_` or `.`, which
/// pyarrow hides with everything below; none needs escaping, which DuckDB and polars do not undo in
/// names (they do in values).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HiveDirs {
    columns: Vec<String>,
}

impl HiveDirs {
    /// `partition_columns` are the logical names, in the order of the table's `partitionColumns`.
    /// A name that readers would not see as it is makes an error.
    pub fn new(partition_columns: &[String]) -> Result<HiveDirs, ViewError> {
        for column in partition_columns {
            let reason = if column.is_empty() {
                "its name is empty"
            } else if column.starts_with(['_', '.']) {
                "pyarrow takes directories starting with '_' or '.' for hidden and loses their rows"
            } else if *column != escape_hive(column) {
                "its name needs escaping, which DuckDB and polars do not undo"
            } else {
                continue;
            };
            return Err(ViewError::HiveColumn {
                column: column.clone(),
                reason,
            });
        }
        Ok(HiveDirs {
            columns: partition_columns.to_vec(),
        })
    }

    /// Appends the directory of a file to `out`, without a slash at either end; nothing for a table
    /// without partition columns.
    ///
    /// `values` are those of the file's `partitionValues`, one for each column, in their order;
    /// null and the empty string become `__HIVE_DEFAULT_PARTITION__`. Missing values are null.
    pub fn append(&self, values: &[Option<&str>], out: &mut String) -> Result<(), ViewError> {
        let start = out.len();
        for (index, column) in self.columns.iter().enumerate() {
            let value = values.get(index).copied().flatten();
            if index > 0 {
                out.push('/');
            }
            let segment = out.len();
            out.push_str(column);
            out.push('=');
            match value {
                Some(HIVE_DEFAULT_PARTITION) => {
                    out.truncate(start);
                    return Err(self.unfit(
                        index,
                        HIVE_DEFAULT_PARTITION,
                        "readers take it for null",
                    ));
                }
                Some(text) if !is_null_partition_value(value) => out.push_str(&escape_hive(text)),
                _ => out.push_str(HIVE_DEFAULT_PARTITION),
            }
            if out.len() - segment > NAME_MAX {
                out.truncate(start);
                let value = value.unwrap_or(HIVE_DEFAULT_PARTITION);
                return Err(self.unfit(index, value, "the name would be longer than 255 bytes"));
            }
        }
        Ok(())
    }

    fn unfit(&self, index: usize, value: &str, reason: &'static str) -> ViewError {
        ViewError::HiveValue {
            column: self.columns[index].clone(),
            value: value.chars().take(64).collect(),
            reason,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dirs(columns: &[&str]) -> Result<HiveDirs, ViewError> {
        let columns: Vec<String> = columns.iter().map(|column| (*column).to_owned()).collect();
        HiveDirs::new(&columns)
    }

    fn dir(columns: &[&str], values: &[Option<&str>]) -> Result<String, ViewError> {
        let mut out = "@v1/".to_owned();
        let result = dirs(columns).unwrap().append(values, &mut out);
        assert!(out.starts_with("@v1/"), "what was there stays");
        result.map(|()| out["@v1/".len()..].to_owned())
    }

    #[test]
    fn columns_stand_in_their_order() {
        let values = [Some("US"), Some("2024-01-01")];
        assert_eq!(
            dir(&["region", "day"], &values).unwrap(),
            "region=US/day=2024-01-01"
        );
        assert_eq!(dir(&[], &[]).unwrap(), "");
    }

    #[test]
    fn values_are_escaped() {
        assert_eq!(dir(&["x"], &[Some("A/A")]).unwrap(), "x=A%2FA");
        assert_eq!(dir(&["x"], &[Some("B B")]).unwrap(), "x=B B");
        assert_eq!(dir(&["p"], &[Some("x%3Ay")]).unwrap(), "p=x%253Ay");
        assert_eq!(dir(&["p"], &[Some("..")]).unwrap(), "p=..");
        assert_eq!(dir(&["a b"], &[Some("é")]).unwrap(), "a b=é");
    }

    #[test]
    fn null_and_the_empty_string_are_the_default_partition() {
        for values in [&[None][..], &[Some("")], &[]] {
            assert_eq!(dir(&["k"], values).unwrap(), "k=__HIVE_DEFAULT_PARTITION__");
        }
    }

    #[test]
    fn a_string_that_reads_as_null_is_refused() {
        let error = dir(&["k"], &[Some(HIVE_DEFAULT_PARTITION)]).unwrap_err();
        assert!(error.to_string().contains("for null"), "{error}");
    }

    #[test]
    fn names_are_kept_to_255_bytes() {
        assert!(dir(&["k"], &[Some(&"x".repeat(253))]).is_ok());
        for value in ["x".repeat(254), "/".repeat(85), "x".repeat(1_000_000)] {
            let error = dir(&["k"], &[Some(&value)]).unwrap_err();
            assert!(error.to_string().len() < 400, "{error}");
        }
    }

    #[test]
    fn columns_that_readers_would_lose_or_misname_are_refused() {
        for column in ["_2", ".x", "", "a=b", "a/b", "100%"] {
            let error = dirs(&["ok", column]).unwrap_err();
            assert!(matches!(error, ViewError::HiveColumn { .. }), "{error}");
        }
    }
}

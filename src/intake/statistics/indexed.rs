//! Which columns get statistics: the first ones, or those that a table property names.

use crate::intake::Target;
use crate::schema::{DataType, MappingMode, StructType};

/// How many leaf columns get statistics where no property says otherwise.
const DEFAULT: usize = 32;

/// The columns with statistics.
pub(super) enum Indexed {
    /// The first ones, counting leaves, an array or a map being one.
    First(usize),
    /// Those below one of these paths, by the names in data files.
    Below(Vec<Vec<String>>),
}

impl Indexed {
    /// Those of the table: `delta.dataSkippingStatsColumns`, or else
    /// `delta.dataSkippingNumIndexedCols`, where -1 means all. What cannot be understood counts as
    /// absent.
    pub(super) fn of(target: &Target<'_>) -> Indexed {
        let property = |name: &str| target.metadata.configuration.get(name);
        if let Some(list) = property("delta.dataSkippingStatsColumns")
            && let Some(paths) = parse_list(list)
        {
            let (schema, mapping) = (&target.shape.schema, target.shape.mapping);
            let found = paths.iter();
            return Indexed::Below(
                found
                    .filter_map(|path| names_in_files(schema, mapping, path))
                    .collect(),
            );
        }
        let count = property("delta.dataSkippingNumIndexedCols")
            .and_then(|count| count.trim().parse::<i64>().ok())
            .map(|count| match count {
                -1 => usize::MAX,
                count => usize::try_from(count).unwrap_or(DEFAULT),
            });
        Indexed::First(count.unwrap_or(DEFAULT))
    }

    /// Whether the leaf column of that number and path is among them.
    pub(super) fn has(&self, number: usize, path: &[String]) -> bool {
        match self {
            Indexed::First(count) => number < *count,
            Indexed::Below(paths) => paths.iter().any(|above| path.starts_with(above)),
        }
    }
}

/// A path by logical names, regardless of case, as one by the names in data files.
fn names_in_files(
    fields: &StructType,
    mapping: MappingMode,
    path: &[String],
) -> Option<Vec<String>> {
    let (first, rest) = path.split_first()?;
    let field = fields
        .fields
        .iter()
        .find(|field| crate::intake::columns::same_name(&field.name, first))?;
    let mut names = vec![field.name_in_files(mapping).to_owned()];
    match (&field.data_type, rest) {
        (_, []) => {}
        (DataType::Struct(fields), rest) => names.extend(names_in_files(fields, mapping, rest)?),
        _ => return None,
    }
    Some(names)
}

/// Column names separated by commas, their parts by dots; backquotes around a part make it literal.
fn parse_list(list: &str) -> Option<Vec<Vec<String>>> {
    let mut paths = Vec::new();
    let (mut path, mut part) = (Vec::new(), String::new());
    let mut characters = list.chars().peekable();
    let mut quoted = false;
    while let Some(character) = characters.next() {
        match character {
            '`' if quoted && characters.peek() == Some(&'`') => {
                characters.next();
                part.push('`');
            }
            '`' => quoted = !quoted,
            '.' if !quoted => path.push(std::mem::take(&mut part).trim().to_owned()),
            ',' if !quoted => {
                path.push(std::mem::take(&mut part).trim().to_owned());
                paths.push(std::mem::take(&mut path));
            }
            other => part.push(other),
        }
    }
    path.push(part.trim().to_owned());
    paths.push(path);
    if list.trim().is_empty() {
        return Some(Vec::new());
    }
    let is_whole = !quoted && paths.iter().flatten().all(|part| !part.is_empty());
    is_whole.then_some(paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_columns_are_parsed() {
        let parsed = |list: &str| {
            parse_list(list).map(|paths| {
                let paths = paths.iter().map(|path| path.join("/"));
                paths.collect::<Vec<_>>().join(" ")
            })
        };
        assert_eq!(parsed("a, b.c ,`d.e`.f").as_deref(), Some("a b/c d.e/f"));
        assert_eq!(parsed("`a``b`").as_deref(), Some("a`b"));
        assert_eq!(parsed("").as_deref(), Some(""));
        for wrong in ["a,,b", "`a", "a.", ","] {
            assert_eq!(parsed(wrong), None, "{wrong}");
        }
    }
}

//! Columns, fields of structs, elements of arrays and maps.

use super::ast::Ast;
use super::error::{ExpressionError, quoted};
use super::literal::text_literal;
use super::resolve::{Resolved, Resolver};
use super::tree::{Node, Op};
use super::types::{STRING, is_whole};
use crate::schema::{DataType, StructField};

/// The metadata key under which Spark keeps `char(n)`, whose values compare padded.
const CHAR_VARCHAR_KEY: &str = "__CHAR_VARCHAR_TYPE_STRING";
/// The metadata key under which Spark keeps collations.
const COLLATIONS_KEY: &str = "__COLLATIONS";

/// The most parts of types, over all names in an expression: a bound for time and memory.
const MAX_PARTS: usize = 2_000_000;

/// Columns that a message lists.
const LISTED: usize = 30;

impl Resolver<'_> {
    pub(super) fn name(&mut self, parts: &[String], ast: &Ast) -> Resolved {
        let (first, rest) = parts.split_first().expect("a name has a part");
        let found = self.places.get(&first.to_lowercase());
        let found = found.map_or(&[][..], Vec::as_slice);
        let place = match *found {
            [place] => place,
            [] if rest.is_empty() && is_niladic(first) => {
                return self.call(&first.to_ascii_lowercase(), &[], ast);
            }
            [] => {
                let names = self.fields.iter().map(|field| field.name.as_str());
                return Err(self.unknown(first, names));
            }
            _ => {
                let names = found.iter().map(|place| self.fields[*place].name.as_str());
                return Err(ExpressionError::AmbiguousColumn {
                    expression: quoted(self.sql),
                    column: quoted(first),
                    columns: listed(names),
                });
            }
        };
        let field = self.fields[place];
        self.check_text(field, ast)?;
        self.count_parts(&field.data_type)?;
        let index = self.columns.iter().position(|known| *known == place);
        let index = index.unwrap_or_else(|| {
            self.columns.push(place);
            self.columns.len() - 1
        });
        let mut node = Node::new(Op::Column(index), field.data_type.clone());
        for part in rest {
            node = self.field(node, part, ast)?;
        }
        Ok(node)
    }

    pub(super) fn field(&mut self, inner: Node, name: &str, ast: &Ast) -> Resolved {
        self.count_parts(&inner.data_type)?;
        match &inner.data_type {
            DataType::Struct(fields) => {
                let names = fields.fields.iter().map(|field| field.name.as_str());
                match find(names.clone(), name)[..] {
                    [place] => {
                        let field = &fields.fields[place];
                        self.check_text(field, ast)?;
                        let (name, data_type) = (field.name.clone(), field.data_type.clone());
                        Ok(Node::new(Op::Field(inner.into(), name), data_type))
                    }
                    [] => Err(self.unknown(name, names)),
                    _ => Err(ExpressionError::AmbiguousColumn {
                        expression: quoted(self.sql),
                        column: quoted(name),
                        columns: listed(names),
                    }),
                }
            }
            DataType::Map(map) if map.key_type == STRING => {
                let data_type = map.value_type.clone();
                let key = Box::new(text_literal(name));
                Ok(Node::new(Op::Element(inner.into(), key), data_type))
            }
            other => Err(self.mismatch(
                ast,
                format!("a field {name:?} of {other}"),
                "a field of a struct".to_owned(),
            )),
        }
    }

    pub(super) fn element(&mut self, inner: &Ast, index: &Ast, ast: &Ast) -> Resolved {
        let (inner, index) = (self.resolve(inner)?, self.resolve(index)?);
        let (data_type, index) = match &inner.data_type {
            DataType::Array(array) => match &index.data_type {
                DataType::Primitive(primitive) if is_whole(*primitive) => {
                    (array.element_type.clone(), index)
                }
                other => {
                    return Err(self.mismatch(
                        ast,
                        format!("an index of type {other}"),
                        "a whole number".to_owned(),
                    ));
                }
            },
            DataType::Map(map) => {
                let index = self.cast(index, &map.key_type, ast)?;
                (map.value_type.clone(), index)
            }
            other => {
                let found = format!("an element of {other}");
                return Err(self.mismatch(ast, found, "an array or a map".to_owned()));
            }
        };
        Ok(Node::new(
            Op::Element(inner.into(), index.into()),
            data_type,
        ))
    }

    /// Counts the parts of a type that is looked through or copied, up to [`MAX_PARTS`].
    fn count_parts(&mut self, data_type: &DataType) -> Resolved<()> {
        count_parts(data_type, &mut self.parts);
        match self.parts > MAX_PARTS {
            false => Ok(()),
            true => Err(ExpressionError::TooLarge {
                expression: quoted(self.sql),
                found: format!("more than {MAX_PARTS} parts of the types of its columns"),
                limit: format!("{MAX_PARTS}"),
            }),
        }
    }

    /// Refuses text that does not compare byte by byte.
    fn check_text(&self, field: &StructField, ast: &Ast) -> Resolved<()> {
        let spelled = field.metadata.get(CHAR_VARCHAR_KEY);
        let spelled = spelled.and_then(|spelled| spelled.as_str()).unwrap_or("");
        if spelled.replace("varchar(", "").contains("char(") {
            let reason = format!("{:?} is {spelled}, which compares padded", field.name);
            return Err(self.unsupported(ast, &reason));
        }
        if field.metadata.contains_key(COLLATIONS_KEY) {
            let reason = format!("{:?} has a collation", field.name);
            return Err(self.unsupported(ast, &reason));
        }
        Ok(())
    }

    fn unknown<'n>(&self, name: &str, names: impl Iterator<Item = &'n str>) -> ExpressionError {
        ExpressionError::UnknownColumn {
            expression: quoted(self.sql),
            column: quoted(name),
            columns: listed(names),
        }
    }
}

/// Adds the parts of a type to `count`, or enough of them to pass [`MAX_PARTS`].
fn count_parts(data_type: &DataType, count: &mut usize) {
    *count += 1;
    if *count > MAX_PARTS {
        return;
    }
    match data_type {
        DataType::Primitive(_) | DataType::Variant | DataType::Foreign(_) => {}
        DataType::Struct(fields) => {
            for field in &fields.fields {
                count_parts(&field.data_type, count);
            }
        }
        DataType::Array(array) => count_parts(&array.element_type, count),
        DataType::Map(map) => {
            count_parts(&map.key_type, count);
            count_parts(&map.value_type, count);
        }
    }
}

/// The places of `name` among `names`, regardless of case.
fn find<'n>(names: impl Iterator<Item = &'n str> + Clone, name: &str) -> Vec<usize> {
    let lower = name.to_lowercase();
    let places = names.enumerate();
    places
        .filter(|(_, known)| known.to_lowercase() == lower)
        .map(|(place, _)| place)
        .collect()
}

/// Names of functions that are called without brackets where no column has the name.
fn is_niladic(name: &str) -> bool {
    const NILADIC: [&str; 6] = [
        "current_date",
        "current_timestamp",
        "localtimestamp",
        "current_user",
        "session_user",
        "user",
    ];
    NILADIC.iter().any(|known| name.eq_ignore_ascii_case(known))
}

/// Names as messages list them.
pub(super) fn listed<'n>(names: impl Iterator<Item = &'n str>) -> String {
    let mut names: Vec<String> = names.take(LISTED + 1).map(quoted).collect();
    if names.len() > LISTED {
        names[LISTED] = "...".to_owned();
    }
    match names.is_empty() {
        true => "none".to_owned(),
        false => names.join(", "),
    }
}

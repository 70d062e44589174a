//! How a data file becomes what the table shows.
//!
//! [`plan`] matches the columns of a version with those of a file, as Delta does (PROTOCOL.md,
//! "Column Mapping", "Partition Value Serialization", "Type Widening"), and says for each leaf of
//! the presented file where its values come from. What cannot be presented exactly is a
//! [`Mismatch`].
//!
//! The rules, beyond those of the specification:
//!
//! - Partition columns hold what the log says, whatever the file holds.
//! - Names are compared exactly; where no name is the same, one that differs in case alone is taken,
//!   as Spark does.
//! - A column that the file lacks, or says to be always null, is null, unless the table does not
//!   allow null there.
//! - Under mapping by id, a file without ids is none of the table's.
//! - Lists are presented in their three-level form, whichever form the file has: the levels are
//!   the same, and readers disagree on the others.
//! - A timestamp without zone in a partition value is in UTC, as in delta-kernel.

mod leaf;
mod missing;
pub(super) mod partition;

#[cfg(test)]
mod tests;

use crate::parquet::{
    Annotation, Footer, Levels, Node, NodeKind, OutputKind, OutputNode, Repetition,
};
use crate::schema::{
    ArrayType, DataType, MapType, MappingMode, PrimitiveType, StructField, StructType, column_path,
};

use super::Layout;
use super::identity::{Mismatch, TableShape, mismatch, shown_fields};

pub(super) use leaf::storage;
use missing::missing;

/// The schema of the presented file with the origin of each leaf.
///
/// `partition_values` are those of the file's `partitionValues`, one for each partition column of
/// `shape`, in their order; missing ones are null.
pub fn plan(
    footer: &Footer,
    shape: &TableShape<'_>,
    partition_values: &[Option<&str>],
) -> Result<Vec<OutputNode>, Mismatch> {
    let planner = Planner {
        footer,
        mapping: shape.mapping,
    };
    if shape.mapping == MappingMode::Id && footer.num_rows() > 0 && !has_ids(footer.columns()) {
        return Err(Mismatch {
            column: String::new(),
            found: "no column ids".to_owned(),
            expected: "those of column mapping by id".to_owned(),
        });
    }
    let mut columns = Vec::new();
    for field in shown_fields(shape.schema) {
        let position = shape
            .partition_columns
            .iter()
            .position(|column| *column == field.name);
        match position {
            Some(_) if shape.layout == Layout::Hive => {}
            Some(position) => {
                let value = partition_values.get(position).copied().flatten();
                columns.push(partition::column(field, planner.id(field), value)?);
            }
            None => columns.push(planner.top_level(field)?),
        }
    }
    if columns.is_empty() {
        return Err(Mismatch {
            column: String::new(),
            found: "nothing that is shown".to_owned(),
            expected: "at least one column outside the partition columns: a Parquet file has to \
                       have one"
                .to_owned(),
        });
    }
    Ok(columns)
}

/// As [`plan`], for a file that may have no rows: it has none under any columns, so it is presented
/// whatever its own are.
pub fn plan_or_nothing(
    footer: &Footer,
    shape: &TableShape<'_>,
    partition_values: &[Option<&str>],
) -> Result<Vec<OutputNode>, Mismatch> {
    plan(footer, shape, partition_values).or_else(|mismatch| {
        let hidden = match shape.layout {
            Layout::Flat => &[],
            Layout::Hive => shape.partition_columns,
        };
        let columns: Result<Vec<OutputNode>, Mismatch> = shown_fields(shape.schema)
            .filter(|field| !hidden.contains(&field.name))
            .map(|field| missing(field, shape.mapping, &missing::Absence::Whole))
            .collect();
        match columns {
            Ok(columns) if footer.num_rows() == 0 && !columns.is_empty() => Ok(columns),
            _ => Err(mismatch),
        }
    })
}

/// Whether one of the nodes, or one below them, has an id.
fn has_ids(nodes: &[Node]) -> bool {
    (nodes.iter()).any(|node| node.id.is_some() || has_ids(node.children()))
}

/// Matches the columns of one file.
struct Planner<'a> {
    footer: &'a Footer,
    mapping: MappingMode,
}

impl Planner<'_> {
    /// The field id of a presented column: that of column mapping, where there is one.
    fn id(&self, field: &StructField) -> Option<i32> {
        match self.mapping {
            MappingMode::None => None,
            MappingMode::Name | MappingMode::Id => field.column_id(),
        }
    }

    fn top_level(&self, field: &StructField) -> Result<OutputNode, Mismatch> {
        match self.find(field, self.footer.columns(), "")? {
            Some(node) => self.field(field, node, Levels::default(), ""),
            None if field.nullable => missing(field, self.mapping, &missing::Absence::Whole),
            None => Err(required_but_missing(field, "")),
        }
    }

    /// The node of the file that holds a field, among the children of one struct.
    fn find<'n>(
        &self,
        field: &StructField,
        nodes: &'n [Node],
        parent: &str,
    ) -> Result<Option<&'n Node>, Mismatch> {
        if self.mapping == MappingMode::Id {
            let id = field.column_id();
            return only(
                nodes
                    .iter()
                    .filter(|node| node.id.is_some() && node.id == id),
                || column_path(parent, &field.name),
            );
        }
        let wanted = field.name_in_files(self.mapping);
        let exact = only(nodes.iter().filter(|node| node.name == wanted), || {
            column_path(parent, &field.name)
        })?;
        if exact.is_some() {
            return Ok(exact);
        }
        let folded = wanted.to_lowercase();
        only(
            nodes
                .iter()
                .filter(|node| node.name.to_lowercase() == folded),
            || column_path(parent, &field.name),
        )
    }

    fn field(
        &self,
        field: &StructField,
        node: &Node,
        parent: Levels,
        parent_name: &str,
    ) -> Result<OutputNode, Mismatch> {
        let column = column_path(parent_name, &field.name);
        if always_null(node).is_some() && !field.nullable {
            return Err(mismatch(&column, node, "a column that is never null"));
        }
        let mut made = self.part(&field.data_type, node, parent, &column)?;
        made.name = field.name.clone();
        made.id = self.id(field);
        Ok(made)
    }

    /// A type where it occurs at most once: a field, an element, a key, a value. A repeated node
    /// stands for a list that has no annotation.
    fn part(
        &self,
        data_type: &DataType,
        node: &Node,
        parent: Levels,
        column: &str,
    ) -> Result<OutputNode, Mismatch> {
        if let Some(leaf) = always_null(node) {
            let absence = missing::Absence::of(leaf, parent);
            let mut made = missing::part(data_type, self.mapping, &absence, column)?;
            made.name.clone_from(&node.name);
            return Ok(made);
        }
        if node.repetition != Repetition::Repeated {
            return self.value(data_type, node, parent, column);
        }
        let DataType::Array(array) = data_type else {
            return Err(mismatch(column, node, data_type));
        };
        let entries = self.repeated_element(array, node, parent, column)?;
        Ok(list_of(entries, node, Repetition::Required))
    }

    /// A type, however often it occurs. The name is that of the file, the id is absent.
    fn value(
        &self,
        data_type: &DataType,
        node: &Node,
        parent: Levels,
        column: &str,
    ) -> Result<OutputNode, Mismatch> {
        let levels = parent.below(node.repetition);
        let group = |annotation, children| OutputNode {
            name: node.name.clone(),
            id: None,
            repetition: node.repetition,
            annotation,
            kind: OutputKind::Group(children),
        };
        match (data_type, &node.kind) {
            (DataType::Primitive(primitive), NodeKind::Leaf { physical, leaf }) => {
                let (annotation, kind) =
                    leaf::convert(*primitive, *physical, node.annotation, *leaf)
                        .ok_or_else(|| mismatch(column, node, data_type))?;
                let is_old = self.footer.may_be_old(node);
                if is_old
                    && *primitive == PrimitiveType::Timestamp
                    && let Err(zone) = self.footer.old_zone()
                {
                    return Err(Mismatch {
                        column: column.to_owned(),
                        found: format!(
                            "times before 1900 in an older calendar, of the time zone {zone:?}, \
                             which is not known here"
                        ),
                        expected: data_type.to_string(),
                    });
                }
                let kind = match is_old {
                    true => leaf::out_of_old_calendar(*primitive, kind),
                    false => kind,
                };
                Ok(OutputNode {
                    annotation,
                    kind,
                    ..group(annotation, Vec::new())
                })
            }
            (DataType::Struct(fields), NodeKind::Group(children))
                if node.annotation == Annotation::None =>
            {
                let made = self.children(fields, node, children, levels, column)?;
                Ok(group(Annotation::None, made))
            }
            (DataType::Array(array), NodeKind::Group(children))
                if node.annotation == Annotation::List =>
            {
                match children.as_slice() {
                    [repeated] if repeated.repetition == Repetition::Repeated => {
                        let entries = self.list(array, node, repeated, levels, column)?;
                        Ok(list_of(entries, node, node.repetition))
                    }
                    _ => Err(mismatch(column, node, data_type)),
                }
            }
            (DataType::Map(map), NodeKind::Group(children))
                if matches!(node.annotation, Annotation::Map | Annotation::MapKeyValue) =>
            {
                match children.as_slice() {
                    [entries] if entries.repetition == Repetition::Repeated => {
                        let made = self.entries(map, entries, levels, column)?;
                        Ok(group(Annotation::Map, vec![made]))
                    }
                    _ => Err(mismatch(column, node, data_type)),
                }
            }
            (DataType::Variant, NodeKind::Group(children)) if node.is_variant() => {
                let annotation = match node.is_shredded() {
                    true => Annotation::Variant,
                    false => node.annotation,
                };
                if !children.iter().all(is_writable) {
                    return Err(mismatch(column, node, data_type));
                }
                let copied = children.iter().map(OutputNode::copy_of).collect();
                Ok(group(annotation, copied))
            }
            _ => Err(mismatch(column, node, data_type)),
        }
    }

    fn children(
        &self,
        fields: &StructType,
        node: &Node,
        children: &[Node],
        levels: Levels,
        column: &str,
    ) -> Result<Vec<OutputNode>, Mismatch> {
        let mut made = Vec::with_capacity(fields.fields.len());
        for field in shown_fields(fields) {
            made.push(match self.find(field, children, column)? {
                Some(child) => self.field(field, child, levels, column)?,
                None if field.nullable => missing(
                    field,
                    self.mapping,
                    &missing::beside(self.footer, node, levels),
                )?,
                None => return Err(required_but_missing(field, column)),
            });
        }
        if made.is_empty() {
            return Err(mismatch(column, node, DataType::Struct(fields.clone())));
        }
        Ok(made)
    }

    /// The repeated node that the list `node` presents.
    ///
    /// A repeated leaf, a repeated group with several fields, and one that is called `array` or
    /// `<name of the list>_tuple` is the element itself (parquet-format, "LogicalTypes.md", "Lists");
    /// any other holds the element. Where that rule and the table's type disagree, the type
    /// decides: writers have not always kept to the rule.
    fn list(
        &self,
        array: &ArrayType,
        node: &Node,
        repeated: &Node,
        list: Levels,
        column: &str,
    ) -> Result<OutputNode, Mismatch> {
        let [child] = repeated.children() else {
            return self.repeated_element(array, repeated, list, column);
        };
        let is_element = repeated.name == "array"
            || repeated.name == format!("{}_tuple", node.name)
            || repeated.annotation != Annotation::None;
        let as_element = || self.repeated_element(array, repeated, list, column);
        let as_wrapper = || {
            let element = self.part(
                &array.element_type,
                child,
                list.below(repeated.repetition),
                &column_path(column, "element"),
            )?;
            Ok(OutputNode {
                name: match is_element {
                    true => "list".to_owned(),
                    false => repeated.name.clone(),
                },
                id: None,
                repetition: Repetition::Repeated,
                annotation: Annotation::None,
                kind: OutputKind::Group(vec![element]),
            })
        };
        match is_element {
            true => as_element().or_else(|refused| as_wrapper().map_err(|_| refused)),
            false => as_wrapper().or_else(|refused| as_element().map_err(|_| refused)),
        }
    }

    /// A list whose elements are the repeated node itself: the element, required, is put below a
    /// repeated group, which leaves the levels as they are.
    fn repeated_element(
        &self,
        array: &ArrayType,
        repeated: &Node,
        list: Levels,
        column: &str,
    ) -> Result<OutputNode, Mismatch> {
        let mut element = self.value(
            &array.element_type,
            repeated,
            list,
            &column_path(column, "element"),
        )?;
        "element".clone_into(&mut element.name);
        element.repetition = Repetition::Required;
        Ok(OutputNode {
            name: "list".to_owned(),
            id: None,
            repetition: Repetition::Repeated,
            annotation: Annotation::None,
            kind: OutputKind::Group(vec![element]),
        })
    }

    fn entries(
        &self,
        map: &MapType,
        entries: &Node,
        levels: Levels,
        column: &str,
    ) -> Result<OutputNode, Mismatch> {
        let [key, value] = entries.children() else {
            return Err(mismatch(column, entries, "entries of a key and a value"));
        };
        if key.repetition != Repetition::Required {
            return Err(Mismatch {
                column: column_path(column, "key"),
                found: "keys that may be null".to_owned(),
                expected: "keys that are never null".to_owned(),
            });
        }
        let below = levels.below(entries.repetition);
        Ok(OutputNode {
            name: entries.name.clone(),
            id: None,
            repetition: Repetition::Repeated,
            annotation: Annotation::None,
            kind: OutputKind::Group(vec![
                self.part(&map.key_type, key, below, &column_path(column, "key"))?,
                self.part(&map.value_type, value, below, &column_path(column, "value"))?,
            ]),
        })
    }
}

/// A list around its repeated node.
fn list_of(entries: OutputNode, node: &Node, repetition: Repetition) -> OutputNode {
    OutputNode {
        name: node.name.clone(),
        id: None,
        repetition,
        annotation: Annotation::List,
        kind: OutputKind::Group(vec![entries]),
    }
}

/// Whether a node and all below it have annotations that can be written.
fn is_writable(node: &Node) -> bool {
    let is_known = !matches!(
        node.annotation,
        Annotation::Other(_) | Annotation::Unknown(_)
    );
    is_known && node.children().iter().all(is_writable)
}

/// The position of an optional leaf that has nothing but nulls; `None` for any other node.
fn always_null(node: &Node) -> Option<usize> {
    match node.kind {
        NodeKind::Leaf { leaf, .. }
            if node.annotation == Annotation::ALWAYS_NULL
                && node.repetition == Repetition::Optional =>
        {
            Some(leaf)
        }
        _ => None,
    }
}

/// The only node there is, or none; several are one too many.
fn only<'n>(
    mut nodes: impl Iterator<Item = &'n Node>,
    column: impl Fn() -> String,
) -> Result<Option<&'n Node>, Mismatch> {
    let first = nodes.next();
    match nodes.next() {
        None => Ok(first),
        Some(_) => Err(Mismatch {
            column: column(),
            found: "several columns of that name or id".to_owned(),
            expected: "one".to_owned(),
        }),
    }
}

fn required_but_missing(field: &StructField, parent: &str) -> Mismatch {
    Mismatch {
        column: column_path(parent, &field.name),
        found: "no such column".to_owned(),
        expected: format!("{} that is never null", field.data_type),
    }
}

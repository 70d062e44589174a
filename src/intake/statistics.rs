//! Statistics as Delta writes them (PROTOCOL.md, "Per-file Statistics").
//!
//! They come from the footer of the data file. A bound is given only when it is certain that no
//! value lies beyond it; readers skip files by them.

mod bounds;
mod indexed;
mod json;

use ::parquet::file::metadata::ParquetMetaData;

use super::Target;
use super::columns::{Column, Part, Shape};
use super::convert::stored;
use crate::parquet::{Node, NodeKind, Repetition};
use crate::schema::{DataType, MappingMode, PrimitiveType, StructField, StructType};

pub(super) use bounds::big_endian;
use indexed::Indexed;
use json::Tree;

/// A column, or field of a struct, whose statistics are written.
struct Leaf {
    /// Its path in the data file.
    path: Vec<String>,
    data_type: DataType,
    place: Place,
}

/// Where a data file has the values of a column.
enum Place {
    /// Nowhere: all are null.
    Absent,
    /// In the leaf of that position.
    Leaf(usize),
    /// In those leaves, which say something of nulls alone.
    Parts {
        leaves: Vec<usize>,
        /// Whether the column, and what it lies in, is required.
        required: bool,
    },
}

/// The statistics of a file whose column chunks `metadata` describes, where `columns` says which
/// column lies in which chunk, and none of them is converted. `is_left_out` tells the partition
/// columns.
pub(super) fn of_columns(
    target: &Target<'_>,
    metadata: &ParquetMetaData,
    columns: &[Column<'_>],
    is_left_out: &dyn Fn(&StructField) -> bool,
) -> String {
    let mapping = target.shape.mapping;
    let mut leaves = Vec::new();
    for column in columns.iter().filter(|column| !is_left_out(column.field)) {
        collect(column, mapping, &[], true, &mut leaves);
    }
    write(target, metadata, leaves)
}

/// The statistics of a file that was written with the columns of `schema`, in order.
pub(super) fn of_written(
    target: &Target<'_>,
    metadata: &ParquetMetaData,
    schema: &[&StructField],
    is_left_out: &dyn Fn(&StructField) -> bool,
) -> String {
    let mapping = target.shape.mapping;
    let (mut leaves, mut next) = (Vec::new(), 0);
    for field in schema {
        if is_left_out(field) {
            count_leaves(&field.data_type, &mut next);
        } else {
            collect_written(field, mapping, &[], &mut next, &mut leaves);
        }
    }
    write(target, metadata, leaves)
}

/// Whether the column chunks say too little of a column that the table is clustered by, of which
/// more could be said.
pub(super) fn lacks_clustering(
    target: &Target<'_>,
    metadata: &ParquetMetaData,
    columns: &[Column<'_>],
) -> bool {
    if target.clustering.is_empty() {
        return false;
    }
    let mapping = target.shape.mapping;
    let mut leaves = Vec::new();
    for column in columns {
        collect(column, mapping, &[], true, &mut leaves);
    }
    let rows = metadata.file_metadata().num_rows();
    let mut leaves = leaves.iter();
    leaves.any(|leaf| match (&leaf.place, &leaf.data_type) {
        (Place::Leaf(_), DataType::Primitive(PrimitiveType::Boolean | PrimitiveType::Binary)) => {
            false
        }
        (Place::Leaf(position), DataType::Primitive(primitive)) => {
            let found = bounds::of_leaf(metadata, *position, *primitive);
            let is_null = found.nulls == u64::try_from(rows).ok();
            let is_bounded = found.least.is_some() && found.greatest.is_some();
            target.clustering.contains(&leaf.path)
                && (found.nulls.is_none() || !(is_null || is_bounded))
        }
        // Nothing can cluster a table by another type.
        _ => false,
    })
}

fn write(target: &Target<'_>, metadata: &ParquetMetaData, leaves: Vec<Leaf>) -> String {
    let indexed = Indexed::of(target);
    let is_indexed = |number: usize, path: &[String]| {
        indexed.has(number, path) || target.clustering.iter().any(|column| path == column)
    };
    let records = metadata.file_metadata().num_rows();
    let (mut least, mut greatest, mut nulls) = (Tree::default(), Tree::default(), Tree::default());
    for (number, leaf) in leaves.iter().enumerate() {
        if !is_indexed(number, &leaf.path) {
            continue;
        }
        match (&leaf.place, &leaf.data_type) {
            (Place::Absent, _) => nulls.insert(&leaf.path, records.to_string()),
            (Place::Leaf(position), DataType::Primitive(primitive)) => {
                let found = bounds::of_leaf(metadata, *position, *primitive);
                let known = [
                    (&mut least, found.least),
                    (&mut greatest, found.greatest),
                    (&mut nulls, found.nulls.map(|count| count.to_string())),
                ];
                for (tree, text) in known {
                    if let Some(text) = text {
                        tree.insert(&leaf.path, text);
                    }
                }
            }
            (Place::Leaf(_), _) => {}
            (Place::Parts { leaves, required }, _) => {
                let none = *required
                    || (leaves.iter()).any(|leaf| bounds::null_count(metadata, *leaf) == Some(0));
                if none {
                    nulls.insert(&leaf.path, "0".to_owned());
                }
            }
        }
    }
    let mut stats = Tree::default();
    stats.insert(&["numRecords".to_owned()], records.to_string());
    for (name, tree) in [
        ("minValues", least),
        ("maxValues", greatest),
        ("nullCount", nulls),
    ] {
        stats.insert_tree(name, tree);
    }
    if target.rules.deletion_vectors {
        stats.insert(&["tightBounds".to_owned()], "true".to_owned());
    }
    stats.to_json()
}

fn collect(
    column: &Column<'_>,
    mapping: MappingMode,
    parent: &[String],
    required: bool,
    leaves: &mut Vec<Leaf>,
) {
    let path = child_path(parent, column.field, mapping);
    match column.part() {
        None => absent(&column.field.data_type, mapping, path, leaves),
        Some(part) => {
            let required = required && part.node.repetition == Repetition::Required;
            match &part.shape {
                Shape::Struct(columns) => {
                    for column in columns {
                        collect(column, mapping, &path, required, leaves);
                    }
                }
                Shape::Leaf { leaf, .. } => leaves.push(Leaf {
                    path,
                    data_type: column.field.data_type.clone(),
                    place: Place::Leaf(*leaf),
                }),
                Shape::List(..) | Shape::Map(..) | Shape::Variant => leaves.push(Leaf {
                    path,
                    data_type: column.field.data_type.clone(),
                    place: Place::Parts {
                        leaves: leaves_of(part),
                        required,
                    },
                }),
            }
        }
    }
}

/// The leaves below a part that lie in no list: writers do not agree on how many nulls the others
/// have.
fn leaves_of(part: &Part<'_>) -> Vec<usize> {
    fn add(node: &Node, leaves: &mut Vec<usize>) {
        match &node.kind {
            _ if node.repetition == Repetition::Repeated => {}
            NodeKind::Leaf { leaf, .. } => leaves.push(*leaf),
            NodeKind::Group(children) => children.iter().for_each(|child| add(child, leaves)),
        }
    }
    let mut leaves = Vec::new();
    add(&part.node, &mut leaves);
    leaves
}

/// A column that the file lacks.
fn absent(data_type: &DataType, mapping: MappingMode, path: Vec<String>, leaves: &mut Vec<Leaf>) {
    match data_type {
        DataType::Struct(fields) => {
            for field in stored(fields) {
                absent(
                    &field.data_type,
                    mapping,
                    child_path(&path, field, mapping),
                    leaves,
                );
            }
        }
        _ => leaves.push(Leaf {
            path,
            data_type: data_type.clone(),
            place: Place::Absent,
        }),
    }
}

fn collect_written(
    field: &StructField,
    mapping: MappingMode,
    parent: &[String],
    next: &mut usize,
    leaves: &mut Vec<Leaf>,
) {
    let path = child_path(parent, field, mapping);
    let place = match &field.data_type {
        DataType::Struct(fields) => {
            for field in stored(fields) {
                collect_written(field, mapping, &path, next, leaves);
            }
            return;
        }
        DataType::Primitive(_) => {
            *next += 1;
            Place::Leaf(*next - 1)
        }
        other => {
            let first = *next;
            count_leaves(other, next);
            Place::Parts {
                leaves: (first..*next).collect(),
                required: false,
            }
        }
    };
    leaves.push(Leaf {
        path,
        data_type: field.data_type.clone(),
        place,
    });
}

/// Counts the leaves that a type takes in a file.
fn count_leaves(data_type: &DataType, next: &mut usize) {
    match data_type {
        DataType::Primitive(_) => *next += 1,
        DataType::Variant => *next += 2,
        DataType::Foreign(foreign) => count_leaves(&foreign.stored_as, next),
        DataType::Struct(fields) => count_fields(fields, next),
        DataType::Array(array) => count_leaves(&array.element_type, next),
        DataType::Map(map) => {
            count_leaves(&map.key_type, next);
            count_leaves(&map.value_type, next);
        }
    }
}

fn count_fields(fields: &StructType, next: &mut usize) {
    stored(fields).for_each(|field| count_leaves(&field.data_type, next));
}

fn child_path(parent: &[String], field: &StructField, mapping: MappingMode) -> Vec<String> {
    let mut path = parent.to_vec();
    path.push(field.name_in_files(mapping).to_owned());
    path
}

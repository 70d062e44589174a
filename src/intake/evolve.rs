//! Changing the schema of a table to that of staged files: `mergeSchema` and `overwriteSchema`.

mod widen;

use super::columns::same_name;
use super::schema::{MAX_ID, assign_ids, features_of_types, name_problem, reserved_column};
use super::staged::Opened;
use super::{IntakeError, StagedFile, infer, types};
use crate::log::actions::{Metadata, Protocol};
use crate::parquet::{Annotation, Node, NodeKind, Repetition};
use crate::protocol::check_writable;
use crate::schema::{DataType, MappingMode, StructField, StructType, column_path};
use crate::snapshot::TableShape;
use widen::{Place, Widening};

/// What a commit may do to the schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SchemaChange {
    /// Nothing.
    #[default]
    None,
    /// Add columns, and widen types where the table allows it (`mergeSchema`).
    Merge,
    /// Replace it by that of the files (`overwriteSchema`). The table has to be overwritten as a
    /// whole.
    Overwrite,
}

/// The metadata of the table after the files are taken in; `None` where it stays as it is.
///
/// - New columns, nested ones too, come behind the others, nullable, in the order of the files.
/// - With [`SchemaChange::Merge`], `byte` and `short` widen to `short` and `integer`; where the
///   table enables type widening, the changes that Delta makes by itself are made too and recorded
///   (PROTOCOL.md, "Type Change Metadata"). Any other type stays, and [`accept`](super::accept)
///   refuses what does not fit it.
/// - With [`SchemaChange::Overwrite`], partition columns that the files lack stay, and a column
///   of the same name and type keeps its metadata, and so its physical name.
/// - Under column mapping new columns get ids and physical names.
///
/// A type that takes a table feature the table does not have is [`IntakeError::SchemaChange`]:
/// as in Delta, the protocol of a table is upgraded by its owner, and not by the way. So no
/// protocol is ever returned.
pub fn evolve(
    metadata: &Metadata,
    shape: &TableShape,
    protocol: &Protocol,
    files: &[StagedFile],
    how: SchemaChange,
) -> Result<Option<(Metadata, Option<Protocol>)>, IntakeError> {
    if how == SchemaChange::None {
        return Ok(None);
    }
    let rules = check_writable(protocol, metadata, &shape.schema)?;
    let widening = match how {
        SchemaChange::Overwrite => Widening::Any,
        _ if rules.type_widening => Widening::Recorded,
        _ => Widening::Free,
    };
    let mut schema = shape.schema.clone();
    for (index, file) in files.iter().enumerate() {
        let opened = Opened::open(file)?;
        let nodes = opened.footer.columns();
        if how == SchemaChange::Overwrite && index == 0 {
            schema = infer::fields(&file.name, nodes, "")?;
        } else {
            let merge = Merge {
                file: &file.name,
                widening,
            };
            merge.fields(&mut schema, nodes, "")?;
        }
    }
    if how == SchemaChange::Overwrite && !files.is_empty() {
        keep_columns(&mut schema, metadata, &shape.schema);
    }
    if schema == shape.schema {
        return Ok(None);
    }
    let file = files.first().map_or("", |file| file.name.as_str());
    check_new(&shape.schema, &schema, shape.mapping, protocol, file)?;
    if rules.change_data_feed
        && reserved_column(&shape.schema).is_none()
        && let Some(column) = reserved_column(&schema)
    {
        return Err(IntakeError::SchemaChange {
            file: file.to_owned(),
            column: column.to_owned(),
            problem:
                "its name is one that the change data feed of the table needs; rename or drop \
                      it"
                .to_owned(),
        });
    }

    let mut metadata = metadata.clone();
    if shape.mapping != MappingMode::None {
        let greatest = metadata.configuration.get(MAX_ID);
        let greatest = greatest.and_then(|id| id.parse().ok()).unwrap_or(0);
        let greatest = assign_ids(&mut schema, greatest);
        metadata
            .configuration
            .insert(MAX_ID.to_owned(), greatest.to_string());
    }
    schema.check_mapping(shape.mapping)?;
    schema.partition_fields(&metadata.partition_columns)?;
    metadata.schema_string = schema.to_json();
    Ok(Some((metadata, None)))
}

/// Merges files into a schema.
struct Merge<'a> {
    file: &'a str,
    widening: Widening,
}

impl Merge<'_> {
    fn fields(
        &self,
        schema: &mut StructType,
        nodes: &[Node],
        parent: &str,
    ) -> Result<(), IntakeError> {
        for node in nodes {
            let found = schema
                .fields
                .iter_mut()
                .find(|field| same_name(&field.name, &node.name));
            match found {
                Some(field) => self.field(field, node, parent)?,
                None => schema.fields.push(infer::field(self.file, node, parent)?),
            }
        }
        Ok(())
    }

    fn field(&self, field: &mut StructField, node: &Node, parent: &str) -> Result<(), IntakeError> {
        let path = column_path(parent, &field.name);
        let mut place = Place::of(&mut field.metadata);
        self.value(&mut field.data_type, node, &path, &mut place)
    }

    /// A type of the table and the node that holds its values.
    fn value(
        &self,
        data_type: &mut DataType,
        node: &Node,
        path: &str,
        place: &mut Place<'_>,
    ) -> Result<(), IntakeError> {
        match (data_type, &node.kind) {
            (DataType::Primitive(primitive), NodeKind::Leaf { physical, .. }) => {
                if types::fit(*primitive, *physical, node.annotation).is_ok()
                    || types::is_always_null(node.annotation)
                {
                    return Ok(());
                }
                if let Ok(inferred) = infer::field(self.file, node, path)
                    && let DataType::Primitive(wider) = inferred.data_type
                    && self.widening.allows(*primitive, wider)
                {
                    if self.widening == Widening::Recorded {
                        place.record(*primitive, wider);
                    }
                    *primitive = wider;
                }
                Ok(())
            }
            (DataType::Struct(fields), NodeKind::Group(children))
                if node.annotation == Annotation::None =>
            {
                self.fields(fields, children, path)
            }
            (DataType::Array(array), NodeKind::Group(children))
                if node.annotation == Annotation::List =>
            {
                let [repeated] = children.as_slice() else {
                    return Ok(());
                };
                let element = match repeated.children() {
                    [child] if child.repetition != Repetition::Repeated => child,
                    _ => repeated,
                };
                let path = column_path(path, "element");
                place.within("element", |place| {
                    self.value(&mut array.element_type, element, &path, place)
                })
            }
            (DataType::Map(map), NodeKind::Group(children))
                if matches!(node.annotation, Annotation::Map | Annotation::MapKeyValue) =>
            {
                let [entries] = children.as_slice() else {
                    return Ok(());
                };
                let [key, value] = entries.children() else {
                    return Ok(());
                };
                place.within("key", |place| {
                    self.value(&mut map.key_type, key, &column_path(path, "key"), place)
                })?;
                place.within("value", |place| {
                    self.value(
                        &mut map.value_type,
                        value,
                        &column_path(path, "value"),
                        place,
                    )
                })
            }
            // Whatever it is, it does not fit, and is refused when the file is taken in.
            _ => Ok(()),
        }
    }
}

/// What of the old schema outlives its replacement.
fn keep_columns(schema: &mut StructType, metadata: &Metadata, old: &StructType) {
    keep_fields(schema, old);
    for name in &metadata.partition_columns {
        if let Some(field) = old.field(name)
            && schema.field(name).is_none()
        {
            // A column that differs in case alone is the same one.
            schema.fields.retain(|other| !same_name(&other.name, name));
            schema.fields.push(field.clone());
        }
    }
}

fn keep_fields(schema: &mut StructType, old: &StructType) {
    for field in &mut schema.fields {
        let before = old
            .fields
            .iter()
            .find(|old| same_name(&old.name, &field.name));
        let Some(before) = before else { continue };
        if let (DataType::Struct(fields), DataType::Struct(old)) =
            (&mut field.data_type, &before.data_type)
        {
            keep_fields(fields, old);
            field.metadata = before.metadata.clone();
        } else if same_shape(&field.data_type, &before.data_type) {
            // With the ids and physical names within arrays and maps.
            field.data_type = before.data_type.clone();
            field.metadata = before.metadata.clone();
        }
    }
}

/// Whether two types are the same but for nullability and metadata.
fn same_shape(one: &DataType, other: &DataType) -> bool {
    match (one, other) {
        (DataType::Array(one), DataType::Array(other)) => {
            same_shape(&one.element_type, &other.element_type)
        }
        (DataType::Map(one), DataType::Map(other)) => {
            same_shape(&one.key_type, &other.key_type)
                && same_shape(&one.value_type, &other.value_type)
        }
        (DataType::Struct(one), DataType::Struct(other)) => {
            one.fields.len() == other.fields.len()
                && one.fields.iter().zip(&other.fields).all(|(one, other)| {
                    one.name == other.name && same_shape(&one.data_type, &other.data_type)
                })
        }
        _ => one == other,
    }
}

/// Checks the names of a changed schema, and that the table has the features its types take.
fn check_new(
    old: &StructType,
    new: &StructType,
    mapping: MappingMode,
    protocol: &Protocol,
    file: &str,
) -> Result<(), IntakeError> {
    let refused = |column: &str, problem: String| IntakeError::SchemaChange {
        file: file.to_owned(),
        column: column.to_owned(),
        problem,
    };
    let added = new.fields.iter().filter(|field| {
        let known = old.fields.iter();
        !known
            .into_iter()
            .any(|old| old.name == field.name && old.data_type == field.data_type)
    });
    for field in added {
        let is_known = old.field(&field.name).is_some();
        if let Some(problem) = name_problem(&field.name, mapping).filter(|_| !is_known) {
            return Err(refused(&field.name, problem));
        }
        let alone = StructType {
            fields: vec![field.clone()],
        };
        if let DataType::Struct(_) | DataType::Array(_) | DataType::Map(_) = &field.data_type
            && let Some((path, problem)) = super::schema::first_bad_name(&alone, mapping)
        {
            return Err(refused(&path, problem));
        }
        for feature in features_of_types(&alone) {
            if !has_feature(protocol, feature) {
                return Err(refused(
                    &field.name,
                    format!(
                        "the type {} takes the table feature {feature}, which the table does not \
                         have; enable it (ALTER TABLE ... SET TBLPROPERTIES ('delta.feature.\
                         {feature}' = 'supported')), or cast the column",
                        field.data_type
                    ),
                ));
            }
        }
    }
    Ok(())
}

fn has_feature(protocol: &Protocol, feature: &str) -> bool {
    let lists = [&protocol.reader_features, &protocol.writer_features];
    lists.iter().all(|list| {
        list.iter()
            .flatten()
            .any(|name| name.strip_suffix("-preview").unwrap_or(name) == feature)
    })
}

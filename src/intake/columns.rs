//! Which column of a file is which of the table.
//!
//! As Delta does for a data frame: by logical name, regardless of case and order, at every depth.
//! That holds under column mapping too: who stages a file knows the table's names, not the physical
//! ones.

use super::IntakeError;
use super::types::{self, Fit};
use crate::parquet::{Annotation, Footer, ListForm, Node, NodeKind, Repetition};
use crate::schema::{
    ArrayType, DataType, MapType, MappingMode, StructField, StructType, column_path,
};

/// A column of the table, or a field of one of its structs, and what a file has for it.
#[derive(Debug)]
pub(super) struct Column<'t> {
    pub(super) field: &'t StructField,
    /// Its path in the table.
    pub(super) path: String,
    pub(super) source: Source<'t>,
}

/// What a file has for a column.
#[derive(Debug)]
pub(super) enum Source<'t> {
    /// Nothing.
    Missing,
    /// A column without a type, always null.
    AlwaysNull,
    /// Values.
    File(Part<'t>),
}

/// A node of the file that holds values of a type of the table.
#[derive(Debug)]
pub(super) struct Part<'t> {
    /// Its position among the children of its parent.
    pub(super) position: usize,
    pub(super) node: Node,
    pub(super) shape: Shape<'t>,
}

/// How the values of a type lie in the file.
#[derive(Debug)]
pub(super) enum Shape<'t> {
    /// In a leaf.
    Leaf {
        /// The position of the leaf among all.
        leaf: usize,
        fit: Fit,
        /// What a data file calls its values, unless they are converted.
        annotation: Annotation,
    },
    /// In the fields of a group, in the order of the table.
    Struct(Vec<Column<'t>>),
    /// In a list.
    List(&'t ArrayType, Box<Part<'t>>),
    /// In a map: its keys and values.
    Map(&'t MapType, Box<(Part<'t>, Part<'t>)>),
    /// In the fields of a variant, which nobody looks into.
    Variant,
}

/// In what a file differs from a data file of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Differences {
    /// Names, field ids or annotations are others, or columns are to go.
    pub(super) names: bool,
    /// Values, levels or types are others, so that it has to be encoded anew.
    pub(super) values: bool,
}

/// Matches files with the schema of a table.
pub(super) struct Matcher<'a> {
    file: &'a str,
    mapping: MappingMode,
    /// Whether shredded variants are allowed.
    shredding: bool,
    differences: Differences,
}

impl<'a> Matcher<'a> {
    pub(super) fn new(file: &'a str, mapping: MappingMode, shredding: bool) -> Matcher<'a> {
        Matcher {
            file,
            mapping,
            shredding,
            differences: Differences::default(),
        }
    }

    /// The columns of `schema`, in order, with what the file has for them. Every column of the file
    /// is one of the table, and has its type.
    pub(super) fn columns<'t>(
        mut self,
        schema: &'t StructType,
        footer: &Footer,
    ) -> Result<(Vec<Column<'t>>, Differences), IntakeError> {
        let columns = self.fields(schema, footer.columns(), "")?;
        Ok((columns, self.differences))
    }

    fn fields<'t>(
        &mut self,
        fields: &'t StructType,
        nodes: &[Node],
        parent: &str,
    ) -> Result<Vec<Column<'t>>, IntakeError> {
        let mut sources: Vec<Option<usize>> = vec![None; fields.fields.len()];
        for (position, node) in nodes.iter().enumerate() {
            let found = fields
                .fields
                .iter()
                .position(|field| same_name(&field.name, &node.name));
            let Some(index) = found else {
                let names: Vec<&str> = fields.fields.iter().map(|f| f.name.as_str()).collect();
                return Err(IntakeError::UnknownColumn {
                    file: self.file.to_owned(),
                    column: column_path(parent, &node.name),
                    found: node.to_string(),
                    columns: names.join(", "),
                });
            };
            if let Some(first) = sources[index].replace(position) {
                return Err(IntakeError::AmbiguousColumn {
                    file: self.file.to_owned(),
                    first: column_path(parent, &nodes[first].name),
                    second: column_path(parent, &node.name),
                });
            }
        }
        let columns = fields.fields.iter().zip(sources);
        columns
            .map(|(field, position)| {
                let path = column_path(parent, &field.name);
                let source = match position {
                    None => Source::Missing,
                    Some(position) => self.field(field, &nodes[position], position, &path)?,
                };
                Ok(Column {
                    field,
                    path,
                    source,
                })
            })
            .collect()
    }

    fn field<'t>(
        &mut self,
        field: &'t StructField,
        node: &Node,
        position: usize,
        path: &str,
    ) -> Result<Source<'t>, IntakeError> {
        if matches!(node.kind, NodeKind::Leaf { .. })
            && types::is_always_null(node.annotation)
            && node.repetition != Repetition::Repeated
        {
            // Data files have no such columns; an absent one is null, too.
            self.differences.names = true;
            return Ok(Source::AlwaysNull);
        }
        let id = match self.mapping {
            MappingMode::None => node.id,
            MappingMode::Name | MappingMode::Id => field.column_id(),
        };
        if node.name != field.name_in_files(self.mapping) || node.id != id {
            self.differences.names = true;
        }
        let part = self.part(&field.data_type, node, position, path)?;
        Ok(Source::File(part))
    }

    /// A type where it occurs once: a field, an element, a key, a value.
    fn part<'t>(
        &mut self,
        data_type: &'t DataType,
        node: &Node,
        position: usize,
        path: &str,
    ) -> Result<Part<'t>, IntakeError> {
        if node.repetition == Repetition::Repeated {
            let advice = "write it as a list with the annotation LIST";
            return Err(self.wrong(path, node, data_type, advice));
        }
        self.value(data_type, node, position, path)
    }

    /// A type, however often it occurs.
    fn value<'t>(
        &mut self,
        data_type: &'t DataType,
        node: &Node,
        position: usize,
        path: &str,
    ) -> Result<Part<'t>, IntakeError> {
        const CAST: &str = "cast the column to the table's type before you stage the file";
        let shape = match (data_type, &node.kind) {
            (DataType::Primitive(primitive), NodeKind::Leaf { physical, leaf }) => {
                let fit = types::fit(*primitive, *physical, node.annotation)
                    .map_err(|advice| self.wrong(path, node, data_type, advice))?;
                self.differences.values |= fit == Fit::Converted;
                self.differences.names |= fit == Fit::Relabeled;
                let annotation = match fit {
                    Fit::Relabeled => types::annotation(*primitive),
                    Fit::Exact | Fit::Converted => node.annotation,
                };
                Shape::Leaf {
                    leaf: *leaf,
                    fit,
                    annotation,
                }
            }
            (DataType::Struct(fields), NodeKind::Group(children))
                if node.annotation == Annotation::None =>
            {
                let columns = self.fields(fields, children, path)?;
                if !columns.iter().any(|column| column.is_in_file()) {
                    let advice = "it needs one of the table's fields at least";
                    return Err(self.wrong(path, node, data_type, advice));
                }
                Shape::Struct(columns)
            }
            (DataType::Array(array), NodeKind::Group(children))
                if node.annotation == Annotation::List =>
            {
                match children.as_slice() {
                    [repeated] if repeated.repetition == Repetition::Repeated => {
                        Shape::List(array, Box::new(self.element(array, repeated, path)?))
                    }
                    _ => return Err(self.wrong(path, node, data_type, CAST)),
                }
            }
            (DataType::Map(map), NodeKind::Group(children))
                if matches!(node.annotation, Annotation::Map | Annotation::MapKeyValue) =>
            {
                // The older annotation is not known to all.
                self.differences.names |= node.annotation == Annotation::MapKeyValue;
                match children.as_slice() {
                    [entries] if entries.repetition == Repetition::Repeated => {
                        let entries = self.entries(map, entries, path)?;
                        Shape::Map(map, Box::new(entries))
                    }
                    _ => return Err(self.wrong(path, node, data_type, CAST)),
                }
            }
            (DataType::Variant, NodeKind::Group(_))
                if node.is_variant() && (self.shredding || !node.is_shredded()) =>
            {
                Shape::Variant
            }
            (DataType::Variant, NodeKind::Group(_)) if node.is_shredded() => {
                let advice =
                    "the table does not enable delta.enableVariantShredding; write it unshredded";
                return Err(self.wrong(path, node, data_type, advice));
            }
            _ => return Err(self.wrong(path, node, data_type, CAST)),
        };
        Ok(Part {
            position,
            node: node.clone(),
            shape,
        })
    }

    fn element<'t>(
        &mut self,
        array: &'t ArrayType,
        repeated: &Node,
        path: &str,
    ) -> Result<Part<'t>, IntakeError> {
        let path = column_path(path, "element");
        // Some readers of Delta find the elements of a list by the name of the group around them, and
        // show nulls in older forms.
        self.differences.names |=
            repeated.name != "list" || matches!(repeated.list_form(), ListForm::Element);
        match repeated.list_form() {
            ListForm::Element => self.value(&array.element_type, repeated, 0, &path),
            ListForm::Around(child) => self.part(&array.element_type, child, 0, &path),
            ListForm::Disputed => {
                let advice = "readers disagree on what this list holds; write it in the three-level \
                              form of the Parquet format";
                Err(self.wrong(&path, repeated, &array.element_type, advice))
            }
        }
    }

    fn entries<'t>(
        &mut self,
        map: &'t MapType,
        entries: &Node,
        path: &str,
    ) -> Result<(Part<'t>, Part<'t>), IntakeError> {
        let [key, value] = entries.children() else {
            let advice = "a map has entries of a key and a value";
            return Err(self.wrong(path, entries, &map.value_type, advice));
        };
        // Keys that may be null, and are not, are written as keys that may not.
        self.differences.values |= key.repetition != Repetition::Required;
        Ok((
            self.part(&map.key_type, key, 0, &column_path(path, "key"))?,
            self.part(&map.value_type, value, 1, &column_path(path, "value"))?,
        ))
    }

    fn wrong(&self, path: &str, node: &Node, expected: &DataType, advice: &str) -> IntakeError {
        IntakeError::WrongType {
            file: self.file.to_owned(),
            column: path.to_owned(),
            found: node.to_string(),
            expected: expected.to_string(),
            advice: advice.to_owned(),
        }
    }
}

impl<'t> Column<'t> {
    /// Whether the file has values for it.
    pub(super) fn is_in_file(&self) -> bool {
        matches!(self.source, Source::File(_))
    }

    /// Where its values are.
    pub(super) fn part(&self) -> Option<&Part<'t>> {
        match &self.source {
            Source::File(part) => Some(part),
            Source::Missing | Source::AlwaysNull => None,
        }
    }
}

/// Whether two names are one to Delta.
pub(super) fn same_name(one: &str, other: &str) -> bool {
    one == other || one.to_lowercase() == other.to_lowercase()
}

//! A table with one data file and two schemas, and what it has to show.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch};
use arrow::datatypes::{Schema as ArrowSchema, TimeUnit};
use parquet::arrow::ArrowSchemaConverter;
use parquet::arrow::arrow_writer::{ArrowWriter, ArrowWriterOptions};
use parquet::basic::{Compression, Encoding, Type as Physical};
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterVersion};
use serde_json::json;

use super::super::support::{
    TableBuilder, add, inline_vector, other, serialized_vector, table_features, vector_file, z85,
};
use super::dice::Dice;
use super::evolve::{Change, Schema, carried, widened};
use super::kinds::{Field, Kind, Mapping, Part, Primitive, Spelling, arrow_fields, delta_struct};
use super::values::{Flavour, Value, array};
use super::{other_writer, partitions};

/// A partition column.
#[derive(Debug, Clone)]
pub struct Partition {
    pub primitive: Primitive,
    /// Where it stands among the columns, modulo how many there are.
    pub position: usize,
    pub null: bool,
    /// Whether it may not be null, where it is not.
    pub required: bool,
    /// Whether the data file holds it, too, with other values.
    pub in_file: bool,
}

/// Which rows the deletion vector deletes.
#[derive(Debug, Clone)]
pub enum Deletions {
    None,
    /// That many of 16.
    Random(usize),
    /// So many rows from the one at this share (of 16) on.
    Cluster {
        from: usize,
        length: usize,
    },
    /// Whole row groups: one of so many, from the first on.
    Groups(usize),
    /// One row.
    One(usize),
    /// All but one.
    AllButOne(usize),
    All,
}

/// How the data file is written.
#[derive(Debug, Clone)]
pub struct Style {
    pub rows: usize,
    pub group_rows: usize,
    pub page_rows: usize,
    pub dictionary: bool,
    /// Bytes that a dictionary may have before it is given up.
    pub dictionary_limit: usize,
    pub compression: Compression,
    pub version_2: bool,
    /// Encodings for one type or another instead of PLAIN.
    pub special_encodings: bool,
    pub statistics: EnabledStatistics,
    pub bloom_filters: bool,
    pub unit: TimeUnit,
    /// Whether fields have ids even where nobody needs them.
    pub ids: bool,
    /// Whether the columns stand in the opposite order.
    pub backwards: bool,
    pub legacy_names: bool,
    /// Whether everything may be null in the file, also what may not in the table.
    pub optional: bool,
    /// Whether some columns are not compressed.
    pub mixed_codecs: bool,
    pub nulls: usize,
    pub distinct: usize,
}

/// All there is to a table.
#[derive(Debug, Clone)]
pub struct Case {
    pub mapping: Mapping,
    pub columns: Vec<Part>,
    pub partitions: Vec<Partition>,
    pub changes: Vec<Change>,
    pub deletions: Deletions,
    pub style: Style,
    pub seed: u64,
}

/// What a version has to show.
#[derive(Debug)]
pub struct Expected {
    pub columns: Vec<Field>,
    /// The ids of the partition columns.
    pub partitions: Vec<i32>,
    /// The values of each column.
    pub values: Vec<Vec<Value>>,
    pub rows: usize,
    /// Whether the data file has rows that are not shown.
    pub dropped: bool,
}

/// A table that was made of a case.
pub struct Made {
    pub table: TableBuilder,
    pub mapping: Mapping,
    /// What versions 0 and 1 show.
    pub expected: [Expected; 2],
}

impl Made {
    /// Whether the data file is listed: unless each of its rows is deleted.
    pub fn is_listed(&self, version: usize) -> bool {
        let Expected { rows, dropped, .. } = self.expected[version];
        rows > 0 || !dropped
    }
}

impl Expected {
    /// The same without the partition columns.
    pub fn without_partitions(&self) -> Expected {
        let (columns, values) = self
            .columns
            .iter()
            .zip(&self.values)
            .filter(|(field, _)| !self.partitions.contains(&field.id))
            .map(|(field, values)| (field.clone(), values.clone()))
            .unzip();
        Expected {
            columns,
            partitions: Vec::new(),
            values,
            ..*self
        }
    }
}

impl Case {
    /// A table of a hundred rows that nothing has happened to.
    pub fn plain(columns: Vec<Part>) -> Case {
        Case {
            mapping: Mapping::None,
            columns,
            partitions: Vec::new(),
            changes: Vec::new(),
            deletions: Deletions::None,
            style: Style {
                rows: 100,
                group_rows: 37,
                page_rows: 20,
                dictionary: false,
                dictionary_limit: 1 << 20,
                compression: Compression::UNCOMPRESSED,
                version_2: false,
                special_encodings: false,
                statistics: EnabledStatistics::Page,
                bloom_filters: false,
                unit: TimeUnit::Microsecond,
                ids: false,
                backwards: false,
                legacy_names: false,
                optional: false,
                mixed_codecs: false,
                nulls: 3,
                distinct: 0,
            },
            seed: 1,
        }
    }

    /// Writes the table.
    pub fn make(&self) -> Made {
        let mut dice = Dice::new(self.seed);
        let mut schema = Schema {
            mapping: self.mapping,
            columns: Vec::new(),
            partitions: Vec::new(),
            last_id: 0,
            dropped: Vec::new(),
        };
        schema.columns = self
            .columns
            .iter()
            .map(|part| schema.named(part.clone()))
            .collect();
        let mut constants: Vec<(i32, Primitive, Value, Option<String>)> = Vec::new();
        let mut in_file = Vec::new();
        for partition in &self.partitions {
            let (id, value, text) = self.partition(partition, &mut schema, &mut dice);
            if partition.in_file {
                in_file.push(id);
            }
            constants.push((id, partition.primitive, value, text));
        }
        let before = schema.clone();
        for change in &self.changes {
            schema.change(change);
        }

        let flavour = self.flavour();
        let written: Vec<(&Field, Vec<Value>)> = before
            .columns
            .iter()
            .filter(|field| !before.partitions.contains(&field.id) || in_file.contains(&field.id))
            .map(|field| {
                let values = (0..self.style.rows).map(|_| flavour.value(&field.part, &mut dice));
                (field, values.collect())
            })
            .collect();
        let bytes = other_writer::rewritten(self.file(&written), self.seed);
        let deleted = self.deleted(&mut dice);

        let expected = [&before, &schema].map(|shown| {
            let values = shown.columns.iter().map(|field| {
                let constant = constants.iter().find(|(id, ..)| *id == field.id);
                let source = written.iter().find(|(before, _)| before.id == field.id);
                (0..self.style.rows)
                    .filter(|row| !deleted.contains(row))
                    .map(|row| match (constant, source, &field.part.kind) {
                        (Some((_, from, value, _)), _, Kind::Primitive(to)) => {
                            widened(value, *from, *to)
                        }
                        (_, Some((before, values)), to) => {
                            carried(&values[row], &before.part.kind, to)
                        }
                        _ => Value::Null,
                    })
                    .collect()
            });
            Expected {
                values: values.collect(),
                columns: shown.columns.clone(),
                partitions: shown.partitions.clone(),
                rows: self.style.rows - deleted.len(),
                dropped: !deleted.is_empty(),
            }
        });
        let table = self.table(&before, &schema, &constants, &bytes, &deleted);
        Made {
            table,
            mapping: self.mapping,
            expected,
        }
    }

    fn flavour(&self) -> Flavour {
        Flavour {
            nulls: self.style.nulls,
            distinct: self.style.distinct,
            unit: self.style.unit,
        }
    }

    fn partition(
        &self,
        partition: &Partition,
        schema: &mut Schema,
        dice: &mut Dice,
    ) -> (i32, Value, Option<String>) {
        let part = Part {
            kind: Kind::Primitive(partition.primitive),
            nullable: true,
        };
        let once = Flavour {
            nulls: 16 * usize::from(partition.null),
            distinct: 0,
            unit: TimeUnit::Microsecond,
        };
        let mut value = match partition.primitive {
            // What is no text cannot stand in the log.
            Primitive::Binary if !partition.null => {
                Value::Bytes(super::values::text(dice).into_bytes())
            }
            _ => once.value(&part, dice),
        };
        if value == Value::Bytes(Vec::new()) {
            value = Value::Null;
        }
        let text = partitions::text(&value, partition.primitive, dice.below(2) == 0);
        let mut field = schema.named(part);
        field.part.nullable = value == Value::Null || !partition.required;
        let id = field.id;
        let position = partition.position % (schema.columns.len() + 1);
        schema.columns.insert(position, field);
        schema.partitions.push(id);
        (id, value, text)
    }

    fn file(&self, columns: &[(&Field, Vec<Value>)]) -> Vec<u8> {
        let style = &self.style;
        let spelling = Spelling {
            mapping: self.mapping,
            ids: style.ids || self.mapping == Mapping::Id,
            unit: style.unit,
            optional: style.optional,
            element: if style.legacy_names {
                "item"
            } else {
                "element"
            },
        };
        let mut columns: Vec<&(&Field, Vec<Value>)> = columns.iter().collect();
        if style.backwards {
            columns.reverse();
        }
        let fields: Vec<Field> = columns.iter().map(|(field, _)| (*field).clone()).collect();
        let schema = Arc::new(ArrowSchema::new(arrow_fields(&fields, spelling)));
        let arrays: Vec<ArrayRef> = columns
            .iter()
            .zip(schema.fields())
            .map(|((_, values), field)| {
                array(field.data_type(), &values.iter().collect::<Vec<_>>())
            })
            .collect();
        let batch = RecordBatch::try_new(schema.clone(), arrays).expect("columns fit together");
        let options = ArrowWriterOptions::new()
            .with_skip_arrow_metadata(true)
            .with_properties(self.properties(&schema));
        let mut bytes = Vec::new();
        let mut writer = ArrowWriter::try_new_with_options(&mut bytes, schema, options)
            .expect("the schema can be written");
        writer.write(&batch).expect("writing to memory");
        writer.close().expect("writing to memory");
        bytes
    }

    fn properties(&self, schema: &ArrowSchema) -> WriterProperties {
        let style = &self.style;
        let mut properties = WriterProperties::builder()
            .set_writer_version(match style.version_2 {
                true => WriterVersion::PARQUET_2_0,
                false => WriterVersion::PARQUET_1_0,
            })
            .set_max_row_group_row_count(Some(style.group_rows))
            .set_data_page_row_count_limit(style.page_rows)
            .set_write_batch_size(style.page_rows.min(1_024))
            .set_dictionary_enabled(style.dictionary)
            .set_dictionary_page_size_limit(style.dictionary_limit)
            .set_compression(style.compression)
            .set_statistics_enabled(style.statistics)
            .set_bloom_filter_enabled(style.bloom_filters);
        let leaves = ArrowSchemaConverter::new()
            .convert(schema)
            .expect("the schema can be written");
        for (position, leaf) in leaves.columns().iter().enumerate() {
            let special = match leaf.physical_type() {
                Physical::INT32 | Physical::INT64 if position % 2 == 0 => {
                    Encoding::DELTA_BINARY_PACKED
                }
                Physical::BYTE_ARRAY if position % 2 == 0 => Encoding::DELTA_BYTE_ARRAY,
                Physical::BYTE_ARRAY => Encoding::DELTA_LENGTH_BYTE_ARRAY,
                Physical::BOOLEAN => Encoding::RLE,
                _ => Encoding::BYTE_STREAM_SPLIT,
            };
            if style.mixed_codecs && position % 2 == 1 {
                let path = leaf.path().clone();
                properties = properties.set_column_compression(path, Compression::UNCOMPRESSED);
            }
            if style.special_encodings {
                properties = properties.set_column_encoding(leaf.path().clone(), special);
            }
        }
        properties.build()
    }

    fn deleted(&self, dice: &mut Dice) -> BTreeSet<usize> {
        let Style {
            rows, group_rows, ..
        } = self.style;
        let all = 0..rows;
        match self.deletions {
            _ if rows == 0 => BTreeSet::new(),
            Deletions::None => BTreeSet::new(),
            Deletions::Random(share) => all.filter(|_| dice.below(16) < share).collect(),
            Deletions::Cluster { from, length } => {
                let from = from * rows / 16;
                all.filter(|row| (from..from + length).contains(row))
                    .collect()
            }
            Deletions::Groups(every) => all
                .filter(|row| (row / group_rows).is_multiple_of(every))
                .collect(),
            Deletions::One(row) => BTreeSet::from([row % rows]),
            Deletions::AllButOne(row) => all.filter(|other| *other != row % rows).collect(),
            Deletions::All => all.collect(),
        }
    }

    fn table(
        &self,
        before: &Schema,
        after: &Schema,
        constants: &[(i32, Primitive, Value, Option<String>)],
        bytes: &[u8],
        deleted: &BTreeSet<usize>,
    ) -> TableBuilder {
        let metadata = |schema: &Schema| {
            let partitions: Vec<&str> = schema
                .partitions
                .iter()
                .map(|id| {
                    let field = schema.columns.iter().find(|field| field.id == *id);
                    &*field.expect("a partition column stays").name
                })
                .collect();
            let mode = match schema.mapping {
                Mapping::None => "none",
                Mapping::Name => "name",
                Mapping::Id => "id",
            };
            other(
                "metaData",
                json!({
                    "id": "1a2b3c4d-0000-4000-8000-000000000001",
                    "format": {"provider": "parquet", "options": {}},
                    "schemaString": delta_struct(&schema.columns).to_string(),
                    "partitionColumns": partitions,
                    "configuration": {"delta.columnMapping.mode": mode},
                    "createdTime": 1_700_000_000_000_i64,
                }),
            )
        };
        let mut file = add("part-0.parquet")
            .size(bytes.len() as i64)
            .stats(json!({"numRecords": self.style.rows}));
        for (id, _, _, text) in constants {
            let field = before.columns.iter().find(|field| field.id == *id);
            let field = field.expect("a partition column is a column");
            let name = match self.mapping {
                Mapping::None => &field.name,
                Mapping::Name | Mapping::Id => &field.physical,
            };
            file = file.partition(name, text.as_deref());
        }
        if !deleted.is_empty() {
            let rows: Vec<u64> = deleted.iter().map(|row| *row as u64).collect();
            file = file.dv(&match self.seed % 2 {
                0 => inline_vector(&rows),
                _ => vector_in_file(&rows),
            });
        }
        let features = table_features(&[
            "columnMapping",
            "deletionVectors",
            "timestampNtz",
            "typeWidening",
        ]);
        let mut table = TableBuilder::with_actions([features, metadata(before), file]);
        table.commit([metadata(after)]);
        table.write("part-0.parquet", bytes);
        if !deleted.is_empty() {
            let rows: Vec<u64> = deleted.iter().map(|row| *row as u64).collect();
            let vectors = [serialized_vector(&[1, 2, 3]), serialized_vector(&rows)];
            let file = vector_file(&[&vectors[0], &vectors[1]]);
            table.write(&format!("ab/{VECTOR_FILE}"), file);
        }
        table
    }
}

/// The name of the file with the deletion vector, by its UUID.
const VECTOR_FILE: &str = "deletion_vector_07070707-0707-0707-0707-070707070707.bin";

/// A descriptor of the second vector in that file.
fn vector_in_file(rows: &[u64]) -> serde_json::Value {
    let first = serialized_vector(&[1, 2, 3]).len();
    json!({
        "storageType": "u",
        "pathOrInlineDv": format!("ab{}", z85(&[7; 16])),
        "offset": 1 + 4 + first + 4,
        "sizeInBytes": serialized_vector(rows).len(),
        "cardinality": rows.len(),
    })
}

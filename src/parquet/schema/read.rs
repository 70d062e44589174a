//! Reading the schema out of a footer.

use super::super::thrift::{Damage, Kind, Reader};
use super::{Annotation, MAX_DEPTH, Node, NodeKind, PhysicalType, Repetition, TimeUnit};

/// How many elements a schema may have; a bound for memory, far above what tables have.
const MAX_ELEMENTS: usize = 1 << 20;

/// A `SchemaElement` of parquet.thrift.
#[derive(Default)]
struct Element<'a> {
    physical: Option<i32>,
    type_length: Option<i32>,
    repetition: Option<i32>,
    name: Option<&'a str>,
    children: Option<i32>,
    converted: Option<i32>,
    scale: Option<i32>,
    precision: Option<i32>,
    id: Option<i32>,
    logical: Option<Annotation>,
}

/// Reads the list of elements in `FileMetaData.schema`: the top-level columns and the number of
/// leaves.
pub(in crate::parquet) fn read_schema(
    reader: &mut Reader<'_>,
) -> Result<(Vec<Node>, usize), Damage> {
    let count = reader.struct_list("schema")?;
    if count > MAX_ELEMENTS {
        return Err(Damage(format!(
            "its schema has {count} elements, and at most {MAX_ELEMENTS} are read"
        )));
    }
    let mut builder = TreeBuilder {
        reader,
        elements_left: count,
        leaves: 0,
    };
    let root = builder.element()?;
    let columns = builder.children(root.children, 1)?;
    if builder.elements_left > 0 {
        return Err(Damage(format!(
            "its schema has {} elements more than its groups have children",
            builder.elements_left
        )));
    }
    let leaves = builder.leaves;
    Ok((columns, leaves))
}

/// Turns the flat list of elements, each group followed by its children, into a tree.
struct TreeBuilder<'r, 'a> {
    reader: &'r mut Reader<'a>,
    elements_left: usize,
    leaves: usize,
}

impl<'a> TreeBuilder<'_, 'a> {
    fn element(&mut self) -> Result<Element<'a>, Damage> {
        self.elements_left = self.elements_left.checked_sub(1).ok_or_else(|| {
            Damage("the groups of its schema have more children than there are elements".to_owned())
        })?;
        read_element(self.reader)
    }

    fn children(&mut self, count: Option<i32>, depth: usize) -> Result<Vec<Node>, Damage> {
        let count = count.unwrap_or(0);
        if count < 0 {
            return Err(Damage(format!(
                "a group of its schema has {count} children"
            )));
        }
        if depth > MAX_DEPTH {
            return Err(Damage(format!(
                "its schema nests deeper than {MAX_DEPTH} levels"
            )));
        }
        // Grown one by one: `count` is a claim until its elements have been read.
        let mut children = Vec::new();
        for _ in 0..count {
            children.push(self.node(depth)?);
        }
        Ok(children)
    }

    fn node(&mut self, depth: usize) -> Result<Node, Damage> {
        let element = self.element()?;
        let name = element
            .name
            .ok_or_else(|| Damage("a schema element has no name".to_owned()))?;
        let damage = |what: String| Damage(format!("column {name:?} has {what}"));
        let repetition = match element.repetition {
            Some(0) => Repetition::Required,
            Some(1) => Repetition::Optional,
            Some(2) => Repetition::Repeated,
            other => return Err(damage(format!("the repetition type {other:?}"))),
        };
        let annotation = annotation(&element).map_err(&damage)?;
        let kind = match (element.children.unwrap_or(0), element.physical) {
            (0, Some(physical)) => {
                let leaf = self.leaves;
                self.leaves += 1;
                let physical = physical_type(physical, element.type_length).map_err(damage)?;
                NodeKind::Leaf { physical, leaf }
            }
            _ => NodeKind::Group(self.children(element.children, depth + 1)?),
        };
        Ok(Node {
            name: name.to_owned(),
            id: element.id,
            repetition,
            annotation,
            kind,
        })
    }
}

fn read_element<'a>(reader: &mut Reader<'a>) -> Result<Element<'a>, Damage> {
    let mut element = Element::default();
    let mut last = 0;
    while let Some(field) = reader.field(&mut last)? {
        let number = match field.id {
            1 => &mut element.physical,
            2 => &mut element.type_length,
            3 => &mut element.repetition,
            5 => &mut element.children,
            6 => &mut element.converted,
            7 => &mut element.scale,
            8 => &mut element.precision,
            9 => &mut element.id,
            4 => {
                field.expect(Kind::Binary, "SchemaElement.name")?;
                element.name = Some(reader.text("SchemaElement.name")?);
                continue;
            }
            10 => {
                field.expect(Kind::Struct, "SchemaElement.logicalType")?;
                element.logical = Some(read_logical_type(reader)?);
                continue;
            }
            _ => {
                reader.skip(field)?;
                continue;
            }
        };
        field.expect(Kind::I32, "of SchemaElement")?;
        *number = Some(reader.i32()?);
    }
    Ok(element)
}

fn physical_type(physical: i32, length: Option<i32>) -> Result<PhysicalType, String> {
    Ok(match physical {
        0 => PhysicalType::Boolean,
        1 => PhysicalType::Int32,
        2 => PhysicalType::Int64,
        3 => PhysicalType::Int96,
        4 => PhysicalType::Float,
        5 => PhysicalType::Double,
        6 => PhysicalType::ByteArray,
        7 => match length.map(u32::try_from) {
            Some(Ok(length)) => PhysicalType::FixedLenByteArray(length),
            _ => return Err(format!("fixed-length values of length {length:?}")),
        },
        other => return Err(format!("the physical type {other}")),
    })
}

/// The logical type supersedes the converted type.
fn annotation(element: &Element<'_>) -> Result<Annotation, String> {
    if let Some(logical) = element.logical {
        return Ok(logical);
    }
    let Some(converted) = element.converted else {
        return Ok(Annotation::None);
    };
    let integer = |bits, signed| Annotation::Integer { bits, signed };
    Ok(match converted {
        0 => Annotation::String,
        1 => Annotation::Map,
        2 => Annotation::MapKeyValue,
        3 => Annotation::List,
        4 => Annotation::Other("ENUM"),
        5 => match element.precision {
            Some(precision) => Annotation::Decimal {
                precision,
                scale: element.scale.unwrap_or(0),
            },
            None => return Err("a decimal type without precision".to_owned()),
        },
        6 => Annotation::Date,
        7 | 8 => Annotation::Other("TIME"),
        9 => Annotation::LegacyTimestamp(TimeUnit::Millis),
        10 => Annotation::LegacyTimestamp(TimeUnit::Micros),
        11 => integer(8, false),
        12 => integer(16, false),
        13 => integer(32, false),
        14 => integer(64, false),
        15 => integer(8, true),
        16 => integer(16, true),
        17 => integer(32, true),
        18 => integer(64, true),
        19 => Annotation::Other("JSON"),
        20 => Annotation::Other("BSON"),
        21 => Annotation::Other("INTERVAL"),
        other => return Err(format!("the converted type {other}")),
    })
}

/// Reads the union `LogicalType`.
fn read_logical_type(reader: &mut Reader<'_>) -> Result<Annotation, Damage> {
    let mut annotation = None;
    let mut last = 0;
    while let Some(field) = reader.field(&mut last)? {
        field.expect(Kind::Struct, "of LogicalType")?;
        if annotation.is_some() {
            return Err(Damage("a logical type is two at once".to_owned()));
        }
        annotation = Some(match field.id {
            5 => read_decimal(reader)?,
            8 => read_timestamp(reader)?,
            10 => read_integer(reader)?,
            id => {
                reader.skip(field)?;
                match id {
                    1 => Annotation::String,
                    2 => Annotation::Map,
                    3 => Annotation::List,
                    4 => Annotation::Other("ENUM"),
                    6 => Annotation::Date,
                    7 => Annotation::Other("TIME"),
                    11 => Annotation::ALWAYS_NULL,
                    12 => Annotation::Other("JSON"),
                    13 => Annotation::Other("BSON"),
                    14 => Annotation::Other("UUID"),
                    15 => Annotation::Other("FLOAT16"),
                    16 => Annotation::Variant,
                    17 => Annotation::Other("GEOMETRY"),
                    18 => Annotation::Other("GEOGRAPHY"),
                    other => Annotation::Unknown(other),
                }
            }
        });
    }
    annotation.ok_or_else(|| Damage("a logical type is empty".to_owned()))
}

fn read_decimal(reader: &mut Reader<'_>) -> Result<Annotation, Damage> {
    let (mut scale, mut precision) = (None, None);
    let mut last = 0;
    while let Some(field) = reader.field(&mut last)? {
        let number = match field.id {
            1 => &mut scale,
            2 => &mut precision,
            _ => {
                reader.skip(field)?;
                continue;
            }
        };
        field.expect(Kind::I32, "of DecimalType")?;
        *number = Some(reader.i32()?);
    }
    match (precision, scale) {
        (Some(precision), Some(scale)) => Ok(Annotation::Decimal { precision, scale }),
        _ => Err(Damage(
            "a decimal type lacks its precision or scale".to_owned(),
        )),
    }
}

fn read_timestamp(reader: &mut Reader<'_>) -> Result<Annotation, Damage> {
    let (mut utc, mut unit) = (None, None);
    let mut last = 0;
    while let Some(field) = reader.field(&mut last)? {
        match field.id {
            1 => utc = Some(field.bool("TimestampType.isAdjustedToUTC")?),
            2 => {
                field.expect(Kind::Struct, "TimestampType.unit")?;
                unit = Some(read_time_unit(reader)?);
            }
            _ => reader.skip(field)?,
        }
    }
    match (utc, unit) {
        (Some(utc), Some(unit)) => Ok(Annotation::Timestamp { utc, unit }),
        _ => Err(Damage(
            "a timestamp type lacks its unit or isAdjustedToUTC".to_owned(),
        )),
    }
}

fn read_time_unit(reader: &mut Reader<'_>) -> Result<TimeUnit, Damage> {
    let mut unit = None;
    let mut last = 0;
    while let Some(field) = reader.field(&mut last)? {
        field.expect(Kind::Struct, "of TimeUnit")?;
        reader.skip(field)?;
        unit = Some(match field.id {
            1 => TimeUnit::Millis,
            2 => TimeUnit::Micros,
            3 => TimeUnit::Nanos,
            other => return Err(Damage(format!("the format has no time unit {other}"))),
        });
    }
    unit.ok_or_else(|| Damage("a time unit is empty".to_owned()))
}

fn read_integer(reader: &mut Reader<'_>) -> Result<Annotation, Damage> {
    let (mut bits, mut signed) = (None, None);
    let mut last = 0;
    while let Some(field) = reader.field(&mut last)? {
        match field.id {
            1 => {
                field.expect(Kind::I8, "IntType.bitWidth")?;
                bits = Some(reader.i8()?);
            }
            2 => signed = Some(field.bool("IntType.isSigned")?),
            _ => reader.skip(field)?,
        }
    }
    match (bits, signed) {
        (Some(bits), Some(signed)) => Ok(Annotation::Integer { bits, signed }),
        _ => Err(Damage("an integer type lacks its width or sign".to_owned())),
    }
}

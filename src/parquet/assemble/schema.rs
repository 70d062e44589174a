//! Writing the schema of a presented file.

use super::super::output::{OutputKind, OutputNode};
use super::super::schema::{Annotation, PhysicalType, Repetition, TimeUnit};
use super::super::thrift::{FieldWriter, write_struct};
use super::plan::Plan;

/// How many `SchemaElement`s the schema has, the root included.
pub(super) fn count(nodes: &[OutputNode]) -> usize {
    nodes.iter().fold(1, |sum, node| match &node.kind {
        OutputKind::Leaf { .. } => sum + 1,
        OutputKind::Group(children) => sum + count(children),
    })
}

/// Writes the `SchemaElement`s: the root, then each node followed by its children.
pub(super) fn write_elements(out: &mut Vec<u8>, plan: &Plan<'_>) {
    write_struct(out, |element| {
        element.binary(4, plan.carried.root);
        element.i32(5, plan.schema.len() as i32);
    });
    write_nodes(out, plan.schema);
}

/// The first annotation that cannot be written, as a reason.
pub(super) fn check_annotations(nodes: &[OutputNode]) -> Result<(), String> {
    for node in nodes {
        if matches!(
            node.annotation,
            Annotation::Other(_) | Annotation::Unknown(_)
        ) {
            return Err(format!(
                "column {} is annotated {}, which no type of a table is",
                node.name, node.annotation
            ));
        }
        if let OutputKind::Group(children) = &node.kind {
            check_annotations(children)?;
        }
    }
    Ok(())
}

fn write_nodes(out: &mut Vec<u8>, nodes: &[OutputNode]) {
    for node in nodes {
        write_struct(out, |element| write_element(element, node));
        if let OutputKind::Group(children) = &node.kind {
            write_nodes(out, children);
        }
    }
}

fn write_element(element: &mut FieldWriter<'_>, node: &OutputNode) {
    if let OutputKind::Leaf { physical, .. } = node.kind {
        element.i32(1, physical.number());
        if let PhysicalType::FixedLenByteArray(length) = physical {
            element.i32(2, length as i32);
        }
    }
    element.i32(
        3,
        match node.repetition {
            Repetition::Required => 0,
            Repetition::Optional => 1,
            Repetition::Repeated => 2,
        },
    );
    element.binary(4, node.name.as_bytes());
    if let OutputKind::Group(children) = &node.kind {
        element.i32(5, children.len() as i32);
    }
    if let Some(converted) = converted_type(node.annotation) {
        element.i32(6, converted);
    }
    if let Annotation::Decimal { precision, scale } = node.annotation {
        element.i32(7, scale);
        element.i32(8, precision);
    }
    if let Some(id) = node.id {
        element.i32(9, id);
    }
    write_logical_type(element, node.annotation);
}

/// The older annotation, which the format asks for beside the logical type: also for local
/// timestamps, though it cannot say that they are local. Readers that know both believe the
/// logical type.
fn converted_type(annotation: Annotation) -> Option<i32> {
    Some(match annotation {
        Annotation::String => 0,
        Annotation::Map => 1,
        Annotation::MapKeyValue => 2,
        Annotation::List => 3,
        Annotation::Decimal { .. } => 5,
        Annotation::Date => 6,
        Annotation::Timestamp { unit, .. } | Annotation::LegacyTimestamp(unit) => match unit {
            TimeUnit::Millis => 9,
            TimeUnit::Micros => 10,
            TimeUnit::Nanos => return None,
        },
        Annotation::Integer { bits, signed } => match (bits, signed) {
            (8, false) => 11,
            (16, false) => 12,
            (32, false) => 13,
            (64, false) => 14,
            (8, true) => 15,
            (16, true) => 16,
            (32, true) => 17,
            (64, true) => 18,
            _ => return None,
        },
        Annotation::None | Annotation::Variant | Annotation::Other(_) | Annotation::Unknown(_) => {
            return None;
        }
    })
}

/// Writes the field `logicalType`, a union, where the annotation has one.
fn write_logical_type(element: &mut FieldWriter<'_>, annotation: Annotation) {
    let mut union = |write: &dyn Fn(&mut FieldWriter<'_>)| element.structure(10, write);
    match annotation {
        Annotation::String => union(&|logical| logical.structure(1, |_| {})),
        Annotation::Map => union(&|logical| logical.structure(2, |_| {})),
        Annotation::List => union(&|logical| logical.structure(3, |_| {})),
        Annotation::Decimal { precision, scale } => union(&|logical| {
            logical.structure(5, |decimal| {
                decimal.i32(1, scale);
                decimal.i32(2, precision);
            });
        }),
        Annotation::Date => union(&|logical| logical.structure(6, |_| {})),
        Annotation::Timestamp { utc, unit } => union(&|logical| {
            logical.structure(8, |timestamp| {
                timestamp.bool(1, utc);
                timestamp.structure(2, |units| {
                    let unit = match unit {
                        TimeUnit::Millis => 1,
                        TimeUnit::Micros => 2,
                        TimeUnit::Nanos => 3,
                    };
                    units.structure(unit, |_| {});
                });
            });
        }),
        Annotation::Integer { bits, signed } => union(&|logical| {
            logical.structure(10, |integer| {
                integer.i8(1, bits);
                integer.bool(2, signed);
            });
        }),
        Annotation::Variant => union(&|logical| {
            logical.structure(16, |variant| variant.i8(1, 1));
        }),
        Annotation::None
        | Annotation::MapKeyValue
        | Annotation::LegacyTimestamp(_)
        | Annotation::Other(_)
        | Annotation::Unknown(_) => {}
    }
}

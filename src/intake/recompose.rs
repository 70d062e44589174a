//! A data file of the same column chunks under a new footer: other names, field ids and annotations,
//! columns gone.

use std::io::{Seek, SeekFrom, Write};

use bytes::Bytes;

use super::columns::{Column, Part, Shape};
use super::staged::Opened;
use super::{IntakeError, Scratch, ScratchFile};
use crate::parquet::{
    Annotation, Extent, MadeChunk, Node, OutputGroup, OutputKind, OutputNode, ParquetError,
    Repetition, assemble,
};
use crate::schema::MappingMode;
use crate::storage::{ObjectReader, StorageError};

/// How much is copied at once, bytes.
const COPIED: usize = 1024 * 1024;

/// Makes the file of `columns`, those that the file has, none of which are converted; and its size.
pub(super) fn recompose(
    opened: &Opened,
    columns: &[&Column<'_>],
    mapping: MappingMode,
    scratch: &dyn Scratch,
) -> Result<(Box<dyn ScratchFile>, u64), IntakeError> {
    let footer = &opened.footer;
    let originals = footer
        .row_groups_meta()
        .map_err(|source| unreadable(opened, source))?;
    // An empty row group is of no use.
    let groups: Vec<OutputGroup> = originals
        .iter()
        .enumerate()
        .filter(|(_, group)| group.num_rows > 0)
        .map(|(original, group)| OutputGroup {
            original,
            rows: group.num_rows,
            dropped: false,
        })
        .collect();
    let schema = fields(columns.iter().copied(), mapping);
    let mut tail = Vec::new();
    let extents = assemble::<ParquetError>(
        footer,
        &schema,
        &groups,
        &mut |_, leaf| -> Result<MadeChunk, ParquetError> {
            Err(ParquetError::Unpresentable {
                location: opened.name.clone(),
                reason: format!("leaf {leaf} was to be copied"),
            })
        },
        &mut |bytes: Bytes| {
            tail.extend_from_slice(&bytes);
            Ok(())
        },
        None,
    )
    .map_err(|source| unreadable(opened, source))?;

    let mut made = scratch.create()?;
    for extent in extents {
        write(opened, extent, &tail, made.as_mut())?;
    }
    let name = made.name().to_owned();
    let size = made
        .flush()
        .and_then(|()| made.seek(SeekFrom::End(0)))
        .map_err(|error| not_written(&name, error))?;
    Ok((made, size))
}

/// That a file in the making could not be written.
pub(super) fn not_written(name: &str, error: std::io::Error) -> IntakeError {
    let location = name.to_owned();
    IntakeError::Storage(match error.kind() {
        std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => {
            StorageError::Full { location }
        }
        _ => StorageError::Io {
            operation: "write",
            location,
            source: error,
        },
    })
}

fn unreadable(opened: &Opened, source: ParquetError) -> IntakeError {
    IntakeError::Footer {
        file: opened.name.clone(),
        source,
    }
}

fn write(
    opened: &Opened,
    extent: Extent,
    tail: &[u8],
    made: &mut dyn ScratchFile,
) -> Result<(), IntakeError> {
    let name = made.name().to_owned();
    let mut put = |bytes: &[u8]| made.write_all(bytes).map_err(|e| not_written(&name, e));
    match extent {
        Extent::Made { start, length } => {
            let range = usize::try_from(start)
                .ok()
                .zip(usize::try_from(length).ok());
            let bytes = range.and_then(|(start, length)| tail.get(start..)?.get(..length));
            put(bytes.expect("what was made lies in what was given to the tail"))
        }
        Extent::Zeros(length) => {
            let zeros = vec![0; COPIED];
            let mut left = length;
            while left > 0 {
                let count = left.min(COPIED as u64);
                put(&zeros[..count as usize])?;
                left -= count;
            }
            Ok(())
        }
        Extent::Original { start, length } => {
            let mut buffer = vec![0; COPIED];
            let (mut at, end) = (start, start + length);
            while at < end {
                let count = (end - at).min(COPIED as u64) as usize;
                let read = opened.source.read_at(&mut buffer[..count], at)?;
                if read < count {
                    return Err(opened.damaged(format!("it ends at {}", at + read as u64)));
                }
                put(&buffer[..count])?;
                at += count as u64;
            }
            Ok(())
        }
    }
}

/// The columns that the file has, in its order.
fn fields<'c, 't: 'c>(
    columns: impl Iterator<Item = &'c Column<'t>>,
    mapping: MappingMode,
) -> Vec<OutputNode> {
    let mut parts: Vec<(&Column<'_>, &Part<'_>)> = columns
        .filter_map(|column| Some((column, column.part()?)))
        .collect();
    parts.sort_by_key(|(_, part)| part.position);
    parts
        .into_iter()
        .map(|(column, part)| {
            let id = match mapping {
                MappingMode::None => part.node.id,
                MappingMode::Name | MappingMode::Id => column.field.column_id(),
            };
            let name = column.field.name_in_files(mapping);
            named(part, name, id, mapping)
        })
        .collect()
}

fn named(part: &Part<'_>, name: &str, id: Option<i32>, mapping: MappingMode) -> OutputNode {
    let node = &part.node;
    let kind = match (&part.shape, node.children()) {
        (Shape::Struct(columns), _) => OutputKind::Group(fields(columns.iter(), mapping)),
        (Shape::List(_, element), [repeated]) => {
            let inner = &element.node;
            let mut element = named(element, "element", inner.id, mapping);
            let id = match inner.repetition {
                // The repeated node is the element: a group around it leaves the levels as they are.
                Repetition::Repeated => {
                    element.repetition = Repetition::Required;
                    None
                }
                Repetition::Required | Repetition::Optional => repeated.id,
            };
            OutputKind::Group(vec![OutputNode {
                name: "list".to_owned(),
                id,
                repetition: Repetition::Repeated,
                annotation: Annotation::None,
                kind: OutputKind::Group(vec![element]),
            }])
        }
        (Shape::Map(_, parts), [entries]) => {
            let (key, value) = parts.as_ref();
            let pair = [key, value].map(|part| named(part, &part.node.name, part.node.id, mapping));
            OutputKind::Group(vec![around(entries, pair.into())])
        }
        _ => OutputNode::copy_of(node).kind,
    };
    OutputNode {
        name: name.to_owned(),
        id,
        repetition: node.repetition,
        annotation: match &part.shape {
            Shape::Leaf { annotation, .. } => *annotation,
            Shape::Map(..) => Annotation::Map,
            Shape::Struct(_) | Shape::List(..) | Shape::Variant => node.annotation,
        },
        kind,
    }
}

fn around(node: &Node, children: Vec<OutputNode>) -> OutputNode {
    OutputNode {
        name: node.name.clone(),
        id: node.id,
        repetition: node.repetition,
        annotation: node.annotation,
        kind: OutputKind::Group(children),
    }
}

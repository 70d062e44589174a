//! Writing a `ColumnChunk`.

use std::ops::Range;

use super::super::output::MadeStatistics;
use super::super::schema::PhysicalType;
use super::super::thrift::{
    Damage, FieldWriter, Kind, Reader, write_binary, write_integer, write_struct,
};
use super::place::PlacedMade;

/// What is told of the values of a leaf, in all row groups alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Told {
    /// What is known.
    All,
    /// The number of nulls alone.
    Nulls,
    /// Nothing.
    Nothing,
}

/// Writes `original`, a `ColumnChunk`, with another path and without the file it is in, which is
/// this one. All other fields are copied, also those that the format did not have when this was
/// written.
pub(super) fn write_original(
    out: &mut Vec<u8>,
    original: &[u8],
    path: &[&str],
    told: Told,
) -> Result<(), Damage> {
    copy_struct(out, &mut Reader::new(original), |reader, chunk| {
        let mut last = 0;
        while let Some(field) = reader.field(&mut last)? {
            match field.id {
                1 => reader.skip(field)?,
                3 => {
                    let mut result = Ok(());
                    chunk.structure(3, |meta| result = copy_meta_data(reader, meta, path, told));
                    result?;
                }
                _ => chunk.verbatim(field, reader.raw(field)?),
            }
        }
        Ok(())
    })
}

/// Writes a struct with what `copy` takes from the reader.
fn copy_struct<'a>(
    out: &mut Vec<u8>,
    reader: &mut Reader<'a>,
    copy: impl FnOnce(&mut Reader<'a>, &mut FieldWriter<'_>) -> Result<(), Damage>,
) -> Result<(), Damage> {
    let mut result = Ok(());
    write_struct(out, |fields| result = copy(reader, fields));
    result
}

fn copy_meta_data(
    reader: &mut Reader<'_>,
    meta: &mut FieldWriter<'_>,
    path: &[&str],
    told: Told,
) -> Result<(), Damage> {
    // A writer may have left the path out.
    let mut path = Some(path);
    let mut last = 0;
    while let Some(field) = reader.field(&mut last)? {
        if field.id >= 3
            && let Some(path) = path.take()
        {
            write_path(meta, path);
        }
        match field.id {
            // Bounds of geometries have no place in a column of bytes, as which they are shown.
            3 | 17 => reader.skip(field)?,
            12 if told != Told::All => {
                let statistics = reader.raw(field)?;
                if told == Told::Nulls {
                    let mut result = Ok(());
                    meta.structure(12, |fields| result = copy_null_count(statistics, fields));
                    result?;
                }
            }
            _ => meta.verbatim(field, reader.raw(field)?),
        }
    }
    if let Some(path) = path {
        write_path(meta, path);
    }
    Ok(())
}

fn copy_null_count(statistics: &[u8], fields: &mut FieldWriter<'_>) -> Result<(), Damage> {
    let mut reader = Reader::new(statistics);
    let mut last = 0;
    while let Some(field) = reader.field(&mut last)? {
        let value = reader.raw(field)?;
        if field.id == 3 {
            fields.verbatim(field, value);
        }
    }
    Ok(())
}

fn write_path(meta: &mut FieldWriter<'_>, path: &[&str]) {
    let out = meta.list(3, Kind::Binary, path.len());
    path.iter()
        .for_each(|name| write_binary(out, name.as_bytes()));
}

/// Writes the `ColumnChunk` of a made one. `older` is whether the bounds are told by the older
/// fields too.
pub(super) fn write_made(
    out: &mut Vec<u8>,
    made: &PlacedMade,
    physical: PhysicalType,
    path: &[&str],
    told: Told,
    older: bool,
) {
    write_struct(out, |chunk| {
        // The format asks for 0 where the metadata of a chunk is in the footer alone.
        chunk.i64(2, 0);
        chunk.structure(3, |meta| {
            meta.i32(1, physical.number());
            let encodings = meta.list(2, Kind::I32, made.encodings.len());
            for &encoding in &made.encodings {
                write_integer(encodings, encoding.into());
            }
            write_path(meta, path);
            meta.i32(4, made.codec);
            meta.i64(5, made.num_values as i64);
            meta.i64(6, made.uncompressed_size as i64);
            meta.i64(7, made.length as i64);
            meta.i64(9, made.data_page_offset as i64);
            if let Some(offset) = made.dictionary_page_offset {
                meta.i64(11, offset as i64);
            }
            if let Some(statistics) = &made.statistics
                && told != Told::Nothing
            {
                meta.structure(12, |fields| {
                    write_statistics(fields, statistics, told, older);
                });
            }
        });
        let mut index = |id: i16, range: &Option<Range<u64>>| {
            if let Some(range) = range {
                chunk.i64(id, range.start as i64);
                chunk.i32(id + 1, (range.end - range.start) as i32);
            }
        };
        index(4, &made.offset_index);
        index(6, &made.column_index);
    });
}

fn write_statistics(
    fields: &mut FieldWriter<'_>,
    statistics: &MadeStatistics,
    told: Told,
    older: bool,
) {
    let bounds = statistics.bounds.as_ref().filter(|_| told == Told::All);
    if let Some((min, max)) = bounds
        && older
    {
        fields.binary(1, max);
        fields.binary(2, min);
    }
    fields.i64(3, statistics.null_count as i64);
    if let Some((min, max)) = bounds {
        fields.binary(5, max);
        fields.binary(6, min);
        fields.bool(7, true);
        fields.bool(8, true);
    }
}

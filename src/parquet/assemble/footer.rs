//! Writing the footer of a presented file.

use super::super::ParquetError;
use super::super::calendar::VERSION;
use super::super::chunks::{Bounds, SortingColumn};
use super::super::output::{LeafSource, OutputGroup};
use super::super::thrift::{Damage, FieldWriter, Kind, write_struct};
use super::chunk::{Told, write_made, write_original};
use super::place::{Placed, Placement};
use super::plan::Plan;
use super::schema;

/// A `ColumnOrder`: the one that the type defines.
pub(super) const TYPE_DEFINED_ORDER: [u8; 3] = [0x1C, 0, 0];

/// The footer, with its length and the magic number behind it.
pub(super) fn write(plan: &Plan<'_>, placement: &Placement<'_>) -> Result<Vec<u8>, ParquetError> {
    let mut out = Vec::new();
    let mut result = Ok(());
    write_struct(&mut out, |file| {
        result = write_fields(file, plan, placement);
    });
    result?;
    let length = u32::try_from(out.len()).map_err(|_| {
        plan.unpresentable_file(format!(
            "its footer would take {} bytes, more than 32 bits can say",
            out.len()
        ))
    })?;
    out.extend(length.to_le_bytes());
    out.extend(b"PAR1");
    Ok(out)
}

fn write_fields(
    file: &mut FieldWriter<'_>,
    plan: &Plan<'_>,
    placement: &Placement<'_>,
) -> Result<(), ParquetError> {
    file.i32(1, plan.carried.version);
    let elements = file.list(2, Kind::Struct, schema::count(plan.schema));
    schema::write_elements(elements, plan);
    file.i64(3, total(plan, plan.groups.iter().map(|group| group.rows))?);

    let told: Vec<Told> = (0..plan.leaves.len())
        .map(|leaf| told(plan, placement, leaf))
        .collect();
    let groups = file.list(4, Kind::Struct, plan.groups.len());
    for (ordinal, (group, chunks)) in plan.groups.iter().zip(placement.groups()).enumerate() {
        let mut result = Ok(());
        write_struct(groups, |fields| {
            result = write_row_group(fields, plan, group, ordinal, chunks, &told);
        });
        result?;
    }
    if let Some(version) = plan.carried.spark {
        let entries = file.list(5, Kind::Struct, 1);
        write_struct(entries, |entry| {
            entry.binary(1, VERSION.as_bytes());
            entry.binary(2, version);
        });
    }
    if let Some(created_by) = plan.carried.created_by {
        file.binary(6, created_by);
    }
    // Without orders in the original, what its `min_value` and `max_value` mean is not defined, and
    // an order given here would define it. So there are none either, and made chunks tell only
    // bounds that are one value, which are true in any order; readers that do not look at such
    // bounds without an order find them in the older fields.
    if let Some(orders) = &plan.carried.column_orders {
        let out = file.list(7, Kind::Struct, plan.leaves.len());
        for leaf in &plan.leaves {
            out.extend_from_slice(match *leaf.source {
                LeafSource::Original(from) => orders[from],
                _ => &TYPE_DEFINED_ORDER,
            });
        }
    }
    Ok(())
}

fn write_row_group(
    fields: &mut FieldWriter<'_>,
    plan: &Plan<'_>,
    group: &OutputGroup,
    ordinal: usize,
    chunks: &[Placed<'_>],
    told: &[Told],
) -> Result<(), ParquetError> {
    let uncompressed_size = total(plan, chunks.iter().map(Placed::uncompressed_size))?;
    let out = fields.list(1, Kind::Struct, chunks.len());
    for (leaf, (chunk, &told)) in plan.leaves.iter().zip(chunks.iter().zip(told)) {
        match chunk {
            Placed::Original(chunk) => {
                let bytes = &plan.footer.metadata[chunk.thrift.clone()];
                write_original(out, bytes, &leaf.path, told)
                    .map_err(|Damage(reason)| plan.footer.malformed(reason))?;
            }
            Placed::Made(made) => {
                let older = plan.carried.column_orders.is_none();
                write_made(out, made, leaf.shape.physical, &leaf.path, told, older);
            }
        }
    }
    fields.i64(2, uncompressed_size);
    fields.i64(3, group.rows as i64);
    let sorting = sorting(plan, &plan.originals[group.original].sorting);
    if !sorting.is_empty() {
        let out = fields.list(4, Kind::Struct, sorting.len());
        for column in sorting {
            write_struct(out, |fields| {
                fields.i32(1, column.leaf);
                fields.bool(2, column.descending);
                fields.bool(3, column.nulls_first);
            });
        }
    }
    if let Some(first) = chunks.first() {
        fields.i64(5, first.start() as i64);
    }
    fields.i64(6, total(plan, chunks.iter().map(Placed::length))?);
    if let Ok(ordinal) = i16::try_from(ordinal) {
        fields.i16(7, ordinal);
    }
    Ok(())
}

fn total(plan: &Plan<'_>, mut sizes: impl Iterator<Item = u64>) -> Result<i64, ParquetError> {
    let sum = sizes.try_fold(0, |sum, size| checked_sum(plan, sum, size))?;
    Ok(sum as i64)
}

/// The sum of sizes or rows that a file claims, which the format has 63 bits for.
pub(super) fn checked_sum(plan: &Plan<'_>, sum: u64, more: u64) -> Result<u64, ParquetError> {
    let sum = sum.checked_add(more);
    sum.filter(|sum| i64::try_from(*sum).is_ok())
        .ok_or_else(|| {
            plan.footer
                .malformed("its sizes, or its rows, exceed 63 bits together".to_owned())
        })
}

/// What the rows are sorted by in the presented file: the columns up to the first one that is not
/// in it as it was. Dropping rows leaves them sorted.
fn sorting(plan: &Plan<'_>, original: &[SortingColumn]) -> Vec<SortingColumn> {
    let kept = original.iter().map_while(|column| {
        let from = usize::try_from(column.leaf).ok()?;
        let is_it = |leaf: &LeafSource| matches!(leaf, LeafSource::Original(leaf) if *leaf == from);
        let leaf = plan.leaves.iter().position(|leaf| is_it(leaf.source))?;
        Some(SortingColumn {
            leaf: i32::try_from(leaf).ok()?,
            ..*column
        })
    });
    kept.collect()
}

/// What may be told of a leaf. Readers that answer from statistics take a bound for a value, and a
/// row group without bounds for one without values: wherever chunks were made, bounds are exact in
/// all row groups or in none.
fn told(plan: &Plan<'_>, placement: &Placement<'_>, leaf: usize) -> Told {
    let dropped = plan.groups.iter().any(|group| group.dropped);
    if !dropped && matches!(plan.leaves[leaf].source, LeafSource::Original(_)) {
        return Told::All;
    }
    let (mut exact, mut counted) = (true, true);
    for chunk in placement.of_leaf(leaf) {
        let (bounds, nulls, values) = match chunk {
            Placed::Original(chunk) => (
                chunk.bounds == Bounds::Exact,
                chunk.null_count,
                chunk.num_values,
            ),
            Placed::Made(chunk) => match &chunk.statistics {
                Some(known) => (
                    known.bounds.is_some(),
                    Some(known.null_count),
                    chunk.num_values,
                ),
                None => (false, None, chunk.num_values),
            },
        };
        exact &= bounds || nulls == Some(values);
        counted &= nulls.is_some();
    }
    match (exact && counted, counted) {
        (true, _) => Told::All,
        (false, true) => Told::Nulls,
        (false, false) => Told::Nothing,
    }
}

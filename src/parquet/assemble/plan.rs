//! What a presented file is to be made of, checked against the file it is made of.

use super::super::chunks::{ChunkMeta, RowGroupMeta};
use super::super::leaves::{LeafShape, visit_leaves};
use super::super::output::{Extent, LeafSource, OutputGroup, OutputKind, OutputNode};
use super::super::synthetic::Synthetic;
use super::super::{Footer, ParquetError, PhysicalType};
use super::carried::Carried;
use super::{originals, schema as elements};

/// The longest bound of a chunk that is made of values, where its type has no width of its own,
/// bytes. Longer ones are left out, so that the size of the footer can be told beforehand.
pub(super) const MAX_BOUND: usize = 128;

/// A plan. Invariants: `groups` name row groups of the file, and the sources of `leaves` leaves of
/// the file that have the same levels, those of `Original` also the same physical type.
pub(super) struct Plan<'a> {
    pub(super) footer: &'a Footer,
    pub(super) schema: &'a [OutputNode],
    pub(super) groups: &'a [OutputGroup],
    pub(super) leaves: Vec<OutputLeaf<'a>>,
    /// The row groups of the file.
    pub(super) originals: Vec<RowGroupMeta>,
    pub(super) carried: Carried<'a>,
    /// What of the original bytes the presented file begins with.
    pub(super) kept: Vec<Extent>,
}

/// A leaf of the presented file.
pub(super) struct OutputLeaf<'a> {
    /// The names from the top-level column down to it.
    pub(super) path: Vec<&'a str>,
    pub(super) shape: LeafShape,
    pub(super) source: &'a LeafSource,
}

/// Where a column chunk comes from.
pub(super) enum ChunkSource<'p> {
    Original(&'p ChunkMeta),
    Synthetic(Synthetic<'p>),
    Make,
}

impl<'a> Plan<'a> {
    pub(super) fn new(
        footer: &'a Footer,
        schema: &'a [OutputNode],
        groups: &'a [OutputGroup],
    ) -> Result<Plan<'a>, ParquetError> {
        let mut leaves = Vec::new();
        visit_leaves(schema, |path, shape, node| {
            if let OutputKind::Leaf { source, .. } = &node.kind {
                leaves.push(OutputLeaf {
                    path: path.to_vec(),
                    shape,
                    source,
                });
            }
        });
        let mut plan = Plan {
            footer,
            schema,
            groups,
            leaves,
            originals: footer.row_groups_meta()?,
            carried: Carried::read(footer)?,
            kept: Vec::new(),
        };
        elements::check_annotations(plan.schema)
            .map_err(|reason| plan.unpresentable_file(reason))?;
        plan.check_leaves()?;
        plan.check_groups()?;
        plan.kept = originals::kept(footer, &plan.originals, groups, &plan.leaves);
        Ok(plan)
    }

    /// Where what is kept of the original bytes ends, and what is made begins.
    pub(super) fn kept_end(&self) -> u64 {
        self.kept.iter().map(Extent::len).sum()
    }

    fn check_leaves(&self) -> Result<(), ParquetError> {
        if self.leaves.is_empty() {
            return Err(self.unpresentable_file("it would have no columns".to_owned()));
        }
        let shapes = LeafShape::of_leaves(&self.footer.columns);
        for (position, leaf) in self.leaves.iter().enumerate() {
            let from = match *leaf.source {
                LeafSource::Original(from)
                | LeafSource::Converted { leaf: from, .. }
                | LeafSource::NullBeside { beside: from, .. } => from,
                LeafSource::Constant(_) | LeafSource::Null { .. } => {
                    self.synthetic(position)?;
                    continue;
                }
            };
            let Some(shape) = shapes.get(from) else {
                let reason = format!("the file has {} leaves, and none is {from}", shapes.len());
                return Err(self.unpresentable(position, &reason));
            };
            let wanted = leaf.shape;
            let fits = match *leaf.source {
                LeafSource::Original(_) => *shape == wanted,
                // Both leaves lie in the struct that has these levels, each as deep as it likes.
                LeafSource::NullBeside {
                    definition,
                    repetition,
                    ..
                } => {
                    definition < wanted.levels.definition
                        && definition <= shape.levels.definition
                        && repetition <= shape.levels.repetition.min(wanted.levels.repetition)
                }
                _ => shape.levels == wanted.levels,
            };
            if !fits {
                let reason = format!(
                    "the file has {} with levels up to {} and {}, wanted is {} with {} and {}",
                    shape.physical,
                    shape.levels.definition,
                    shape.levels.repetition,
                    wanted.physical,
                    wanted.levels.definition,
                    wanted.levels.repetition,
                );
                return Err(self.unpresentable(position, &reason));
            }
        }
        Ok(())
    }

    fn check_groups(&self) -> Result<(), ParquetError> {
        for group in self.groups {
            let rows = self.originals.get(group.original).map(|meta| meta.num_rows);
            let agrees = match rows {
                Some(rows) if group.dropped => group.rows <= rows,
                Some(rows) => group.rows == rows,
                None => false,
            };
            if !agrees {
                return Err(self.unpresentable_file(format!(
                    "{} rows of row group {} are wanted, which has {rows:?}",
                    group.rows, group.original
                )));
            }
        }
        Ok(())
    }

    /// Where the chunk of that leaf comes from, in the group at that position in `groups`.
    pub(super) fn source(
        &self,
        group: usize,
        leaf: usize,
    ) -> Result<ChunkSource<'_>, ParquetError> {
        let group = &self.groups[group];
        match self.leaves[leaf].source {
            LeafSource::Original(from) if !group.dropped => {
                let chunks = &self.originals[group.original].chunks;
                Ok(ChunkSource::Original(&chunks[*from]))
            }
            LeafSource::Constant(_) | LeafSource::Null { .. } => {
                self.synthetic(leaf).map(ChunkSource::Synthetic)
            }
            _ => Ok(ChunkSource::Make),
        }
    }

    fn synthetic(&self, leaf: usize) -> Result<Synthetic<'_>, ParquetError> {
        let shape = self.leaves[leaf].shape;
        let synthetic = match self.leaves[leaf].source {
            LeafSource::Constant(value) => Synthetic::constant(shape, value),
            LeafSource::Null { definition } => Synthetic::null(shape, *definition),
            _ => Err("it is read from the file".to_owned()),
        };
        synthetic.map_err(|reason| self.unpresentable(leaf, &reason))
    }

    /// The longest bound in the statistics of the chunks of that leaf that are made, bytes.
    pub(super) fn bound_size(&self, leaf: usize) -> usize {
        match (self.synthetic(leaf), self.leaves[leaf].shape.physical) {
            (Ok(synthetic), _) => synthetic.bound_size(),
            (Err(_), PhysicalType::Boolean) => 1,
            (Err(_), physical) => physical.width().unwrap_or(MAX_BOUND).min(MAX_BOUND),
        }
    }

    /// An error that names the leaf.
    pub(super) fn unpresentable(&self, leaf: usize, reason: &str) -> ParquetError {
        let path = self.leaves[leaf].path.join(".");
        self.unpresentable_file(format!("column {path}: {reason}"))
    }

    pub(super) fn unpresentable_file(&self, reason: String) -> ParquetError {
        ParquetError::Unpresentable {
            location: self.footer.location.to_string(),
            reason,
        }
    }
}

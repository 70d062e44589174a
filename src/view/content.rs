//! What stands behind the names of presented files: sizes, classes and bytes.

mod held;
mod known;

use std::fs::File;
use std::sync::Arc;

use bytes::Bytes;

use self::held::HeldContents;
use self::known::{Known, KnownFiles};
use super::composed::{Composition, Made};
use super::error::ViewError;
use super::plan::plan_or_nothing;
use super::presented::{Content, PresentedFile};
use super::promises::Promises;
use super::rewritten::{Kept, Recent, Rewrite};
use super::{Class, OpenPlan, PresentedSchema, View, ViewOptions, identity};
use crate::base::clock::TimestampMs;
use crate::base::hash::stable_hash256;
use crate::base::parallel;
use crate::log::deletion_vector;
use crate::parquet::{Footer, OutputGroup, OutputNode, assemble};
use crate::snapshot::{FileId, Snapshot};
use crate::storage::cache::{EntryKey, FactKey};
use crate::storage::{ObjectReader, StorageError, TableRoots};

/// How many files are looked at at once for their sizes.
const AT_ONCE: usize = 8;

/// How many files make it worthwhile to start a thread.
const LEAST_EACH: usize = 8;

/// What is behind the files of all versions that share a schema.
pub(super) struct Contents {
    roots: TableRoots,
    options: ViewOptions,
    snapshot: Arc<Snapshot>,
    known: KnownFiles,
    made: HeldContents,
    recent: Arc<Recent>,
    promises: Promises,
}

impl Contents {
    pub(super) fn new(
        roots: TableRoots,
        options: ViewOptions,
        snapshot: Arc<Snapshot>,
    ) -> Contents {
        Contents {
            roots,
            options,
            snapshot,
            known: KnownFiles::default(),
            made: HeldContents::default(),
            recent: Arc::default(),
            promises: Promises::default(),
        }
    }

    /// The size of a file where it is known without looking at the file.
    pub(super) fn known_size(&self, id: FileId) -> Option<u64> {
        self.known.get(id).map(|known| known.size)
    }

    /// Whether the promise of a file modified at that time is believed, that its bytes are its own
    /// since its name is.
    pub(super) fn believes(&self, modified: TimestampMs) -> bool {
        !self.options.proven_sizes && self.promises.are_believed(modified)
    }

    /// See [`Presentation::sizes`](super::Presentation::sizes).
    pub(super) fn sizes(&self, plans: &[OpenPlan]) -> Vec<Option<u64>> {
        let threads = AT_ONCE.min(plans.len().div_ceil(LEAST_EACH));
        parallel::map("footers", threads, plans, |plan| self.size(plan))
    }

    fn size(&self, plan: &OpenPlan) -> Option<u64> {
        if let Some(size) = self.known_size(plan.id) {
            return Some(size);
        }
        if let Some(size) = self.options.cache.recall(&self.fact_key(plan)) {
            let known = Known {
                class: None,
                size,
                modified: None,
            };
            self.known.put(plan.id, known);
            return Some(size);
        }
        if plan.promised && self.believes(plan.modified) {
            return Some(plan.size);
        }
        match self.open(plan) {
            Ok(file) => Some(file.size()),
            Err(error) => {
                tracing::debug!(%error, "the size of a presented file cannot be told");
                if plan.promised {
                    // So that not each of its kind is asked.
                    self.promises.note_kept(plan.modified);
                }
                None
            }
        }
    }

    /// Opens a file.
    pub(super) fn open(&self, plan: &OpenPlan) -> Result<PresentedFile, ViewError> {
        let original = self
            .roots
            .open(&plan.location)
            .map_err(|error| match error {
                StorageError::NotFound { .. } => ViewError::Missing {
                    path: plan.path.clone(),
                },
                other => ViewError::Storage(other),
            })?;
        if original.meta().size != plan.size {
            return Err(ViewError::WrongSize {
                path: plan.path.clone(),
                found: original.meta().size,
                expected: plan.size,
            });
        }
        let content = self.content(plan, &*original)?;
        Ok(PresentedFile::new(original, content))
    }

    /// See [`Presentation::backing`](super::Presentation::backing).
    pub(super) fn backing(&self, plan: &OpenPlan, file: &PresentedFile) -> Option<Arc<File>> {
        if let Some(own) = file.as_file() {
            return Some(own.clone());
        }
        let clones = &self.options.clones;
        if !clones.are_made_of(file.size()) {
            return None;
        }
        let composition = file.composition()?;
        let parts = composition.as_clone(file.original())?;
        clones.get(&self.content_key(plan), &parts, &**self.roots.table())
    }

    fn content(&self, plan: &OpenPlan, original: &dyn ObjectReader) -> Result<Content, ViewError> {
        if self.options.view == View::Raw {
            return Ok(Content::Original);
        }
        // What was found out holds for the file that was looked at: another one may have taken its
        // place.
        let modified = original.meta().modified;
        let known = self.known.get(plan.id);
        if let Some(known) = known.filter(|known| known.modified == Some(modified)) {
            if known.class == Some(Class::Identity) {
                return Ok(Content::Original);
            }
            // Two opens of two files that take each other's place note in either order.
            if let Some(content) = self.made.get(plan.id, modified) {
                return Ok(content);
            }
        }
        let content = self.make(plan, original)?;
        let size = match &content {
            Content::Original => plan.size,
            Content::Composed(composition) => composition.size(),
            Content::Rewritten(rewrite) => rewrite.size(),
        };
        let class = content.class();
        let known = Known {
            class: Some(class),
            size,
            modified: Some(modified),
        };
        let before = self.known.put(plan.id, known);
        if before.is_none_or(|before| before.size != size) {
            self.options.cache.remember(self.fact_key(plan), size);
        }
        if plan.promised {
            match class {
                Class::Identity => self.promises.note_kept(plan.modified),
                _ => self.promises.note_broken(),
            }
        }
        self.made.put(plan.id, modified, &content);
        Ok(content)
    }

    /// What the bytes of a presented file depend on, as far as the log tells.
    fn content_key(&self, plan: &OpenPlan) -> [u8; 32] {
        let shape = self
            .snapshot
            .readable()
            .map_or(0, |shape| shape.fingerprint);
        let dv = plan.deletion_vector.as_ref().map(|dv| dv.unique_id());
        let numbers: Vec<u8> = [shape, plan.size, plan.modified.cast_unsigned()]
            .iter()
            .flat_map(|number| number.to_le_bytes())
            .collect();
        let mut parts: Vec<&[u8]> = vec![
            env!("CARGO_PKG_VERSION").as_bytes(),
            self.roots.table().root().as_bytes(),
            plan.path.as_bytes(),
            dv.as_deref().unwrap_or_default().as_bytes(),
            self.options.layout.as_str().as_bytes(),
            &numbers,
        ];
        for value in &plan.partition_values {
            // Null, like the empty string, is null.
            parts.push(value.as_deref().unwrap_or_default().as_bytes());
        }
        stable_hash256("deltafs presented file v3", &parts)
    }

    /// What the size of a presented file is remembered by.
    fn fact_key(&self, plan: &OpenPlan) -> FactKey {
        let key = self.content_key(plan);
        std::array::from_fn(|at| key[at])
    }

    /// As the content key, of the file that is there: it may be another of the same name and size.
    fn entry_key(&self, plan: &OpenPlan, original: &dyn ObjectReader) -> EntryKey {
        let modified = original.meta().modified.to_le_bytes();
        stable_hash256(
            "deltafs rewritten v2",
            &[&self.content_key(plan), &modified],
        )
    }

    fn make(&self, open: &OpenPlan, original: &dyn ObjectReader) -> Result<Content, ViewError> {
        let footer = Footer::read(original)?;
        let table = self
            .snapshot
            .readable()
            .expect("only readable versions are presented");
        let shown = PresentedSchema {
            schema: &table.schema,
            partition_columns: &self.snapshot.metadata().partition_columns,
            mapping: table.mapping,
            layout: self.options.layout,
        };
        let values: Vec<Option<&str>> =
            open.partition_values.iter().map(Option::as_deref).collect();
        if open.deletion_vector.is_none() && identity::compare(&footer, &shown, &values).is_ok() {
            return Ok(Content::Original);
        }
        let schema =
            plan_or_nothing(&footer, &shown, &values).map_err(|mismatch| ViewError::Mismatch {
                path: open.path.clone(),
                mismatch,
            })?;
        let deleted = match &open.deletion_vector {
            None => None,
            Some(descriptor) => Some(deletion_vector::read(
                &self.roots,
                descriptor,
                &open.path,
                Some(footer.num_rows()),
            )?),
        };
        if !Rewrite::is_needed(&schema, deleted.as_ref()) {
            return Ok(Content::Composed(Arc::new(composed(&footer, &schema)?)));
        }
        let kept = Kept {
            cache: self.options.cache.clone(),
            recent: self.recent.clone(),
            key: self.entry_key(open, original),
        };
        let rewrite = Rewrite::new(footer, schema, deleted, open, original, kept)?;
        Ok(Content::Rewritten(Arc::new(rewrite)))
    }

    /// How a file is presented.
    pub(super) fn class(&self, plan: &OpenPlan) -> Result<Class, ViewError> {
        match self.open(plan) {
            Ok(_) if self.options.view == View::Raw => Ok(Class::Raw),
            Ok(file) => Ok(file.class()),
            Err(error) => Err(error),
        }
    }
}

/// A presented file of which nothing is encoded anew.
fn composed(footer: &Footer, schema: &[OutputNode]) -> Result<Composition, ViewError> {
    let groups: Vec<OutputGroup> = footer
        .row_groups_meta()?
        .iter()
        .enumerate()
        .map(|(original, group)| OutputGroup {
            original,
            rows: group.num_rows,
            dropped: false,
        })
        .collect();
    let mut tail: Vec<u8> = Vec::new();
    let extents = assemble::<ViewError>(
        footer,
        schema,
        &groups,
        &mut |_, _| unreachable!("nothing is encoded anew"),
        &mut |bytes: Bytes| {
            tail.extend_from_slice(&bytes);
            Ok(())
        },
        None,
    )?;
    Ok(Composition::new(extents, Made::Memory(tail.into())))
}

//! What stands behind the names of presented files: sizes, classes and bytes, and what is kept of them.

use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use bytes::Bytes;
use lru::LruCache;
use parking_lot::Mutex;

use super::composed::{Composition, Made};
use super::error::ViewError;
use super::identity::TableShape;
use super::plan::plan_or_nothing;
use super::presented::{Content, PresentedFile};
use super::rewritten::{Kept, Recent, Rewrite};
use super::{Class, OpenPlan, View, ViewOptions, identity};
use crate::base::clock::TimestampMs;
use crate::base::hash::stable_hash256;
use crate::log::deletion_vector;
use crate::parquet::{Footer, OutputGroup, assemble};
use crate::snapshot::{FileId, Snapshot};
use crate::storage::cache::{EntryKey, FactKey};
use crate::storage::{ObjectReader, StorageError, TableRoots};

/// How many files are remembered by class and size.
const KNOWN: usize = 1 << 20;

/// What made footers and chunks of files that were opened last may take in memory, in bytes.
const HELD: u64 = 64 * 1024 * 1024;

/// How many files are looked at at once for their sizes.
const AT_ONCE: usize = 8;

/// How many files make it worthwhile to start a thread.
const LEAST_EACH: usize = 8;

/// What is known of a presented file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Known {
    /// Absent where an earlier mount has found out the size.
    class: Option<Class>,
    size: u64,
    /// When the data file was modified that was looked at.
    modified: Option<TimestampMs>,
}

/// How many files under their own names are looked at, and have to be their own bytes, before others
/// are taken to be so. Tables of several writers have both kinds, and a reader that asks for the size
/// before it opens a file, as Spark does, cannot be told later that it is another.
const ENOUGH: u32 = 4096;

/// What has become of the promise of files under their own names that their bytes are their own.
#[derive(Debug, Default)]
struct Promises {
    /// How many were looked at and kept it, or could not be looked at.
    kept: AtomicU32,
    is_broken: AtomicBool,
}

impl Promises {
    fn looked_at(&self, is_kept: bool) {
        match is_kept {
            true if self.kept.load(Ordering::Relaxed) < ENOUGH => {
                self.kept.fetch_add(1, Ordering::Relaxed);
            }
            true => {}
            false => self.is_broken.store(true, Ordering::Relaxed),
        }
    }

    fn are_believed(&self) -> bool {
        !self.is_broken.load(Ordering::Relaxed) && self.kept.load(Ordering::Relaxed) >= ENOUGH
    }
}

/// What is behind the files of all versions that share a schema.
pub(super) struct Contents {
    roots: TableRoots,
    options: ViewOptions,
    snapshot: Arc<Snapshot>,
    known: Mutex<LruCache<FileId, Known>>,
    made: Mutex<Held>,
    recent: Arc<Recent>,
    promises: Promises,
}

/// What was made of files, the least lately used of which goes when there is too much.
struct Held {
    /// Each with when the data file was modified that it was made of.
    contents: LruCache<FileId, (TimestampMs, Content)>,
    bytes: u64,
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
            // Grown as files are met: a bound given here would be reserved for each schema at once.
            known: Mutex::new(LruCache::unbounded()),
            made: Mutex::new(Held {
                contents: LruCache::unbounded(),
                bytes: 0,
            }),
            recent: Arc::default(),
            promises: Promises::default(),
        }
    }

    /// The size of a file where it is known without looking at the file.
    pub(super) fn known_size(&self, id: FileId) -> Option<u64> {
        self.known.lock().get(&id).map(|known| known.size)
    }

    /// Whether files whose names promise their own bytes are taken to keep that promise: enough of
    /// them were looked at, and all did.
    pub(super) fn promises_are_believed(&self) -> bool {
        !self.options.proven_sizes && self.promises.are_believed()
    }

    /// See [`Presentation::sizes`](super::Presentation::sizes).
    pub(super) fn sizes(&self, plans: &[OpenPlan]) -> Vec<Option<u64>> {
        let serial = |plans: &[OpenPlan]| -> Vec<Option<u64>> {
            plans.iter().map(|plan| self.size(plan)).collect()
        };
        let threads = AT_ONCE.min(plans.len().div_ceil(LEAST_EACH));
        if threads < 2 {
            return serial(plans);
        }
        std::thread::scope(|scope| {
            let serial = &serial;
            let parts: Vec<_> = plans
                .chunks(plans.len().div_ceil(threads))
                .map(|part| {
                    let thread = std::thread::Builder::new().name("footers".to_owned());
                    (part, thread.spawn_scoped(scope, move || serial(part)))
                })
                .collect();
            parts
                .into_iter()
                .flat_map(|(part, thread)| match thread {
                    Ok(thread) => thread
                        .join()
                        .unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
                    // The system has no thread to give: the work is done here.
                    Err(_) => serial(part),
                })
                .collect()
        })
    }

    fn size(&self, plan: &OpenPlan) -> Option<u64> {
        if let Some(size) = self.known_size(plan.id) {
            return Some(size);
        }
        if let Some(size) = self.options.cache.recall(&self.fact_key(plan)) {
            self.know(
                plan.id,
                Known {
                    class: None,
                    size,
                    modified: None,
                },
            );
            return Some(size);
        }
        if plan.promised && self.promises_are_believed() {
            return Some(plan.size);
        }
        match self.open(plan) {
            Ok(file) => Some(file.size()),
            Err(error) => {
                tracing::debug!(%error, "the size of a presented file cannot be told");
                if plan.promised {
                    // So that not each of its kind is asked.
                    self.promises.looked_at(true);
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
        clones.get(&self.identity(plan), &parts, &**self.roots.table())
    }

    fn content(&self, plan: &OpenPlan, original: &dyn ObjectReader) -> Result<Content, ViewError> {
        if self.options.view == View::Raw {
            return Ok(Content::Original);
        }
        // What was found out holds for the file that was looked at: another one may have taken its
        // place.
        let modified = Some(original.meta().modified);
        let known = self.known.lock().get(&plan.id).copied();
        if let Some(known) = known.filter(|known| known.modified == modified) {
            if known.class == Some(Class::Identity) {
                return Ok(Content::Original);
            }
            // Two opens of two files that take each other's place note in either order.
            if let Some((of, content)) = self.made.lock().contents.get(&plan.id)
                && Some(*of) == modified
            {
                return Ok(content.clone());
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
            modified,
        };
        let before = self.know(plan.id, known);
        if before.is_none_or(|before| before.size != size) {
            self.options.cache.remember(self.fact_key(plan), size);
        }
        if plan.promised {
            self.promises.looked_at(class == Class::Identity);
        }
        self.hold(plan.id, original.meta().modified, &content);
        Ok(content)
    }

    /// Notes what is known of a file; returns what was known before.
    fn know(&self, id: FileId, is: Known) -> Option<Known> {
        let mut known = self.known.lock();
        let before = known.put(id, is);
        if known.len() > KNOWN {
            known.pop_lru();
        }
        before
    }

    /// Keeps what was made of a file.
    fn hold(&self, id: FileId, modified: TimestampMs, content: &Content) {
        if matches!(content, Content::Original) {
            return;
        }
        let mut made = self.made.lock();
        made.bytes += content.held();
        if let Some((_, before)) = made.contents.put(id, (modified, content.clone())) {
            made.bytes -= before.held();
        }
        while made.bytes > HELD && made.contents.len() > 1 {
            let Some((_, (_, least))) = made.contents.pop_lru() else {
                break;
            };
            made.bytes -= least.held();
        }
    }

    /// What the bytes of a presented file depend on, as far as the log tells.
    fn identity(&self, plan: &OpenPlan) -> [u8; 32] {
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
        stable_hash256("deltafs presented file v2", &parts)
    }

    fn fact_key(&self, plan: &OpenPlan) -> FactKey {
        let identity = self.identity(plan);
        std::array::from_fn(|at| identity[at])
    }

    /// As the identity, of the file that is there: it may be another of the same name and size.
    fn entry_key(&self, plan: &OpenPlan, original: &dyn ObjectReader) -> EntryKey {
        let modified = original.meta().modified.to_le_bytes();
        stable_hash256("deltafs rewritten v2", &[&self.identity(plan), &modified])
    }

    fn make(&self, open: &OpenPlan, original: &dyn ObjectReader) -> Result<Content, ViewError> {
        let footer = Footer::read(original)?;
        let table = self
            .snapshot
            .readable()
            .expect("only readable versions are presented");
        let shape = TableShape {
            schema: &table.schema,
            partition_columns: &self.snapshot.metadata().partition_columns,
            mapping: table.mapping,
            layout: self.options.layout,
        };
        let values: Vec<Option<&str>> =
            open.partition_values.iter().map(Option::as_deref).collect();
        if open.deletion_vector.is_none() && identity::compare(&footer, &shape, &values).is_ok() {
            return Ok(Content::Original);
        }
        let schema =
            plan_or_nothing(&footer, &shape, &values).map_err(|mismatch| ViewError::Mismatch {
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
        if Rewrite::is_needed(&schema, deleted.as_ref()) {
            let rewrite = Rewrite::new(
                footer,
                schema,
                deleted,
                open,
                original,
                Kept {
                    cache: self.options.cache.clone(),
                    recent: self.recent.clone(),
                    key: self.entry_key(open, original),
                },
            )?;
            return Ok(Content::Rewritten(Arc::new(rewrite)));
        }
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
            &footer,
            &schema,
            &groups,
            &mut |_, _| unreachable!("nothing is encoded anew"),
            &mut |bytes: Bytes| {
                tail.extend_from_slice(&bytes);
                Ok(())
            },
            None,
        )?;
        let made = Made::Memory(tail.into());
        Ok(Content::Composed(Arc::new(Composition::new(extents, made))))
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

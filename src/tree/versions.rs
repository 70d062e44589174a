//! The version views in use, and what `@latest` has shown.

use std::collections::VecDeque;
use std::num::NonZeroUsize;
use std::sync::Arc;

use lru::LruCache;
use parking_lot::Mutex;

use super::TreeError;
use super::file_node::FileNode;
use super::node::Base;
use crate::base::Version;
use crate::snapshot::{FileId, Generation, ProvenanceView, Table};
use crate::view::{Presentation, VersionView, ViewOptions};

/// How many versions keep their names and directories at hand.
const VIEWS: NonZeroUsize = NonZeroUsize::new(64).expect("not zero");

/// How many files the directories of kept versions may hold together.
const FILES_HELD: u64 = 4_000_000;

/// How many versions that `@latest` has shown are searched for a directory it no longer lists.
const SHOWN: usize = 64;

/// How many older versions are searched for a name that a mount before this one may have listed.
const BEFORE: u64 = 32;

/// How many presentations of files that `@latest` has shown are kept.
const PRESENTATIONS: usize = 64;

/// How often the newest version is looked for when it is gone before it was read.
const ATTEMPTS: usize = 8;

type Key = (u64, Version);

/// How files were presented that `@latest` has listed.
#[derive(Clone)]
struct Listed {
    /// The generation.
    number: u64,
    presentation: Arc<Presentation>,
    /// Where the files numbered below came from, as far as the log has told.
    provenance: Option<(ProvenanceView, FileId)>,
}

/// The version views of a table.
pub(super) struct Versions {
    table: Arc<Table>,
    options: ViewOptions,
    views: Mutex<LruCache<Key, Arc<VersionView>>>,
    /// Newest last.
    shown: Mutex<VecDeque<Key>>,
    /// Newest last.
    listed: Mutex<VecDeque<Listed>>,
}

impl Versions {
    pub(super) fn new(table: Arc<Table>, options: ViewOptions) -> Versions {
        Versions {
            table,
            options,
            views: Mutex::new(LruCache::new(VIEWS)),
            shown: Mutex::default(),
            listed: Mutex::default(),
        }
    }

    pub(super) fn table(&self) -> &Table {
        &self.table
    }

    /// The view of a version.
    pub(super) fn of(
        &self,
        generation: &Arc<Generation>,
        version: Version,
    ) -> Result<Arc<VersionView>, TreeError> {
        let key = (generation.number(), version);
        let presentations: Vec<_> = {
            let mut views = self.views.lock();
            if let Some(view) = views.get(&key) {
                return Ok(view.clone());
            }
            views
                .iter()
                .filter(|((number, _), _)| *number == generation.number())
                .map(|(_, view)| view.presentation().clone())
                .collect()
        };
        let view = Arc::new(VersionView::new(
            generation.clone(),
            version,
            &self.options,
            &presentations,
        )?);
        let mut views = self.views.lock();
        views.put(key, view.clone());
        // Directories hold each file once more, so few of large versions are kept.
        let weight = |view: &VersionView| match view.is_flat() {
            true => 0,
            false => view.files().len(),
        };
        let mut held: u64 = views.iter().map(|(_, view)| weight(view)).sum();
        while held > FILES_HELD && views.len() > 1 {
            match views.pop_lru() {
                Some((_, view)) => held -= weight(&view),
                None => break,
            }
        }
        Ok(view)
    }

    /// The view that a directory shows now. Of `@latest`, whatever was committed before the call.
    pub(super) fn now(&self, base: &Base) -> Result<Arc<VersionView>, TreeError> {
        match base {
            Base::Version(generation, version) => self.of(generation, *version),
            Base::Latest => {
                let mut generation = self.table.refresh()?;
                for _ in 0..ATTEMPTS {
                    let newest = generation.newest();
                    let view = self.of(&generation, newest);
                    if view.is_ok() {
                        return view;
                    }
                    // The log may have moved on, and been cleaned up, before it was read.
                    generation = self.table.refresh()?;
                    if generation.newest() == newest {
                        return view;
                    }
                }
                self.of(&generation, generation.newest())
            }
        }
    }

    /// Notes that `@latest` lists a version.
    pub(super) fn show(&self, view: &VersionView) {
        let number = view.generation().number();
        let key = (number, view.version());
        let presentation = view.presentation();
        let mut listed = self.listed.lock();
        let at = (listed.iter()).position(|known| Arc::ptr_eq(&known.presentation, presentation));
        let mut entry = at
            .and_then(|at| listed.remove(at))
            .unwrap_or_else(|| Listed {
                number,
                presentation: presentation.clone(),
                provenance: None,
            });
        if let Some(provenance) = view.provenance().filter(ProvenanceView::is_complete) {
            let known = view.generation().files().len();
            entry.provenance = Some((provenance, FileId::try_from(known).unwrap_or(FileId::MAX)));
        }
        listed.push_back(entry);
        if listed.len() > PRESENTATIONS {
            listed.pop_front();
        }
        drop(listed);
        let mut shown = self.shown.lock();
        if shown.back() == Some(&key) {
            return;
        }
        shown.retain(|other| *other != key);
        shown.push_back(key);
        if shown.len() > SHOWN {
            shown.pop_front();
        }
    }

    /// The file that `@latest` has listed as `name` in the directory `path`, however many versions
    /// ago that was.
    pub(super) fn listed(&self, path: &str, name: &str) -> Option<FileNode> {
        let generation = self.table.current();
        let listed: Vec<Listed> = self.listed.lock().iter().rev().cloned().collect();
        listed
            .into_iter()
            .filter(|listed| listed.number == generation.number())
            .find_map(|listed| {
                let files = generation.files();
                let presentation = &listed.presentation;
                let id = presentation.find_any(&files, listed.provenance, path, name)?;
                drop(files);
                Some(FileNode {
                    generation: generation.clone(),
                    presentation: listed.presentation,
                    provenance: listed.provenance.map(|(provenance, _)| provenance),
                    id,
                })
            })
    }

    /// Views in which a directory that `@latest` does not list any more, or a name that an earlier
    /// mount has listed, may be found: those it has shown, newest first, then, with `older`, some
    /// older ones. They are built one by one, as the search goes on.
    pub(super) fn earlier(&self, older: bool) -> impl Iterator<Item = Arc<VersionView>> + '_ {
        let generation = self.table.current();
        let newest = generation.newest();
        let shown: Vec<Version> = self
            .shown
            .lock()
            .iter()
            .rev()
            .filter(|(number, shown)| *number == generation.number() && *shown != newest)
            .map(|(_, shown)| *shown)
            .collect();
        let listing = generation.listing();
        let before = if older { BEFORE } else { 0 };
        let older: Vec<Version> = (newest.saturating_sub(before)..newest)
            .rev()
            .filter(|older| listing.has_commit(*older) || listing.has_checkpoint(*older))
            .filter(|older| !shown.contains(older))
            .collect();
        shown
            .into_iter()
            .chain(older)
            .filter_map(move |version| self.of(&generation, version).ok())
    }
}

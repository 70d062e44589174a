//! The table at a place: keeps up with commits made by anyone, and notices when another table has
//! taken the place.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Mutex, RwLock};

use super::SnapshotError;
use super::generation::Generation;
use crate::base::Version;
use crate::base::clock::monotonic;
use crate::log::listing::LogListing;
use crate::log::log_path;
use crate::log::names::commit_name;
use crate::storage::{ObjectMeta, StorageError, Store, TableRoots};

/// How old a listing of the log may grow before opening the root lists it again: what was cleaned up
/// meanwhile shows up no later.
const RELIST_AFTER: Duration = Duration::from_secs(10);

/// See the module.
pub struct Table {
    /// How long an answer of an object store counts as fresh; local file systems are always asked.
    refresh_every: Duration,
    current: RwLock<Arc<Generation>>,
    watch: Mutex<Watch>,
}

impl fmt::Debug for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Table")
            .field("root", &self.current().roots().table().root())
            .finish_non_exhaustive()
    }
}

/// What was seen of the log's end.
struct Watch {
    newest: Version,
    /// The newest commit file; `None` when the newest version has a checkpoint only.
    commit: Option<ObjectMeta>,
    asked: Instant,
    listed: Instant,
}

impl Table {
    /// Lists the log of the table at `roots`. [`LogError::NotATable`](crate::log::LogError) when
    /// there is none.
    pub fn open(roots: TableRoots, refresh_every: Duration) -> Result<Table, SnapshotError> {
        let store = &**roots.table();
        let listed = monotonic();
        let listing = LogListing::read(store)?;
        let watch = Watch::of(store, &listing, listed)?;
        Ok(Table {
            current: RwLock::new(Arc::new(Generation::new(0, roots, listing))),
            watch: Mutex::new(watch),
            refresh_every,
        })
    }

    /// The table as last seen.
    pub fn current(&self) -> Arc<Generation> {
        self.current.read().clone()
    }

    /// The table with every commit made before the call (local file systems), or within the refresh
    /// interval (object stores). Costs a few `stat` calls when nothing has happened.
    pub fn refresh(&self) -> Result<Arc<Generation>, SnapshotError> {
        let mut watch = self.watch.lock();
        let current = self.current();
        let store = &**current.roots().table();
        if !store.is_local() && watch.asked.elapsed() < self.refresh_every {
            return Ok(current);
        }
        watch.asked = monotonic();
        if let Some(store) = store.successor()? {
            return self.succeed(&mut watch, &current, store);
        }
        let commit = head(store, watch.newest)?;
        if commit != watch.commit || commit.is_none() {
            // The newest commit is gone or another one: not an append. Where the newest version is
            // one that has only a checkpoint, nothing else tells.
            return self.relist(&mut watch);
        }
        while let Some(commit) = head(store, watch.newest + 1)? {
            watch.newest += 1;
            watch.commit = Some(commit);
            current.push_commit(watch.newest);
        }
        Ok(current)
    }

    /// [`Table::refresh`], and lists the log anew when the listing is old or has a gap, which may
    /// have been mended: for callers that show which versions there are.
    pub fn refresh_versions(&self) -> Result<Arc<Generation>, SnapshotError> {
        let current = self.refresh()?;
        let mut watch = self.watch.lock();
        let is_whole = current.listing().check(current.newest()).is_ok();
        if is_whole && watch.listed.elapsed() < RELIST_AFTER {
            return Ok(current);
        }
        self.relist(&mut watch)
    }

    fn relist(&self, watch: &mut Watch) -> Result<Arc<Generation>, SnapshotError> {
        let current = self.current();
        let store = &**current.roots().table();
        let listed = monotonic();
        let listing = LogListing::read(store)?;
        let fresh = Watch::of(store, &listing, listed)?;
        // The log only grows: the newest commit known must still be there, the same, unless the log
        // was cleaned up behind it.
        let now = head(store, watch.newest)?;
        let same = fresh.newest >= watch.newest
            && match (&watch.commit, &now) {
                (_, Some(_)) => now == watch.commit,
                (None, None) if listing.has_checkpoint(watch.newest) => true,
                (_, None) => goes_on(&current, &listing),
            };
        *watch = fresh;
        if same {
            current.set_listing(listing);
            return Ok(current);
        }
        Ok(self.replace(&current, current.roots().clone(), listing))
    }

    /// The table in `store`, which has taken the place of the current one's.
    fn succeed(
        &self,
        watch: &mut Watch,
        current: &Generation,
        store: Arc<dyn Store>,
    ) -> Result<Arc<Generation>, SnapshotError> {
        let listed = monotonic();
        let listing = LogListing::read(&*store)?;
        *watch = Watch::of(&*store, &listing, listed)?;
        Ok(self.replace(current, current.roots().around(store), listing))
    }

    fn replace(
        &self,
        current: &Generation,
        roots: TableRoots,
        listing: LogListing,
    ) -> Arc<Generation> {
        tracing::warn!(
            table = roots.table().root(),
            "the table was replaced by another one; its versions are read anew"
        );
        current.end();
        let next = Arc::new(Generation::new(current.number() + 1, roots, listing));
        *self.current.write() = next.clone();
        next
    }
}

/// Whether a log from which the newest commit known is gone is of the same table, cleaned up since.
fn goes_on(current: &Generation, listing: &LogListing) -> bool {
    let Some(id) = current.table_id() else {
        // Nothing has been shown that could be taken for something else.
        return true;
    };
    current.set_listing(listing.clone());
    // The newest version may be one that cannot be built.
    let oldest = listing.rebuildable().first().map(|range| *range.start());
    let now = (listing.newest().into_iter().chain(oldest))
        .find_map(|version| current.snapshot(version).ok());
    now.is_some_and(|now| now.metadata().id == id)
}

impl Watch {
    fn of(
        store: &dyn Store,
        listing: &LogListing,
        listed: Instant,
    ) -> Result<Watch, SnapshotError> {
        let newest = listing.newest().unwrap_or(0);
        Ok(Watch {
            newest,
            commit: head(store, newest)?,
            asked: listed,
            listed,
        })
    }
}

/// A commit file; `None` where there is none, or a thing that is no file of the table, which is an
/// error for whoever reads it.
fn head(store: &dyn Store, version: Version) -> Result<Option<ObjectMeta>, StorageError> {
    match store.head(&log_path(&commit_name(version))) {
        Ok(meta) => Ok(Some(meta)),
        Err(
            StorageError::NotFound { .. }
            | StorageError::Outside { .. }
            | StorageError::Unsupported { .. },
        ) => Ok(None),
        Err(error) => Err(error),
    }
}

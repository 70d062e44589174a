//! The table at a place: keeps up with commits made by anyone, and notices when another table has
//! taken the place.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Mutex, RwLock};

use super::generation::Generation;
use super::{Snapshot, SnapshotError};
use crate::base::Version;
use crate::base::clock::monotonic;
use crate::log::listing::LogListing;
use crate::log::names::commit_name;
use crate::log::{LogError, log_path};
use crate::storage::{ObjectMeta, StorageError, Store, TableRoots};

/// How old a listing of the log may grow before opening the root lists it again: what was cleaned up
/// meanwhile shows up no later.
const RELIST_AFTER: Duration = Duration::from_secs(10);

/// How often a log is listed anew that is cleaned up before it is read.
const ATTEMPTS: usize = 8;

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
        let mut attempts = ATTEMPTS;
        loop {
            let listed = monotonic();
            let listing = LogListing::read(store)?;
            let fresh = Watch::of(store, &listing, listed)?;
            match compare(&current, watch, &fresh, &listing)? {
                Found::Same => {
                    *watch = fresh;
                    current.set_listing(listing);
                    return Ok(current);
                }
                // It was cleaned up while it was looked at.
                Found::Unknown(error) if LogListing::read(store)? != listing => {
                    attempts -= 1;
                    if attempts == 0 {
                        return Err(error);
                    }
                }
                Found::Other | Found::Unknown(_) => {
                    *watch = fresh;
                    return Ok(self.replace(&current, current.roots().clone(), listing));
                }
            }
        }
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

/// What a listing of the log is of.
enum Found {
    /// The table that is known.
    Same,
    /// Another one.
    Other,
    /// Nothing of it tells: why the newest version could not be built, or is not there.
    Unknown(SnapshotError),
}

/// Whether `listing`, whose end is `fresh`, is of the table `current`, of which `known` was seen last.
///
/// The log only grows: the newest commit known must still be there, the same, unless the log was
/// cleaned up behind it.
fn compare(
    current: &Generation,
    known: &Watch,
    fresh: &Watch,
    listing: &LogListing,
) -> Result<Found, SnapshotError> {
    let now = head(&**current.roots().table(), known.newest)?;
    if now.is_some() && now != known.commit {
        return Ok(Found::Other);
    }
    if fresh.newest < known.newest {
        return Ok(Found::Unknown(
            LogError::VersionNotFound {
                version: known.newest,
                reason: format!("the log ends at {} now", fresh.newest),
            }
            .into(),
        ));
    }
    if now.is_some() || (known.commit.is_none() && listing.has_checkpoint(known.newest)) {
        return Ok(Found::Same);
    }
    Ok(goes_on(current, listing))
}

/// Whether a log from which the newest commit known is gone is of the same table, cleaned up since.
fn goes_on(current: &Generation, listing: &LogListing) -> Found {
    let Some(id) = current.table_id() else {
        // Nothing has been shown that could be taken for something else.
        return Found::Same;
    };
    current.set_listing(listing.clone());
    let is_same = |now: Arc<Snapshot>| match now.metadata().id == id {
        true => Found::Same,
        false => Found::Other,
    };
    let newest = match current.snapshot(listing.newest().unwrap_or(0)) {
        Ok(now) => return is_same(now),
        Err(error) => error,
    };
    // The newest version may be one that cannot be built.
    let oldest = listing.rebuildable().first().map(|range| *range.start());
    match oldest.and_then(|oldest| current.snapshot(oldest).ok()) {
        Some(now) => is_same(now),
        None => Found::Unknown(newest),
    }
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

//! Commits: a proposal becomes the next version of a table, or nothing.
//!
//! A writer reads version R, writes its data files, and proposes what to commit. The commit loop
//! puts N = R + 1 if absent; where others were faster, it reads their commits in order, checks each
//! for a conflict ([`check`]), and goes on top of them. Nothing is locked, and nothing but the
//! commit file `N.json` is written.
//!
//! # What holds when the process is killed, or the power fails
//!
//! The only effect of the loop is one put-if-absent, which makes the whole commit file appear under
//! its name or does nothing ([`Store::put_if_absent`](crate::storage::Store::put_if_absent)). So:
//!
//! - *before it*: no reader sees anything. Data files that were written lie there unreferenced,
//!   and VACUUM takes them away.
//! - *during it*: a local store writes and fsyncs a file without a name, of which a kill leaves
//!   nothing, or, where the file system has none that it would make durable, of a name which the
//!   log ignores; and then links it to `N.json`. Before the link nothing happened; after it the
//!   commit is whole, since what it holds was durable first. Should the power fail before the
//!   directory is fsynced, the link is there or is not, and either is a table that was: nobody was
//!   told that the commit is done, and who built N + 1 on top of it meanwhile fsynced the same
//!   directory, so that N + 1 never outlasts N.
//! - *after it, before the answer*: the commit is in the log, and says so by `commitInfo.txnId`.
//!   [`find_commit`] finds it, and proposing the same again finds it too, before any conflict with
//!   it is looked for: a transaction is never committed twice.
//! - *after the answer*: the commit is durable, for a put returns when the file and its directory
//!   are. Where the answer rests on what was found in the log (our own commit after a failed put;
//!   the batch of an application), the directory is fsynced before it is given.
//!
//! An error of the put says nothing by itself. Where N is there afterwards, whose it is decides.
//! Where it is not, and the store may yet do what it was asked (a request that timed out), the loop
//! puts the *same* version again, which cannot commit twice, for there is one N; it never goes on to
//! N + 1 before somebody's commit has the name N. When that does not help, the outcome is
//! [`CommitOutcome::Unknown`]. To propose the same again, by the same id, is safe for the same
//! reason, at any time and by any process: each try reads the log from the read version on.

mod commit;
mod conflict;
mod draft;
mod error;
mod file;
mod find;
mod intent;
mod options;
mod outcome;
mod proposal;
mod race;
mod row_ids;
mod times;
mod validate;
mod winner;

pub use commit::{commit, create};
pub use conflict::{Conflict, check};
pub use error::TxnError;
pub use file::FileKey;
pub use find::find_commit;
pub use intent::Intent;
pub use options::CommitOptions;
pub use outcome::CommitOutcome;
pub use proposal::{IsolationLevel, Operation, PartitionFilter, Proposal, Reads};
pub use winner::{Detail, WinningCommit, WinningFile};

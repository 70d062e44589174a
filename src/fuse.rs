//! The kernel's side of a mount: a thin adapter from FUSE requests to the tree, and mounting and
//! unmounting themselves. The only user of `fuser`.
//!
//! What each request does on each kind of node is in `docs/SEMANTICS.md`.

mod adapter;
mod call;
mod capabilities;
mod error;
mod fusermount;
pub mod host;
mod kernel;
mod listing;
mod mount;
pub mod mountinfo;
mod nodes;
mod ownership;
mod readers;
mod report;
mod slots;
mod slow;
mod space;
mod unmount;

#[cfg(test)]
pub(crate) mod tests;

pub use error::FuseError;
pub use mount::{Access, FS_TYPE, MountOptions, Mounted, mount};
pub use nodes::Nodes;
pub use ownership::Ownership;
pub use report::with_causes;
pub use slow::Pending;
pub use unmount::{Unmounted, Unmounter, unmount_at};

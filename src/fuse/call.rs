//! One call into the tree: its errors become an errno and a log line, its panics EIO.

use std::panic::{AssertUnwindSafe, catch_unwind};

use fuser::Errno;

use super::report::with_causes;
use crate::errno;
use crate::tree::{Ino, TreeError};

/// What a log line says of the request: the name of the operation and its inode.
#[derive(Debug, Clone, Copy)]
pub(super) struct Context {
    /// The FUSE operation.
    pub operation: &'static str,
    /// The inode it is about; the parent for operations on a name.
    pub ino: Ino,
}

impl Context {
    /// The context of an operation on an inode.
    pub(super) const fn new(operation: &'static str, ino: Ino) -> Context {
        Context { operation, ino }
    }
}

/// Whether an error is nothing that anybody has to know of: that something is there or not, which
/// programs find out by trying, that it cannot be done here, so that they do it in another way, or
/// that the kernel has to ask once more.
fn is_expected(error: &TreeError) -> bool {
    match error {
        TreeError::OtherSize(_)
        | TreeError::Raced
        | TreeError::Removed(_)
        | TreeError::ReadOnly(_)
        | TreeError::NotSupported(_)
        | TreeError::Exists(_)
        | TreeError::OtherTransaction => true,
        _ => matches!(
            errno::of_tree(error),
            libc::ENOENT
                | libc::ENODATA
                | libc::EEXIST
                | libc::ENOTEMPTY
                | libc::ENOTDIR
                | libc::EISDIR
                | libc::EXDEV
        ),
    }
}

/// Runs `work`. An error is logged once, as a warning unless it is an expected one; a panic is
/// logged as an error and costs this request alone.
pub(super) fn call<T>(
    context: Context,
    work: impl FnOnce() -> Result<T, TreeError>,
) -> Result<T, Errno> {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => {
            let number = errno::of_tree(&error);
            let Context { operation, ino } = context;
            if is_expected(&error) {
                tracing::debug!(operation, ino, errno = number, "{}", with_causes(&error));
            } else {
                tracing::warn!(operation, ino, errno = number, "{}", with_causes(&error));
            }
            Err(Errno::from_i32(number))
        }
        Err(_) => {
            panicked(context);
            Err(Errno::EIO)
        }
    }
}

/// [`call`] for work that cannot fail and has no reply.
pub(super) fn notify(context: Context, work: impl FnOnce()) {
    if catch_unwind(AssertUnwindSafe(work)).is_err() {
        panicked(context);
    }
}

/// The panic's own message and place have been logged by the panic hook.
fn panicked(context: Context) {
    let Context { operation, ino } = context;
    tracing::error!(
        operation,
        ino,
        "internal error, answered with EIO; please report it"
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONTEXT: Context = Context {
        operation: "lookup",
        ino: 1,
    };

    #[test]
    fn errors_become_their_errno_and_panics_eio() {
        let number = |work: fn() -> Result<(), TreeError>| call(CONTEXT, work).map_err(Errno::code);
        assert_eq!(number(|| Ok(())), Ok(()));
        assert_eq!(
            number(|| Err(TreeError::UnknownHandle(3))),
            Err(libc::EBADF)
        );
        assert_eq!(
            number(|| Err(TreeError::NoAttribute("x".into()))),
            Err(libc::ENODATA)
        );
        assert_eq!(number(|| panic!("boom")), Err(libc::EIO));
        notify(CONTEXT, || panic!("boom"));
    }
}

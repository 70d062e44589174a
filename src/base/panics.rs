//! Panics of libraries over bytes that they did not expect.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs `work` over hostile bytes: a panic of the decoder is one more way to be unreadable. Nothing
/// that `work` has left half done may be used after an error.
pub fn caught<T>(work: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    caught_as(work, |problem| problem)
}

/// [`caught`], with the error that a panic is to be.
pub fn caught_as<T, E>(
    work: impl FnOnce() -> Result<T, E>,
    unreadable: impl FnOnce(String) -> E,
) -> Result<T, E> {
    let outer = EXPECTED.replace(true);
    let done = catch_unwind(AssertUnwindSafe(work));
    EXPECTED.set(outer);
    done.unwrap_or_else(|panic| Err(unreadable(text(&*panic))))
}

thread_local! {
    static EXPECTED: Cell<bool> = const { Cell::new(false) };
}

/// Whether a panic of this thread becomes an error: a panic hook need not make much of it, since who
/// gets the error does. Of threads that the work starts nothing is known.
pub fn is_expected() -> bool {
    EXPECTED.get()
}

fn text(panic: &(dyn Any + Send)) -> String {
    let text = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    format!("the decoder failed: {}", text.unwrap_or("no reason given"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_an_error_that_says_what_it_said() {
        let number = 7;
        let error = caught(|| panic!("{number} is too many"));
        assert_eq!(
            error,
            Err::<(), _>("the decoder failed: 7 is too many".to_owned())
        );
        assert_eq!(caught(|| Ok(1)), Ok(1));
    }

    #[test]
    fn panics_are_expected_while_they_are_caught() {
        assert!(!is_expected());
        let inner = || {
            let error = caught(|| -> Result<(), String> { panic!("inner") });
            Ok((error.is_err(), is_expected()))
        };
        assert_eq!(caught(inner), Ok((true, true)));
        assert!(caught(|| -> Result<(), String> { panic!("outer") }).is_err());
        assert!(!is_expected());
    }
}

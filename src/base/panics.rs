//! Panics of libraries over bytes that they did not expect.

use std::any::Any;
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
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| Err(unreadable(text(&*panic))))
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
}

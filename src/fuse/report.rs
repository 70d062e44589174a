//! Errors in one line.

use std::error::Error;

/// The message of `error` and those of its causes, joined by `: `. A cause whose text the message
/// already holds is not repeated.
pub fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let message = error.to_string();
        if !text.contains(&message) {
            text.push_str(": ");
            text.push_str(&message);
        }
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("{text}")]
    struct Layer {
        text: &'static str,
        #[source]
        cause: Option<Box<Layer>>,
    }

    fn layer(text: &'static str, cause: Option<Layer>) -> Layer {
        Layer {
            text,
            cause: cause.map(Box::new),
        }
    }

    #[test]
    fn causes_follow_and_are_not_repeated() {
        let error = layer(
            "read x: disk on fire",
            Some(layer("disk on fire", Some(layer("match", None)))),
        );
        assert_eq!(with_causes(&error), "read x: disk on fire: match");
    }
}

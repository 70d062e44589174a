//! Sentences of docs/SEMANTICS.md that tests hold the mount to.

/// That the document says so, line breaks aside: what a test shows is what is promised, and a promise
/// that changes changes its test.
pub fn says(sentence: &str) {
    const DOCUMENT: &str = include_str!("../../docs/SEMANTICS.md");
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        words(DOCUMENT).contains(&words(sentence)),
        "docs/SEMANTICS.md does not say: {sentence}"
    );
}

#[test]
fn a_sentence_that_is_not_there_is_missed() {
    let missed = std::panic::catch_unwind(|| says("Nothing is ever lost, nor found."));
    assert!(missed.is_err());
}

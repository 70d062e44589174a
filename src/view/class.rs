//! How much work a presented file takes.

/// What kind of work makes the bytes of a presented file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// The data file's own bytes, whatever the table is: `--view raw`.
    Raw,
    /// The data file's own bytes, which are the logical ones.
    Identity,
    /// The data file's own column chunks, with others and a footer that were made.
    Composed,
    /// As composed, and some column chunks are encoded anew.
    Rewritten,
    /// Not presentable in this release.
    Unsupported,
}

impl Class {
    /// The word for extended attributes and listings.
    pub fn as_str(self) -> &'static str {
        match self {
            Class::Raw => "raw",
            Class::Identity => "identity",
            Class::Composed => "composed",
            Class::Rewritten => "rewritten",
            Class::Unsupported => "unsupported",
        }
    }
}

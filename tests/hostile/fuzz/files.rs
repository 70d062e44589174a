//! Whole data files, as a mounted table presents them.

use std::fs;

use deltafs::parquet::Footer;

use super::super::dice::Dice;
use super::super::footer::Object;
use super::super::support::{list, resolve, tree_read};
use super::super::tables::{Made, case_of_seed};
use super::{damaged, run};

/// A table whose data file can be replaced.
struct Target {
    made: Made,
    bytes: Vec<u8>,
    /// The first commit, which has the size of the file in it.
    commit: String,
}

impl Target {
    fn all() -> Vec<Target> {
        (100..140)
            .map(|seed| {
                let made = case_of_seed(seed).make();
                let read = |path| fs::read(path).expect("it was written");
                let commit = read(made.table.commit_path(0));
                Target {
                    bytes: read(made.table.path("part-0.parquet")),
                    commit: String::from_utf8(commit).expect("JSON"),
                    made,
                }
            })
            .collect()
    }

    fn with(&self, bytes: &[u8]) {
        let size = |size: usize| format!("\"size\":{size},");
        let commit = self
            .commit
            .replace(&size(self.bytes.len()), &size(bytes.len()));
        fs::write(self.made.table.commit_path(0), commit).expect("it can be written");
        self.made.table.write("part-0.parquet", bytes);
    }
}

#[test]
fn fuzz_files() {
    run("files", 500, target());
}

/// Tries one case.
pub fn target() -> impl FnMut(&mut Dice) {
    let targets = Target::all();
    move |dice| {
        let target = dice.pick(&targets);
        let footer = target.bytes.len() - 8 - footer_length(&target.bytes);
        let bytes = match dice.below(4) {
            // The pages alone: the footer is right, and so is where it says they are.
            0 | 1 => {
                let mut pages = damaged(&target.bytes[..footer], dice);
                pages.resize(footer, 0);
                [&pages, &target.bytes[footer..]].concat()
            }
            2 => {
                let end = target.bytes.len() - 8;
                let thrift = damaged(&target.bytes[footer..end], dice);
                let length = (thrift.len() as u32).to_le_bytes();
                [&target.bytes[..footer], &thrift, &length, b"PAR1"].concat()
            }
            _ => damaged(&target.bytes, dice),
        };
        target.with(&bytes);
        look(target, &bytes, dice);
    }
}

fn footer_length(bytes: &[u8]) -> usize {
    let at = bytes.len() - 8;
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes")) as usize
}

/// The file is an error, or as long as look-up says, with a footer that can be read; all of the
/// footer, unless the file is presented as it is.
fn look(target: &Target, original: &[u8], dice: &mut Dice) {
    let tree = target.made.table.tree();
    let version = format!("@v{}", dice.below(2));
    for name in list(&tree, &version).expect("the log is whole") {
        let path = format!("{version}/{name}");
        let size = resolve(&tree, &path).expect("it was listed").attr.size;
        match tree_read(&tree, &path) {
            Ok(bytes) => {
                assert_eq!(bytes.len() as u64, size);
                let is_made = bytes != original;
                let footer = Footer::read(&Object::new(bytes)).expect("a Parquet file");
                assert!(footer.row_groups_meta().is_ok() || !is_made);
            }
            Err(error) => assert!(error.to_string().len() < 100_000),
        }
    }
}

//! The floors of the house: an arrow may only point down, and a crate stays on its floor.
//!
//! Reads every file under `src`, as tokens, so that comments and strings are no code; what is
//! `#[cfg(test)]` may use anything.
#![allow(clippy::disallowed_methods)]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// The floors from the bottom up: each may use those before it.
const FLOORS: [&str; 15] = [
    "base", "storage", "schema", "parquet", "log", "protocol", "snapshot", "txn", "view", "intake",
    "staging", "tree", "errno", "fuse", "cli",
];

/// Arrows that point down and are not allowed all the same.
const NOT_ALLOWED: [(&str, &str); 3] = [
    ("schema", "storage"),
    ("parquet", "schema"),
    ("view", "txn"),
];

/// The floors that may use a path of another crate. The first entry that is the path's beginning
/// decides; a crate without an entry may be used anywhere.
const CRATES: [(&[&str], &[&str]); 9] = [
    (&["fuser"], &["fuse"]),
    (&["object_store"], &["storage"]),
    (&["tokio"], &["storage"]),
    (&["parquet"], &["parquet", "log", "intake"]),
    (&["arrow"], &["parquet", "log", "intake"]),
    // An open file, which storage handed out.
    (&["std", "fs", "File"], &FLOORS),
    // What is named on the command line is no part of a table.
    (&["std", "fs"], &["storage", "cli"]),
    // Neither are `/proc`, `/dev/fuse` and the backing files of passthrough.
    (&["rustix"], &["storage", "fuse", "cli"]),
    (&["clap"], &["cli"]),
];

#[test]
fn arrows_point_down_and_crates_stay_on_their_floors() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let files = source_files(&src);
    let mut found = Found::default();
    for (module, path) in &files {
        let source = fs::read_to_string(path).expect("a source file is text");
        found.read(module, &source);
    }
    assert_eq!(found.violations(), [""; 0]);
    // Had the reading failed, there would be no violations either.
    assert!(files.len() > 20, "{} files", files.len());
    for (from, to) in [("storage", "base"), ("log", "storage"), ("snapshot", "log")] {
        let is_seen = |used: &Use| used.from == from && used.path.starts_with(&own(&[to]));
        assert!(found.uses.iter().any(is_seen), "{from} uses {to}");
    }
    let is_seen = |used: &Use| used.from == "storage" && used.path.starts_with(&of(&["tokio"]));
    assert!(found.uses.iter().any(is_seen), "storage uses tokio");
}

/// A path that a floor uses.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Use {
    from: String,
    /// `a::b` where the path was found.
    module: String,
    /// The crate first, `crate` for our own.
    path: Vec<String>,
}

/// What the files read so far use.
#[derive(Debug, Default)]
struct Found {
    uses: BTreeSet<Use>,
    /// Modules that are `#[cfg(test)]`, as paths.
    tests: BTreeSet<Vec<String>>,
}

impl Found {
    /// Adds what the file of a module uses.
    fn read(&mut self, module: &[String], source: &str) {
        let tokens: TokenStream = source
            .parse()
            .unwrap_or_else(|error| panic!("{}: {error}", module.join("::")));
        Reader {
            found: self,
            module: module.to_vec(),
        }
        .read(tokens);
    }

    fn violations(&self) -> Vec<String> {
        let is_test = |used: &Use| {
            let module: Vec<String> = used.module.split("::").map(str::to_owned).collect();
            self.tests.iter().any(|test| module.starts_with(test))
        };
        self.uses
            .iter()
            .filter(|used| !is_test(used))
            .filter_map(violation)
            .collect()
    }
}

/// What is wrong with a use, if anything.
fn violation(used: &Use) -> Option<String> {
    let Use { from, module, path } = used;
    let text = path.join("::");
    let Some(height) = FLOORS.iter().position(|floor| floor == from) else {
        return Some(format!(
            "{from} is no floor; give it its place in tests/layers.rs"
        ));
    };
    if path[0] == "crate" {
        let to = path.get(1)?;
        let is_below = FLOORS[..height].contains(&to.as_str());
        let is_excepted = NOT_ALLOWED.contains(&(from.as_str(), to.as_str()));
        return (to != from && (!is_below || is_excepted))
            .then(|| format!("{module} uses {text}: {from} may not use {to}"));
    }
    let (_, floors) = CRATES
        .iter()
        .find(|(beginning, _)| path.starts_with(&of(beginning)))?;
    (!floors.contains(&from.as_str())).then(|| {
        format!(
            "{module} uses {text}: that is for {} alone",
            floors.join(", ")
        )
    })
}

/// Walks the tokens of one file.
struct Reader<'a> {
    found: &'a mut Found,
    /// The module that the tokens stand in.
    module: Vec<String>,
}

impl Reader<'_> {
    fn read(&mut self, tokens: TokenStream) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        if tokens.len() >= 3 && is_punct(&tokens[1], '!') && is_test_attribute(&tokens[2]) {
            self.found.tests.insert(self.module.clone());
            return;
        }
        let mut at = 0;
        while at < tokens.len() {
            at = self.read_one(&tokens, at);
        }
    }

    /// Reads what begins at `at` and returns where the next begins.
    fn read_one(&mut self, tokens: &[TokenTree], at: usize) -> usize {
        match &tokens[at] {
            TokenTree::Punct(_)
                if is_punct(&tokens[at], '#')
                    && tokens.get(at + 1).is_some_and(is_test_attribute) =>
            {
                self.skip_item(tokens, at + 2)
            }
            TokenTree::Ident(word) if word == "mod" => {
                match (&tokens.get(at + 1), tokens.get(at + 2)) {
                    (Some(TokenTree::Ident(name)), Some(TokenTree::Group(body))) => {
                        self.module.push(name.to_string());
                        self.read(body.stream());
                        self.module.pop();
                        at + 3
                    }
                    _ => at + 2,
                }
            }
            TokenTree::Ident(word) if word == "use" => {
                let end = (at..tokens.len()).find(|at| is_punct(&tokens[*at], ';'));
                let end = end.unwrap_or(tokens.len());
                self.add_tree(&[], &tokens[at + 1..end]);
                end + 1
            }
            TokenTree::Ident(_) if at > 0 && is_punct(&tokens[at - 1], '.') => at + 1,
            TokenTree::Ident(_) => {
                let (path, next) = path_at(tokens, at);
                if path.len() > 1 {
                    self.add(path);
                }
                next
            }
            TokenTree::Group(group) => {
                self.read(group.stream());
                at + 1
            }
            _ => at + 1,
        }
    }

    /// Adds the paths of a `use` tree below `prefix`.
    fn add_tree(&mut self, prefix: &[String], tree: &[TokenTree]) {
        for tree in tree.split(|token| is_punct(token, ',')) {
            let first = tree.iter().position(|token| !is_punct(token, ':'));
            let Some(first) = first else { continue };
            let (path, next) = match &tree[first] {
                TokenTree::Ident(_) => path_at(tree, first),
                _ => (Vec::new(), first),
            };
            let path = [prefix, &path].concat();
            // After a path: `::{...}`, `::*`, ` as name`, or nothing.
            let group = tree[next..].iter().find_map(|token| match token {
                TokenTree::Group(group) => Some(group.stream().into_iter().collect::<Vec<_>>()),
                _ => None,
            });
            match group {
                Some(group) => self.add_tree(&path, &group),
                None => self.add(path),
            }
        }
    }

    /// Adds a path after resolving `self` and `super`.
    fn add(&mut self, mut path: Vec<String>) {
        if path.last().is_some_and(|last| last == "self") {
            path.pop();
        }
        let mut base = self.module.clone();
        let path = match path.first().map(String::as_str) {
            Some("crate" | "deltafs") => own(&path[1..]),
            Some("self" | "super") => {
                let mut rest = path.as_slice();
                while let Some((first, more)) = rest.split_first() {
                    match first.as_str() {
                        "self" => {}
                        "super" => _ = base.pop(),
                        _ => break,
                    }
                    rest = more;
                }
                own(&[base.as_slice(), rest].concat())
            }
            Some(_) => path,
            None => return,
        };
        // The crate's root has no floor: it names them all.
        if let Some(from) = self.module.first() {
            self.found.uses.insert(Use {
                from: from.clone(),
                module: self.module.join("::"),
                path,
            });
        }
    }

    /// Skips the item, field or statement at `at`, and notes that a module is for tests.
    fn skip_item(&mut self, tokens: &[TokenTree], mut at: usize) -> usize {
        const ITEMS: [&str; 17] = [
            "pub",
            "fn",
            "mod",
            "use",
            "const",
            "static",
            "type",
            "struct",
            "enum",
            "union",
            "impl",
            "trait",
            "unsafe",
            "async",
            "extern",
            "macro_rules",
            "let",
        ];
        while at + 1 < tokens.len() && is_punct(&tokens[at], '#') {
            at += 2;
        }
        let is_item = match tokens.get(at) {
            Some(TokenTree::Ident(word)) => {
                ITEMS.iter().any(|item| word == item)
                    || tokens.get(at + 1).is_some_and(|next| is_punct(next, '!'))
            }
            _ => false,
        };
        let ends_by_semicolon = (at..tokens.len())
            .map_while(|at| match &tokens[at] {
                TokenTree::Ident(word) => Some(word.to_string()),
                // `pub(crate)`
                TokenTree::Group(group) if group.delimiter() == Delimiter::Parenthesis => {
                    Some(String::new())
                }
                _ => None,
            })
            .any(|word| matches!(word.as_str(), "use" | "const" | "static" | "type" | "let"))
            && !tokens[at..]
                .iter()
                .take(6)
                .any(|token| is_ident(token, "fn"));
        while at < tokens.len() {
            if is_ident(&tokens[at], "mod")
                && let Some(TokenTree::Ident(name)) = tokens.get(at + 1)
            {
                let module = [self.module.as_slice(), &[name.to_string()]].concat();
                self.found.tests.insert(module);
            }
            at += 1;
            let ended = match &tokens[at - 1] {
                TokenTree::Group(group) => {
                    is_item && !ends_by_semicolon && group.delimiter() == Delimiter::Brace
                }
                token => is_punct(token, ';') || (!is_item && is_punct(token, ',')),
            };
            if ended {
                break;
            }
        }
        at
    }
}

/// The path that begins with the word at `at`, and what follows it.
fn path_at(tokens: &[TokenTree], mut at: usize) -> (Vec<String>, usize) {
    let mut path = Vec::new();
    while let Some(TokenTree::Ident(word)) = tokens.get(at) {
        path.push(word.to_string().trim_start_matches("r#").to_owned());
        at += 1;
        let is_joined = tokens.get(at).is_some_and(|token| is_punct(token, ':'))
            && tokens.get(at + 1).is_some_and(|token| is_punct(token, ':'));
        match tokens.get(at + 2) {
            Some(TokenTree::Ident(_)) if is_joined => at += 2,
            _ => break,
        }
    }
    (path, at)
}

/// `[cfg(test)]` or `[cfg(all(test, ...))]`.
fn is_test_attribute(token: &TokenTree) -> bool {
    let text: String = token
        .to_string()
        .chars()
        .filter(|char| !char.is_whitespace())
        .collect();
    text == "[cfg(test)]" || text.starts_with("[cfg(all(test,")
}

fn is_punct(token: &TokenTree, char: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == char)
}

fn is_ident(token: &TokenTree, word: &str) -> bool {
    matches!(token, TokenTree::Ident(ident) if ident == word)
}

fn of(path: &[&str]) -> Vec<String> {
    path.iter().map(|segment| (*segment).to_owned()).collect()
}

/// A path of our own crate.
fn own(path: &[impl AsRef<str>]) -> Vec<String> {
    let path = path.iter().map(|segment| segment.as_ref().to_owned());
    std::iter::once("crate".to_owned()).chain(path).collect()
}

/// The files under `src` and their module paths. The binary's root counts as part of `cli`.
fn source_files(src: &Path) -> Vec<(Vec<String>, PathBuf)> {
    let mut files = Vec::new();
    let mut directories = vec![(Vec::new(), src.to_owned())];
    while let Some((module, directory)) = directories.pop() {
        for entry in fs::read_dir(directory).expect("a source directory can be read") {
            let path = entry.expect("a source directory can be read").path();
            let stem = path.file_stem().and_then(|stem| stem.to_str());
            let stem = stem.expect("source files have UTF-8 names").to_owned();
            let inner = [module.as_slice(), std::slice::from_ref(&stem)].concat();
            match stem.as_str() {
                _ if path.is_dir() => directories.push((inner, path)),
                _ if path.extension().is_none_or(|extension| extension != "rs") => {}
                "lib" if module.is_empty() => files.push((Vec::new(), path)),
                "main" if module.is_empty() => files.push((of(&["cli"]), path)),
                _ => files.push((inner, path)),
            }
        }
    }
    files
}

/// What is said of a source in the file of a module.
fn violations(module: &str, source: &str) -> Vec<String> {
    let mut found = Found::default();
    let module: Vec<String> = module.split("::").map(str::to_owned).collect();
    found.read(&module, source);
    found.violations()
}

#[test]
fn every_way_to_point_up_is_caught() {
    for (module, source) in [
        ("storage", "use crate::view::Presentation;"),
        (
            "storage",
            "pub(crate) use crate::{base::Version, log::{self, actions::Add}};",
        ),
        (
            "storage::local::read",
            "use super::super::super::snapshot::Snapshot;",
        ),
        (
            "storage::local",
            "fn f() { let x = crate::schema::parse(1); }",
        ),
        ("storage::local", "fn f(x: &crate::tree::Ino) -> u64 { 0 }"),
        (
            "storage",
            "mod inner { mod deeper { use super::super::super::log::Add; } }",
        ),
        ("base", "impl From<crate::errno::Errno> for u8 {}"),
        ("log", "const X: u64 = deltafs::view::X;"),
        (
            "log",
            "fn f() { assert!(matches!(x, crate::snapshot::State::A)); }",
        ),
        ("schema", "use crate::storage::Store;"),
        ("schema", "use crate::parquet::Footer;"),
        ("parquet", "use crate::schema::Type;"),
        ("tree", "use crate::errno as e;"),
        ("tree::nodes", "#[cfg(not(test))] use crate::fuse::Adapter;"),
        ("tree", "#[cfg(test)] mod tests; use crate::fuse::Adapter;"),
        (
            "tree",
            "#[cfg(test)] fn f() -> u8 { 1 } fn g() { crate::fuse::run() }",
        ),
        (
            "tree",
            "struct S { #[cfg(test)] a: u8, b: crate::cli::Arguments }",
        ),
        ("nonsense", "use crate::base::Version;"),
    ] {
        assert!(!violations(module, source).is_empty(), "{module}: {source}");
    }
}

#[test]
fn every_way_to_take_a_crate_from_its_floor_is_caught() {
    for (module, source) in [
        ("tree", "use fuser::FileType;"),
        ("tree", "use fuser;"),
        ("cli", "fn f() { fuser::mount2(a, b); }"),
        ("log", "use object_store::ObjectStore;"),
        ("view", "use ::tokio::runtime::Runtime;"),
        ("view", "fn f() { std::fs::read(path); }"),
        ("view", "use std::{fs, io};"),
        ("view", "use std::fs::{self, File};"),
        ("view", "use std::fs::*;"),
        ("fuse", "fn f() { std::fs::metadata(path); }"),
        ("tree", "use rustix::fs::fstat;"),
        ("log", "use rustix::process::getpid;"),
        ("view", "use parquet::file::reader::FileReader;"),
        ("snapshot", "use arrow::array::{Array, StructArray as S};"),
    ] {
        assert!(!violations(module, source).is_empty(), "{module}: {source}");
    }
}

#[test]
fn what_is_allowed_is_not_caught() {
    for (module, source) in [
        (
            "storage",
            "use crate::base::clock::now_ms; use super::storage::local;",
        ),
        (
            "storage::local",
            "use super::super::base::Version; use super::ObjectMeta;",
        ),
        (
            "storage",
            "use std::fs; use tokio::runtime::Runtime; use rustix::fs::fstat;",
        ),
        ("tree", "use std::fs::File; use std::{fs::File as F, io};"),
        (
            "fuse",
            "use crate::{tree::Tree, errno}; use rustix::mount::unmount;",
        ),
        (
            "parquet",
            "use parquet::basic::Type; use crate::storage::Store;",
        ),
        (
            "log",
            "use arrow::array::Array; use crate::parquet::Footer;",
        ),
        (
            "base",
            "// use crate::view::X;\n/* crate::view::X */ /// [`crate::view::X`]\nfn f() {}",
        ),
        ("base", r#"const X: &str = "crate::view::X";"#),
        ("base", "fn f() { x.tokio::<u8>(); }"),
        (
            "base",
            "#[cfg(test)] mod tests { use crate::cli::run; use std::fs; }",
        ),
        (
            "base",
            "#[cfg(test)] use crate::cli::run; #[cfg(all(test, unix))] use std::fs;",
        ),
        (
            "base",
            "#[cfg(test)] #[allow(dead_code)] pub(crate) fn f() { crate::cli::run() }",
        ),
        (
            "base",
            "#[cfg(test)] pub(crate) const fn f() { crate::cli::run() }",
        ),
        ("base", "#[cfg(test)] const X: u8 = { crate::cli::X };"),
        ("base", "#![cfg(test)] use crate::cli::run;"),
        ("base", "struct S { #[cfg(test)] a: crate::cli::X, b: u8 }"),
    ] {
        assert_eq!(violations(module, source), [""; 0], "{module}: {source}");
    }
    // A module for tests in a file of its own.
    let mut found = Found::default();
    found.read(&of(&["base"]), "#[cfg(test)] mod tests;");
    found.read(&of(&["base", "tests"]), "use crate::cli::run;");
    found.read(&of(&["base", "tests", "inner"]), "use crate::cli::run;");
    assert_eq!(found.violations(), [""; 0]);
}

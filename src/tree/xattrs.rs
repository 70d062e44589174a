//! Extended attributes: where a file or a version directory came from.

use roaring::RoaringBitmap;

use super::file_node::FileNode;
use super::node::{Base, Node};
use super::{Tree, TreeError};
use crate::base::Version;
use crate::base::clock::rfc3339;
use crate::log::LOG_DIR;
use crate::log::names::LogName;

/// What the names of all of them begin with.
pub(super) const PREFIX: &str = "user.delta.";

const PARTITION: &str = "user.delta.partition.";

/// What Linux allows: XATTR_NAME_MAX and XATTR_SIZE_MAX. What a table has beyond that is not shown.
const NAME_MAX: usize = 255;
const VALUE_MAX: usize = 65_536;

/// The value of `name`, if the node has it.
pub(super) fn get(tree: &Tree, node: &Node, name: &str) -> Result<Option<Vec<u8>>, TreeError> {
    let value = find(tree, node, name)?;
    Ok(value.filter(|value| value.len() <= VALUE_MAX))
}

fn find(tree: &Tree, node: &Node, name: &str) -> Result<Option<Vec<u8>>, TreeError> {
    let value = match Subject::of(node) {
        Subject::Directory(base) => directory(tree, base)?
            .into_iter()
            .find(|(known, _)| *known == name)
            .map(|(_, value)| value),
        Subject::File(node) => file(node, name)?,
        Subject::Nothing => None,
    };
    Ok(value.map(String::into_bytes))
}

/// The names of the attributes of a node.
pub(super) fn list(tree: &Tree, node: &Node) -> Result<Vec<String>, TreeError> {
    Ok(match Subject::of(node) {
        Subject::Directory(base) => directory(tree, base)?
            .into_iter()
            .map(|(name, _)| name.to_owned())
            .collect(),
        Subject::File(node) => file_names(node),
        Subject::Nothing => Vec::new(),
    })
}

/// What has attributes.
enum Subject<'a> {
    Directory(&'a Base),
    File(&'a FileNode),
    Nothing,
}

impl Subject<'_> {
    fn of(node: &Node) -> Subject<'_> {
        match node {
            Node::Directory { base, .. } => Subject::Directory(base),
            Node::File(file) => Subject::File(file),
            Node::Root
            | Node::Info
            | Node::InfoLatest
            | Node::InfoHistory
            | Node::InfoMetrics
            | Node::InfoVersion(..)
            | Node::InfoFile(..)
            | Node::Link { .. }
            | Node::Staging
            | Node::Staged(_)
            | Node::Status(_) => Subject::Nothing,
        }
    }
}

fn file_names(node: &FileNode) -> Vec<String> {
    let files = node.generation.files();
    let file = files.get(node.id);
    let mut names = vec!["user.delta.path".to_owned(), "user.delta.class".to_owned()];
    if added_in(&file.statistics.path).is_some() {
        names.push("user.delta.version".to_owned());
    }
    names.push("user.delta.num_records".to_owned());
    if file.deletion_vector.is_some() {
        names.push("user.delta.deletion_vector".to_owned());
    }
    for (column, _) in node.presentation.partition_values(&file) {
        names.push(format!("{PARTITION}{column}"));
    }
    // The list goes to the kernel as names that end in NUL.
    names.retain(|name| name.len() <= NAME_MAX && !name.contains('\0'));
    names
}

fn directory(tree: &Tree, base: &Base) -> Result<Vec<(&'static str, String)>, TreeError> {
    let view = tree.versions.now(base)?;
    let generation = view.generation();
    let mut attributes = vec![("user.delta.version", view.version().to_string())];
    if let Some(time) = generation.timestamp(view.version())? {
        attributes.push(("user.delta.timestamp", rfc3339(time)));
    }
    let missing = tree.missing.among(generation, view.snapshot().files());
    if missing > 0 {
        attributes.push(("user.delta.missing_files", missing.to_string()));
    }
    Ok(attributes)
}

fn file(node: &FileNode, name: &str) -> Result<Option<String>, TreeError> {
    match name {
        "user.delta.num_records" => {
            let ids = RoaringBitmap::from_iter([node.id]);
            let records = node.generation.num_records(&ids)?;
            return Ok(records.get(&node.id).map(i64::to_string));
        }
        "user.delta.class" => {
            let (class, _) = node.presentation.class(&node.plan());
            return Ok(Some(class.as_str().to_owned()));
        }
        _ => {}
    }
    let files = node.generation.files();
    let file = files.get(node.id);
    Ok(match name {
        "user.delta.path" => Some(file.path.to_owned()),
        "user.delta.version" => added_in(&file.statistics.path).map(|version| version.to_string()),
        "user.delta.deletion_vector" => file.deletion_vector.map(|dv| dv.unique_id.clone()),
        _ => name.strip_prefix(PARTITION).and_then(|column| {
            let mut values = node.presentation.partition_values(&file);
            let (_, value) = values.find(|(known, _)| *known == column)?;
            // Null has no bytes to show; the empty string is null in Delta, so it stands for it.
            Some(value.unwrap_or_default().to_owned())
        }),
    })
}

/// The version whose commit file added a logical file, when it was met in a commit file.
fn added_in(path: &str) -> Option<Version> {
    let name = path.strip_prefix(LOG_DIR)?.strip_prefix('/')?;
    match LogName::parse(name)? {
        LogName::Commit(version) => Some(version),
        _ => None,
    }
}

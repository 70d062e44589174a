//! What a log adds up to, by the plainest replay there is: the words of "Action Reconciliation".

use std::collections::BTreeMap;

use percent_encoding::percent_decode_str;
use serde_json::Value;

use super::actions::Action;

/// (decoded path, unique id of the deletion vector).
pub type LogicalFile = (String, Option<String>);

/// The state of a table at one version.
#[derive(Debug, Clone, Default)]
pub struct Reference {
    protocol: Option<Action>,
    metadata: Option<Action>,
    transactions: BTreeMap<String, Action>,
    domains: BTreeMap<String, Action>,
    adds: BTreeMap<LogicalFile, Action>,
    removes: BTreeMap<LogicalFile, Action>,
}

/// The primary key of a file action.
fn key(action: &Action) -> LogicalFile {
    let path = percent_decode_str(action.text("path")).decode_utf8();
    let dv = action
        .fields
        .get("deletionVector")
        .filter(|dv| !dv.is_null());
    (path.expect("UTF-8").into_owned(), dv.map(unique_id))
}

fn unique_id(dv: &Value) -> String {
    let text = |name: &str| dv[name].as_str().expect("text").to_owned();
    let id = text("storageType") + &text("pathOrInlineDv");
    match dv.get("offset").and_then(Value::as_i64) {
        Some(offset) => format!("{id}@{offset}"),
        None => id,
    }
}

impl Reference {
    /// "replaying the events committed to the table in ascending order by commit version".
    pub fn replay<'a>(commits: impl IntoIterator<Item = &'a Vec<Action>>) -> Reference {
        let mut state = Reference::default();
        for commit in commits {
            state.apply(commit);
        }
        state
    }

    /// One commit. "Actions within a given Delta commit are not guaranteed to be applied in order":
    /// removes come first, which is the same for every valid commit.
    pub fn apply(&mut self, commit: &[Action]) {
        for action in commit.iter().filter(|action| action.name == "remove") {
            self.adds.remove(&key(action));
            self.removes.insert(key(action), action.clone());
        }
        for action in commit {
            match action.name {
                "protocol" => self.protocol = Some(action.clone()),
                "metaData" => self.metadata = Some(action.clone()),
                "txn" => {
                    let id = action.text("appId").to_owned();
                    self.transactions.insert(id, action.clone());
                }
                "domainMetadata" => {
                    let name = action.text("domain").to_owned();
                    self.domains.insert(name, action.clone());
                }
                "add" => {
                    self.removes.remove(&key(action));
                    self.adds.insert(key(action), action.clone());
                }
                _ => {}
            }
        }
    }

    /// The live logical files, sorted.
    pub fn live(&self) -> Vec<LogicalFile> {
        self.adds.keys().cloned().collect()
    }

    /// The live `add` actions, by key.
    pub fn adds(&self) -> &BTreeMap<LogicalFile, Action> {
        &self.adds
    }

    /// (appId, version) of the live `txn` actions.
    pub fn transactions(&self) -> Vec<(String, i64)> {
        let version = |action: &Action| action.fields["version"].as_i64().expect("a long");
        self.transactions
            .iter()
            .map(|(id, action)| (id.clone(), version(action)))
            .collect()
    }

    /// (domain, configuration) of the domains that are not removed.
    pub fn domains(&self) -> Vec<(String, String)> {
        self.domains
            .iter()
            .filter(|(_, action)| action.fields["removed"] != true)
            .map(|(name, action)| (name.clone(), action.text("configuration").to_owned()))
            .collect()
    }

    /// The `metaData` action in force.
    pub fn metadata(&self) -> Option<&Action> {
        self.metadata.as_ref()
    }

    /// The `protocol` action in force.
    pub fn protocol(&self) -> Option<&Action> {
        self.protocol.as_ref()
    }

    /// The actions of a checkpoint that are not file actions.
    pub fn non_file_actions(&self) -> Vec<Action> {
        let live = self
            .domains
            .values()
            .filter(|action| action.fields["removed"] != true);
        self.protocol
            .iter()
            .chain(&self.metadata)
            .chain(self.transactions.values())
            .chain(live)
            .cloned()
            .collect()
    }

    /// The file actions of a checkpoint: adds and tombstones.
    pub fn file_actions(&self) -> Vec<Action> {
        self.adds
            .values()
            .chain(self.removes.values())
            .cloned()
            .collect()
    }

    /// The actions of a log compaction: "aggregated actions for commit range".
    pub fn compaction(&self) -> Vec<Action> {
        let others = self.protocol.iter().chain(&self.metadata);
        self.adds
            .values()
            .chain(self.removes.values())
            .chain(others)
            .chain(self.transactions.values())
            .chain(self.domains.values())
            .cloned()
            .collect()
    }
}

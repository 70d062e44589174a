//! Nested JSON objects whose leaves are texts already: numbers of any length stay exact.

/// An object, its keys in the order of insertion.
#[derive(Debug, Default)]
pub(super) struct Tree {
    entries: Vec<(String, Entry)>,
}

#[derive(Debug)]
enum Entry {
    Json(String),
    Tree(Tree),
}

impl Tree {
    /// Puts `json` at the end of `path`.
    pub(super) fn insert(&mut self, path: &[String], json: String) {
        match path {
            [] => {}
            [key] => self.entries.push((key.clone(), Entry::Json(json))),
            [key, rest @ ..] => {
                let at = self.entries.iter().position(|(existing, entry)| {
                    existing == key && matches!(entry, Entry::Tree(_))
                });
                let at = at.unwrap_or_else(|| {
                    let tree = Entry::Tree(Tree::default());
                    self.entries.push((key.clone(), tree));
                    self.entries.len() - 1
                });
                if let (_, Entry::Tree(tree)) = &mut self.entries[at] {
                    tree.insert(rest, json);
                }
            }
        }
    }

    /// Puts another object at `key`.
    pub(super) fn insert_tree(&mut self, key: &str, tree: Tree) {
        self.entries.push((key.to_owned(), Entry::Tree(tree)));
    }

    /// The object as JSON text.
    pub(super) fn to_json(&self) -> String {
        let mut json = String::new();
        self.write(&mut json);
        json
    }

    fn write(&self, json: &mut String) {
        json.push('{');
        for (index, (key, entry)) in self.entries.iter().enumerate() {
            if index > 0 {
                json.push(',');
            }
            json.push_str(&text(key));
            json.push(':');
            match entry {
                Entry::Json(value) => json.push_str(value),
                Entry::Tree(tree) => tree.write(json),
            }
        }
        json.push('}');
    }
}

/// A text as JSON.
pub(super) fn text(text: &str) -> String {
    serde_json::to_string(text).expect("a text becomes JSON, and memory takes it")
}

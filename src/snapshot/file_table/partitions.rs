//! Tuples of partition values, each held once: a table has far fewer of them than files.

use std::collections::HashSet;
use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::Arc;

use hashbrown::{DefaultHashBuilder, HashTable};

/// Physical column names and values, null for null.
type Tuple = Box<[(Arc<str>, Option<Arc<str>>)]>;

#[derive(Default)]
pub(super) struct Partitions {
    tuples: Vec<Tuple>,
    index: HashTable<u32>,
    hasher: DefaultHashBuilder,
    texts: HashSet<Arc<str>>,
}

impl Partitions {
    pub(super) fn get(&self, id: u32) -> &[(Arc<str>, Option<Arc<str>>)] {
        &self.tuples[id as usize]
    }

    /// The number of a tuple. An empty value is null: "An empty string for any type translates to a
    /// null partition value" (PROTOCOL.md, "Partition Value Serialization").
    pub(super) fn intern(&mut self, values: &[(&str, Option<&str>)]) -> u32 {
        let hash = hash(&self.hasher, values.iter().copied());
        let same = |id: &u32| {
            let tuple = &self.tuples[*id as usize];
            tuple.len() == values.len()
                && tuple.iter().zip(values).all(|((column, value), (c, v))| {
                    **column == **c && value.as_deref() == v.filter(|v| !v.is_empty())
                })
        };
        if let Some(id) = self.index.find(hash, same) {
            return *id;
        }
        let tuple: Tuple = values
            .iter()
            .map(|(column, value)| {
                let value = value.filter(|value| !value.is_empty());
                (self.text(column), value.map(|value| self.text(value)))
            })
            .collect();
        let id = self.tuples.len() as u32;
        self.tuples.push(tuple);
        let Partitions {
            tuples,
            index,
            hasher,
            ..
        } = self;
        index.insert_unique(hash, id, |id| {
            let tuple = tuples[*id as usize].iter();
            self::hash(hasher, tuple.map(|(c, v)| (&**c, v.as_deref())))
        });
        id
    }

    fn text(&mut self, text: &str) -> Arc<str> {
        if let Some(known) = self.texts.get(text) {
            return known.clone();
        }
        let shared: Arc<str> = text.into();
        self.texts.insert(shared.clone());
        shared
    }
}

fn hash<'a>(
    hasher: &DefaultHashBuilder,
    values: impl Iterator<Item = (&'a str, Option<&'a str>)>,
) -> u64 {
    let mut state = hasher.build_hasher();
    for (column, value) in values {
        column.hash(&mut state);
        value.filter(|value| !value.is_empty()).hash(&mut state);
    }
    state.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a12_the_empty_value_is_null_and_tuples_are_held_once() {
        let mut partitions = Partitions::default();
        let none = partitions.intern(&[]);
        let null = partitions.intern(&[("a", None)]);
        let one = partitions.intern(&[("a", Some("1")), ("b", Some("x"))]);
        assert_eq!(partitions.intern(&[("a", Some(""))]), null);
        assert_eq!(
            partitions.intern(&[("a", Some("1")), ("b", Some("x"))]),
            one
        );
        assert_eq!(partitions.intern(&[]), none);
        let swapped = partitions.intern(&[("a", Some("x")), ("b", Some("1"))]);
        assert_ne!(swapped, one);
        assert_eq!(partitions.get(null), &[("a".into(), None)]);
        assert_eq!(partitions.get(one)[1], ("b".into(), Some("x".into())));
    }
}

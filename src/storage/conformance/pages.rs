//! A store that lists by small pages, as S3 does, in front of one in memory.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures::future::BoxFuture;
use futures::{FutureExt, TryStreamExt};
use object_store::list::{PaginatedListOptions, PaginatedListResult, PaginatedListStore};
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{ListResult, ObjectStore, Result};

use super::super::object::ObjectStoreBackend;
use super::Fixture;

/// So few that every listing of the suite takes several.
const PAGE: usize = 3;

struct Pages(Arc<InMemory>);

/// Objects below `a table/root`, so that a prefix is in play.
pub(super) fn fixture() -> Fixture {
    let store = Arc::new(InMemory::new());
    let pages = Arc::new(Pages(store.clone()));
    let prefix = Path::parse("a table/root").expect("a valid key");
    let root = "s3://bucket/a%20table/root";
    Fixture {
        store: Arc::new(ObjectStoreBackend::new(root, &prefix, store, Some(pages))),
        _directory: None,
    }
}

impl PaginatedListStore for Pages {
    fn list_paginated<'a, 'b, 'c>(
        &'a self,
        prefix: Option<&'b str>,
        options: PaginatedListOptions,
    ) -> BoxFuture<'c, Result<PaginatedListResult>>
    where
        'a: 'c,
        'b: 'c,
        Self: 'c,
    {
        async move {
            assert_eq!(options.delimiter.as_deref(), Some("/"));
            let prefix = prefix.unwrap_or_default();
            let after = options.page_token.max(options.offset).unwrap_or_default();
            let mut objects: Vec<_> = self.0.list(None).try_collect().await?;
            objects.retain(|object| {
                let key = object.location.as_ref();
                key.starts_with(prefix) && key > after.as_str()
            });
            objects.sort_by(|a, b| a.location.cmp(&b.location));
            let page_token = objects
                .get(PAGE)
                .map(|_| objects[PAGE - 1].location.to_string());
            objects.truncate(PAGE);
            let (objects, deeper): (Vec<_>, Vec<_>) = objects
                .into_iter()
                .partition(|object| !object.location.as_ref()[prefix.len()..].contains('/'));
            let common_prefixes: BTreeSet<Path> = deeper
                .iter()
                .filter_map(|object| {
                    let name = object.location.as_ref()[prefix.len()..].split('/').next()?;
                    Path::parse(format!("{prefix}{name}")).ok()
                })
                .collect();
            Ok(PaginatedListResult {
                result: ListResult {
                    // As a store that promises no order may have them.
                    objects: objects.into_iter().rev().collect(),
                    common_prefixes: common_prefixes.into_iter().collect(),
                    extensions: Default::default(),
                },
                page_token,
            })
        }
        .boxed()
    }
}

use super::*;
use crate::log::names::compaction_name;

fn listing(names: &[&str]) -> LogListing {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    LogListing::from_names(&names, |names| {
        names.iter().map(|name| !name.contains("empty")).collect()
    })
}

fn commits(versions: &[Version]) -> Vec<String> {
    versions
        .iter()
        .map(|version| commit_name(*version))
        .collect()
}

fn with(versions: &[Version], more: &[&str]) -> LogListing {
    let names = commits(versions);
    let mut all: Vec<&str> = names.iter().map(String::as_str).collect();
    all.extend(more);
    listing(&all)
}

fn classic(version: Version) -> String {
    format!("{version:020}.checkpoint.parquet")
}

#[test]
fn c10_a_version_is_built_from_the_checkpoint_at_it() {
    let log = with(
        &(0..=12).collect::<Vec<_>>(),
        &[&classic(0), &classic(5), &classic(10)],
    );
    let segments: Vec<LogSegment> = log.segments(5).unwrap().collect();
    assert_eq!(segments[0].checkpoint.as_ref().unwrap().0, 5);
    assert!(segments[0].commits.is_empty());
    assert_eq!(segments[1].checkpoint.as_ref().unwrap().0, 0);
    assert_eq!(segments[2].checkpoint, None);
    assert_eq!(segments[2].commits.len(), 6);
}

#[test]
fn c11_a_commit_before_the_oldest_checkpoint_is_not_rebuildable() {
    let log = with(&[9, 10], &[&classic(10)]);
    assert_eq!(log.rebuildable(), vec![10..=10]);
    assert!(matches!(
        log.segments(9),
        Err(LogError::VersionNotFound { version: 9, .. })
    ));
    assert!(log.segments(10).is_ok());
}

#[test]
fn c18_a_hole_is_named_and_versions_before_it_are_served() {
    let log = with(&[0, 1, 3], &[]);
    assert_eq!(log.rebuildable(), vec![0..=1]);
    assert!(log.segments(1).is_ok());
    for version in [2, 3] {
        match log.segments(version).err().unwrap() {
            LogError::Gap { missing, found, .. } => {
                assert_eq!(missing, commit_name(2));
                assert_eq!(found, "0-1, 3");
            }
            other => panic!("{other}"),
        }
    }
    assert!(matches!(
        log.segments(4),
        Err(LogError::VersionNotFound { .. })
    ));
}

#[test]
fn ranges_join_across_checkpoints_and_split_at_holes() {
    let log = with(&[0, 1, 2, 3, 7, 8], &[&classic(2), &classic(6)]);
    assert_eq!(log.rebuildable(), vec![0..=3, 6..=8]);
    let log = with(&[0, 1], &[&classic(2)]);
    assert_eq!(log.rebuildable(), vec![0..=2]);
}

#[test]
fn incomplete_and_empty_checkpoints_do_not_count() {
    let part = |n: u32| format!("{:020}.checkpoint.{n:010}.{:010}.parquet", 3, 3);
    let log = with(&[0, 1, 2, 3], &[&part(1), &part(3)]);
    assert_eq!(log.checkpoint_versions().count(), 0);
    let log = with(&[0, 1, 2, 3], &[&part(1), &part(2), &part(3)]);
    assert_eq!(log.checkpoint_versions().collect::<Vec<_>>(), vec![3]);
}

#[test]
fn a_compaction_replaces_the_commits_it_covers_only_when_it_fits() {
    let log = with(
        &(0..=8).collect::<Vec<_>>(),
        &[&compaction_name(2, 5), &compaction_name(7, 9)],
    );
    let segment = log.segments(8).unwrap().next().unwrap();
    assert_eq!(
        segment.commits,
        vec![
            CommitSource::Commit(0),
            CommitSource::Commit(1),
            CommitSource::Compaction(2, 5),
            CommitSource::Commit(6),
            CommitSource::Commit(7),
            CommitSource::Commit(8),
        ]
    );
    let inside = log.segments(4).unwrap().next().unwrap();
    assert!(
        inside
            .commits
            .iter()
            .all(|c| matches!(c, CommitSource::Commit(_)))
    );
}

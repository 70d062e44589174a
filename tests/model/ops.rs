//! What can happen to a table and its mount. Numbers choose among what there is, modulo.

use proptest::prelude::*;

/// One step of a sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op {
    /// Somebody else does something, and the mount is looked at.
    Other(Other),
    /// Somebody else does something, and nobody looks.
    Unseen(Other),
    /// The user of the mount does something.
    User(User),
}

/// A data file to write: where in the table, and of which kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct New {
    pub place: u8,
    pub kind: u8,
    /// Which partition value the log gives, where that is not what the file holds.
    pub value: u8,
}

/// What writers do, and accidents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Other {
    Append(New),
    AppendTwo(New, New),
    /// Removes a live file.
    Remove(u8),
    /// Replaces all live files by one, under another schema.
    Overwrite(u8, New),
    /// Adds a removed file again, as RESTORE does.
    AddAgain(u8),
    /// Deletes rows of a live file: a new deletion vector.
    DeleteRows(u8),
    /// Another schema; the live files stay.
    ChangeSchema(u8),
    /// A new `metaData` action with the old schema.
    Describe,
    /// A commit without any action on files.
    Nothing,
    /// A checkpoint of a version that can be read.
    Checkpoint(u8),
    /// Removes what stands in the log before a good checkpoint; with it its own commit file.
    CleanUp(u8, bool),
    /// Removes the data file of a file that is not live in the newest version.
    Vacuum(u8),
    /// The newest commit file is a damaged one.
    DamagedCommit(u8),
    /// Two commits of which the first does not appear.
    Gap,
    /// A commit file that was good is damaged now.
    DamageCommit(u8, u8),
    DamageCheckpoint(u8, u8),
    /// Mends all damage: puts right files in place, or (the newest one) takes the bad ones away.
    Mend(bool),
    /// Drops the table, with the directory itself or without.
    Drop(bool),
    /// Makes another table at the place of a dropped one.
    Make(u8),
}

/// What the user of the mount does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum User {
    ListRoot,
    ListLatest,
    List(u8),
    /// Lists, looks up, opens and reads all there is, and all names ever seen, everywhere.
    LookAtEverything,
    /// Looks up a name seen before in some version.
    LookUp(u8, u8),
    /// The same under `@latest`.
    LookUpLatest(u8),
    /// Opens a file of some version and keeps it open.
    KeepFile(u8, u8),
    ReadKeptFile(u8),
    CloseFile(u8),
    /// Opens a version directory, reads some rows and keeps it open.
    KeepDirectory(u8, u8),
    /// The same with `@latest`.
    KeepLatest(u8),
    ReadKeptDirectory(u8),
    CloseDirectory(u8),
    /// The kernel forgets some inodes.
    Forget(u8),
    /// Another spelling of a version.
    Spelling(u8, u8),
    /// A time, so many milliseconds from when a version was committed.
    Time(u8, i8),
    /// What is not there, and what makes no sense.
    Mistakes,
    Remount,
}

fn new() -> impl Strategy<Value = New> {
    let kind = prop_oneof![4 => Just(0u8), 2 => Just(1), 5 => 0u8..8];
    let value = prop_oneof![4 => Just(0u8), 1 => 1u8..4];
    (0u8..5, kind, value).prop_map(|(place, kind, value)| New { place, kind, value })
}

fn other() -> impl Strategy<Value = Other> {
    use Other::*;
    let n = any::<u8>;
    prop_oneof![
        12 => new().prop_map(Append),
        4 => (new(), new()).prop_map(|(a, b)| AppendTwo(a, b)),
        6 => n().prop_map(Remove),
        4 => (0u8..5, new()).prop_map(|(schema, new)| Overwrite(schema, new)),
        5 => n().prop_map(AddAgain),
        4 => n().prop_map(DeleteRows),
        5 => (0u8..5).prop_map(ChangeSchema),
        1 => Just(Describe),
        1 => Just(Nothing),
        3 => n().prop_map(Checkpoint),
        4 => (n(), any::<bool>()).prop_map(|(at, own)| CleanUp(at, own)),
        2 => n().prop_map(Vacuum),
        2 => (0u8..3).prop_map(DamagedCommit),
        2 => Just(Gap),
        1 => (n(), 0u8..3).prop_map(|(at, harm)| DamageCommit(at, harm)),
        1 => (n(), 0u8..3).prop_map(|(at, harm)| DamageCheckpoint(at, harm)),
        4 => any::<bool>().prop_map(Mend),
        1 => any::<bool>().prop_map(Drop),
        2 => (0u8..5).prop_map(Make),
    ]
}

fn user() -> impl Strategy<Value = User> {
    use User::*;
    let n = any::<u8>;
    prop_oneof![
        1 => Just(ListRoot),
        4 => Just(ListLatest),
        3 => n().prop_map(List),
        1 => Just(LookAtEverything),
        3 => (n(), n()).prop_map(|(name, at)| LookUp(name, at)),
        3 => n().prop_map(LookUpLatest),
        2 => (n(), n()).prop_map(|(at, file)| KeepFile(at, file)),
        2 => n().prop_map(ReadKeptFile),
        1 => n().prop_map(CloseFile),
        1 => (n(), n()).prop_map(|(at, rows)| KeepDirectory(at, rows)),
        2 => n().prop_map(KeepLatest),
        2 => n().prop_map(ReadKeptDirectory),
        1 => n().prop_map(CloseDirectory),
        2 => n().prop_map(Forget),
        1 => (n(), n()).prop_map(|(at, form)| Spelling(at, form)),
        1 => (n(), -2i8..=2).prop_map(|(at, delta)| Time(at, delta)),
        1 => Just(Mistakes),
        2 => Just(Remount),
    ]
}

/// Sequences of steps.
pub fn sequences(longest: usize) -> impl Strategy<Value = Vec<Op>> {
    let op = prop_oneof![
        3 => other().prop_map(Op::Other),
        2 => other().prop_map(Op::Unseen),
        3 => user().prop_map(Op::User),
    ];
    prop::collection::vec(op, 1..longest)
}

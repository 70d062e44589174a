use std::fs;
use std::os::unix::fs::{FileExt, MetadataExt};

use tempfile::TempDir;

use super::*;
use crate::storage::{StorageError, StoreOptions, open_store};

/// Shorter than a block, so that nothing has to be shared, which few file systems can.
const PREFIX: usize = 1000;

/// A store on a directory with one data file in it.
struct Table {
    directory: TempDir,
    store: Arc<dyn Store>,
}

impl Table {
    /// `None`, and says so, where the file system has no files without a name.
    fn new() -> Option<Table> {
        let directory = TempDir::new().unwrap();
        let path = directory.path().to_str().unwrap();
        let store = open_store(path, &StoreOptions::default()).unwrap();
        if let Err(error) = store.nameless() {
            eprintln!("skipped: no files without a name in {path}: {error}");
            return None;
        }
        fs::write(directory.path().join("data"), original(1)).unwrap();
        Some(Table { directory, store })
    }

    fn names(&self) -> usize {
        fs::read_dir(self.directory.path()).unwrap().count()
    }

    fn get(&self, clones: &Clones, key: u8) -> Option<Arc<File>> {
        self.get_prefix(clones, key, PREFIX)
    }

    fn get_prefix(&self, clones: &Clones, key: u8, prefix: usize) -> Option<Arc<File>> {
        let original = self.store.open("data").unwrap();
        let at = prefix as u64;
        let parts = CloneParts {
            original: &*original,
            prefix: at,
            holes: Vec::new(),
            pieces: vec![
                (at, Piece::Memory(b"made")),
                (at + 10, Piece::Memory(b"footer")),
            ],
            size: at + 20,
        };
        clones.get(&[key; 32], &parts, &*self.store)
    }
}

fn original(seed: u8) -> Vec<u8> {
    (0..3000u32).map(|at| (at % 251) as u8 ^ seed).collect()
}

fn expected(seed: u8) -> Vec<u8> {
    let tail = b"made\0\0\0\0\0\0footer\0\0\0\0";
    [&original(seed)[..PREFIX], tail].concat()
}

fn content(file: &File) -> Vec<u8> {
    let mut bytes = vec![0; file.metadata().unwrap().len() as usize];
    file.read_exact_at(&mut bytes, 0).unwrap();
    bytes
}

fn inode(file: &File) -> u64 {
    file.metadata().unwrap().ino()
}

const LIMIT: u64 = 1 << 20;

#[test]
fn a_clone_is_the_prefix_the_pieces_and_zeros_between() {
    let Some(table) = Table::new() else { return };
    let clones = Clones::new(true, None, LIMIT);
    let file = table.get(&clones, 1).unwrap();
    assert_eq!(content(&file), expected(1));
    assert_eq!(file.metadata().unwrap().nlink(), 0);
    assert_eq!(table.names(), 1);
    assert_eq!((clones.made(), clones.kept()), (1, 1));
    assert_eq!(inode(&table.get(&clones, 1).unwrap()), inode(&file));
    assert_eq!(clones.made(), 1);
    // Other bytes behind the same ones.
    assert_ne!(inode(&table.get(&clones, 2).unwrap()), inode(&file));
    assert_eq!((clones.made(), clones.kept()), (2, 2));
}

#[test]
fn holes_in_the_prefix_are_zeros() {
    let Some(table) = Table::new() else { return };
    let clones = Clones::new(true, None, LIMIT);
    let large: Vec<u8> = (0..5 * BLOCK).map(|at| (at % 239) as u8 | 1).collect();
    fs::write(table.directory.path().join("large"), &large).unwrap();
    let original_file = table.store.open("large").unwrap();
    // Within a block, and from the middle of one to the middle of another.
    let holes = [10..20, BLOCK + 7..3 * BLOCK + 9];
    let prefix = 4 * BLOCK;
    let parts = CloneParts {
        original: &*original_file,
        prefix,
        holes: holes.to_vec(),
        pieces: vec![(prefix, Piece::Memory(b"footer"))],
        size: prefix + 6,
    };
    // Of a block alone, where this file system shares none.
    let Some(file) = clones.get(&[1; 32], &parts, &*table.store) else {
        eprintln!("skipped: no shared blocks here");
        return;
    };
    let mut expected = large[..prefix as usize].to_vec();
    for hole in holes {
        expected[hole.start as usize..hole.end as usize].fill(0);
    }
    expected.extend_from_slice(b"footer");
    assert!(content(&file) == expected);
}

#[test]
fn what_the_cache_holds_is_copied_where_it_cannot_be_shared() {
    let Some(table) = Table::new() else { return };
    let root = TempDir::new().unwrap();
    let cache = DiskCache::open(root.path(), LIMIT).unwrap();
    let made: Vec<u8> = (0..3 * BLOCK).map(|at| (at % 241) as u8).collect();
    let entry = cache.make(&[9; 32], |out| {
        out.write_all(&made).map_err(|source| StorageError::Io {
            operation: "write",
            location: String::new(),
            source,
        })
    });
    let entry = entry.unwrap();
    let original_file = table.store.open("data").unwrap();
    // As it is made to be shared, and otherwise.
    for (key, start) in [(1, PREFIX as u64 % BLOCK), (2, 3)] {
        let length = 2 * BLOCK;
        let at = PREFIX as u64;
        let parts = CloneParts {
            original: &*original_file,
            prefix: at,
            holes: Vec::new(),
            pieces: vec![(
                at,
                Piece::Cached {
                    file: &entry,
                    start,
                    length,
                },
            )],
            size: at + length,
        };
        let clones = Clones::new(true, None, LIMIT);
        let file = clones.get(&[key; 32], &parts, &*table.store).unwrap();
        let (first, last) = (start as usize, (start + length) as usize);
        let expected = [&original(1)[..PREFIX], &made[first..last]].concat();
        assert!(content(&file) == expected, "{start}");
    }
}

#[test]
fn what_would_be_a_copy_of_much_is_not_made() {
    let Some(table) = Table::new() else { return };
    let clones = Clones::new(true, None, u64::MAX);
    let original = table.store.open("data").unwrap();
    let much = vec![1; 16 << 20];
    let parts = CloneParts {
        original: &*original,
        prefix: 1,
        holes: Vec::new(),
        pieces: vec![(1, Piece::Memory(&much))],
        size: 1 + (16 << 20),
    };
    assert!(clones.get(&[1; 32], &parts, &*table.store).is_none());
}

#[test]
fn a_clone_of_another_data_file_of_the_name_is_another_one() {
    let Some(table) = Table::new() else { return };
    let clones = Clones::new(true, None, LIMIT);
    let first = table.get(&clones, 1).unwrap();
    let path = table.directory.path().join("data");
    fs::write(table.directory.path().join("new"), original(2)).unwrap();
    fs::rename(table.directory.path().join("new"), &path).unwrap();
    assert_eq!(content(&table.get(&clones, 1).unwrap()), expected(2));
    // In place, at another time.
    fs::write(&path, original(3)).unwrap();
    let later = std::time::SystemTime::now() + Duration::from_secs(5);
    File::open(&path).unwrap().set_modified(later).unwrap();
    assert_eq!(content(&table.get(&clones, 1).unwrap()), expected(3));
    assert_eq!(content(&first), expected(1), "what is open stays");
}

#[test]
fn a_data_file_that_changes_meanwhile_gives_no_clone() {
    let Some(table) = Table::new() else { return };
    let original = table.store.open("data").unwrap();
    let source = Source::of(&*original).unwrap().unwrap();
    let path = table.directory.path().join("data");
    let later = std::time::SystemTime::now() + Duration::from_secs(5);
    File::open(&path).unwrap().set_modified(later).unwrap();
    let parts = CloneParts {
        original: &*original,
        prefix: 10,
        holes: Vec::new(),
        pieces: Vec::new(),
        size: 20,
    };
    let begun = Begun::new(table.store.nameless(), Some(LIMIT)).unwrap();
    let refused = make(begun, &source, &parts);
    assert!(refused.unwrap_err().to_string().contains("changed"));
}

#[test]
fn what_could_not_be_made_is_not_tried_again_at_once() {
    let Some(table) = Table::new() else { return };
    let clones = Clones::new(true, None, LIMIT);
    // The data file is shorter.
    assert!(table.get_prefix(&clones, 1, 3500).is_none());
    assert!(table.get(&clones, 1).is_none());
    // Nor has any disk so much room.
    let large = table.directory.path().join("large");
    File::create(&large).unwrap().set_len(1 << 43).unwrap();
    let original = table.store.open("large").unwrap();
    let parts = CloneParts {
        original: &*original,
        prefix: 1 << 43,
        holes: Vec::new(),
        pieces: Vec::new(),
        size: 1 << 43,
    };
    assert!(clones.get(&[5; 32], &parts, &*table.store).is_none());
    // That says nothing of others.
    assert!(table.get(&clones, 2).is_some());
    // A disk without room does.
    clones.refused.lock().note(
        (Place::Table, 0),
        [3; 32],
        &io::ErrorKind::StorageFull.into(),
    );
    assert!(table.get(&clones, 4).is_none());
    assert!(table.get(&clones, 2).is_some(), "it is there");
}

#[test]
fn a_place_that_shares_no_blocks_is_asked_once() {
    let Some(table) = Table::new() else { return };
    let clones = Clones::new(true, None, LIMIT);
    let original = table.store.open("data").unwrap();
    let device = Source::of(&*original).unwrap().unwrap().device();
    for kind in [io::ErrorKind::CrossesDevices, io::ErrorKind::Unsupported] {
        clones.refused.lock().pairs.clear();
        clones
            .refused
            .lock()
            .note((Place::Table, device), [1; 32], &kind.into());
        assert!(table.get(&clones, 1).is_none(), "{kind}");
    }
    let other = Clones::new(true, None, LIMIT);
    other.refused.lock().note(
        (Place::Cache, device),
        [1; 32],
        &io::ErrorKind::Unsupported.into(),
    );
    assert!(table.get(&other, 1).is_some(), "the other place is as good");
}

#[test]
fn the_cache_directory_is_a_place_too() {
    let Some(table) = Table::new() else { return };
    let root = TempDir::new().unwrap();
    let cache = Arc::new(DiskCache::open(root.path(), LIMIT).unwrap());
    let clones = Clones::new(false, Some(cache), LIMIT);
    assert_eq!(content(&table.get(&clones, 1).unwrap()), expected(1));
    // It is removed: what was made is there, and nothing new.
    fs::remove_dir_all(root.path()).unwrap();
    assert!(table.get(&clones, 1).is_some());
    assert!(table.get(&clones, 2).is_none());
    let without = Arc::new(DiskCache::without_directory());
    let clones = Clones::new(false, Some(without), LIMIT);
    assert!(table.get(&clones, 1).is_none());
}

#[test]
fn none_are_made_where_none_are_wanted_or_nothing_is_local() {
    let none = Clones::none();
    assert!(!none.are_made_of(u64::MAX));
    let clones = Clones::new(true, None, LIMIT);
    assert!(clones.are_made_of(LEAST) && !clones.are_made_of(LEAST - 1));
    let store = open_store("memory:///clones", &StoreOptions::default()).unwrap();
    store.put("data", original(1).into()).unwrap();
    let reader = store.open("data").unwrap();
    let parts = CloneParts {
        original: &*reader,
        prefix: 10,
        holes: Vec::new(),
        pieces: Vec::new(),
        size: 10,
    };
    assert!(clones.get(&[1; 32], &parts, &*store).is_none());
    assert_eq!(
        store.nameless().unwrap_err().kind(),
        io::ErrorKind::Unsupported
    );
}

#[test]
fn what_is_kept_is_bounded() {
    let Some(table) = Table::new() else { return };
    let clones = Clones::new(true, None, 0);
    assert!(table.get(&clones, 1).is_some());
    assert_eq!(clones.kept(), 0);
    // Three, of which nothing is shared: 1010 bytes each, and zeros.
    let clones = Clones::new(true, None, 4000);
    let first: Vec<u64> = (0..3)
        .map(|key| inode(&table.get(&clones, key).unwrap()))
        .collect();
    assert_eq!(inode(&table.get(&clones, 0).unwrap()), first[0]);
    table.get(&clones, 3).unwrap();
    assert_eq!(clones.kept(), 3);
    // The least lately used one went.
    assert_eq!(inode(&table.get(&clones, 0).unwrap()), first[0]);
    assert_eq!(inode(&table.get(&clones, 2).unwrap()), first[2]);
    let made = clones.made();
    table.get(&clones, 1).unwrap();
    assert_eq!(clones.made(), made + 1);
}

#[test]
fn clones_leave_descriptors_to_readers() {
    assert_eq!(kept::most(Some(1024)), 128);
    assert_eq!(kept::most(Some(1 << 20)), 1024);
    assert_eq!(kept::most(None), 1024);
}

#[test]
fn clones_of_removed_data_files_are_let_go() {
    let Some(table) = Table::new() else { return };
    let path = table.directory.path().join("data");
    let clone = || Arc::new(table.store.nameless().unwrap());
    let kept = Kept::looking(LIMIT, Duration::from_millis(5));
    for round in 0..3 {
        fs::write(&path, b"data").unwrap();
        fs::write(table.directory.path().join("stays"), b"data").unwrap();
        let goes = Arc::new(File::open(&path).unwrap());
        let stays = Arc::new(File::open(table.directory.path().join("stays")).unwrap());
        kept.put([1; 32], &clone(), 10, vec![goes]);
        kept.put([2; 32], &clone(), 10, vec![stays]);
        fs::remove_file(&path).unwrap();
        let begun = monotonic();
        while kept.get(&[1; 32]).is_some() {
            assert!(begun.elapsed() < Duration::from_secs(20), "{round}");
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(kept.get(&[2; 32]).is_some());
        // The thread ends, and another one begins.
        kept.clear();
        assert_eq!(kept.len(), 0);
        std::thread::sleep(Duration::from_millis(20));
    }
    // Dropping does not wait for the next look.
    let kept = Kept::new(LIMIT);
    let file = clone();
    kept.put([1; 32], &file, 10, vec![file.clone()]);
    let begun = monotonic();
    drop(kept);
    assert!(begun.elapsed() < Duration::from_secs(20));
}

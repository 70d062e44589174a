mod hostile;
mod real;

use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use tempfile::TempDir;

use super::*;
use crate::errno::of_deletion_vector;
use crate::storage::{StoreOptions, open_store};

const UUID: &str = "d2c639aa-8816-431a-aaf6-d3fe2512ff61";
const UUID_Z85: &str = "^-aqEH.-t@S}K{vb[*k^";

/// The rows of "JSON Example 3 — Inline".
const ROWS: [u64; 6] = [3, 4, 7, 11, 18, 29];

/// Those rows as Delta on Spark writes them.
const INLINE: &str = "^Bg9^0rr910000000000iXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L";

fn descriptor(kind: &str, text: &str) -> DeletionVectorDescriptor {
    DeletionVectorDescriptor {
        storage_type: kind.to_owned(),
        path_or_inline_dv: text.to_owned(),
        offset: None,
        size_in_bytes: 44,
        cardinality: 6,
    }
}

fn serialized(rows: impl IntoIterator<Item = u64>) -> Vec<u8> {
    let mut bytes = bitmap::MAGIC.to_le_bytes().to_vec();
    let map: RoaringTreemap = rows.into_iter().collect();
    map.serialize_into(&mut bytes).unwrap();
    bytes
}

/// A table root with one deletion vector file of several vectors.
struct Table {
    directory: TempDir,
    bytes: Vec<u8>,
}

impl Table {
    fn new() -> Table {
        Table {
            directory: TempDir::new().unwrap(),
            bytes: vec![1],
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join("table").join(name)
    }

    /// Appends a vector and returns its descriptor.
    fn add(&mut self, rows: impl IntoIterator<Item = u64>) -> DeletionVectorDescriptor {
        self.add_bytes(&serialized(rows))
    }

    fn add_bytes(&mut self, data: &[u8]) -> DeletionVectorDescriptor {
        let offset = self.bytes.len();
        self.bytes
            .extend_from_slice(&(data.len() as u32).to_be_bytes());
        self.bytes.extend_from_slice(data);
        self.bytes
            .extend_from_slice(&crc32fast::hash(data).to_be_bytes());
        self.write();
        let cardinality = bitmap::decode(data).map_or(0, |rows| rows.len());
        DeletionVectorDescriptor {
            storage_type: "u".to_owned(),
            path_or_inline_dv: format!("ab{UUID_Z85}"),
            offset: Some(offset as i32),
            size_in_bytes: data.len() as i32,
            cardinality: cardinality as i64,
        }
    }

    fn file(&self) -> PathBuf {
        self.path(&format!("ab/deletion_vector_{UUID}.bin"))
    }

    fn write(&self) {
        fs::create_dir_all(self.path("ab")).unwrap();
        fs::write(self.file(), &self.bytes).unwrap();
    }

    fn roots(&self) -> TableRoots {
        fs::create_dir_all(self.path("")).unwrap();
        roots_of(&self.path(""))
    }

    fn read(
        &self,
        descriptor: &DeletionVectorDescriptor,
    ) -> Result<RoaringTreemap, DeletionVectorError> {
        read(&self.roots(), descriptor, "f.parquet", None)
    }
}

fn roots_of(root: &Path) -> TableRoots {
    let options = StoreOptions::default();
    let store = open_store(root.to_str().unwrap(), &options).unwrap();
    TableRoots::new(store, &[], &options).unwrap()
}

fn rows(map: &RoaringTreemap) -> Vec<u64> {
    map.iter().collect()
}

#[track_caller]
fn assert_refused(result: Result<RoaringTreemap, DeletionVectorError>, errno: i32, parts: &[&str]) {
    let error = result.expect_err("it is refused");
    let message = error.to_string();
    assert_eq!(of_deletion_vector(&error), errno, "{message}");
    for part in ["f.parquet"].iter().chain(parts) {
        assert!(message.contains(part), "{part:?} in {message:?}");
    }
}

#[test]
fn the_relative_example_of_the_protocol_is_located() {
    let example = DeletionVectorDescriptor {
        offset: Some(4),
        size_in_bytes: 40,
        ..descriptor("u", &format!("ab{UUID_Z85}"))
    };
    let located = locate(&example, "f.parquet").unwrap();
    let location = Location::Relative(format!("ab/deletion_vector_{UUID}.bin"));
    let expected = DvLocation::File {
        location,
        offset: 4,
        size: 40,
    };
    assert_eq!(located, expected);
    let without_prefix = locate(&descriptor("u", UUID_Z85), "f.parquet").unwrap();
    let expected = DvLocation::File {
        location: Location::Relative(format!("deletion_vector_{UUID}.bin")),
        offset: 1,
        size: 44,
    };
    assert_eq!(without_prefix, expected);
}

#[test]
fn the_absolute_example_of_the_protocol_is_located() {
    let url = format!("s3://mytable/deletion_vector_{UUID}.bin");
    let DvLocation::File { location, .. } = locate(&descriptor("p", &url), "f").unwrap() else {
        panic!("a file");
    };
    assert_eq!(location, Location::Absolute(url));
}

/// "The row indexes encoded in this DV are: 3, 4, 7, 11, 18, 29."
#[test]
fn the_rows_of_the_inline_example_are_read() {
    let table = Table::new();
    let found = table.read(&descriptor("i", INLINE)).unwrap();
    assert_eq!(rows(&found), ROWS);
}

/// The text of the example itself predates the format: its magic number is another, and in big
/// endian.
#[test]
fn the_inline_example_itself_has_a_format_that_nothing_reads() {
    let example = DeletionVectorDescriptor {
        size_in_bytes: 40,
        ..descriptor("i", "wi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L")
    };
    let refused = Table::new().read(&example);
    assert_refused(refused, libc::EOPNOTSUPP, &["magic number", "1681511377"]);
}

#[test]
fn an_inline_vector_may_be_padded_to_whole_groups() {
    // 34 bytes, as writers in Java and as writers in Rust have them.
    let padded = |tail: &str| DeletionVectorDescriptor {
        size_in_bytes: 34,
        cardinality: 1,
        ..descriptor(
            "i",
            &format!("^Bg9^0rr910000000000iXQKl0rr91000005c8Xg{tail}"),
        )
    };
    let table = Table::new();
    let vector = padded("0@@r3");
    assert_eq!(rows(&table.read(&vector).unwrap()), [3]);
    assert_eq!(rows(&table.read(&padded("##093")).unwrap()), [3]);
    assert_refused(table.read(&padded("###03")), libc::EUCLEAN, &["33 bytes"]);
    for size_in_bytes in [32, 37, 40] {
        let vector = DeletionVectorDescriptor {
            size_in_bytes,
            ..vector.clone()
        };
        let size = format!("sizeInBytes is {size_in_bytes}");
        assert_refused(table.read(&vector), libc::EUCLEAN, &[&size, "36 bytes"]);
    }
}

/// `DeletionVectorDescriptor.EMPTY` of Delta on Spark.
#[test]
fn a_vector_may_be_empty() {
    let empty = DeletionVectorDescriptor {
        size_in_bytes: 0,
        cardinality: 0,
        ..descriptor("i", "")
    };
    let table = Table::new();
    assert!(table.read(&empty).unwrap().is_empty());
    let lying = DeletionVectorDescriptor {
        cardinality: 1,
        ..empty
    };
    assert_refused(table.read(&lying), libc::EIO, &["0 rows", "says 1"]);
    let mut table = Table::new();
    let empty = table.add([]);
    assert!(table.read(&empty).unwrap().is_empty());
}

#[test]
fn several_vectors_share_a_file() {
    let mut table = Table::new();
    let sets: [Vec<u64>; 5] = [
        vec![0],
        (0..100_000).step_by(3).collect(),
        // Run-length encoded below, and on both sides of 2^32.
        (1 << 31..(1 << 31) + 9).collect(),
        vec![1, u64::from(u32::MAX), 1 << 32, (1 << 63) - 1],
        // What comes after this is not read together with the file's first byte.
        (0..1_000_000).filter(|row| row % 7 < 3).collect(),
    ];
    let descriptors: Vec<_> = sets
        .iter()
        .map(|set| table.add(set.iter().copied()))
        .collect();
    let last = table.add(ROWS);
    assert!(last.offset.unwrap() as u64 > NEAR);
    for (set, descriptor) in sets.iter().zip(&descriptors) {
        assert_eq!(rows(&table.read(descriptor).unwrap()), *set);
    }
    assert_eq!(rows(&table.read(&last).unwrap()), ROWS);
    table.bytes[0] = 2;
    table.write();
    for descriptor in descriptors.iter().chain([&last]) {
        let parts = ["file format version 2", "expected 1", UUID];
        assert_refused(table.read(descriptor), libc::EOPNOTSUPP, &parts);
    }
}

#[test]
fn run_containers_are_read() {
    let mut map: RoaringTreemap = (10..60_000).chain(1 << 33..(1 << 33) + 500).collect();
    assert!(map.optimize());
    let mut bytes = bitmap::MAGIC.to_le_bytes().to_vec();
    map.serialize_into(&mut bytes).unwrap();
    assert!(bytes.len() < 100, "run-length encoded");
    let mut table = Table::new();
    let vector = table.add_bytes(&bytes);
    assert_eq!(table.read(&vector).unwrap(), map);
}

/// Java writes all buckets up to the last, also those that are empty.
#[test]
fn empty_buckets_are_read() {
    let mut bytes = bitmap::MAGIC.to_le_bytes().to_vec();
    bytes.extend_from_slice(&2_u64.to_le_bytes());
    bytes.extend_from_slice(&0_u32.to_le_bytes());
    RoaringBitmap::new().serialize_into(&mut bytes).unwrap();
    bytes.extend_from_slice(&1_u32.to_le_bytes());
    RoaringBitmap::from([7]).serialize_into(&mut bytes).unwrap();
    let mut table = Table::new();
    let vector = table.add_bytes(&bytes);
    assert_eq!(rows(&table.read(&vector).unwrap()), [(1 << 32) + 7]);
}

#[test]
fn a_missing_offset_means_the_first_vector() {
    let mut table = Table::new();
    let first = table.add(ROWS);
    table.add([1]);
    for offset in [None, Some(0), Some(1)] {
        let vector = DeletionVectorDescriptor {
            offset,
            ..first.clone()
        };
        assert_eq!(rows(&table.read(&vector).unwrap()), ROWS);
    }
}

#[test]
fn absolute_vectors_lie_below_the_root_or_are_refused() {
    let mut table = Table::new();
    let vector = table.add(ROWS);
    let at = |path: &Path| DeletionVectorDescriptor {
        storage_type: "p".to_owned(),
        path_or_inline_dv: format!("file://{}", path.display()),
        ..vector.clone()
    };
    assert_eq!(rows(&table.read(&at(&table.file())).unwrap()), ROWS);
    let outside = table.directory.path().join("outside.bin");
    fs::copy(table.file(), &outside).unwrap();
    let refused = table.read(&at(&outside));
    assert_refused(refused, libc::EACCES, &["outside.bin", "--allow-path"]);
    let relative = DeletionVectorDescriptor {
        storage_type: "p".to_owned(),
        path_or_inline_dv: "ab/x.bin".to_owned(),
        ..vector.clone()
    };
    assert_refused(
        table.read(&relative),
        libc::EUCLEAN,
        &["absolute", "ab/x.bin"],
    );
}

#[test]
fn a_prefix_does_not_lead_out_of_the_table() {
    let mut table = Table::new();
    let vector = table.add(ROWS);
    fs::copy(
        table.file(),
        table
            .directory
            .path()
            .join(format!("deletion_vector_{UUID}.bin")),
    )
    .unwrap();
    for prefix in ["..", "ab/../..", "/", ".", "ab/", "ab/.."] {
        let vector = DeletionVectorDescriptor {
            path_or_inline_dv: format!("{prefix}{UUID_Z85}"),
            ..vector.clone()
        };
        assert_refused(table.read(&vector), libc::EACCES, &[UUID]);
    }
}

#[test]
fn a_missing_file_is_no_entry() {
    let table = Table::new();
    let refused = table.read(&descriptor("u", UUID_Z85));
    assert_refused(refused, libc::ENOENT, &[UUID, "does not exist"]);
}

#[test]
fn malformed_descriptors_are_refused() {
    let table = Table::new();
    let long = "é".repeat(1000);
    for (kind, text, part) in [
        ("r", UUID_Z85, "expected u, p or i"),
        ("", UUID_Z85, "expected u, p or i"),
        (&long, UUID_Z85, "expected u, p or i"),
        ("u", "too short", "20 Z85 characters"),
        ("u", "€-aqEH.-t@S}K{vb[*k^", "20 Z85 characters"),
        ("u", "^-aqEH.-t@S}K{vb[*€", "0xe2"),
        ("u", "^-aqEH.-t@S}K{v##093", "expected 16 bytes"),
        ("u", &long, "0xc3"),
        ("u", "é##################", "0xc3"),
        ("u", "####################", "more than 32 bits"),
        ("p", &long, "absolute"),
        ("p", "file:///%ff", "no path"),
        ("i", "0000", "groups of 5"),
        ("i", "", "0 bytes"),
    ] {
        let error = table.read(&descriptor(kind, text)).unwrap_err();
        assert_eq!(of_deletion_vector(&error), libc::EUCLEAN, "{kind} {text}");
        let message = error.to_string();
        assert!(message.contains(part), "{part:?} in {message:?}");
        assert!(message.len() < 700, "{message}");
    }
    let good = descriptor("u", UUID_Z85);
    for (bad, part) in [
        (
            DeletionVectorDescriptor {
                size_in_bytes: -1,
                ..good.clone()
            },
            "sizeInBytes is -1",
        ),
        (
            DeletionVectorDescriptor {
                offset: Some(-1),
                ..good.clone()
            },
            "offset is -1",
        ),
        (
            DeletionVectorDescriptor {
                cardinality: -1,
                ..good.clone()
            },
            "cardinality is -1",
        ),
    ] {
        assert_refused(table.read(&bad), libc::EUCLEAN, &[part]);
    }
    let huge = DeletionVectorDescriptor {
        size_in_bytes: i32::MAX,
        ..good
    };
    assert_refused(table.read(&huge), libc::EOPNOTSUPP, &["2147483647"]);
}

#[test]
fn what_log_and_file_say_must_agree() {
    let mut table = Table::new();
    let vector = table.add(ROWS);
    table.add([1]);
    let with = |change: &dyn Fn(&mut DeletionVectorDescriptor)| {
        let mut vector = vector.clone();
        change(&mut vector);
        table.read(&vector)
    };
    let short = with(&|vector| vector.size_in_bytes = 43);
    assert_refused(short, libc::EIO, &["has 44 bytes", "says 43"]);
    let count = with(&|vector| vector.cardinality = 7);
    assert_refused(count, libc::EIO, &["6 rows", "says 7"]);
    let beyond = with(&|vector| vector.size_in_bytes = MAX_SIZE as i32);
    assert_refused(beyond, libc::EIO, &["ends at byte 536870921"]);
    let far = with(&|vector| vector.offset = Some(i32::MAX));
    assert_refused(far, libc::EIO, &["only"]);
    assert_refused(with(&|vector| vector.offset = Some(2)), libc::EIO, &[]);
}

#[test]
fn a_vector_deletes_only_rows_that_are_there() {
    let mut table = Table::new();
    let vector = table.add(ROWS);
    let within = |count| read(&table.roots(), &vector, "f.parquet", Some(count));
    assert_eq!(rows(&within(30).unwrap()), ROWS);
    assert_refused(within(29), libc::EIO, &["row 29", "29 rows"]);
    assert_refused(within(0), libc::EIO, &["row 29", "0 rows"]);
}

proptest! {
    #[test]
    fn any_descriptor_is_located_or_refused(
        kind in "[uip]",
        text in ".{0,40}",
        offset in any::<Option<i32>>(),
        size_in_bytes in any::<i32>(),
        cardinality in any::<i64>(),
    ) {
        let descriptor = DeletionVectorDescriptor {
            storage_type: kind, path_or_inline_dv: text, offset, size_in_bytes, cardinality,
        };
        if let Ok(DvLocation::File { offset, size, .. }) = locate(&descriptor, "f") {
            prop_assert!(offset >= 1 && size <= MAX_SIZE);
        }
    }

    #[test]
    fn groups_have_the_rows_that_lie_in_them(
        set in prop::collection::btree_set(0_u64..1000, 0..200),
        base in prop::sample::select(vec![0, (1_u64 << 32) - 500]),
        sizes in prop::collection::vec(0_u64..300, 1..8),
    ) {
        let deleted: RoaringTreemap = set.iter().map(|row| base + row).collect();
        let mut first = base;
        for size in sizes {
            let found = deleted_in(&deleted, first, size, "f").unwrap();
            let expected: Vec<u32> = (0..size)
                .filter(|row| deleted.contains(first + row))
                .map(|row| row as u32)
                .collect();
            prop_assert_eq!(found.iter().collect::<Vec<_>>(), expected);
            first += size;
        }
    }
}

#[test]
fn groups_beyond_what_is_numbered_are_refused() {
    let deleted = RoaringTreemap::from_iter([0, u64::from(u32::MAX), 1 << 32]);
    let whole = deleted_in(&deleted, 0, MAX_GROUP_ROWS, "f").unwrap();
    assert_eq!(whole.iter().collect::<Vec<_>>(), [0, u32::MAX]);
    for (first, count) in [(0, MAX_GROUP_ROWS + 1), (u64::MAX, 1)] {
        let error = deleted_in(&deleted, first, count, "f").unwrap_err();
        assert_eq!(of_deletion_vector(&error), libc::EOPNOTSUPP, "{error}");
    }
}

//! Calls by chance, in a transaction and in a plain directory: every answer and all that is left
//! are the same. `DELTAFS_STAGING_RUNS=N` tries that many others than those that are always tried.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::ops::Range;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::{AtFlags, CWD, RenameFlags, Timespec, Timestamps};

use super::{each_way, errno};

/// SplitMix64.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % end
    }

    /// One of few paths, so that they meet.
    fn path(&mut self) -> String {
        let name = ["a", "b", "c", "d"][self.below(4) as usize];
        match self.below(3) {
            0 => name.to_owned(),
            1 => format!("{}/{name}", ["a", "b"][self.below(2) as usize]),
            _ => format!("d/{}/{name}", ["a", "c"][self.below(2) as usize]),
        }
    }
}

/// One call, with all that decides how it goes.
#[derive(Debug, Clone)]
enum Call {
    Open {
        path: String,
        flags: i32,
        mode: u32,
    },
    Close {
        handle: usize,
    },
    Write {
        handle: usize,
        offset: u64,
        size: usize,
        byte: u8,
    },
    Append {
        path: String,
        size: usize,
        byte: u8,
    },
    Read {
        handle: usize,
        offset: u64,
        size: usize,
    },
    SetSize {
        handle: usize,
        size: u64,
    },
    Truncate {
        path: String,
        size: u64,
    },
    Sync {
        handle: usize,
    },
    MakeDirectory {
        path: String,
        mode: u32,
    },
    RemoveDirectory {
        path: String,
    },
    Unlink {
        path: String,
    },
    Link {
        from: String,
        to: String,
    },
    Rename {
        from: String,
        to: String,
        flags: u32,
    },
    SetMode {
        path: String,
        mode: u32,
    },
    SetTimes {
        path: String,
        seconds: i64,
        nanoseconds: i64,
    },
    Stat {
        path: String,
    },
    StatOpen {
        handle: usize,
    },
}

const HANDLES: usize = 6;

fn roll(dice: &mut Dice) -> Call {
    let handle = dice.below(HANDLES as u64) as usize;
    let size = [0, 1, 100, 4096, 5000, 70_000][dice.below(6) as usize];
    let offset = [0, 10, 4095, 4096, 10_000, 100_000][dice.below(6) as usize];
    let byte = dice.below(255) as u8 + 1;
    let mode = [0o644, 0o600, 0o755, 0o777, 0o1777][dice.below(5) as usize];
    match dice.below(22) {
        0..=4 => Call::Open {
            path: dice.path(),
            flags: [
                libc::O_RDWR | libc::O_CREAT,
                libc::O_RDWR,
                libc::O_RDWR | libc::O_CREAT | libc::O_EXCL,
                libc::O_RDWR | libc::O_CREAT | libc::O_TRUNC,
                libc::O_RDWR | libc::O_APPEND,
                libc::O_RDONLY,
                libc::O_RDONLY | libc::O_CREAT,
                libc::O_RDONLY | libc::O_DIRECTORY,
            ][dice.below(8) as usize],
            mode,
        },
        5 => Call::Close { handle },
        6..=8 => Call::Write {
            handle,
            offset,
            size,
            byte,
        },
        9 => Call::Append {
            path: dice.path(),
            size,
            byte,
        },
        10 => Call::Read {
            handle,
            offset,
            size,
        },
        11 => Call::SetSize {
            handle,
            size: offset,
        },
        12 => Call::Truncate {
            path: dice.path(),
            size: offset,
        },
        13 => Call::Sync { handle },
        14 => Call::MakeDirectory {
            path: dice.path(),
            mode,
        },
        15 => Call::RemoveDirectory { path: dice.path() },
        16 => Call::Unlink { path: dice.path() },
        17 => Call::Link {
            from: dice.path(),
            to: dice.path(),
        },
        18 | 19 => Call::Rename {
            from: dice.path(),
            to: dice.path(),
            flags: [0, 0, 1, 2][dice.below(4) as usize],
        },
        20 => match dice.below(2) {
            0 => Call::SetMode {
                path: dice.path(),
                mode,
            },
            _ => Call::SetTimes {
                path: dice.path(),
                seconds: dice.below(1 << 33) as i64 - (1 << 31),
                nanoseconds: dice.below(1_000_000_000) as i64,
            },
        },
        _ => match dice.below(2) {
            0 => Call::Stat { path: dice.path() },
            _ => Call::StatOpen { handle },
        },
    }
}

/// A directory that calls are made in.
struct World {
    root: PathBuf,
    handles: [Option<File>; HANDLES],
    next: usize,
}

/// What can be told of a node that does not depend on where it is.
fn told(stat: &fs::Metadata) -> String {
    let (size, links) = match stat.is_dir() {
        // How large a directory is is up to the file system.
        true => (0, stat.nlink()),
        false => (stat.len(), stat.nlink()),
    };
    format!(
        "{:o} {links} {size} {}:{}",
        stat.mode(),
        stat.uid(),
        stat.gid()
    )
}

impl World {
    fn new(root: PathBuf) -> World {
        World {
            root,
            handles: Default::default(),
            next: 0,
        }
    }

    fn handle(&self, handle: usize) -> Result<&File, i32> {
        self.handles[handle].as_ref().ok_or(0)
    }

    /// What a call answers: bytes and attributes as text, or an errno.
    fn make(&mut self, call: &Call) -> Result<String, i32> {
        let at = |path: &str| self.root.join(path);
        let done = |outcome: std::io::Result<()>| match errno(outcome) {
            0 => Ok(String::new()),
            errno => Err(errno),
        };
        match call {
            Call::Open { path, flags, mode } => {
                let mut options = OpenOptions::new();
                let writes = flags & libc::O_ACCMODE != libc::O_RDONLY;
                options.read(true).write(writes).mode(*mode);
                // What OpenOptions itself refuses to combine.
                options.custom_flags(flags & !libc::O_ACCMODE);
                let opened = options.open(at(path));
                match opened {
                    Ok(file) => {
                        let told = told(&file.metadata().expect("is open"));
                        self.handles[self.next] = Some(file);
                        self.next = (self.next + 1) % HANDLES;
                        Ok(told)
                    }
                    failed => Err(errno(failed)),
                }
            }
            Call::Close { handle } => {
                self.handles[*handle] = None;
                Ok(String::new())
            }
            Call::Write {
                handle,
                offset,
                size,
                byte,
            } => done(
                self.handle(*handle)?
                    .write_all_at(&vec![*byte; *size], *offset),
            ),
            Call::Append { path, size, byte } => {
                let file = OpenOptions::new().append(true).open(at(path));
                done(
                    file.and_then(|mut file| {
                        std::io::Write::write_all(&mut file, &vec![*byte; *size])
                    }),
                )
            }
            Call::Read {
                handle,
                offset,
                size,
            } => {
                let mut bytes = vec![0; *size];
                match self.handle(*handle)?.read_at(&mut bytes, *offset) {
                    Ok(count) => Ok(format!("{count} {:?}", &bytes[..count.min(50)])),
                    failed => Err(errno(failed)),
                }
            }
            Call::SetSize { handle, size } => done(self.handle(*handle)?.set_len(*size)),
            Call::Truncate { path, size } => {
                let file = OpenOptions::new().write(true).open(at(path));
                done(file.and_then(|file| file.set_len(*size)))
            }
            Call::Sync { handle } => done(self.handle(*handle)?.sync_all()),
            Call::MakeDirectory { path, mode } => {
                let mode = rustix::fs::Mode::from_raw_mode(*mode);
                done(rustix::fs::mkdir(at(path), mode).map_err(Into::into))
            }
            Call::RemoveDirectory { path } => done(fs::remove_dir(at(path))),
            Call::Unlink { path } => done(fs::remove_file(at(path))),
            Call::Link { from, to } => done(fs::hard_link(at(from), at(to))),
            Call::Rename { from, to, flags } => {
                let flags = RenameFlags::from_bits_retain(*flags);
                let renamed = rustix::fs::renameat_with(CWD, at(from), CWD, at(to), flags);
                done(renamed.map_err(Into::into))
            }
            Call::SetMode { path, mode } => done(fs::set_permissions(
                at(path),
                fs::Permissions::from_mode(*mode),
            )),
            Call::SetTimes {
                path,
                seconds,
                nanoseconds,
            } => {
                let time = Timespec {
                    tv_sec: *seconds,
                    tv_nsec: *nanoseconds,
                };
                let times = Timestamps {
                    last_access: time,
                    last_modification: time,
                };
                let set = rustix::fs::utimensat(CWD, at(path), &times, AtFlags::empty());
                done(set.map_err(Into::into))?;
                let found = fs::metadata(at(path)).expect("is there");
                Ok(format!("{} {}", found.mtime(), found.mtime_nsec()))
            }
            Call::Stat { path } => match fs::symlink_metadata(at(path)) {
                Ok(stat) => Ok(told(&stat)),
                failed => Err(errno(failed)),
            },
            Call::StatOpen { handle } => {
                Ok(told(&self.handle(*handle)?.metadata().expect("is open")))
            }
        }
    }

    /// All that is there.
    fn all(&self) -> BTreeMap<String, (String, Vec<u8>)> {
        let mut found = BTreeMap::new();
        walk(&self.root, "", &mut found);
        found
    }
}

fn walk(directory: &Path, prefix: &str, found: &mut BTreeMap<String, (String, Vec<u8>)>) {
    for row in fs::read_dir(directory).expect("can be listed") {
        let row = row.expect("a row");
        let name = row.file_name().into_string().expect("text");
        if name == ".status" {
            continue;
        }
        let stat = row.metadata().expect("is there");
        let path = format!("{prefix}{name}");
        let content = match stat.is_dir() {
            true => {
                walk(&row.path(), &format!("{path}/"), found);
                Vec::new()
            }
            false => fs::read(row.path()).expect("can be read"),
        };
        found.insert(path, (told(&stat), content));
    }
}

/// By which the runs are made.
fn seeds() -> Range<u64> {
    let Ok(runs) = std::env::var("DELTAFS_STAGING_RUNS") else {
        return 0..6;
    };
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let first = now.expect("it is after 1970").as_micros() as u64;
    let runs: u64 = runs.parse().expect("DELTAFS_STAGING_RUNS is a number");
    first..first + runs
}

#[test]
fn a_transaction_is_like_any_directory() {
    each_way(|staged| {
        for seed in seeds() {
            let root = format!("run{seed}");
            fs::create_dir(staged.at(&root)).expect("can be made");
            let plain = staged.rig.table().with_file_name(&root);
            fs::create_dir(&plain).expect("can be made");
            let mut here = World::new(staged.at(&root));
            let mut there = World::new(plain);
            let mut dice = Dice(seed);
            let mut made = Vec::new();
            let mut most = 0;
            for count in 0..1500 {
                let call = roll(&mut dice);
                let (found, expected) = (here.make(&call), there.make(&call));
                made.push(call);
                let last = &made[made.len().saturating_sub(12)..];
                assert_eq!(found, expected, "{} seed {seed}: {last:#?}", staged.way);
                if count % 100 == 99 {
                    let all = here.all();
                    assert!(all == there.all(), "{} seed {seed}: {last:#?}", staged.way);
                    most = most.max(all.len());
                }
            }
            // The calls were of use.
            assert!(most > 3, "{} seed {seed}: {most}", staged.way);
        }
    });
}

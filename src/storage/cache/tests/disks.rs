//! Disks that are full or read-only: small ones, mounted where only the test's own thread sees
//! them.

use rustix::mount::{
    MountFlags, MountPropagationFlags, mount, mount_change, mount_remount, unmount,
};
use rustix::thread::UnshareFlags;

use super::*;

/// Runs `test` with a file system of 4 MiB at a directory; says so and does not where mounting
/// takes more rights than this process has.
fn on_a_small_disk(test: impl FnOnce(&TempDir) + Send) {
    let on_its_own_thread = || {
        // SAFETY: the thread gets a view of the mounts of its own, and ends with this function.
        let alone = unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNS) };
        let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
        if let Err(error) = alone.and_then(|()| mount_change("/", private)) {
            eprintln!("skipped: no mounts of its own for a thread: {error}");
            return;
        }
        let root = TempDir::new().unwrap();
        if let Err(error) = mount(
            "cache",
            root.path(),
            "tmpfs",
            MountFlags::empty(),
            c"size=4m",
        ) {
            eprintln!("skipped: no small file system: {error}");
            return;
        }
        test(&root);
        unmount(root.path(), rustix::mount::UnmountFlags::DETACH).unwrap();
    };
    std::thread::scope(|scope| scope.spawn(on_its_own_thread).join()).unwrap();
}

#[test]
fn a_full_disk_fails_no_read() {
    on_a_small_disk(|root| {
        let cache = open(root, LIMIT);
        let bytes: Vec<u8> = (0..3 << 19).map(|n| (n % 251) as u8).collect();
        assert!(content(&put(&cache, 1, &bytes)) == bytes);
        assert!(cache.get(&key(1)).is_some());
        // More than the disk has room for: written in part, and moved.
        let large = bytes.repeat(4);
        assert!(content(&put(&cache, 2, &large)) == large);
        assert!(cache.get(&key(2)).is_none());
        assert_eq!(names(&root.path().join("v1/tmp")), [""; 0]);
        // Somebody else fills the rest.
        let full = fs::write(root.path().join("other"), vec![1; 8 << 20]);
        assert_eq!(full.unwrap_err().kind(), io::ErrorKind::StorageFull);
        assert!(content(&put(&cache, 3, &bytes)) == bytes);
        cache.remember([1; 16], 5);
        assert_eq!(cache.recall(&[1; 16]), Some(5));
        // The first entry went, to leave the others some room.
        assert_eq!(entries(root), 0);
        assert!(content(&put(&cache, 1, &bytes[..1 << 20])) == bytes[..1 << 20]);
        assert!(content(&put(&open(root, LIMIT), 4, b"content")) == b"content");
    });
}

#[test]
fn entries_leave_room_for_others() {
    on_a_small_disk(|root| {
        let cache = open(root, LIMIT);
        for number in 0..200 {
            put(&cache, number, &[number; 60_000]);
            let space = rustix::fs::statvfs(root.path()).unwrap();
            // Within what one entry takes, 15 blocks.
            let least = space.f_blocks / 20 - 15;
            assert!(space.f_bavail >= least, "{} blocks", space.f_bavail);
        }
        assert!(entries(root) > 30, "{}", entries(root));
        assert!(cache.get(&key(199)).is_some());
    });
}

#[test]
fn a_read_only_disk_gives_what_it_has() {
    on_a_small_disk(|root| {
        let cache = open(root, LIMIT);
        put(&cache, 1, b"content");
        cache.remember([1; 16], 5);
        drop(cache);
        age(&path(root, 1), 1000);
        mount_remount(root.path(), MountFlags::RDONLY, c"").unwrap();
        let cache = open(root, LIMIT);
        assert_eq!(content(&cache.get(&key(1)).unwrap()), b"content");
        assert_eq!(cache.recall(&[1; 16]), Some(5));
        assert_eq!(content(&put(&cache, 2, b"other")), b"other");
        assert!(cache.get(&key(2)).is_none());
        cache.remember([2; 16], 6);
        assert_eq!(cache.recall(&[2; 16]), Some(6));
    });
}

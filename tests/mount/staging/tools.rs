//! What people run.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::process::Command;

use super::{Staged, each_way, pattern};

fn has(program: &str) -> bool {
    let found = Command::new(program).arg("--version").output();
    if found.is_ok_and(|output| output.status.success()) {
        return true;
    }
    eprintln!("skipped: {program} is not installed");
    false
}

/// A directory beside the mount with `a` (1 MB), an empty `b` and `d/c`.
fn source(staged: &Staged) -> std::path::PathBuf {
    let source = staged.rig.table().with_file_name("source");
    fs::create_dir_all(source.join("d")).expect("can be made");
    fs::write(source.join("a"), pattern(1_000_003)).expect("can be written");
    fs::write(source.join("b"), "").expect("can be written");
    fs::write(source.join("d/c"), "content of c\n").expect("can be written");
    source
}

#[test]
fn cp_and_mv() {
    each_way(|staged| {
        let source = source(staged);
        let source = source.display();
        staged.sh(&format!("cp {source}/a {source}/b . && cmp a {source}/a"));
        // `-a` tries attributes, owners, times and modes of all.
        staged.sh(&format!(
            "chmod 640 {source}/a; touch -d '2020-01-02 03:04:05.678901234' {source}/a {source}/d
             cp -a {source} copy && diff -r {source} copy"
        ));
        let copied = fs::metadata(staged.at("copy/a")).expect("is there");
        let original = fs::metadata(format!("{source}/a")).expect("is there");
        assert_eq!(
            (copied.mtime(), copied.mtime_nsec(), copied.mode()),
            (original.mtime(), 678_901_234, original.mode())
        );
        let directory = fs::metadata(staged.at("copy/d")).expect("is there");
        assert_eq!(directory.mtime(), original.mtime());
        // G8 (mountpoint#506, #1174, #1640): rename that is not there kills tools.
        staged.sh("mv a z && test ! -e a && mv z copy/d/ && mv copy/d e && cmp e/z copy/a");
        // Over another file, and a directory over an empty one.
        staged.sh("echo x > f; mv f e/z && test \"$(cat e/z)\" = x; mkdir g; mv -T e g");
        // Into the transaction from elsewhere, and out of it.
        staged.sh(&format!(
            "cp {source}/a ../../../moving && mv ../../../moving in"
        ));
        staged.sh("cmp in copy/a; mv in ../../../out; test ! -e in; cmp ../../../out copy/a");
        staged.sh("rm -r copy g b; ls -A");
    });
}

#[test]
fn dd_tar_truncate_fallocate_and_ln() {
    each_way(|staged| {
        let source = source(staged);
        let source = source.display();
        staged.sh(&format!(
            "dd if={source}/a of=a bs=64k conv=fsync status=none && cmp a {source}/a
             dd if={source}/a of=a bs=1k seek=10 count=20 conv=notrunc status=none
             test $(stat -c %s a) = 1000003"
        ));
        staged.sh(&format!(
            "dd if={source}/a of=direct bs=4k count=16 oflag=direct status=none
             head -c 65536 {source}/a | cmp - direct
             dd if=direct of=again bs=4k iflag=direct status=none && cmp direct again"
        ));
        // Its last bytes are no whole block: dd takes O_DIRECT back for them. Beside another
        // program that has the file open, too.
        staged.sh(&format!(
            "dd if={source}/a of=whole bs=4k oflag=direct status=none && cmp whole {source}/a
             exec 9<>whole
             dd if={source}/a of=whole bs=64k oflag=direct conv=notrunc status=none
             cmp whole {source}/a && cmp - {source}/a <&9"
        ));
        staged.sh(&format!(
            "tar c -C {source} . | tar x && cmp d/c {source}/d/c && test -e b
             tar cf made.tar d && tar tf made.tar | grep -q d/c"
        ));
        staged.sh("truncate -s 5 a && test $(stat -c %s a) = 5 && truncate -s 1M a");
        staged.sh("fallocate -l 2M room && test $(stat -c %s room) = 2097152");
        staged.sh("fallocate -p -o 0 -l 1M room && test $(stat -c %b room) -le 2048");
        staged
            .sh("ln a link && test $(stat -c %h a) = 2 && test a -ef link && rm a && test -s link");
        staged.sh("sync link && sync -d link && sync . && sync");
        staged.sh("mkdir -p x/y/z && touch x/y/z/f && rmdir x 2>/dev/null && exit 1; rm -r x");
        assert_eq!(staged.state(), "open", "none of this commits");
    });
}

/// G7 (rclone#4417, #1598; goofys#257): a temporary file that is renamed, and one of zero bytes,
/// are lost.
#[test]
fn g7_rsync() {
    if !has("rsync") {
        return;
    }
    each_way(|staged| {
        let source = source(staged);
        let source = source.display();
        for (number, options) in ["", "--inplace", "--temp-dir=../temporary", "--append", "-X"]
            .iter()
            .enumerate()
        {
            staged.sh("mkdir -p temporary");
            staged.sh(&format!(
                "rsync -a {options} {source}/ copy{number}/ && diff -r {source} copy{number}
                 test -z \"$(ls temporary)\""
            ));
            // Again over what is there, changed.
            staged.sh(&format!(
                "echo more >> {source}/d/c; rsync -a {options} {source}/ copy{number}/
                 diff -r {source} copy{number}"
            ));
        }
        let names = fs::read_dir(staged.at("copy0/d")).expect("can be listed");
        assert_eq!(names.count(), 1, "the final name and no other");
        assert_eq!(
            fs::metadata(staged.at("copy0/b")).expect("is there").len(),
            0
        );
        // `.status` is in the way of no `--delete`.
        staged.sh(&format!(
            "rsync -a --delete {source}/ ./ && test -e .status"
        ));
    });
}

#[test]
fn a_whole_transaction_is_removed() {
    each_way(|staged| {
        staged.sh("mkdir -p d/e; for i in $(seq 500); do : > d/e/$i; done; cd ..; rm -r t");
        assert_eq!(staged.rig.names("@staging"), Vec::<String>::new());
        staged.rig.names("@latest");
    });
}

/// G5 (azure-storage-fuse#213): a program that never closes its file has written it all the same.
#[test]
fn g5_what_is_written_is_there_without_a_close() {
    each_way(|staged| {
        let script = "exec 3> a; echo first >&3; kill -9 $$";
        let killed = staged.try_sh(script);
        assert!(!killed.status.success());
        let on_disk = fs::read_to_string(staged.on_disk("a")).expect("can be read");
        assert_eq!(on_disk, "first\n");
    });
}

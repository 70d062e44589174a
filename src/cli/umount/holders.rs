//! Who uses a mount: processes with a working directory, a root or an open file inside it.

use std::path::{Path, PathBuf};

use crate::fuse::host;

/// How many processes are named.
const SHOWN: usize = 8;

/// The users of a mount in words. Processes that we may not look into are not seen.
pub(super) fn of(mountpoint: &Path) -> String {
    let mut found = Vec::new();
    let mut more = 0usize;
    for name in host::names(Path::new("/proc")).unwrap_or_default() {
        let Some(pid) = std::str::from_utf8(&name)
            .ok()
            .and_then(|name| name.parse::<u32>().ok())
        else {
            continue;
        };
        let process = PathBuf::from(format!("/proc/{pid}"));
        if let Some(how) = use_of(&process, mountpoint) {
            if found.len() == SHOWN {
                more += 1;
                continue;
            }
            let command = host::read(&process.join("comm")).unwrap_or_default();
            let command = String::from_utf8_lossy(&command);
            found.push(format!("{} (pid {pid}, {how})", command.trim()));
        }
    }
    if found.is_empty() {
        return "a process that cannot be seen from here".into();
    }
    let mut text = found.join(", ");
    if more > 0 {
        text.push_str(&format!(" and {more} more"));
    }
    text
}

/// How a process uses the mount. Reads links only: the mount itself is not asked.
fn use_of(process: &Path, mountpoint: &Path) -> Option<String> {
    let inside = |link: &Path| host::read_link(link).is_ok_and(|to| to.starts_with(mountpoint));
    if inside(&process.join("cwd")) {
        return Some("working directory".into());
    }
    if inside(&process.join("root")) {
        return Some("root directory".into());
    }
    let files = process.join("fd");
    let open = host::names(&files)
        .unwrap_or_default()
        .into_iter()
        .find_map(|name| {
            let target = host::read_link(&files.join(std::str::from_utf8(&name).ok()?)).ok()?;
            target.starts_with(mountpoint).then_some(target)
        })?;
    Some(format!("has {} open", open.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_open_file_is_seen() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let path = host::canonical(directory.path()).expect("it exists");
        assert_eq!(use_of(Path::new("/proc/self"), &path), None);
        let _file = host::open_log(&path.join("x")).expect("can be made");
        let seen = use_of(Path::new("/proc/self"), &path).expect("this process has it open");
        assert!(seen.contains("/x open"), "{seen}");
        assert!(of(&path).contains(&format!("pid {}", std::process::id())));
    }
}

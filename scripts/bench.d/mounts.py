"""A mounted table that cannot outlive the script, nor hang it."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

MOUNT_TIMEOUT = 300
UMOUNT_TIMEOUT = 30


class MountFailed(Exception):
    """`deltafs mount` said no, or said nothing in time."""


def mounted(mountpoint: Path) -> int | None:
    """The minor device number of the FUSE mount at `mountpoint`, from the kernel's own list: no
    call is made on the mount, which may not answer."""
    with open("/proc/self/mountinfo") as lines:
        for line in lines:
            fields = line.split()
            if fields[4].replace("\\040", " ") == str(mountpoint):
                return int(fields[2].split(":")[1])
    return None


def daemon_pid(mountpoint: Path) -> int | None:
    """The process that serves `mountpoint`: the one whose command line names it after `mount`."""
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if b"mount" in words[1:2] and os.fsencode(mountpoint) in words:
            return int(entry.name)
    return None


def take_down(binary: str, mountpoint: Path, pid: int | None) -> None:
    """Unmounts, by harder and harder means."""
    pid = pid or daemon_pid(mountpoint)
    if mounted(mountpoint) is None and pid is None:
        return
    try:
        subprocess.run(
            [binary, "umount", str(mountpoint)],
            timeout=UMOUNT_TIMEOUT,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired):
        pass
    minor = mounted(mountpoint)
    if minor is not None:
        print(f"bench: {mountpoint} did not unmount; detaching it", file=sys.stderr)
        subprocess.run(["umount", "-l", str(mountpoint)], timeout=UMOUNT_TIMEOUT, check=False)
    if pid is not None and not wait_gone(pid, 15):
        print(f"bench: daemon {pid} did not end; killing it", file=sys.stderr)
        abort = Path(f"/sys/fs/fuse/connections/{minor}/abort")
        if minor is not None and abort.exists():
            abort.write_text("1")
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def wait_gone(pid: int, seconds: float) -> bool:
    """Whether process `pid` ends within `seconds`."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            # A zombie whose parent has not looked is gone for our purpose.
            if "\nState:\tZ" in Path(f"/proc/{pid}/status").read_text():
                return True
        except OSError:
            return True
        time.sleep(0.02)
    return False


class Mount:
    """`with Mount(...) as m:` mounts a table; `m.seconds` is how long `deltafs mount` took.

    What the daemon makes goes to `cache`, which whoever gave it removes. Without one, and unless
    `arguments` name one, it goes to an empty directory beside the mountpoint that is removed with
    the mount: no mount finds what another has made."""

    def __init__(
        self,
        binary: str,
        table: Path,
        mountpoint: Path,
        arguments: list[str] = (),
        cache: Path | None = None,
        writable: bool = False,
    ):
        self.binary = binary
        self.table = table
        self.path = mountpoint
        # As the table is in a benchmark of reads: on a mount that can be written to, the kernel asks
        # for attributes anew after each read.
        self.arguments = [*arguments, *([] if writable else ["--read-only"])]
        self.cache = cache
        self.own_cache: Path | None = None
        self.seconds = 0.0
        self.pid: int | None = None

    def __enter__(self) -> "Mount":
        self.path.mkdir(parents=True, exist_ok=True)
        if mounted(self.path) is not None:
            take_down(self.binary, self.path, None)
        self._announce()
        cache = self._cache_arguments()
        log = self.path.parent / f"{self.path.name}.log"
        command = [self.binary, "mount", str(self.table), str(self.path), *cache]
        command += self.arguments
        start = time.perf_counter()
        try:
            # Not a pipe: the daemon may keep it open, and reading to its end would never return.
            with open(log, "wb") as sink:
                done = subprocess.run(
                    command,
                    timeout=MOUNT_TIMEOUT,
                    stdin=subprocess.DEVNULL,
                    stdout=sink,
                    stderr=subprocess.STDOUT,
                )
            self.seconds = time.perf_counter() - start
        except subprocess.TimeoutExpired as late:
            self._down()
            raise MountFailed(f"{' '.join(command)}: no answer in {MOUNT_TIMEOUT} s") from late
        said = log.read_text(errors="replace").strip()
        if done.returncode != 0:
            self._down()
            raise MountFailed(f"{' '.join(command)}: exit {done.returncode}: {said}")
        if mounted(self.path) is None:
            self._down()
            raise MountFailed(f"{' '.join(command)}: exit 0, but nothing is mounted: {said}")
        self.pid = daemon_pid(self.path)
        return self

    def __exit__(self, *_) -> None:
        self._down()

    def unmount(self) -> str | None:
        """Unmounts as a user does; says what was wrong with it, if anything."""
        done = subprocess.run(
            [self.binary, "umount", str(self.path)],
            timeout=UMOUNT_TIMEOUT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        if done.returncode != 0:
            return f"umount: exit {done.returncode}: {done.stdout.strip()}"
        if mounted(self.path) is not None:
            return "umount: exit 0, but it is still mounted"
        if self.pid is not None and not wait_gone(self.pid, 15):
            return f"daemon {self.pid} still runs 15 s after the unmount"
        return None

    def _cache_arguments(self) -> list[str]:
        """What says where the daemon keeps what it makes."""
        if self.cache is None and any("cache-dir" in word for word in self.arguments):
            return []
        if self.cache is None:
            self.own_cache = Path(tempfile.mkdtemp(prefix="cache-", dir=self.path.parent))
        directory = self.cache or self.own_cache
        directory.mkdir(parents=True, exist_ok=True)
        return ["--cache-dir", str(directory)]

    def _down(self) -> None:
        take_down(self.binary, self.path, self.pid)
        if mounted(self.path) is None:
            self._strike()
        if self.own_cache is not None:
            shutil.rmtree(self.own_cache, ignore_errors=True)

    def memory(self) -> dict[str, float]:
        """The daemon's resident memory in MB: `VmHWM` at its highest, `VmRSS` now."""
        status = Path(f"/proc/{self._daemon()}/status").read_text()
        fields = dict(line.split(":", 1) for line in status.splitlines())
        return {key: int(fields[key].split()[0]) * 1024 / 1e6 for key in ("VmHWM", "VmRSS")}

    def cpu(self) -> float:
        """User and system seconds of all threads of the daemon, in clock ticks (10 ms)."""
        stat = Path(f"/proc/{self._daemon()}/stat").read_text()
        # The name in parentheses may hold anything; user and system time are fields 14 and 15.
        fields = stat[stat.rindex(")") + 2 :].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def _daemon(self) -> int:
        if self.pid is None:
            raise MountFailed(f"{self.path}: no process names it on its command line")
        return self.pid

    def _announce(self) -> None:
        register = os.environ.get("DELTAFS_BENCH_MOUNTS")
        if register:
            with open(register, "a") as out:
                out.write(f"{self.path}\t{self.binary}\n")

    def _strike(self) -> None:
        register = os.environ.get("DELTAFS_BENCH_MOUNTS")
        if register:
            lines = Path(register).read_text().splitlines()
            left = [line for line in lines if line.split("\t")[0] != str(self.path)]
            Path(register).write_text("".join(f"{line}\n" for line in left))

    def metrics(self) -> dict[str, float]:
        """The samples of `@info/metrics`, labels kept in the name."""
        text = subprocess.run(
            ["cat", str(self.path / "@info" / "metrics")],
            timeout=30,
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        ).stdout
        samples = {}
        for line in text.splitlines():
            if line and not line.startswith("#"):
                name, value = line.rsplit(" ", 1)
                samples[name] = float(value)
        return samples


def main() -> None:
    """Takes down every mount that the register still names."""
    for line in Path(sys.argv[1]).read_text().splitlines():
        mountpoint, binary = line.split("\t")
        take_down(binary, Path(mountpoint), None)


if __name__ == "__main__":
    main()

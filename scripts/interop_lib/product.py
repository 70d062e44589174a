"""The `deltafs` command as the checks call it: file lists, details, history, and mounts that cannot outlive them."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

COMMAND_TIMEOUT = 60
MOUNT_TIMEOUT = 30


class Failed(Exception):
    """`deltafs` ended with an exit code other than 0."""

    def __init__(self, arguments: list[str], code: int, stderr: str):
        super().__init__(f"deltafs {' '.join(arguments)} exited with {code}: {stderr.strip()[-600:]}")
        self.code = code
        self.stderr = stderr


@dataclass(frozen=True)
class Deltafs:
    """The binary at `binary`."""

    binary: Path

    def run(self, *arguments: str) -> str:
        """Standard output of one command. Raises `Failed`, or `subprocess.TimeoutExpired` when it hangs."""
        done = subprocess.run(
            [str(self.binary), *arguments], capture_output=True, text=True, timeout=COMMAND_TIMEOUT, check=False
        )
        # A check that finds fault with files has listed them, and ends with 1.
        found_fault = "--check" in arguments and done.returncode == 1 and done.stdout
        if done.returncode != 0 and not found_fault:
            raise Failed(list(arguments), done.returncode, done.stderr)
        return done.stdout

    def files(self, table: str | Path, *options: str) -> list[dict[str, Any]]:
        return _json_lines(self.run("files", str(table), "--json", *options))

    def detail(self, table: str | Path) -> dict[str, Any]:
        return json.loads(self.run("detail", str(table), "--json"))

    def history(self, table: str | Path) -> list[dict[str, Any]]:
        return _json_lines(self.run("history", str(table), "--json"))

    @contextmanager
    def mount(self, table: Path, mountpoint: Path, log: Path, *options: str) -> Iterator[subprocess.Popen[bytes]]:
        """A foreground mount for the length of the block. Afterwards the mount is gone, whatever happened."""
        mountpoint.mkdir(parents=True, exist_ok=True)
        with open(log, "wb") as out:
            child = subprocess.Popen(
                [str(self.binary), "mount", str(table), str(mountpoint), "-f", *options],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
            )
        try:
            deadline = time.monotonic() + MOUNT_TIMEOUT
            while device(mountpoint) is None:
                if child.poll() is not None:
                    raise Failed(["mount", str(table)], child.returncode, log.read_text(errors="replace"))
                if time.monotonic() > deadline:
                    raise Failed(["mount", str(table)], -1, f"not mounted after {MOUNT_TIMEOUT} s")
                time.sleep(0.02)
            yield child
        finally:
            clear(mountpoint, child)

    def unmount(self, mountpoint: Path, child: subprocess.Popen[bytes]) -> int:
        """Unmounts by `deltafs umount` and returns the exit code of the daemon."""
        self.run("umount", str(mountpoint))
        return child.wait(timeout=MOUNT_TIMEOUT)


def device(mountpoint: Path) -> str | None:
    """The device number (`0:57`) mounted at a directory, or None. From mountinfo, which a dead mount cannot block."""
    wanted = str(mountpoint)
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        fields = line.split()
        if re.sub(r"\\([0-7]{3})", lambda m: chr(int(m[1], 8)), fields[4]) == wanted:
            return fields[2]
    return None


def clear(mountpoint: Path, child: subprocess.Popen[bytes]) -> None:
    """Ends a mount by force where it still stands: lazily unmounted, requests in flight aborted, daemon killed."""
    number = device(mountpoint)
    if number is not None:
        if child.poll() is None:
            child.send_signal(signal.SIGTERM)
            try:
                child.wait(timeout=5)
            except subprocess.TimeoutExpired:
                abort = Path("/sys/fs/fuse/connections") / number.split(":")[1] / "abort"
                if abort.exists():
                    abort.write_text("1")
        subprocess.run(["umount", "-l", str(mountpoint)], capture_output=True, timeout=10, check=False)
    if child.poll() is None:
        child.kill()
        child.wait(timeout=10)


def _json_lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines() if line.strip()]


def default_binary(root: Path) -> Path:
    """Where cargo puts the debug binary."""
    return Path(os.environ.get("CARGO_TARGET_DIR", root / "target")) / "debug" / "deltafs"

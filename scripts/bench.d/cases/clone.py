"""Reading one composed file on a file system that shares blocks between files: XFS on a loop device."""

import contextlib
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import makers
from measure import Context, Failed, Row, forget_all, interleave, needs, probe
from mounts import Mount

from . import read

# The kernel reads a clone as it reads any file.
TARGET = 1.10
WARM = [("sequential", "1M"), ("random", "4K"), ("random", "64K"), ("random", "1M")]


def run(context: Context) -> Iterator[Row]:
    """The same mount twice: what it makes goes to a directory on the disk of the table, where it can
    share blocks, or beside that disk, where it cannot."""
    if context.binary is None or not context.root:
        print("clone: it needs deltafs and root\n")
        return
    needs("mkfs.xfs", "mount", "umount")
    megabytes = context.scaled(256, 64)
    with disk(context.dir, 4 * megabytes + 512) as root:
        table = makers.table(root, makers.one_composed, megabytes=megabytes)
        plain = root / "plain"
        with Mount(context.binary, table, context.mountpoint, context.mount_arguments) as mount:
            shutil.copyfile(presented(mount), plain)
        for what, cache in (("clone", root / "cache"), ("no clone", None)):
            yield from rows(context, table, plain, what, cache)


@contextlib.contextmanager
def disk(where: Path, megabytes: int) -> Iterator[Path]:
    """A new XFS, gone afterwards."""
    directory = Path(tempfile.mkdtemp(prefix="xfs-", dir=where))
    image, root = directory / "image", directory / "disk"
    root.mkdir()
    with open(image, "wb") as file:
        file.truncate(megabytes << 20)
    try:
        call("mkfs.xfs", "-q", "-m", "reflink=1", str(image))
        call("mount", "-o", "loop", str(image), str(root))
        try:
            yield root
        finally:
            call("umount", str(root))
    finally:
        shutil.rmtree(directory)


def call(*command: str) -> None:
    """Runs a program that has to succeed."""
    done = subprocess.run(
        command, timeout=120, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    if done.returncode != 0:
        raise Failed(f"{' '.join(command)}: exit {done.returncode}: {done.stdout.strip()}")


def presented(mount: Mount) -> Path:
    """The one file of the newest version."""
    (path,) = (mount.path / "@latest").iterdir()
    return path


def rows(
    context: Context, table: Path, plain: Path, what: str, cache: Path | None
) -> Iterator[Row]:
    """Opened and read from end to end by a new mount, nothing being in memory; and then, read again
    and again, in parts."""

    def first() -> float:
        with Mount(
            context.binary, table, context.mountpoint, context.mount_arguments, cache
        ) as mount:
            path = presented(mount)
            path.stat()
            forget_all()
            return probe("sequential", path=str(path), size=1 << 20)

    def native() -> float:
        forget_all()
        return probe("sequential", path=str(plain), size=1 << 20)

    taken = interleave(max(3, context.rounds // 2), {"native": native, "mount": first})
    yield Row(
        f"{what}: first full read", "cold", taken["mount"], taken["native"], "a plain copy"
    )
    with Mount(context.binary, table, context.mountpoint, context.mount_arguments, cache) as mount:
        files = {"native": plain, "mount": presented(mount)}
        if subprocess.run(["cmp", *map(str, files.values())], timeout=300).returncode != 0:
            raise Failed(f"{files['mount']} differs from its copy")
        made = mount.metrics()["deltafs_clones_made_total"]
        if made != (what == "clone"):
            raise Failed(f"{what}: the mount has made {made:.0f} clones")
        for pattern, label in WARM:
            row = read.take(
                context, files, pattern, label, read.SIZES[label], engine(), cold=False
            )
            limit = TARGET if what == "clone" and row.ratio_limit is not None else None
            yield replace(row, what=f"{what}: {row.what}", peer="a plain copy", ratio_limit=limit)


def engine() -> str:
    """How `read.take` reads."""
    return "psync" if shutil.which("fio") else "preadv"

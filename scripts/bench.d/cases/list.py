"""Listing a version of a hundred thousand files."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import makers
from measure import Context, Failed, Row, forget_names, interleave, timed
from mounts import Mount

# No slower than ext4. The last one reads the whole directory before it looks at any file, so that
# the kernel asks for each file alone the first time: it is shown, and not judged.
COMMANDS = {
    "ls -f": (1.0, lambda path: ["ls", "-f", path]),
    "ls -l": (1.0, lambda path: ["ls", "-l", path]),
    "find": (1.0, lambda path: ["find", path, "-name", "*.parquet"]),
    "find -size": (None, lambda path: ["find", path, "-size", "+1G"]),
}


def run(context: Context) -> Iterator[Row]:
    """Native is the table's own directory: the same names, and every file is there."""
    files = context.scaled(100_000, 100)
    table = makers.table(context.dir, makers.small_files, files=files)
    if context.binary is None:
        yield from rows(context, {"native": table})
        return
    with Mount(context.binary, table, context.mountpoint, context.mount_arguments):
        version = context.mountpoint / "@v0"
        listed = subprocess.run(
            ["ls", "-f", str(version)], timeout=300, stdout=subprocess.PIPE, text=True
        ).stdout.split()
        expected = {path.name for path in table.iterdir() if path.suffix == ".parquet"}
        if set(listed) - {".", ".."} != expected:
            raise Failed(f"{version} lists {len(listed) - 2} names, not the table's {files}")
        yield from rows(context, {"native": table, "mount": version})


def rows(context: Context, sides: dict[str, Path]) -> Iterator[Row]:
    """Every command with names and inodes forgotten, then again."""
    for name, (limit, command) in COMMANDS.items():
        calls = {
            side: lambda p=path: timed(command(str(p)))["wall"] for side, path in sides.items()
        }
        if context.root:
            first = interleave(max(3, context.rounds // 2), calls, lambda: forget_names())
            yield row(name, "first", limit, first)
        for call in calls.values():
            call()
        yield row(name, "again", limit, interleave(context.rounds, calls))


def row(name: str, state: str, limit: float | None, taken: dict[str, list[float]]) -> Row:
    """One row."""
    return Row(name, state, taken.get("mount", []), taken["native"], ratio_limit=limit)

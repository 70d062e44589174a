"""Listing a version of ten thousand files that the mount composes."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import duck
import makers
from measure import Context, Failed, Row, forget_all, forget_names, interleave, memory_rows, timed
from mounts import Mount

COMMANDS = {
    "ls -f": lambda path: ["ls", "-f", path],
    "ls -l": lambda path: ["ls", "-l", path],
}


def run(context: Context) -> Iterator[Row]:
    """Native is the table's own directory: as many names, and every file is there. The mount has
    to look into each file to say how large the composed one is."""
    files = context.scaled(10_000, 200)
    table = makers.table(context.dir, makers.small_composed, files=files)
    if context.binary is None:
        yield from standing(context, {"native": table})
        return
    kept = context.dir / "list-composed-cache"
    shutil.rmtree(kept, ignore_errors=True)
    try:
        if context.root:
            yield from mounted_anew(context, table, None)
        with mount(context, table, kept):
            for command in COMMANDS:
                ls(command, context.mountpoint / "@v0")
            check(table, context.mountpoint / "@v0", files)
        if context.root:
            yield from mounted_anew(context, table, kept)
        with mount(context, table, kept) as daemon:
            yield from standing(context, {"native": table, "mount": context.mountpoint / "@v0"})
            memory = {key: [value] for key, value in daemon.memory().items()}
            yield from memory_rows(memory, "ls", "at the end")
    finally:
        shutil.rmtree(kept, ignore_errors=True)


def mount(context: Context, table: Path, cache: Path | None) -> Mount:
    """The table, with an empty cache directory unless one is given."""
    return Mount(context.binary, table, context.mountpoint, context.mount_arguments, cache)


def ls(name: str, folder: Path) -> float:
    """Seconds of a command."""
    return timed(COMMANDS[name](str(folder)))["wall"]


def check(table: Path, version: Path, files: int) -> None:
    """Every file is listed, and holds its row and its partition value."""
    found = duck.query(f"SELECT count(*), sum(id), sum(epoch(day)) FROM {duck.parquet(version)}")
    days = sum(19_358 + number % makers.DAY_COUNT for number in range(files))
    expected = [files, files * (files - 1) // 2, days * 86_400]
    if [round(float(value)) for value in found[1]] != expected:
        raise Failed(f"{version} holds {found[1]}, expected {expected}")


def mounted_anew(context: Context, table: Path, cache: Path | None) -> Iterator[Row]:
    """Every sample is the first thing that happens to a new mount. Without a cache directory that
    is kept the kernel has forgotten everything before, with one all names and inodes."""
    state = "remounted" if cache else "first"
    tools = lambda: timed(["ls", "-l", str(context.dir)])
    forget = forget_names if cache else lambda: forget_all(tools)
    for name in COMMANDS:
        memory: dict[str, list[float]] = {}

        def through(name=name, memory=memory) -> float:
            with mount(context, table, cache) as daemon:
                forget()
                seconds = ls(name, context.mountpoint / "@v0")
                for key, value in daemon.memory().items():
                    memory.setdefault(key, []).append(value)
                return seconds

        def native(name=name) -> float:
            forget()
            return ls(name, table)

        taken = interleave(max(3, context.rounds // 2), {"native": native, "mount": through})
        yield Row(name, state, taken["mount"], taken["native"])
        # Names alone take little.
        if name == "ls -l":
            yield from memory_rows(memory, name, state)


def standing(context: Context, sides: dict[str, Path]) -> Iterator[Row]:
    """Every command again, all names known to the kernel."""
    for name in COMMANDS:
        calls = {side: lambda n=name, p=path: ls(n, p) for side, path in sides.items()}
        for call in calls.values():
            call()
        taken = interleave(context.rounds, calls)
        yield Row(name, "again", taken.get("mount", []), taken["native"])

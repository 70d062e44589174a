"""A table with a hundred thousand versions."""

import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import makers
from measure import Context, Failed, Row, forget_content, forget_names, interleave, probe, timed
from mounts import Mount

LISTED = 1000
# There is no native directory of versions: the commit files stand in for it.
EVERY = ("root, --list all", "native _delta_log")
PEER = "import sys, deltalake; deltalake.DeltaTable(sys.argv[1])"
PEER_AT = "import sys, deltalake; deltalake.DeltaTable(sys.argv[1], version=int(sys.argv[2]))"


def run(context: Context) -> Iterator[Row]:
    """Mounting, opening an old version, and listing the root."""
    versions = context.scaled(100_000, 2_000)
    table = makers.table(
        context.dir, makers.many_versions, versions=versions, interval=context.scaled(1000, 100)
    )
    middle = versions // 2
    yield from opening(context, table, middle)
    same = context.dir / "root-names"
    for number in range(versions - LISTED, versions):
        (same / f"@v{number}").mkdir(parents=True, exist_ok=True)
    if context.binary is None:
        yield from listing(context, {"native": same}, f"root of {LISTED}")
        yield from listing(context, {"native": table / "_delta_log"}, *EVERY)
        return
    arguments = context.mount_arguments
    with Mount(context.binary, table, context.mountpoint, arguments):
        count(context.mountpoint, LISTED)
        yield from listing(
            context, {"native": same, "mount": context.mountpoint}, f"root of {LISTED}"
        )
        rng = random.Random(8)
        paths = [context.mountpoint / f"@v{rng.randrange(versions)}" for _ in range(20)]
        yield Row("stat of any @vN, root known", "warm", probe("stat", paths=list(map(str, paths))))
        opened = probe("open_directories", paths=list(map(str, paths)))
        yield Row("opening of any @vN", "warm", opened)
    with Mount(context.binary, table, context.mountpoint, [*arguments, "--list", "all"]):
        count(context.mountpoint, versions)
        sides = {"native": table / "_delta_log", "mount": context.mountpoint}
        yield from listing(context, sides, *EVERY)


def count(root: Path, expected: int) -> None:
    """The root must list the versions it promises."""
    names = subprocess.run(
        ["ls", "-f", str(root)], timeout=300, stdout=subprocess.PIPE, text=True
    ).stdout.split()
    listed = sum(name[:2] == "@v" for name in names)
    if listed != expected:
        raise Failed(f"{root} lists {listed} versions, not {expected}")


def opening(context: Context, table: Path, middle: int) -> Iterator[Row]:
    """From nothing to an answer, against deltalake doing the same."""
    deltalake = [sys.executable, "-c", PEER, str(table)]
    at = [sys.executable, "-c", PEER_AT, str(table), str(middle)]

    def fresh(path: str | None, function: str = "stat") -> float:
        with Mount(context.binary, table, context.mountpoint, context.mount_arguments) as mount:
            if path is None:
                return mount.seconds
            return mount.seconds + probe(function, paths=[str(context.mountpoint / path)])[0]

    asked = [
        ("mount", deltalake, lambda: fresh(None)),
        (f"mount + stat @v{middle}", at, lambda: fresh(f"@v{middle}")),
        (f"mount + open @v{middle}", at, lambda: fresh(f"@v{middle}", "open_directories")),
        (f"mount + readlink of @v{middle}'s time", None, lambda: link(context, table, middle)),
    ]
    for what, command, call in asked:
        sides = {}
        if command is not None:
            sides["native"] = lambda c=command: timed(c)["wall"]
        if context.binary is not None:
            sides["mount"] = call
        if not sides:
            continue
        peer = "deltalake"
        for state in ["warm", "cold"]:
            before = (
                (lambda: forget_content(table / "_delta_log"))
                if state == "cold"
                else (lambda: None)
            )
            taken = interleave(3, sides, before)
            yield Row(what, state, taken.get("mount", []), taken.get("native", []), peer)


def link(context: Context, table: Path, middle: int) -> float:
    """Resolves the instant of version `middle`: commit N of a made table is N seconds old."""
    minutes, seconds = divmod(middle, 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    name = f"@2023-01-{1 + days:02}T{hours:02}:{minutes:02}:{seconds:02}Z"
    with Mount(context.binary, table, context.mountpoint, context.mount_arguments) as mount:
        [[took, target]] = probe("readlink", paths=[str(context.mountpoint / name)])
        if target != f"@v{middle}":
            raise Failed(f"{name} leads to {target}, not to @v{middle}")
        return mount.seconds + took


def listing(
    context: Context, sides: dict[str, Path], label: str, peer: str = "native"
) -> Iterator[Row]:
    """`ls -f` and `ls -l` of a root."""
    for name, options in (("ls -f", ["-f"]), ("ls -l", ["-l"])):
        calls = {
            side: lambda p=path: timed(["ls", *options, str(p)])["wall"]
            for side, path in sides.items()
        }
        if context.root:
            taken = interleave(3, calls, forget_names)
            yield Row(f"{name}, {label}", "first", taken.get("mount", []), taken["native"], peer)
        taken = interleave(context.rounds, calls)
        yield Row(f"{name}, {label}", "again", taken.get("mount", []), taken["native"], peer)

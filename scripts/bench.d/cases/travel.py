"""From version to version of a mounted million-file table."""

import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import deltalog as log
import makers
from measure import Context, Failed, Row, interleave, probe, timed
from mounts import Mount

COMMITS = 100
STEPS = 20
LIMIT = 0.010
PEER = (
    "import sys, deltalake; deltalake.DeltaTable(sys.argv[1], version=int(sys.argv[2])).file_uris()"
)


def run(context: Context) -> Iterator[Row]:
    """The table is committed to, so it is a copy whose old log files are hard links."""
    files = context.scaled(1_000_000, 5_000)
    made = makers.table(
        context.dir, makers.million, "million", files=files, commits=COMMITS, partitioned=False
    )
    newest = makers.CHECKPOINT_VERSION + COMMITS
    if context.binary is None:
        yield from peer(context, made, newest)
        return
    table = context.dir / "travel"
    shutil.rmtree(table, ignore_errors=True)
    try:
        (table / "_delta_log").mkdir(parents=True)
        for path in (made / "_delta_log").iterdir():
            os.link(path, table / "_delta_log" / path.name)
        yield from peer(context, table, newest)
        yield from travel(context, table, newest)
    finally:
        shutil.rmtree(table, ignore_errors=True)


def peer(context: Context, table: Path, newest: int) -> Iterator[Row]:
    """Mounting and opening the newest version, against deltalake loading it."""
    old = [sys.executable, "-c", PEER, str(table), str(newest)]

    def fresh() -> float:
        with Mount(context.binary, table, context.mountpoint, context.mount_arguments) as mount:
            path = str(context.mountpoint / f"@v{newest}")
            return mount.seconds + probe("open_directories", paths=[path])[0]

    sides = {"native": lambda: timed(old)["wall"]}
    if context.binary is not None:
        sides["mount"] = fresh
    taken = interleave(3, sides)
    yield Row(
        "mount + first opening of @vN", "warm", taken.get("mount", []), taken["native"], "deltalake"
    )


def travel(context: Context, table: Path, newest: int) -> Iterator[Row]:
    """What a mount costs once it knows one version."""
    rng = random.Random(6)
    names = log.part_names(7)
    version = lambda number: str(context.mountpoint / f"@v{number}")
    with Mount(context.binary, table, context.mountpoint, context.mount_arguments):
        probe("open_directories", paths=[version(newest)])
        older = [version(newest - step) for step in range(1, STEPS + 1)]
        yield Row(
            "@v(N-1) after @vN",
            "first opening",
            probe("open_directories", paths=older),
            limit=LIMIT,
        )
        again = probe("open_directories", paths=older)
        yield Row("@v(N-1) after @vN", "opened before", again, limit=LIMIT)
        far = [version(makers.CHECKPOINT_VERSION)]
        yield Row(
            f"@v(N-{COMMITS}) after @vN", "first opening", probe("open_directories", paths=far)
        )
        # Behind the rows that opening those versions has shown to the kernel.
        name = probe("first_names", path=version(newest), count=4_000)[-1]
        stats = probe("stat", paths=[f"{path}/{name}" for path in older])
        yield Row("stat of a listed name in @v(N-1)", "first", stats[:1], limit=LIMIT)
        yield Row("stat of a listed name in @v(N-1)", "then", stats[1:], limit=LIMIT)
        absent = ["absent.parquet", "absent~0123456789abcdef.parquet"]
        latest = str(context.mountpoint / "@latest")
        missed = probe("miss", paths=[f"{latest}/{name}" for name in absent])
        yield Row("stat of an absent name in @latest", "first", missed, limit=LIMIT)
        for pause, state in ((0.2, "0.2 s after the commit"), (0.0, "right after the commit")):
            commits = []
            for number in range(newest + 1, newest + 1 + STEPS):
                name = next(names)
                action = log.add(name, 10**6, number, makers.event_stats(number, rng))
                text = log.commit_text([("commitInfo", log.commit_info(number)), ("add", action)])
                commits.append([number, text])
            newest += STEPS
            times = probe(
                "follow",
                log=str(table / "_delta_log"),
                latest=latest,
                commits=commits,
                pause=pause,
            )
            yield Row("a new commit: open @latest, rows", state, [t[0] for t in times], limit=LIMIT)
            yield Row(
                "the same, and its user.delta.version", state, [t[1] for t in times], limit=LIMIT
            )
        # The last file committed, whatever the mount makes of its name.
        stem = name.removesuffix(".parquet")
        found = subprocess.run(
            ["find", latest, "-name", f"{stem}*"], timeout=300, stdout=subprocess.PIPE, text=True
        ).stdout.splitlines()
        if len(found) != 1:
            raise Failed(f"{latest} lists {found} for the data file {name}")
        listing = [timed(["ls", "-f", version(newest)])["wall"] for _ in range(3)]
        yield Row("ls -f of all files of one version", "first, again", listing)

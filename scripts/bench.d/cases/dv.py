"""A large file of which rows are deleted by a deletion vector: the mount writes its chunks anew."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import duck
import makers
from measure import Context, Failed, Row, interleave, memory_rows, probe, remember_content, timed
from mounts import Mount

# Sums keep DuckDB from answering out of the statistics of the footers. Every column is read.
COLUMNS = (
    "count(*), sum(id), sum(account), sum(quantity), sum(amount), sum(rate), min(customer), "
    "max(city), min(epoch_us(booked)), max(epoch_us(booked)), sum(price), sum(total), "
    "sum(length(region))"
)
# Bytes of the data file for each second of the daemon's processor time.
SPEED = 200.0
PEER = "DuckDB delta_scan"


def run(context: Context) -> Iterator[Row]:
    """Each version in turn; version 0 has no deletion vector and is composed."""
    rows = context.scaled(2_000_000, 80_000)
    table = makers.table(context.dir, makers.deleted_rows, rows=rows)
    kept = context.dir / "dv-cache"
    shutil.rmtree(kept, ignore_errors=True)
    try:
        for version, (label, _) in makers.VECTORS.items():
            remember_content(table)
            if context.binary is not None:
                check(context, table, version, kept)
                yield from first_read(context, table, version, label)
                yield from cached_read(context, table, version, label, kept)
            yield from scan(context, table, version, label, kept)
    finally:
        shutil.rmtree(kept, ignore_errors=True)


def mount(context: Context, table: Path, cache: Path | None) -> Mount:
    """The table, with an empty cache directory unless one is given."""
    return Mount(context.binary, table, context.mountpoint, context.mount_arguments, cache)


def presented(context: Context, version: int) -> Path:
    """The only file of a version in the mount."""
    folder = context.mountpoint / f"@v{version}"
    names = probe("first_names", path=str(folder), count=2)
    if len(names) != 1:
        raise Failed(f"{folder} lists {names}, not one file")
    return folder / names[0]


def check(context: Context, table: Path, version: int, kept: Path) -> None:
    """The mount and DuckDB's own extension must show the same rows, and the vector must count. What
    was made for that stays in `kept`."""
    with mount(context, table, kept):
        sides = {
            "mount": duck.parquet(context.mountpoint / f"@v{version}"),
            "delta_scan": duck.delta(table, version),
        }
        duck.agree(sides)
        for side in sides.values():
            left = int(duck.query(f"SELECT count(*) FROM {side}")[1][0])
            whole = int(duck.query(f"SELECT count(*) FROM {duck.delta(table, 0)}")[1][0])
            if not 0 < left < whole:
                raise Failed(f"{side} has {left} rows, version 0 has {whole}")


def read(path: Path) -> float:
    """Seconds to read a file from end to end, in requests of 1 MiB."""
    return timed(["dd", f"if={path}", "of=/dev/null", "bs=1M"])["wall"]


def find_and_read(folder: Path) -> float:
    """The same for the only file of a directory, its listing and size included."""
    script = 'set -- "$1"/*; exec dd if="$1" of=/dev/null bs=1M'
    return timed(["sh", "-c", script, "sh", str(folder)])["wall"]


def first_read(context: Context, table: Path, version: int, label: str) -> Iterator[Row]:
    """New mounts with empty cache directories; the page cache holds the data file and the log."""
    source = next(table.glob("*.parquet")).stat().st_size / 1e6
    walls, by_wall, by_cpu = [], [], []
    memory: dict[str, list[float]] = {}
    for _ in range(max(3, context.rounds // 2)):
        with mount(context, table, None) as daemon:
            before = daemon.cpu()
            walls.append(find_and_read(context.mountpoint / f"@v{version}"))
            # Taken to the clock tick of 10 ms.
            cpu = max(daemon.cpu() - before, 0.01)
            by_wall.append(source / walls[-1])
            by_cpu.append(source / cpu)
            for key, value in daemon.memory().items():
                memory.setdefault(key, []).append(value)
    what = f"{label}: full read"
    yield Row(what, "first", walls)
    yield Row(f"{what}, source / time", "first", by_wall, unit="MB/s")
    yield Row(f"{what}, source / daemon's CPU", "first", by_cpu, unit="MB/s", floor=SPEED)
    yield from memory_rows(memory, what, "first")


def cached_read(
    context: Context, table: Path, version: int, label: str, kept: Path
) -> Iterator[Row]:
    """New mounts that find what was made before; nothing of the mount is in the page cache. The
    composed file of version 0 is shorter, so the time per GiB is compared too."""
    sides = {"native": 0, "mount": version}
    sizes = {}

    def anew(side: str) -> float:
        with mount(context, table, kept):
            path = presented(context, sides[side])
            sizes[side] = probe("size", path=str(path))
            return read(path)

    for side in sides:
        anew(side)
    remember_content(table, kept)
    taken = interleave(context.rounds, {side: lambda s=side: anew(s) for side in sides})
    what, peer = f"{label}: full read", "composed, @v0"
    yield Row(what, "remounted", taken["mount"], taken["native"], peer)
    per_gib = {s: [wall * (1 << 30) / sizes[s] for wall in walls] for s, walls in taken.items()}
    yield Row(what, "remounted", per_gib["mount"], per_gib["native"], peer, "s/GiB")
    megabytes = {side: [size / 1e6] for side, size in sizes.items()}
    what = f"{label}: size of the file"
    yield Row(what, "remounted", megabytes["mount"], megabytes["native"], peer, "MB")


def scan(context: Context, table: Path, version: int, label: str, kept: Path) -> Iterator[Row]:
    """Every column read by DuckDB, from the mount and by its own Delta extension."""
    folder = context.mountpoint / f"@v{version}"
    native = lambda: duck.query(f"SELECT {COLUMNS} FROM {duck.delta(table, version)}")[0]
    through = lambda: duck.query(f"SELECT {COLUMNS} FROM {duck.parquet(folder)}")[0]
    what = f"{label}: all columns, DuckDB"
    if context.binary is None:
        yield Row(what, "warm", [], interleave(context.rounds, {"native": native})["native"], PEER)
        return

    def anew(cache: Path | None) -> float:
        with mount(context, table, cache):
            return through()

    few = max(3, context.rounds // 2)
    for state, cache in {"first": None, "remounted": kept}.items():
        taken = interleave(few, {"native": native, "mount": lambda c=cache: anew(c)})
        yield Row(what, state, taken["mount"], taken["native"], PEER)
    with mount(context, table, kept) as daemon:
        through()
        taken = interleave(context.rounds, {"native": native, "mount": through})
        yield Row(what, "warm", taken["mount"], taken["native"], PEER)
        memory = {key: [value] for key, value in daemon.memory().items()}
        yield from memory_rows(memory, what, "at the end")

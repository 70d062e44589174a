"""Committing through `@staging`: how long, how often, and how fast the files get there."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import deltalake
import makers
import pyarrow as pa
import pyarrow.parquet as pq
from measure import Context, Row, interleave
from mounts import Mount

KIB, MIB = 1 << 10, 1 << 20
# As deltalake is asked to beat: five times faster. Bare system calls: at most twice as long.
AGAINST_PEER, AGAINST_FLOOR, AGAINST_COPY = 0.20, 2.00, 1.30


def run(context: Context) -> Iterator[Row]:
    """Every batch holds rows of one kind, so that both sides have the same work."""
    where = context.dir / "commit"
    shutil.rmtree(where, ignore_errors=True)
    where.mkdir(parents=True)
    try:
        small = rows_file(where / "small", 1, MIB)
        large = rows_file(where / "large", context.scaled(100, 4), 10 * MIB)
        yield from latency(context, where, "one file of 1 MiB", small, context.rounds)
        yield from latency(context, where, f"{len(large)} files of 10 MiB", large, 3)
        yield from rate(context, where)
        yield from copying(context, where)
        yield from crowded(context, where)
    finally:
        shutil.rmtree(where, ignore_errors=True)


def batch(rows: int, seed: int) -> pa.Table:
    """Rows of random numbers, which nothing compresses: `id` and `value`, 8 bytes each."""
    import random

    content = random.Random(seed).randbytes(16 * rows)
    half = 8 * rows
    ids = pa.Array.from_buffers(pa.int64(), rows, [None, pa.py_buffer(content[:half])])
    values = pa.Array.from_buffers(pa.int64(), rows, [None, pa.py_buffer(content[half:])])
    return pa.table({"id": ids, "value": values})


def rows_file(where: Path, count: int, size: int) -> list[Path]:
    """`count` Parquet files of about `size` bytes."""
    where.mkdir(parents=True)
    paths = []
    for number in range(count):
        path = where / f"{number}.parquet"
        pq.write_table(batch(size // 16, number), path, use_dictionary=False, compression="snappy")
        paths.append(path)
    return paths


def new_table(path: Path) -> Path:
    """An empty table for such rows."""
    shutil.rmtree(path, ignore_errors=True)
    deltalake.DeltaTable.create(str(path), schema=batch(0, 0).schema)
    return path


def mount(context: Context, table: Path) -> Mount:
    """The table, to be written to."""
    return Mount(
        context.binary, table, context.mountpoint, context.mount_arguments, writable=True
    )


def stage(context: Context, name: str, files: list[Path]) -> Path:
    """A transaction with copies of `files` and a marker that nobody has fsynced."""
    directory = context.mountpoint / "@staging" / name
    directory.mkdir()
    for path in files:
        shutil.copyfile(path, directory / path.name)
    marker = directory / ".commit"
    marker.touch()
    return marker


def fsync(path: Path) -> float:
    """Seconds until fsync returns."""
    descriptor = os.open(path, os.O_RDONLY)
    start = time.perf_counter()
    os.fsync(descriptor)
    taken = time.perf_counter() - start
    os.close(descriptor)
    return taken


def floor(table: Path, files: list[Path], number: int) -> float:
    """The least that puts files into a table durably: copies, fsyncs, links, an fsync of the
    directory, and the same for one small file more, which stands for the commit file."""
    start = time.perf_counter()
    staged = []
    for path in files:
        copy = table / f".{number}-{path.name}"
        shutil.copyfile(path, copy)
        staged.append(copy)
    log = table / f".{number}.json"
    log.write_text("{}\n")
    for copy in [*staged, log]:
        descriptor = os.open(copy, os.O_RDWR)
        os.fsync(descriptor)
        os.close(descriptor)
        os.link(copy, table / copy.name[1:])
    descriptor = os.open(table, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)
    taken = time.perf_counter() - start
    for copy in [*staged, log]:
        copy.unlink()
        (table / copy.name[1:]).unlink()
    return taken


def latency(
    context: Context, where: Path, label: str, files: list[Path], rounds: int
) -> Iterator[Row]:
    """From fsync to its return, and copy and commit together."""
    rows = pa.concat_tables([pq.read_table(path) for path in files])
    theirs, ours, bare = (where / name for name in ("theirs", "ours", "bare"))
    new_table(theirs)
    bare.mkdir(exist_ok=True)
    numbers = iter(range(10**6))
    together: list[float] = []

    def peer() -> float:
        start = time.perf_counter()
        deltalake.write_deltalake(str(theirs), rows, mode="append")
        return time.perf_counter() - start

    def through() -> float:
        name = f"b{next(numbers)}"
        start = time.perf_counter()
        marker = stage(context, name, files)
        taken = fsync(marker)
        together.append(time.perf_counter() - start)
        shutil.rmtree(marker.parent)
        return taken

    sides: dict[str, Callable[[], float]] = {
        "native": peer,
        "bare": lambda: floor(bare, files, next(numbers)),
    }
    if context.binary is None:
        taken = interleave(rounds, sides)
        yield Row(f"{label}: fsync", "warm", [], taken["native"], "deltalake")
        yield Row(f"{label}: copy and commit", "warm", [], taken["bare"], "system calls")
        return
    new_table(ours)
    with mount(context, ours):
        through()
        together.clear()
        taken = interleave(rounds, sides | {"mount": through})
    yield Row(
        f"{label}: fsync", "warm", taken["mount"], taken["native"], "deltalake",
        ratio_limit=AGAINST_PEER,
    )
    yield Row(
        f"{label}: copy and commit", "warm", together, taken["bare"], "system calls",
        ratio_limit=AGAINST_FLOOR,
    )


def rate(context: Context, where: Path) -> Iterator[Row]:
    """How often one writer, and eight side by side, can commit a file of a few rows."""
    [tiny] = rows_file(where / "tiny", 1, KIB)
    rows = pq.read_table(tiny)
    commits = context.scaled(25, 3)
    for writers in (1, 8):
        theirs, ours = new_table(where / "theirs"), new_table(where / "ours")
        with ProcessPoolExecutor(writers, get_context("spawn")) as pool:
            # Started, with everything imported, before the clock runs.
            list(pool.map(warm, range(writers)))
            start = time.perf_counter()
            jobs = [pool.submit(append, str(theirs), rows, commits) for _ in range(writers)]
            for job in jobs:
                job.result()
            peer = (time.perf_counter() - start) / (commits * writers)
        mine = []
        if context.binary is not None:
            with mount(context, ours), ThreadPoolExecutor(writers) as pool:
                start = time.perf_counter()
                jobs = [pool.submit(commit, context, w, [tiny], commits) for w in range(writers)]
                for job in jobs:
                    job.result()
                mine = [(time.perf_counter() - start) / (commits * writers)]
            found = deltalake.DeltaTable(str(ours)).version()
            if found != commits * writers:
                raise AssertionError(f"{found} versions, expected {commits * writers}")
        label = "1 writer" if writers == 1 else f"{writers} writers"
        yield Row(f"{label}: time per commit", "warm", mine, [peer], "deltalake")


def warm(_: int) -> None:
    """Long enough that every process gets one."""
    time.sleep(0.5)


def append(table: str, rows: pa.Table, commits: int) -> None:
    """What a process of deltalake does; it tries again when it was too slow."""
    for _ in range(commits):
        while True:
            try:
                deltalake.write_deltalake(table, rows, mode="append")
                break
            except deltalake.exceptions.CommitFailedError:
                pass


def commit(context: Context, writer: int, files: list[Path], commits: int) -> None:
    """What a thread does through the mount."""
    for number in range(commits):
        marker = stage(context, f"w{writer}-{number}", files)
        fsync(marker)
        shutil.rmtree(marker.parent)


def copying(context: Context, where: Path) -> Iterator[Row]:
    """`cp` of a large file into a transaction, against a directory beside the table."""
    source = where / "bulk"
    with open(source, "wb") as out:
        for _ in range(context.scaled(1024, 16)):
            out.write(os.urandom(MIB))
    plain = where / "plain"
    plain.mkdir()

    def copy(directory: Path) -> float:
        target = directory / "bulk.tmp"
        start = time.perf_counter()
        subprocess.run(["cp", str(source), str(target)], check=True, timeout=300)
        taken = time.perf_counter() - start
        os.sync()
        target.unlink()
        return taken

    sides = {"native": lambda: copy(plain)}
    if context.binary is None:
        yield Row("cp 1 GiB", "warm", [], interleave(3, sides)["native"], "ext4")
        return
    with mount(context, new_table(where / "ours")):
        directory = context.mountpoint / "@staging" / "bulk"
        directory.mkdir()
        taken = interleave(
            max(3, context.rounds // 2), sides | {"mount": lambda: copy(directory)}
        )
        directory.rmdir()
    source.unlink()
    yield Row(
        "cp 1 GiB", "warm", taken["mount"], taken["native"], "ext4", ratio_limit=AGAINST_COPY
    )


def crowded(context: Context, where: Path) -> Iterator[Row]:
    """A commit to a table of a million files."""
    files = context.scaled(1_000_000, 5_000)
    made = makers.table(
        context.dir, makers.million, "million", files=files, commits=100, partitioned=False
    )
    table = where / "crowded"
    (table / "_delta_log").mkdir(parents=True)
    for path in (made / "_delta_log").iterdir():
        os.link(path, table / "_delta_log" / path.name)
    known = deltalake.DeltaTable(str(table))
    schema = pa.schema(known.schema())
    rows = pa.table({name: pa.nulls(10, schema.field(name).type) for name in schema.names})
    staged = where / "row.parquet"
    pq.write_table(rows, staged)

    def peer() -> float:
        code = (
            "import sys, deltalake, pyarrow.parquet as pq\n"
            "deltalake.write_deltalake(sys.argv[1], pq.read_table(sys.argv[2]), mode='append')"
        )
        start = time.perf_counter()
        subprocess.run(
            [sys.executable, "-c", code, str(table), str(staged)], check=True, timeout=300
        )
        return time.perf_counter() - start

    native = [peer()]
    if context.binary is None:
        yield Row("append to 1,000,000 files", "warm", [], native, "deltalake")
        return
    taken = []
    with mount(context, table) as daemon:
        for number in range(context.rounds):
            marker = stage(context, f"b{number}", [staged])
            taken.append(fsync(marker))
            shutil.rmtree(marker.parent)
        # A checkpoint is due by now, and made beside the answers.
        time.sleep(1)
        memory = daemon.memory()
    yield Row("append to 1,000,000 files: fsync", "warm", taken, native, "deltalake, a process")
    yield Row("append to 1,000,000 files: daemon, peak memory", "warm", [memory["VmHWM"]], unit="MB")

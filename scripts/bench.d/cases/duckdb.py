"""DuckDB over a table of a thousand Parquet files."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import makers
from measure import Context, Failed, Row, forget_content, interleave
from mounts import Mount, read_only

# Sums keep DuckDB from answering out of the statistics of the footers.
COLUMNS = (
    "sum(id), sum(amount), min(customer), max(customer), "
    "min(epoch_us(sold)), max(epoch_us(sold)), min(day), max(day), "
    "sum(quantity)"
)
# What a file needs to have about 358 KB.
ROWS = 11_000
QUERIES = {
    "all columns": (COLUMNS, 1.10),
    "count(*)": ("count(*)", 1.40),
}

# A process of its own for every sample: DuckDB keeps what it has read. The tables are read by a
# glob, as users do. amount has two decimals and sums beyond doubles' exactness in another order.
SCRIPT = """
import duckdb, json, sys, time
files, select, hive = sys.argv[1:]
con = duckdb.connect()
con.execute("SET enable_progress_bar = false")
sql = f"SELECT {select} FROM read_parquet('{files}', hive_partitioning = {hive})"
start = time.perf_counter()
row = con.execute(sql).fetchone()
seconds = time.perf_counter() - start
rounded = [f"{v:.9g}" if isinstance(v, float) else str(v) for v in row]
print(json.dumps([seconds, rounded]))
"""


def query(files: str, select: str, hive: bool) -> tuple[float, list[str]]:
    """Seconds and answer of a query in a new DuckDB."""
    command = [sys.executable, "-c", SCRIPT, files, select, str(hive).lower()]
    try:
        done = subprocess.run(
            command, timeout=300, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
    except subprocess.TimeoutExpired as late:
        raise Failed(f"DuckDB over {files} did not end in 300 s") from late
    if done.returncode != 0:
        raise Failed(f"DuckDB over {files}: {done.stderr.strip()}")
    seconds, answer = json.loads(done.stdout)
    return seconds, answer


def run(context: Context) -> Iterator[Row]:
    """Files that the mount serves as they are."""
    table = makers.table(
        context.dir, makers.many_files, partitioned=False, files=context.scaled(1000, 10), rows=ROWS
    )
    sides = {"native": (f"{table}/*.parquet", False)}
    yield from compare(context, table, sides, QUERIES)


def compare(
    context: Context, table: Path, sides: dict, queries: dict, label: str = ""
) -> Iterator[Row]:
    """The queries over one table. A mount that may be written notes when each file was read, a
    read-only one does not: then both are tried."""
    if context.binary is None:
        yield from ask(context, sides, queries, label)
        return
    mountpoint = context.mountpoint
    through = sides | {"mount": (f"{mountpoint}/@latest/*.parquet", False)}
    with Mount(context.binary, table, mountpoint, context.mount_arguments):
        writable = not read_only(mountpoint)
        yield from ask(context, through, queries, label)
    if writable:
        arguments = [*context.mount_arguments, "--read-only"]
        with Mount(context.binary, table, mountpoint, arguments):
            yield from ask(context, through, queries, f"{label}, --read-only")


def ask(context: Context, sides: dict, queries: dict, label: str) -> Iterator[Row]:
    """The queries, warm and cold."""
    folders = {Path(files[: files.index("*")]) for files, _ in sides.values()}
    for name, (select, limit) in queries.items():
        answers = {side: query(files, select, hive)[1] for side, (files, hive) in sides.items()}
        if len({json.dumps(answer) for answer in answers.values()}) > 1:
            raise Failed(f"DuckDB{label}, {name}: the answers differ: {answers}")
        for state in ["warm", "cold"]:
            cold = state == "cold"
            taken = interleave(
                max(3, context.rounds // 2) if cold else context.rounds,
                {s: lambda w=w, t=select: query(w[0], t, w[1])[0] for s, w in sides.items()},
                (lambda: forget_content(*folders)) if cold else (lambda: None),
            )
            yield Row(
                f"{name}{label}",
                state,
                mount=taken.get("mount", []),
                native=taken["native"],
                ratio_limit=None if cold else limit,
            )

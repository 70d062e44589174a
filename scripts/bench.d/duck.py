"""DuckDB in a process of its own for every query: it keeps what it has read, and a call on a mount
may never return."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

from measure import Failed

# Prints [seconds, values of the only row]. Doubles are added up in another order each time, so they
# are compared to nine digits.
SCRIPT = """
import duckdb, json, sys, time
con = duckdb.connect()
con.execute("SET enable_progress_bar = false")
for extension in sys.argv[2:]:
    con.execute(f"LOAD '{extension}'")
start = time.perf_counter()
row = con.execute(sys.argv[1]).fetchone()
seconds = time.perf_counter() - start
rounded = [f"{v:.9g}" if isinstance(v, float) else str(v) for v in row]
print(json.dumps([seconds, rounded]))
"""


def parquet(folder: Path, hive: bool = False) -> str:
    """The Parquet files of a directory as a table, by a glob, as users do."""
    return f"read_parquet('{folder}/*.parquet', hive_partitioning = {str(hive).lower()})"


def delta(table: Path, version: int) -> str:
    """A version of a Delta table as DuckDB's own extension reads it."""
    return f"delta_scan('{table}', version = {version})"


def query(sql: str, timeout: float = 300) -> tuple[float, list[str]]:
    """Seconds and answer of a query of one row in a new DuckDB. Starting it is not timed."""
    extensions = [str(delta_extension())] if "delta_scan(" in sql else []
    try:
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT, sql, *extensions],
            timeout=timeout,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
    except subprocess.TimeoutExpired as late:
        raise Failed(f"DuckDB did not end in {timeout} s: {sql}") from late
    if done.returncode != 0:
        raise Failed(f"DuckDB: {sql}: {done.stderr.strip()}")
    seconds, answer = json.loads(done.stdout)
    return seconds, answer


def agree(sides: dict[str, str]) -> None:
    """Fails unless all tables have the same names and types of columns and the same rows, in
    whichever order."""
    shape = "SELECT string_agg(column_name || ' ' || column_type, ', ') FROM (DESCRIBE FROM {})"
    rows = "SELECT count(*), sum(hash(t)::HUGEINT) FROM {} t"
    for what, sql in (("columns", shape), ("rows", rows)):
        answers = {side: query(sql.format(table))[1] for side, table in sides.items()}
        if len({json.dumps(answer) for answer in answers.values()}) > 1:
            raise Failed(f"the {what} differ ({sql}): {answers}")


def bring_back() -> None:
    """Brings Python and DuckDB back into the page cache."""
    for library in Path(importlib.util.find_spec("_duckdb").origin).parent.glob("_duckdb*"):
        library.is_file() and library.read_bytes()
    query("SELECT sum(a), min(a::VARCHAR) FROM range(10) r(a) WHERE a > 3")


def delta_extension() -> Path:
    """The extension of the installed package, which needs no network."""
    root = Path(importlib.util.find_spec("duckdb_extension_delta").origin).parent
    found = sorted(root.glob("extensions/*/delta.duckdb_extension"))
    if not found:
        raise Failed(f"no delta.duckdb_extension under {root}: install duckdb-extension-delta anew")
    return found[-1]

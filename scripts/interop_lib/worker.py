"""Child process that reads version directories with one reader after another.

Run as `python -m interop_lib.worker OUT_DIR`, with one JSON job a line on stdin:
`{"id": 7, "reader": "duckdb", "path": "/mnt/t/@v3", "partitions": ["p"]}`; `partitions` names the columns that stand in
directory names. The result of a job lies in `OUT_DIR/ID.arrow`, partition columns as text, or the reader's error in
`OUT_DIR/ID.error`. A process of its own, because a reader that hangs on a dead mount cannot be stopped from inside.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa

Reader = Callable[[str, list[str]], pa.Table]


def pyarrow_dataset(path: str, partitions: list[str]) -> pa.Table:
    import pyarrow.dataset as ds

    if not partitions:
        return ds.dataset(path, format="parquet").to_table()
    hive = ds.partitioning(pa.schema([(p, pa.string()) for p in partitions]), flavor="hive")
    # By default a directory whose name begins with an underscore, such as `_p=1`, would be passed over.
    return ds.dataset(path, format="parquet", partitioning=hive, ignore_prefixes=["."]).to_table()


def pyarrow_files(path: str, partitions: list[str]) -> pa.Table:
    """File by file, memory mapped: the way of tools that spread a listing over workers."""
    import pyarrow.parquet as pq

    tables = [
        pq.read_table(os.path.join(path, n), memory_map=True, partitioning=None) for n in sorted(os.listdir(path))
    ]
    # Files may differ in what their own Arrow schema says: nullability, string or string_view.
    schema = pa.schema([f.with_nullable(True) for f in tables[0].schema])
    return pa.concat_tables([t.cast(schema) for t in tables])


def pandas(path: str, partitions: list[str]) -> pa.Table:
    import pandas as pd

    return pa.Table.from_pandas(pd.read_parquet(path, engine="pyarrow", dtype_backend="pyarrow"), preserve_index=False)


def polars_directory(path: str, partitions: list[str]) -> pa.Table:
    import polars as pl

    if not partitions:
        return pl.scan_parquet(path).collect().to_arrow()
    schema = {p: pl.String for p in partitions}
    return pl.scan_parquet(path, hive_partitioning=True, hive_schema=schema).collect().to_arrow()


def polars_glob(path: str, partitions: list[str]) -> pa.Table:
    import polars as pl

    return pl.read_parquet(f"{path}/*.parquet").to_arrow()


def duckdb(path: str, partitions: list[str]) -> pa.Table:
    import duckdb as db

    with db.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        if not partitions:
            return connection.execute("SELECT * FROM read_parquet(?)", [f"{path}/*.parquet"]).to_arrow_table()
        kinds = ", ".join(f"{_quoted(p)}: 'VARCHAR'" for p in partitions)
        query = f"SELECT * FROM read_parquet(?, hive_partitioning := true, hive_types := {{{kinds}}})"
        return connection.execute(query, [f"{path}/**/*.parquet"]).to_arrow_table()


def _quoted(name: str) -> str:
    return "'" + name.replace("'", "''") + "'"


FLAT: dict[str, Reader] = {
    "pyarrow.dataset": pyarrow_dataset,
    "pyarrow.parquet": pyarrow_files,
    "pandas": pandas,
    "polars dir": polars_directory,
    "polars glob": polars_glob,
    "duckdb": duckdb,
}
HIVE: dict[str, Reader] = {name: FLAT[name] for name in ("pyarrow.dataset", "polars dir", "duckdb")}


def main() -> None:
    out = Path(sys.argv[1])
    for line in sys.stdin:
        job = json.loads(line)
        try:
            result = FLAT[job["reader"]](job["path"], job["partitions"])
            with (
                pa.OSFile(str(out / f"{job['id']}.arrow"), "wb") as sink,
                pa.ipc.new_file(sink, result.schema) as writer,
            ):
                writer.write_table(result)
        except BaseException as e:  # polars panics derive from BaseException
            if isinstance(e, (KeyboardInterrupt, SystemExit)):
                raise
            (out / f"{job['id']}.error").write_text(f"{type(e).__name__}: {e}")


if __name__ == "__main__":
    main()

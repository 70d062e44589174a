"""Child process that reads version directories with one reader after another: see `children`.

Run as `python -m interop_lib.worker`, with one JSON job a line on stdin:
`{"id": 7, "out": "/tmp/out", "reader": "duckdb", "path": "/mnt/t/@v3", "partitions": ["p"]}`; `partitions` names the
columns that stand in directory names. With `"literals": FILE` the job asks the questions of `bounds` instead of reading
all rows; with `"do": NAME` it calls that function of `spark_jobs` with `arguments`. The result of a job lies in
`OUT/ID.arrow`, partition columns as text, or the reader's error in `OUT/ID.error`, before the id is a line on stdout. A
process of its own, because a reader that hangs on a dead mount cannot be stopped from inside, and because readers of
different ages need different environments: it imports nothing but pyarrow and, when asked to, the reader.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa

from . import bounds

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
            return _arrow(connection.execute("SELECT * FROM read_parquet(?)", [f"{path}/*.parquet"]))
        kinds = ", ".join(f"{_quoted(p)}: 'VARCHAR'" for p in partitions)
        query = f"SELECT * FROM read_parquet(?, hive_partitioning := true, hive_types := {{{kinds}}})"
        return _arrow(connection.execute(query, [f"{path}/**/*.parquet"]))


def _arrow(result: Any) -> pa.Table:
    # The name before DuckDB 1.4.
    return result.to_arrow_table() if hasattr(result, "to_arrow_table") else result.fetch_arrow_table()


def _quoted(name: str) -> str:
    return "'" + name.replace("'", "''") + "'"


def datafusion(path: str, partitions: list[str]) -> pa.Table:
    import datafusion as df

    columns = [(p, pa.string()) for p in partitions]
    frame = df.SessionContext().read_parquet(f"{path}/", table_partition_cols=columns)
    return pa.Table.from_batches(frame.collect(), schema=frame.schema())


_CLICKHOUSE = (
    # Bytes are asked for as bytes, because a ClickHouse String may hold any: see `_text`.
    "SETTINGS output_format_arrow_string_as_string = 0, session_timezone = 'UTC', schema_inference_make_columns_nullable = 1"
)


def clickhouse(path: str, partitions: list[str]) -> pa.Table:
    import chdb

    answer = chdb.query(f"SELECT * FROM file({_quoted(path + '/*.parquet')}, Parquet) {_CLICKHOUSE}", "Arrow")
    return _text(pa.ipc.open_file(pa.py_buffer(answer.bytes())).read_all())


def _text(table: pa.Table) -> pa.Table:
    """The table with each column of bytes that are all UTF-8 as text."""
    for i, f in enumerate(table.schema):
        try:
            table = table.set_column(i, f.with_type(_as_text(f.type)), table.column(i).cast(_as_text(f.type)))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            continue
    return table


def _as_text(t: pa.DataType) -> pa.DataType:
    if pa.types.is_binary(t):
        return pa.string()
    if pa.types.is_map(t):
        return pa.map_(_as_text(t.key_type), _as_text(t.item_type))
    if pa.types.is_list(t):
        return pa.list_(t.value_field.with_type(_as_text(t.value_type)))
    if pa.types.is_struct(t):
        return pa.struct([f.with_type(_as_text(f.type)) for f in t])
    return t


def fastparquet(path: str, partitions: list[str]) -> pa.Table:
    import fastparquet as fp

    frames = [fp.ParquetFile(os.path.join(path, n)).to_pandas() for n in sorted(os.listdir(path))]
    # One by one: pyarrow dies of a column in which a file's objects are times and another's are integers.
    return pa.concat_tables(
        [pa.Table.from_pandas(f, preserve_index=False) for f in frames], promote_options="permissive"
    )


def daft(path: str, partitions: list[str]) -> pa.Table:
    import daft as df

    return df.read_parquet(f"{path}/*.parquet").to_arrow()


def _spark(reader: str) -> Reader:
    def read(path: str, partitions: list[str]) -> pa.Table:
        from . import spark

        return spark.READERS[reader](path, partitions)

    return read


def hyparquet(path: str, partitions: list[str]) -> pa.Table:
    from . import hyparquet as js

    return js.read(path)


FLAT: dict[str, Reader] = {
    "pyarrow.dataset": pyarrow_dataset,
    "pyarrow.parquet": pyarrow_files,
    "pandas": pandas,
    "polars dir": polars_directory,
    "polars glob": polars_glob,
    "duckdb": duckdb,
    "datafusion": datafusion,
    "clickhouse": clickhouse,
    "fastparquet": fastparquet,
    "daft": daft,
    **{name: _spark(name) for name in bounds.SPARK},
    "hyparquet": hyparquet,
}


def run(job: dict[str, Any]) -> pa.Table:
    """The answer to one job."""
    if "do" in job:
        from . import spark_jobs

        return spark_jobs.JOBS[job["do"]](**job["arguments"])
    if "literals" in job:
        with pa.memory_map(job["literals"]) as source:
            return bounds.ASK[job["reader"]](job["path"], pa.ipc.open_file(source).read_all())
    return FLAT[job["reader"]](job["path"], job["partitions"])


def main() -> None:
    # Readers write to stdout as they please.
    done = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        job = json.loads(line)
        answer = os.path.join(job["out"], str(job["id"]))
        try:
            result = run(job)
            with pa.OSFile(f"{answer}.arrow", "wb") as sink, pa.ipc.new_file(sink, result.schema) as writer:
                writer.write_table(result)
        except BaseException as e:  # polars panics derive from BaseException
            if isinstance(e, (KeyboardInterrupt, SystemExit)):
                raise
            said = str(e)
            if "py4j" in sys.modules:
                from . import spark

                said = spark.reason(e)
            Path(f"{answer}.error").write_text(f"{type(e).__name__}: {said}")
        done.write(f"{job['id']}\n")
        done.flush()


if __name__ == "__main__":
    main()

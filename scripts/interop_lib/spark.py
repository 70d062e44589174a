"""Spark, in the process of a worker: a session of its own reads directories of Parquet files, asks and writes them.

`READERS` and `ASK` hold, by the names that `worker` and `bounds` know, the ways in which Spark reads Parquet: by its
vectorized reader; row by row, in another time zone; and by the DataSource V2 reader with splits through the middle of
files and bounds taken from footers. Filters are pushed down to parquet-java in each of them, which passes over row
groups and pages by statistics, page indexes, bloom filters and dictionaries. Needs scripts/requirements-spark.txt and
Java 17.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa

_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "2g",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.catalogImplementation": "in-memory",
    # The default of Spark 4. Spark 3 fails otherwise on old dates in files that it has not written.
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.int96RebaseModeInRead": "CORRECTED",
    # Directory names are text until somebody says what they are: 001 is not 1.
    "spark.sql.sources.partitionColumnTypeInference.enabled": "false",
}
# Times are the same in another zone, too.
_ROWS = {"spark.sql.parquet.enableVectorizedReader": "false", "spark.sql.session.timeZone": "America/Los_Angeles"}
_V2 = {
    "spark.sql.sources.useV1SourceList": "",
    "spark.sql.parquet.aggregatePushdown": "true",
    "spark.sql.parquet.mergeSchema": "true",
}
_SPLITS_OF_A_FILE = 5


@cache
def session() -> Any:
    """The session of this process, in UTC."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]").appName("deltafs")
    for key, value in _SETTINGS.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    return spark


def reason(error: BaseException) -> str:
    """Why Spark failed: the last cause of all, in one line."""
    text = str(error)
    causes = [line for line in text.splitlines() if line.startswith("Caused by:")]
    return " ".join((causes[-1] if causes else text).split())


@contextmanager
def settings(values: dict[str, str]) -> Iterator[Any]:
    """The session with other settings for the length of the block."""
    spark = session()
    before = {key: spark.conf.get(key, None) for key in values}
    for key, value in values.items():
        spark.conf.set(key, value)
    try:
        yield spark
    finally:
        for key, old in before.items():
            if old is None:
                spark.conf.unset(key)
            else:
                spark.conf.set(key, old)


def arrow(frame: Any) -> pa.Table:
    """The rows of a frame, also of Spark 3, which has no `toArrow`."""
    if hasattr(frame, "toArrow"):
        return frame.toArrow()
    from pyspark.sql.pandas.types import to_arrow_schema

    batches = frame._collect_as_arrow()
    return pa.Table.from_batches(batches) if batches else to_arrow_schema(frame.schema).empty_table()


def rows(path: str, more: dict[str, str]) -> pa.Table:
    """All rows of a directory of Parquet files."""
    with settings(more) as spark:
        return arrow(spark.read.parquet(f"file://{path}"))


def _splits(path: str) -> dict[str, str]:
    """The settings with which the largest file is read in parts. Spark reads a row group where its middle lies."""
    sizes = [f.stat().st_size for f in Path(path).rglob("*.parquet")]
    part = max(max(sizes, default=0) // _SPLITS_OF_A_FILE, 64)
    return {"spark.sql.files.maxPartitionBytes": str(part), "spark.sql.files.openCostInBytes": "0"}


READERS: dict[str, Callable[[str, list[str]], pa.Table]] = {
    "spark": lambda path, partitions: rows(path, {}),
    "spark rows": lambda path, partitions: rows(path, _ROWS),
    "spark v2": lambda path, partitions: rows(path, _V2 | _splits(path)),
}


# ---- questions that statistics answer --------------------------------------------------------------------------------


def _ask(more: Callable[[str], dict[str, str]]) -> Callable[[str, pa.Table], pa.Table]:
    def ask(path: str, asked: pa.Table) -> pa.Table:
        from .bounds import FILTERS, OPERATORS, key

        with settings(more(path)) as spark:
            spark.read.parquet(f"file://{path}").createOrReplaceTempView("t")
            names = ["`" + n.replace("`", "``") + "`" for n in asked.column_names]
            found = _bounds(spark, names)
            questions = {
                key(i, op, k): f"{n} {OPERATORS[op][0]} {literal(asked.column(i)[k])}"
                for i, n in enumerate(names)
                for op, k in FILTERS
            }
            # One job for all of them: each has a scan of its own, with its own filter pushed down.
            scans = [f"SELECT {i} q FROM t WHERE {where}" for i, where in enumerate(questions.values())]
            counted = arrow(spark.sql(f"SELECT q, count(*) n FROM ({' UNION ALL '.join(scans)}) GROUP BY q"))
            counts = dict(zip(*(c.to_pylist() for c in counted.columns), strict=True))
            for i, name in enumerate(questions):
                found = found.append_column(name, pa.array([counts.get(i, 0)], pa.int64()))
            return found

    return ask


def _bounds(spark: Any, names: list[str]) -> pa.Table:
    """The number of rows, and for each column of the view `t` that of its values and their bounds."""
    parts = [f"count({n}) `{i}.count`, min({n}) `{i}.min`, max({n}) `{i}.max`" for i, n in enumerate(names)]
    query = f"SELECT count(*) `*`, {', '.join(parts)} FROM t"
    try:
        return arrow(spark.sql(query))
    except Exception as e:
        # Of a row group without a value, or without statistics, Spark asks to be asked otherwise.
        if "No min/max found for Parquet file" not in str(e):
            raise
        with settings({"spark.sql.parquet.aggregatePushdown": "false"}):
            return arrow(spark.sql(query))


def literal(value: pa.Scalar) -> str:
    """A constant in Spark's SQL, of the type of the scalar."""
    t = value.type
    if pa.types.is_timestamp(t):
        micros = value.cast(pa.timestamp("us", t.tz)).value
        if t.tz:
            return f"timestamp_micros({micros})"
        days, rest = divmod(micros, 86_400_000_000)
        return (
            f"(TIMESTAMP_NTZ '1970-01-01' + make_dt_interval({days}, 0, 0, {rest // 1_000_000}.{rest % 1_000_000:06}))"
        )
    if pa.types.is_date(t):
        return f"date_from_unix_date({value.value})"
    if pa.types.is_decimal(t):
        return f"CAST('{value.as_py():f}' AS DECIMAL({t.precision},{t.scale}))"
    if pa.types.is_string(t):
        return f"CAST(X'{value.as_py().encode().hex()}' AS STRING)"
    names = {"int8": "TINYINT", "int16": "SMALLINT", "int32": "INT", "int64": "BIGINT", "float": "FLOAT"}
    return f"CAST('{value.as_py()!r}' AS {names.get(str(t), 'DOUBLE')})"


ASK: dict[str, Callable[[str, pa.Table], pa.Table]] = {
    "spark": _ask(lambda path: {}),
    "spark rows": _ask(lambda path: _ROWS),
    "spark v2": _ask(lambda path: _V2 | _splits(path)),
}

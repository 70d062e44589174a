"""What Spark is asked to do besides reading: `worker` calls these functions by name, in Spark's process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa

from . import spark

_DONE = pa.table({"done": [True]})


def write(
    source: str,
    path: str,
    mode: str = "error",
    partitions: list[str] | None = None,
    files: int = 2,
    settings: dict[str, str] | None = None,
    select: list[str] | None = None,
) -> pa.Table:
    """Writes the rows of a directory of Parquet files to another, through Spark's committer."""
    # What is read has to be what pyarrow wrote, whatever the settings are.
    with spark.settings({"spark.sql.session.timeZone": "UTC"}) as session:
        frame = session.read.parquet(f"file://{source}")
        frame = frame.selectExpr(*select) if select else frame
    with spark.settings(settings or {}):
        writer = frame.repartition(files).write.mode(mode)
        (writer.partitionBy(*partitions) if partitions else writer).parquet(f"file://{path}")
    return _DONE


def read(path: str, select: list[str] | None = None, settings: dict[str, str] | None = None) -> pa.Table:
    """The rows, or expressions over them, of a directory of Parquet files."""
    with spark.settings(settings or {}) as session:
        frame = session.read.parquet(f"file://{path}")
        return spark.arrow(frame.selectExpr(*select) if select else frame)


JOBS: dict[str, Callable[..., Any]] = {"write": write, "read": read}

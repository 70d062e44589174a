"""Child process that reads and writes Delta tables by Sail: `python -m interop_lib.sail DIRECTORY`.

One JSON job a line on stdin, one JSON answer a line on stdout, `{"error": ...}` where the job failed:
`{"do": "rows", "table": PATH, "version": 3, "out": FILE}` leaves the rows in an Arrow file,
`{"do": "counts", "table": PATH, "version": 3, "where": [...]}` answers how many rows each condition keeps,
`{"do": "append", "table": PATH, "file": FILE, "partitions": [...]}` appends the rows of a Parquet file. A process of its
own, because Sail's environment has packages that contradict those of the other readers.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import pyarrow as pa


def main() -> None:
    # Sail and its client write to stdout and stderr as they please.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    spark, server = _start()
    try:
        for line in sys.stdin:
            job = json.loads(line)
            try:
                answer = {"answer": _JOBS[job.pop("do")](spark, **job)}
            except Exception as e:
                answer = {"error": f"{type(e).__name__}: {' '.join(str(e).split())[:400]}"}
            answers.write(json.dumps(answer) + "\n")
            answers.flush()
    finally:
        server.stop()


def _start() -> tuple[Any, Any]:
    from pysail.spark import SparkConnectServer
    from pyspark.sql import SparkSession

    server = SparkConnectServer()
    server.start()
    _, port = server.listening_address
    spark = SparkSession.builder.remote(f"sc://localhost:{port}").getOrCreate()
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    return spark, server


def _frame(spark: Any, table: str, version: int) -> Any:
    return spark.read.format("delta").option("versionAsOf", version).load(table)


def _rows(spark: Any, table: str, version: int, out: str) -> int:
    rows = _frame(spark, table, version).toArrow()
    with pa.OSFile(out, "wb") as sink, pa.ipc.new_file(sink, rows.schema) as writer:
        writer.write_table(rows)
    return rows.num_rows


def _counts(spark: Any, table: str, version: int, where: list[str]) -> list[int]:
    frame = _frame(spark, table, version)
    return [frame.filter(condition).count() for condition in where]


def _append(spark: Any, table: str, file: str, partitions: list[str]) -> None:
    writer = spark.read.parquet(file).write.format("delta").mode("append")
    (writer.partitionBy(*partitions) if partitions else writer).save(table)


_JOBS = {"rows": _rows, "counts": _counts, "append": _append}


if __name__ == "__main__":
    main()

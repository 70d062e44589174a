"""What Spark writes into a staging directory: `df.write.parquet("/mnt/t/@staging/b1")`, then the commit."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from . import ways
from .children import JobFailed, ask
from .environments import SPARK
from .lab import Lab, actions
from .staged import Staged
from .writes_rows import KINDS, NEW, rows, schema

_TYPE = "spark.sql.parquet.outputTimestampType"
_LEGACY = {
    "spark.sql.parquet.datetimeRebaseModeInWrite": "LEGACY",
    "spark.sql.parquet.int96RebaseModeInWrite": "LEGACY",
}
_CORRECTED = {key: "CORRECTED" for key in _LEGACY}


def _by_spark(lab: Lab, settings: dict[str, str] | None = None, **arguments: Any) -> ways.Copy:
    """A way to fill a directory: Spark makes it, unless `mode` says that it is there."""
    # Today's calendar is the default of Spark 4.
    chosen = _CORRECTED | (settings or {})

    def copy(directory: Path, source: Path, rows: pa.Table) -> None:
        ask(SPARK, "write", lab.work, source=str(source), path=str(directory), settings=chosen, **arguments)

    return copy


def every_type(lab: Lab) -> None:
    """Rows of every type, with timestamps in each of the ways in which Spark stores them."""
    kinds = KINDS | NEW
    table = lab.create(schema(kinds))
    with lab.staged("spark: every type", table) as t:
        t.begin()
        for i, kind in enumerate(("INT96", "TIMESTAMP_MICROS")):
            t.append(rows(i * 100, 40, kinds), _by_spark(lab, settings={_TYPE: kind}, files=3))
        # A frame without rows is a file without rows: nothing is added.
        directory = t.stage(rows(400, 0, kinds), _by_spark(lab))
        answer = ways.fsync(directory, "")
        if lab.report.check(answer.errno == 0, t.name, f"no rows: {answer}: {t.status(directory)}"):
            t.grew(t.latest(), rows(400, 0, kinds))
        lab.check(t)


def old_form(lab: Lab) -> None:
    """Lists named as Hive named them, and decimals of fixed length, as Spark writes them with `writeLegacyFormat`."""
    kinds = KINDS | NEW
    table = lab.create(schema(kinds))
    with lab.staged("spark: old form", table) as t:
        t.begin()
        settings = {"spark.sql.parquet.writeLegacyFormat": "true", _TYPE: "TIMESTAMP_MICROS"}
        t.append(rows(300, 20, kinds), _by_spark(lab, settings=settings))
        lab.check(t, {"polars-deltalake": "!decimals of fixed length with nulls make it panic"})


def partitions(lab: Lab) -> None:
    """`partitionBy`, with values that are null, and texts that cannot stand in names as they are."""
    kinds = {n: (KINDS | NEW)[n] for n in ("id", "i16", "dec9", "flag", "text", "day", "ts", "ntz")}
    for columns in (["day"], ["text", "i16"], ["flag", "dec9"], ["ts"], ["ntz"]):
        table = lab.create(schema(kinds), partition_by=columns)
        with lab.staged(f"spark: partitionBy {columns}", table) as t:
            t.begin()
            t.append(_no_empty(rows(0, 24, kinds)), _by_spark(lab, partitions=columns))
            # The columns in the files, as Spark writes them without `partitionBy`.
            t.append(_no_empty(rows(100, 8, kinds)), _by_spark(lab))
            lab.check(t)


def _no_empty(batch: pa.Table) -> pa.Table:
    """The empty text is null as a partition value, with Spark and in Delta."""
    texts = ["(empty)" if v == "" else v for v in batch.column("text").to_pylist()]
    return batch.set_column(batch.column_names.index("text"), "text", pa.array(texts, pa.string()))


def modes(lab: Lab) -> None:
    """Spark appends to a directory that is there, and overwrites what it holds; `_SUCCESS` and `.crc` are no rows."""
    kinds = {n: KINDS[n] for n in ("id", "text", "day")}
    table = lab.create(schema(kinds))
    with lab.staged("spark: modes", table) as t:
        t.begin()
        first, second, third = (rows(n, 8, kinds) for n in (0, 10, 20))
        for mode, expected in (("append", pa.concat_tables([first, second])), ("overwrite", second)):
            directory = t.stage(first, _by_spark(lab))
            source = lab.place()
            pq.write_table(second, source / "x.parquet")
            _by_spark(lab, mode=mode)(directory, source, second)
            names = sorted(os.listdir(directory))
            lab.report.check("_SUCCESS" in names, t.name, f"{mode}: Spark left {names}")
            answer = ways.fsync(directory, "")
            reason = t.status(directory)
            if lab.report.check(answer.errno == 0, t.name, f"{mode}: {answer}: {reason}"):
                t.grew(t.latest(), expected)
        t.overwrite(third, _by_spark(lab))
        lab.check(t)
        added = [a["path"] for v in t.states for a in actions(table, v, "add")]
        wrong = [p for p in added if not p.endswith(".parquet")]
        lab.report.check(not wrong, t.name, f"files were added that are none: {wrong}")


def unfinished(lab: Lab) -> None:
    """While Spark's `_temporary` is there, its job is not done: nothing is committed, and the reason says so."""
    kinds = {n: KINDS[n] for n in ("id", "text")}
    table = lab.create(schema(kinds))
    with lab.staged("spark: unfinished", table) as t:
        t.begin()
        batch = rows(0, 8, kinds)
        directory = t.stage(batch, _by_spark(lab))
        attempt = directory / "_temporary" / "0" / "_temporary" / "attempt_1"
        attempt.mkdir(parents=True)
        (attempt / "part-1.parquet").write_bytes(b"PAR1")
        _refused(lab, t, directory, "_temporary")
        ways.script('rm -r "$1"/_temporary', directory)
        answer = ways.fsync(directory, "")
        lab.report.check(answer.errno == 0, t.name, f"after _temporary is gone: {answer}: {t.status(directory)}")
        t.grew(1, batch)
        lab.check(t)


def refused(lab: Lab) -> None:
    """What cannot be a row of the table is refused with file and column: nulls, other types, the old calendar."""
    kinds = {n: KINDS[n] for n in ("id", "i32", "day", "ts")}
    table = lab.create(schema(kinds, required=("i32",)))
    with lab.staged("spark: refused", table) as t:
        t.begin()
        good = rows(0, 8, kinds, plain=True)
        t.append(good, _by_spark(lab))  # nullable to Spark, without a null
        null = good.set_column(1, "i32", pa.array([None] * 8, pa.int32()))
        _refused(lab, t, t.stage(null, _by_spark(lab)), "i32")
        for select, column in (
            (["id", "cast(i32 as bigint) i32", "day", "ts"], "i32"),
            (["id", "i32", "cast(day as string) day", "ts"], "day"),
            (["id", "i32", "day", "cast(ts as timestamp_ntz) ts"], "ts"),
            (["id", "i32", "day", "ts", "1 more"], "more"),
        ):
            _refused(lab, t, t.stage(good, _by_spark(lab, select=select)), column)
        for column, value in (("day", "date'1500-01-01'"), ("ts", "timestamp'1500-01-01 00:00:00'")):
            select = [value + " " + n if n == column else n for n in kinds]
            legacy = _LEGACY | {_TYPE: "TIMESTAMP_MICROS"}
            _refused(lab, t, t.stage(good, _by_spark(lab, select=select, settings=legacy)), column)
        # Recent ones are the same in either.
        t.append(good, _by_spark(lab, settings=_LEGACY | {_TYPE: "TIMESTAMP_MICROS"}))
        t.append(good, _by_spark(lab, settings=_LEGACY | {_TYPE: "INT96"}))
        lab.check(t)


def _refused(lab: Lab, t: Staged, directory: Path, told: str) -> None:
    before = t.latest()
    answer = ways.fsync(directory, "")
    error = t.status(directory).get("error") or {}
    what = f"{t.name}: {told}"
    lab.report.check(answer.errno == errno.EINVAL, what, f"{answer}, expected EINVAL: {json.dumps(error)[:300]}")
    lab.report.check(told in str(error.get("message")), what, f"the reason does not name it: {json.dumps(error)[:300]}")
    lab.report.check(t.latest() == before, what, f"made version {t.latest()}")


def variants(lab: Lab) -> None:
    """Spark 4.1 shreds variants unless told not to, which a table has to allow; it reads both from the mount."""
    kinds = {"id": "long", "v": "variant"}
    select = ["id", """parse_json(concat('{"a": ', id, ', "b": [null, "x"]}')) v"""]
    ids = rows(0, 8, {"id": "long"})
    shown = sorted((i, i, f'{{"a":{i},"b":[null,"x"]}}') for i in range(8))
    unshredded = {"spark.sql.variant.writeShredding.enabled": "false"}
    for properties in ({}, {"delta.enableVariantShredding": "true"}):
        table = lab.create(schema(kinds), properties=properties)
        with lab.staged(f"spark: variants {list(properties)}", table) as t:
            if not properties:
                _refused(lab, t, t.stage(ids, _by_spark(lab, select=select)), "column v")
            for settings in [{}, unshredded] if properties else [unshredded]:
                t.commit(ids, _by_spark(lab, select=select, settings=settings))
                path = str(t.mountpoint / f"@v{t.latest()}")
                asked = ["id", "variant_get(v, '$.a', 'bigint') a", "to_json(v) j"]
                for vectorized in ("true", "false"):
                    reader = {"spark.sql.parquet.enableVectorizedReader": vectorized}
                    got = ask(SPARK, "read", lab.work, path=path, select=asked, settings=reader)
                    have = sorted(zip(*(c.to_pylist() for c in got.columns), strict=True))
                    what = f"{t.name}@v{t.latest()}: Spark, vectorized {vectorized}"
                    lab.report.check(have == sorted(shown * t.latest()), what, f"{have[:2]}, {len(have)} rows")


def on_a_version(lab: Lab) -> None:
    """Spark pointed at a version directory, in any mode, fails and changes nothing."""
    kinds = {n: KINDS[n] for n in ("id", "text")}
    table = lab.create(schema(kinds))
    with lab.staged("spark: on a version", table) as t:
        t.begin()
        t.append(rows(0, 8, kinds))
        source = lab.place()
        pq.write_table(rows(10, 8, kinds), source / "x.parquet")
        for where in ("@latest", "@v1", "", "new"):
            for mode in ("append", "overwrite"):
                try:
                    _by_spark(lab, mode=mode)(t.mountpoint / where, source, rows(10, 8, kinds))
                    lab.report.fail(t.name, f"Spark could write to {where or 'the mountpoint'} ({mode})")
                except JobFailed:
                    lab.report.ok()
        lab.report.check(t.latest() == 1, t.name, f"made version {t.latest()}")
        lab.check(t)


CASES = {
    "spark: every type": every_type,
    "spark: old form": old_form,
    "spark: partitionBy": partitions,
    "spark: modes": modes,
    "spark: unfinished": unfinished,
    "spark: refused": refused,
    "spark: variants": variants,
    "spark: on a version": on_a_version,
}

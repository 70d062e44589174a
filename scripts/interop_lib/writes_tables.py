"""Tables of every type and partitioning, staged in every way."""

from __future__ import annotations

import datetime as dt
import json
import os
import shutil
from decimal import Decimal
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq

from . import ways
from .lab import Lab, actions
from .replay import Log
from .writes_rows import KINDS, NEW, rows, schema

# What every writer of `ways.WRITERS` writes as what it is.
_COMMON = {
    n: KINDS[n] for n in ("id", "flag", "i8", "i16", "i32", "f32", "f64", "dec9", "dec18", "text", "bytes", "day", "ts")
}


def every_way(lab: Lab) -> None:
    """Each way to bring files, each way to commit; then the log before the checkpoint goes."""
    table = lab.create(rows(0, 3, _COMMON))
    with lab.staged("every way", table) as t:
        t.begin()
        first = 0
        triggers = ways.triggers(lab.deltafs.binary)
        copies = {**ways.COPIES, **ways.WRITERS}
        if shutil.which("rsync") is None:
            del copies["rsync"]
        for name, copy in copies.items():
            t.append(rows(first, 20, _COMMON), copy)
            first += 100
        for trigger in triggers.values():
            t.append(rows(first, 5, _COMMON), trigger=trigger, userMetadata=f"rows from {first}")
            first += 100
        two = rows(first, 10, _COMMON)
        t.append(two, files={"a.parquet": two.slice(0, 4), "b.parquet": two.slice(4)})
        newest = max(t.states)
        said = actions(table, newest - 1, "commitInfo")[0].get("userMetadata")
        lab.report.check(said == f"rows from {first - 100}", t.name, f"userMetadata is {said!r}")
        whole = dict(t.states)
        # All versions by one reader; the first, the one of the checkpoint and the newest by each.
        t.states = {v: r for v, r in whole.items() if v in (0, 1, 10, newest)}
        lab.check(t)
        t.states = whole
    _cleaned(lab, table, whole)


def _cleaned(lab: Lab, table: Path, states: dict[int, pa.Table]) -> None:
    """Without the commits that its checkpoint stands for, the table reads the same."""
    checkpoints = sorted(Log(table).checkpoints())
    what = f"writes/every way: {table}"
    if not lab.report.check(
        bool(checkpoints) and checkpoints[-1] >= 10, what, f"checkpoints {checkpoints}, expected 10"
    ):
        return
    last = checkpoints[-1]
    hint = json.loads((table / "_delta_log" / "_last_checkpoint").read_text())
    lab.report.check(hint["version"] == last, what, f"_last_checkpoint is {hint}, expected version {last}")
    for version, path in Log(table).commits.items():
        if version < last:
            path.unlink()
    for pattern in ("*.crc", "*.checkpoint.parquet"):
        for path in (table / "_delta_log").glob(pattern):
            if int(path.name[:20]) < last:
                path.unlink()
    with lab.staged("cleaned", table) as t:
        t.states = {v: r for v, r in states.items() if v >= last}
        t.append(rows(9000, 4, _COMMON))
        shown = sorted(n for n in os.listdir(t.mountpoint) if n.startswith("@v"))
        wanted = sorted(f"@v{v}" for v in t.states)
        lab.report.check(shown == wanted, what, f"the mount shows {shown}, expected {wanted}")
        lab.check(t)


def types(lab: Lab) -> None:
    """Every type at its edges, with nulls."""
    table = lab.create(schema(KINDS))
    with lab.staged("types", table) as t:
        t.begin()
        for first in (0, 1000):
            t.append(rows(first, 60, KINDS))
        nothing = rows(2000, 2, KINDS).slice(0, 0)
        t.append(nothing)
        nulls = pa.table({n: pa.nulls(3, rows(0, 1, KINDS).schema.field(n).type) for n in KINDS})
        t.append(nulls)
        plain = rows(3000, 2000, KINDS, plain=True)
        t.append(plain, files={f"{i}.parquet": plain.slice(i * 500, 500) for i in range(4)})
        lab.check(t)


def without_zone(lab: Lab) -> None:
    """F32: timestamps without zone need a table feature, which the new table lists in full."""
    kinds = {"id": "long", **NEW}
    table = lab.create(rows(0, 1, kinds))
    protocol = actions(table, 0, "protocol")[0]
    right = protocol["minReaderVersion"] == 3 and protocol["minWriterVersion"] == 7
    right = right and "timestampNtz" in protocol["readerFeatures"] and "timestampNtz" in protocol["writerFeatures"]
    lab.report.check(right, "writes/without zone", f"the protocol is {protocol}")
    with lab.staged("without zone", table) as t:
        t.begin()
        t.append(rows(0, 50, kinds))
        fine = pa.table({"id": pa.array([1, 2], pa.int64()), "ntz": pa.array([1_000, -5_000], pa.timestamp("ns"))})
        t.append(fine)
        lab.check(t)


def conversions(lab: Lab) -> None:
    """F14, F15: files of other types whose values are all values of the table's types."""
    kinds = {n: KINDS[n] for n in ("id", "i16", "i32", "f64", "dec18", "text", "bytes", "day", "ts")}
    table = lab.create(schema(kinds))
    utc = pa.timestamp("us", "UTC")
    moments = pa.array([0, 1_234_567_890_123_456, None], utc)
    id3 = pa.array([1, 2, 3], pa.int64())
    batches: dict[str, pa.Table] = {
        "nanoseconds": pa.table({"id": id3, "ts": moments.cast(pa.timestamp("ns", "UTC"))}),
        "milliseconds": pa.table({"id": id3, "ts": pa.array([0, -1, None], pa.timestamp("ms", "UTC"))}),
        "another zone": pa.table({"id": id3, "ts": moments.cast(pa.timestamp("us", "Europe/Berlin"))}),
        "narrower": pa.table(
            {
                "id": pa.array([1, -2, None], pa.int32()),
                "i16": pa.array([-128, 127, None], pa.int8()),
                "i32": pa.array([-9, 9, None], pa.int16()),
            }
        ),
        "unsigned": pa.table(
            {
                "id": pa.array([0, 2**32 - 1, None], pa.uint32()),
                "i16": pa.array([0, 255, None], pa.uint8()),
                "i32": pa.array([0, 65535, None], pa.uint16()),
            }
        ),
        "unsigned that fit": pa.table({"id": pa.array([0, 2**63 - 1, 5], pa.uint64())}),
        "dictionary": pa.table({"id": id3, "text": pa.array(["a", None, "b"]).dictionary_encode()}),
        "large": pa.table(
            {
                "id": id3,
                "text": pa.array(["a", None, "b"], pa.large_string()),
                "bytes": pa.array([b"", None, b"x"], pa.large_binary()),
            }
        ),
        "null columns": pa.table({"id": id3, "text": pa.nulls(3), "ts": pa.nulls(3), "dec18": pa.nulls(3)}),
        "smaller decimals": pa.table(
            {"id": id3, "dec18": pa.array([Decimal("-1.25"), None, Decimal("9")], pa.decimal128(5, 2))}
        ),
        "other order": rows(50, 5, kinds).select(list(reversed(kinds))),
        "missing columns": rows(60, 5, {"id": "long"}),
    }
    with lab.staged("conversions", table) as t:
        t.begin()
        for name, batch in batches.items():
            try:
                t.append(batch)
            except Exception as e:
                raise type(e)(f"{name}: {e}") from e

        # F15: INT96, which Spark writes.
        def int96(directory: Path, source: Path, content: pa.Table) -> None:
            directory.mkdir()
            pq.write_table(content, directory / "x.parquet", use_deprecated_int96_timestamps=True)

        t.append(pa.table({"id": id3, "ts": moments}), int96)
        for options in (
            {"compression": "zstd", "version": "1.0"},
            {"compression": "gzip", "data_page_version": "2.0"},
            {"compression": "none", "use_dictionary": False, "write_statistics": False},
            {"compression": "brotli", "row_group_size": 3},
            {"compression": "lz4", "store_schema": False},
        ):

            def encoded(directory: Path, source: Path, content: pa.Table, options: Any = options) -> None:
                directory.mkdir()
                pq.write_table(content, directory / "x.parquet", **options)

            t.append(rows(len(t.states) * 100, 10, kinds), encoded)
        lab.check(t)


# ---- partitions ------------------------------------------------------------------------------------------------------

_PARTITIONS: dict[str, Any] = {
    "p_text": "string",
    "p_long": "long",
    "p_int": "integer",
    "p_short": "short",
    "p_byte": "byte",
    "p_flag": "boolean",
    "p_dec": "decimal(9,2)",
    "p_double": "double",
    "p_float": "float",
    "p_day": "date",
    "p_ts": "timestamp",
}


def _partitioned_rows(first: int, count: int) -> pa.Table:
    """Few different values in each partition column, null among them."""
    ids = range(first, first + count)
    texts = ["a", "b c", None, "ä/ö"]
    base = dt.datetime(2024, 2, 29, 23, 59, 59, 123456)
    pick = {
        "p_text": [texts[i % 4] for i in ids],
        "p_long": [None if i % 5 == 0 else -(i % 3) for i in ids],
        "p_int": [i % 2 for i in ids],
        "p_short": [7] * count,
        "p_byte": [-7] * count,
        "p_flag": [None, True, False][first % 3 : first % 3 + 1] * count,
        "p_dec": [Decimal("-1.50")] * count,
        "p_double": [0.1] * count,
        "p_float": [-2.5] * count,
        "p_day": [dt.date(1969, 12, 31)] * count,
        "p_ts": [base if i % 2 else None for i in ids],
    }
    kinds = {
        "p_dec": pa.decimal128(9, 2),
        "p_double": pa.float64(),
        "p_float": pa.float32(),
        "p_ts": pa.timestamp("us", "UTC"),
    }
    kinds |= {
        "p_long": pa.int64(),
        "p_int": pa.int32(),
        "p_short": pa.int16(),
        "p_byte": pa.int8(),
        "p_flag": pa.bool_(),
    }
    columns: dict[str, pa.Array] = {"id": pa.array(ids, pa.int64())}
    for name, values in pick.items():
        columns[name] = pa.array(values, kinds.get(name, pa.date32() if name == "p_day" else pa.string()))
    return pa.table({**columns, "v": pa.array([f"v{i}" for i in ids])})


def partitions(lab: Lab) -> None:
    """Partition columns of every type: from columns in the file, which is split, and from one directory each."""
    names = list(_PARTITIONS)
    table = lab.create(schema({"id": "long", **_PARTITIONS, "v": "string"}), partition_by=names)
    with lab.staged("partitions", table) as t:
        t.begin()
        for first in (0, 61, 122):
            batch = _partitioned_rows(first, 30)
            version = t.append(batch)
            added = len(actions(table, version, "add"))
            wanted = len({tuple(row[n] for n in names) for row in batch.to_pylist()})
            lab.report.check(added == wanted, t.name, f"version {version} adds {added} files, expected {wanted}")
        t.append(_partitioned_rows(200, 10), _hive(names))
        lab.check(t)


def _hive(names: list[str]) -> ways.Copy:
    """Directories as Spark writes them, without the partition columns in the files."""

    def copy(directory: Path, source: Path, content: pa.Table) -> None:
        directory.mkdir()
        for number, row in enumerate(content.to_pylist()):
            where = directory.joinpath(*(f"{quote(n, safe='')}={_directory_value(row[n])}" for n in names))
            where.mkdir(parents=True, exist_ok=True)
            pq.write_table(content.slice(number, 1).drop_columns(names), where / f"{number}.parquet")

    return copy


def _directory_value(value: Any) -> str:
    if value is None:
        return "__HIVE_DEFAULT_PARTITION__"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dt.datetime):
        return quote(value.strftime("%Y-%m-%d %H:%M:%S.%f"), safe=" ")
    return quote(str(value), safe=" -.")


def partition_writers(lab: Lab) -> None:
    """Directories made by DuckDB, pyarrow, pandas and polars; the same with the columns in the files too."""
    names = ["p", "n"]
    table = lab.create(schema({"id": "long", "p": "string", "n": "integer"}), partition_by=names)

    def batch(first: int) -> pa.Table:
        ids = range(first, first + 8)
        texts = ["a", "b c", "x=y", None]
        return pa.table(
            {
                "id": pa.array(ids, pa.int64()),
                "p": pa.array([texts[i % 4] for i in ids]),
                "n": pa.array([None if i % 3 == 0 else i % 2 for i in ids], pa.int32()),
            }
        )

    with lab.staged("partition writers", table) as t:
        t.begin()
        copies = [
            ways.duckdb_partitions(names),
            ways.duckdb_partitions(names, written=True),
            ways.pyarrow_partitions(names),
            ways.pandas_partitions(names),
            ways.polars_partitions(names),
        ]
        for number, copy in enumerate(copies):
            t.append(batch(number * 10), copy)
        lab.check(t)


# A2, A4, A5, A12: what comes back is what was staged, byte by byte. The empty text is a null partition value.
_HARD = [chr(i) for i in range(32, 127)]
_HARD += [
    "/a",
    "a/",
    "A/A",
    "B B",
    "x:y",
    "x%3Ay",
    "é",
    "\U0001f980",
    "a\tb",
    "a\nb",
    " lead",
    "trail ",
    "..",
    ".",
    "a.",
    "\x7f",
    "",
    None,
]
_HARD += ["__HIVE_DEFAULT_PARTITION", "null", "true", "0x10", "'quoted'", '"', "100%", "%41", "c:\\d", "~", "é"]


def partition_texts(lab: Lab) -> None:
    """Every character of ASCII, slashes, colons, percent signs, emoji in partition values."""
    table = lab.create(schema({"id": "long", "p": "string"}), partition_by=["p"])
    content = pa.table({"id": pa.array(range(len(_HARD)), pa.int64()), "p": pa.array(_HARD)})
    read = pa.table({"id": content["id"], "p": pa.array([v or None for v in _HARD])})
    with lab.staged("partition texts", table) as t:
        t.begin()
        version = t.commit(content)
        t.grew(version, read)
        values = [a["partitionValues"]["p"] for a in actions(table, version, "add")]
        wanted = sorted((v for v in set(_HARD) if v), key=str)
        lab.report.check(
            sorted(v for v in values if v is not None) == wanted, t.name, f"partitionValues {sorted(map(str, values))}"
        )
        # A directory per value, as Hive escapes them.
        some = pa.table({"id": pa.array([1000, 1001, 1002], pa.int64()), "p": pa.array(["x:y", "100%", None])})
        t.append(some, _hive(["p"]))
        lab.check(t)


CASES = {
    "every way": every_way,
    "types": types,
    "without zone": without_zone,
    "conversions": conversions,
    "partitions": partitions,
    "partition writers": partition_writers,
    "partition texts": partition_texts,
}

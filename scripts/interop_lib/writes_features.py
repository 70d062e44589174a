"""Tables whose features ask something of writers: column mapping, deletion vectors, timestamps, row ids, constraints."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable, Schema

from make_tables_lib.handmade import field, mapped

from . import ways
from .environments import ROOT
from .lab import Lab, actions
from .oracles import kernel_rows
from .replay import Log
from .staged import Staged
from .writes_rows import KINDS, rows, schema

_PLAIN = {"id": "long", "s": "string", "x": "double"}


def mapped_by_name(lab: Lab) -> None:
    """Columns mapped by name, by delta-rs; columns are then renamed by hand, over files of the old names."""
    table = lab.place() / "table"
    DeltaTable.create(
        str(table),
        schema=Schema.from_arrow(rows(0, 1, _PLAIN).schema),
        configuration={
            "delta.columnMapping.mode": "name",
            "delta.minReaderVersion": "2",
            "delta.minWriterVersion": "5",
        },
    )
    with lab.staged("mapped by name", table) as t:
        t.begin()
        t.append(rows(0, 20, _PLAIN))
        t.append(rows(100, 20, _PLAIN), ways.duckdb_copy)
        _rename_column(table, "s", "renamed s")
        t.became(2 + 1, t.now().rename_columns(["id", "renamed s", "x"]))
        t.append(rows(200, 5, _PLAIN).rename_columns(["id", "renamed s", "x"]))
        lab.check(t)


def _rename_column(table: Path, old: str, new: str) -> None:
    log = Log(table)
    metadata = json.loads(json.dumps(log.snapshot(log.latest()).metadata))
    columns = json.loads(metadata["schemaString"])
    next(f for f in columns["fields"] if f["name"] == old)["name"] = new
    metadata["schemaString"] = json.dumps(columns)
    info = {"commitInfo": {"timestamp": 1, "operation": "RENAME COLUMN", "operationParameters": {}}}
    path = log.dir / f"{log.latest() + 1:020}.json"
    path.write_text(json.dumps(info) + "\n" + json.dumps({"metaData": metadata}) + "\n")


def mapped_by_id(lab: Lab) -> None:
    """Columns mapped by id, nested ones and a partition column too; physical names are told by nobody but the log."""
    inner = {
        "type": "struct",
        "fields": [mapped("a", "long", 4, "col-4"), mapped("b", "string", 5, "col-5")],
    }
    fields = [
        mapped("id", "long", 1, "col-1"),
        mapped("region name", "string", 2, "col-2"),
        mapped("deep", inner, 3, "col-3"),
        mapped("f", "float", 6, "col-6"),
    ]
    config = {"delta.columnMapping.mode": "id", "delta.columnMapping.maxColumnId": "6"}
    made = lab.handmade()
    made.commit(made.protocol(features=["columnMapping"]), made.metadata(fields, ["region name"], config))

    def batch(first: int) -> pa.Table:
        ids = range(first, first + 6)
        return pa.table(
            {
                "id": pa.array(ids, pa.int64()),
                "region name": pa.array([[None, "N O", "S"][i % 3] for i in ids]),
                "deep": pa.array([None if i % 4 == 0 else {"a": i, "b": f"b{i}"} for i in ids]),
                "f": pa.array([i / 2 for i in ids], pa.float32()),
            }
        )

    with lab.staged("mapped by id", made.root) as t:
        t.begin()
        t.append(batch(0))
        t.append(batch(10), ways.duckdb_partitions(["region name"]))
        t.append(batch(20), ways.polars)
        values = {k for a in actions(made.root, 1, "add") for k in a["partitionValues"]}
        lab.report.check(values == {"col-2"}, t.name, f"partitionValues are keyed by {values}, expected col-2")
        lab.check(t, {"duckdb": "!NULL for mapped partition columns"})


def deletion_vectors(lab: Lab) -> None:
    """Deletion vectors are live: rows are appended beside them, files with them rewritten, and all overwritten."""
    table = _made(lab, "deletion-vectors")
    with lab.staged("deletion vectors", table) as t:
        newest = t.latest()
        t.begin(kernel_rows(table, newest))
        kinds = {"id": "long", "item": "string", "price": "double"}
        t.append(rows(5000, 10, kinds))
        lab.check(t)
    again = _made(lab, "deletion-vectors")
    # The last commit takes all vectors back.
    (again / "_delta_log" / f"{Log(again).latest():020}.json").unlink()
    with lab.staged("deletion vectors live", again) as t:
        newest = t.latest()
        state = Log(again).snapshot(newest)
        lab.report.check(any(f.dv_id for f in state.files.values()), t.name, "no deletion vector is live")
        t.begin(kernel_rows(again, newest))
        kinds = {"id": "long", "item": "string", "price": "double"}
        t.append(rows(5000, 10, kinds))
        vectors = {f["name"] for f in lab.deltafs.files(f"{again}@v{newest}") if f["deletionVector"]}
        gone = sorted(vectors & {p.name for p in (t.mountpoint / f"@v{newest}").iterdir()})
        live = t.states[newest]
        version = t.commit(live, options={"remove": gone, "dataChange": False})
        t.became(version, t.now())
        removes = actions(again, version, "remove")
        lab.report.check(
            all(r.get("deletionVector") for r in removes) and len(removes) == len(gone),
            t.name,
            f"B2: {len(removes)} removes for {len(gone)} files with deletion vectors: {removes}",
        )
        t.overwrite(rows(7000, 3, kinds))
        lab.check(t)


def _made(lab: Lab, recipe: str) -> Path:
    """A table of `make_tables.py`."""
    place = lab.place() / "made"
    command = [sys.executable, str(ROOT / "scripts" / "make_tables.py"), str(place), recipe]
    subprocess.run(command, check=True, timeout=60, capture_output=True)
    return place / recipe


def in_commit_timestamps(lab: Lab) -> None:
    """Each commit carries a time that is later than the one before, also where that one lies in the future."""
    table = lab.create(schema(_PLAIN), properties={"delta.enableInCommitTimestamps": "true"})
    with lab.staged("in-commit timestamps", table) as t:
        t.begin()
        for first in range(0, 40, 10):
            t.append(rows(first, 5, _PLAIN))
        times = [actions(table, v, "commitInfo")[0]["inCommitTimestamp"] for v in range(t.latest() + 1)]
        lab.report.check(sorted(set(times)) == times, t.name, f"the times {times} do not increase")
        first = [next(Log(table).actions(v))[0] for v in range(t.latest() + 1)]
        lab.report.check(set(first) == {"commitInfo"}, t.name, f"commits begin with {first}")
        lab.check(t)
    future = _made(lab, "in-commit-timestamps")
    log = Log(future)
    last = log.commits[log.latest()]
    lines = [json.loads(line) for line in last.read_text().splitlines()]
    lines[0]["commitInfo"]["inCommitTimestamp"] = 4_102_444_800_000  # the year 2100
    last.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with lab.staged("in-commit timestamp of the future", future) as t:
        newest = t.latest()
        t.begin(kernel_rows(future, newest))
        version = t.append(rows(900, 5, {"id": "long", "item": "string", "price": "double"}))
        time = actions(future, version, "commitInfo")[0]["inCommitTimestamp"]
        lab.report.check(time > 4_102_444_800_000, t.name, f"the time {time} is not after the one before")
        lab.check(t)


def row_tracking(lab: Lab) -> None:
    """Row ids are given out without gap or overlap, and the high-water mark follows."""
    table = lab.create(schema(_PLAIN), properties={"delta.enableRowTracking": "true"})
    with lab.staged("row tracking", table) as t:
        t.begin()
        two = rows(0, 10, _PLAIN)
        t.append(two, files={"a.parquet": two.slice(0, 4), "b.parquet": two.slice(4)})
        t.append(rows(100, 7, _PLAIN))
        t.overwrite(rows(200, 3, _PLAIN))
        ids: list[int] = []
        for version in range(1, t.latest() + 1):
            for add in actions(table, version, "add"):
                count = json.loads(add["stats"])["numRecords"]
                base, at = add.get("baseRowId"), add.get("defaultRowCommitVersion")
                if not lab.report.check(isinstance(base, int), t.name, f"version {version} has baseRowId {base}"):
                    return
                ids += range(base, base + count)
                lab.report.check(at == version, t.name, f"defaultRowCommitVersion {at} in version {version}")
            domains = {d["domain"]: json.loads(d["configuration"]) for d in actions(table, version, "domainMetadata")}
            mark = domains.get("delta.rowTracking", {}).get("rowIdHighWaterMark")
            lab.report.check(
                mark == max(ids), t.name, f"version {version}: high-water mark {mark}, expected {max(ids)}"
            )
        lab.report.check(sorted(ids) == list(range(20)), t.name, f"row ids {sorted(ids)}, expected 0 to 19")
        lab.check(t)


def constraints(lab: Lab) -> None:
    """F10: CHECK constraints, NOT NULL, invariants and generated columns hold for what is committed."""
    made = lab.handmade()
    invariant = json.dumps({"expression": {"expression": "x < 1000"}})
    fields = [
        field("id", "long", nullable=False),
        field("s", "string"),
        field("x", "double", **{"delta.invariants": invariant}),
        field("twice", "long", **{"delta.generationExpression": "id * 2"}),
    ]
    config = {"delta.constraints.id_positive": "id > 0", "delta.constraints.s_known": "s IS NULL OR s IN ('a', 'b')"}
    made.commit(made.protocol(1, 4), made.metadata(fields, configuration=config))

    def batch(ids: list[int | None], s: Any = "a", x: float | None = 1.0, twice: list[int] | None = None) -> pa.Table:
        columns: dict[str, Any] = {
            "id": pa.array(ids, pa.int64()),
            "s": pa.array([s] * len(ids), pa.string()),
            "x": pa.array([x] * len(ids), pa.float64()),
        }
        if twice is not None:
            columns["twice"] = pa.array(twice, pa.int64())
        return pa.table(columns)

    with lab.staged("constraints", made.root) as t:
        t.begin()
        version = t.commit(batch([1, 2]))
        t.grew(version, batch([1, 2], twice=[2, 4]))
        t.append(batch([3], s=None, twice=[6]))
        for what, bad, column in (
            ("CHECK", batch([5, -1]), None),
            ("CHECK of a text", batch([5], s="c"), None),
            ("NOT NULL", batch([5, None]), "id"),
            ("NOT NULL of a missing column", batch([5]).drop_columns(["id"]), "id"),
            ("invariant", batch([5], x=1000.0), None),
            ("invariant of null, which is not true", batch([5], x=None), None),
            ("generated", batch([5], twice=[11]), None),
        ):
            refused(lab, t, what, bad, 22, "x.parquet", column)
        lab.check(t)


def refused(
    lab: Lab,
    t: Staged,
    what: str,
    rows: pa.Table,
    number: int,
    file: str | None = None,
    column: str | None = None,
    **options: Any,
) -> dict[str, Any]:
    """A batch is refused with an errno, which `.status` has too, with the file and column; nothing is committed."""
    before, directory = t.latest(), t.stage(rows)
    answer = ways.fsync(directory, json.dumps(options) if options else "")
    status = t.status(directory)
    error, label = status.get("error") or {}, f"{t.name}: {what}"
    lab.report.check(answer.errno == number, label, f"fsync answers {answer}, expected errno {number}; {status}")
    good = status["state"] == "failed" and error.get("errno") == number and error.get("message")
    lab.report.check(bool(good), label, f".status is {status}")
    if file is not None:
        lab.report.check(error.get("file") == file, label, f".status blames file {error.get('file')}, expected {file}")
    if column is not None:
        lab.report.check(
            error.get("column") == column, label, f".status blames {error.get('column')}, expected {column}"
        )
    lab.report.check(t.latest() == before, label, f"made version {t.latest()}")
    staged = sorted(p.name for p in directory.iterdir())
    lab.report.check("x.parquet" in staged, label, f"the staged file is gone: {staged}")
    return status


def append_only(lab: Lab) -> None:
    """Rows can be added, and rearranged; not removed (EPERM)."""
    table = lab.create(schema(_PLAIN), properties={"delta.appendOnly": "true"})
    with lab.staged("append-only", table) as t:
        t.begin()
        t.append(rows(0, 5, _PLAIN))
        t.append(rows(10, 5, _PLAIN))
        refused(lab, t, "overwrite", rows(20, 5, _PLAIN), 1, mode="overwrite")
        names = sorted(p.name for p in (t.mountpoint / "@latest").iterdir())
        refused(lab, t, "remove", rows(20, 5, _PLAIN), 1, remove=names[:1])
        version = t.commit(t.now(), options={"remove": names, "dataChange": False})
        t.became(version, t.now())
        lab.check(t)


def change_data_feed(lab: Lab) -> None:
    """Appends and overwrites need no change files; a rewrite does, so it is refused (EOPNOTSUPP)."""
    table = lab.create(schema(_PLAIN), properties={"delta.enableChangeDataFeed": "true"})
    with lab.staged("change data feed", table) as t:
        t.begin()
        t.append(rows(0, 5, _PLAIN))
        names = sorted(p.name for p in (t.mountpoint / "@latest").iterdir())
        refused(lab, t, "rewrite", rows(20, 5, _PLAIN), 95, remove=names)
        t.overwrite(rows(30, 5, _PLAIN))
        lab.check(t)
        kinds = ["_change_type", "_commit_version"]
        feed = pa.table(DeltaTable(str(table)).load_cdf(starting_version=0).read_all()).select(kinds).to_pylist()
        told = sorted((r["_commit_version"], r["_change_type"]) for r in feed)
        wanted = sorted([(1, "insert")] * 5 + [(2, "delete")] * 5 + [(2, "insert")] * 5)
        lab.report.check(told == wanted, t.name, f"delta-rs reads the changes {told}, expected {wanted}")


def v2_checkpoints(lab: Lab) -> None:
    """Checkpoints of the second kind, and many of them."""
    properties = {"delta.checkpointPolicy": "v2", "delta.checkpointInterval": "3"}
    table = lab.create(schema({**_PLAIN, "p": "string"}), partition_by=["p"], properties=properties)
    protocol = actions(table, 0, "protocol")[0]
    lab.report.check(
        "v2Checkpoint" in protocol.get("writerFeatures", []), "writes/v2 checkpoints", f"protocol {protocol}"
    )
    kinds = {**_PLAIN, "p": "string"}
    with lab.staged("v2 checkpoints", table) as t:
        t.begin()
        for first in range(0, 70, 10):
            t.append(rows(first, 6, kinds).set_column(3, "p", pa.array(["a", "b", None] * 2)))
    log = Log(table)
    made = sorted(log.checkpoints())
    if not lab.report.check(made == [3, 6], t.name, f"checkpoints {made}, expected 3 and 6"):
        return
    names = [p.name for files in log.checkpoints().values() for p in files[0]]
    lab.report.check(
        all(len(n.split(".")) == 4 for n in names), t.name, f"checkpoints {names}, expected UUIDs in their names"
    )
    for version, path in log.commits.items():
        if version < 6:
            path.unlink()
    with lab.staged("v2 checkpoints, cleaned", table) as again:
        again.states = {v: r for v, r in t.states.items() if v >= 6}
        again.append(rows(900, 3, kinds).set_column(3, "p", pa.array(["a", "new", None])))
        lab.check(again)


def struct_statistics(lab: Lab) -> None:
    """Statistics of checkpoints as columns, not as text: data skipping goes by them."""
    properties = {
        "delta.checkpoint.writeStatsAsStruct": "true",
        "delta.checkpoint.writeStatsAsJson": "false",
        "delta.checkpointInterval": "2",
    }
    kinds = {n: KINDS[n] for n in ("id", "i32", "f64", "dec18", "text", "long_text", "day", "ts")}
    table = lab.create(schema({**kinds, "p": "date"}), partition_by=["p"], properties=properties)
    with lab.staged("struct statistics", table) as t:
        t.begin()
        for first in (0, 100):
            t.append(rows(first, 20, {**kinds, "p": "date"}))
    made = sorted(Log(table).checkpoints())
    lab.report.check(made == [2], t.name, f"checkpoints {made}, expected 2")
    for version in (0, 1):
        (table / "_delta_log" / f"{version:020}.json").unlink()
    with lab.staged("struct statistics, cleaned", table) as again:
        again.states = {2: t.states[2]}
        lab.check(again)


def indexed_columns(lab: Lab) -> None:
    """`delta.dataSkippingNumIndexedCols` and `delta.dataSkippingStatsColumns` say which columns have statistics."""
    kinds = {f"c{i}": "long" for i in range(40)}
    content = pa.table({n: pa.array([1, 2], pa.int64()) for n in kinds})
    for properties, wanted in (
        ({}, 32),
        ({"delta.dataSkippingNumIndexedCols": "2"}, 2),
        ({"delta.dataSkippingNumIndexedCols": "-1"}, 40),
        ({"delta.dataSkippingStatsColumns": "c3,c39"}, 2),
    ):
        table = lab.create(schema(kinds), properties=properties)
        with lab.staged(f"indexed columns {properties}", table) as t:
            t.begin()
            version = t.append(content)
            stats = json.loads(actions(table, version, "add")[0]["stats"])
            lab.report.check(stats["numRecords"] == 2, t.name, f"statistics {stats}")
            for key in ("minValues", "maxValues", "nullCount"):
                have = len(stats.get(key, {}))
                lab.report.check(have == wanted, t.name, f"{key} of {have} columns, expected {wanted}")


def statistics(lab: Lab) -> None:
    """F20, F23, F24, F25: bounds only where they are certain, valid JSON whatever is in the file."""
    kinds = {"f": "double", "n": "double", "b": "binary", "i": "integer", "t": "string", "p": "integer"}
    table = lab.create(schema(kinds), partition_by=["p"])
    content = pa.table(
        {
            "f": pa.array([1.0, float("inf")]),
            "n": pa.array([float("nan"), float("nan")]),
            "b": pa.array([b"x" * 1_000_000, None]),
            "i": pa.array([1, None], pa.int32()),
            "t": pa.array(["z" * 5000, "\U0010ffff" * 40]),
            "p": pa.array([3, 3], pa.int32()),
        }
    )
    with lab.staged("statistics", table) as t:
        t.begin()
        version = t.append(content)
        text = actions(table, version, "add")[0]["stats"]
        stats = json.loads(text, parse_constant=lambda c: lab.report.fail(t.name, f"{c} stands in the statistics"))
        lab.report.check(len(text) < 2000, t.name, f"statistics of {len(text)} bytes")
        low, high, nulls = stats.get("minValues", {}), stats.get("maxValues", {}), stats.get("nullCount", {})
        lab.report.check("n" not in low and "n" not in high, t.name, f"bounds of NaN: {stats}")
        lab.report.check("b" not in low and "b" not in high, t.name, "bounds of bytes")
        lab.report.check(low.get("i") == 1 and nulls.get("i") == 1, t.name, f"[1, null] has the minimum {low.get('i')}")
        lab.report.check("p" not in low and "p" not in nulls, t.name, f"statistics of the partition column: {stats}")
        lab.report.check(high.get("f") in (None, "Infinity"), t.name, f"maximum {high.get('f')} of [1, inf]")
        lab.check(t)


CASES = {
    "mapped by name": mapped_by_name,
    "mapped by id": mapped_by_id,
    "deletion vectors": deletion_vectors,
    "in-commit timestamps": in_commit_timestamps,
    "row tracking": row_tracking,
    "constraints": constraints,
    "append-only": append_only,
    "change data feed": change_data_feed,
    "v2 checkpoints": v2_checkpoints,
    "struct statistics": struct_statistics,
    "indexed columns": indexed_columns,
    "statistics": statistics,
}

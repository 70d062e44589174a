"""Other writers beside deltafs: they append to its tables, it appends to theirs, and their commits conflict or do not."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable, write_deltalake

from . import ways
from .lab import Lab, actions
from .oracles import kernel_rows
from .replay import Log
from .staged import Staged
from .writes_rows import KINDS, rows, schema

_KINDS = {n: KINDS[n] for n in ("id", "flag", "i32", "f64", "dec18", "text", "bytes", "day", "ts")}


def appends(lab: Lab) -> None:
    """deltalake, and Sail where it takes part, append to a table of deltafs, and it appends after them."""
    for partitions in ([], ["day"]):
        table = lab.create(schema(_KINDS), partition_by=partitions)
        with lab.staged(f"appends by others {partitions}", table) as t:
            t.begin()
            t.append(_batch(0))
            _by_delta_rs(t, 100)
            t.append(_batch(200))
            if lab.sail is not None:
                file = t.mountpoint.parent / "sail.parquet"
                pq.write_table(_batch(300), file)
                lab.sail.append(table, file, partitions)
                t.grew(t.latest(), _batch(300))
                t.append(_batch(400))
            DeltaTable(str(table)).optimize.compact()
            t.became(t.latest(), t.now())
            DeltaTable(str(table)).create_checkpoint()
            t.append(_batch(500))
            lab.check(t)


def _batch(first: int) -> pa.Table:
    part = rows(first, 8, _KINDS)
    days = pa.array([None if i % 4 == 0 else 19000 + i % 2 for i in range(8)], pa.int32()).cast(pa.date32())
    return part.set_column(part.column_names.index("day"), "day", days)


def _by_delta_rs(t: Staged, first: int) -> None:
    write_deltalake(str(t.table), _batch(first), mode="append")
    t.grew(t.latest(), _batch(first))


def of_delta_rs(lab: Lab) -> None:
    """Tables that delta-rs made, with a life behind them."""
    table = lab.place() / "table"
    uri = str(table)
    write_deltalake(uri, _batch(0), partition_by=["day"])
    write_deltalake(uri, _batch(10), mode="append")
    DeltaTable(uri).delete("id = 3")
    DeltaTable(uri).create_checkpoint()
    with lab.staged("made by delta-rs", table) as t:
        t.begin(kernel_rows(table, t.latest()))
        t.append(_batch(20))
        DeltaTable(uri).update(updates={"i32": "7"}, predicate="id = 21")
        t.became(t.latest(), kernel_rows(table, t.latest()))
        t.append(_batch(30), ways.duckdb_partitions(["day"]))
        lab.check(t)


def conflicts(lab: Lab) -> None:
    """What another writer commits between `mkdir` and fsync: what conflicts is ESTALE with Delta's name, the rest is not."""
    kinds = {"id": "long", "p": "string"}

    def batch(first: int, p: str = "a") -> pa.Table:
        return pa.table({"id": pa.array([first, first + 1], pa.int64()), "p": pa.array([p, p])})

    def fresh(name: str) -> tuple[Staged, str]:
        table = lab.create(schema(kinds), partition_by=["p"])
        return lab.staged(f"conflicts: {name}", table), str(table)

    def outcome(t: Staged, directory: Path, options: dict[str, object], name: str | None) -> None:
        before = t.latest()
        answer = ways.fsync(directory, json.dumps(options))
        status = t.status(directory)
        if name is None:
            lab.report.check(answer.errno == 0 and t.latest() == before + 1, t.name, f"{answer}: {status}")
            return
        have = (status.get("error") or {}).get("name")
        lab.report.check(
            answer.errno == errno.ESTALE and have == name, t.name, f"{answer}, {have}, expected ESTALE and {name}"
        )
        lab.report.check(t.latest() == before, t.name, f"made version {t.latest()}")

    overwrite: dict[str, object] = {"mode": "overwrite"}
    only_a: dict[str, object] = {"mode": "overwrite", "replaceWhere": "p = 'a'"}
    serializable: dict[str, object] = {"isolationLevel": "Serializable"}
    numbered: dict[str, object] = {"txnAppId": "app", "txnVersion": 8, "readVersion": 3}
    for name, options, winner, expected in (
        ("F4 append, compaction", {}, "compact", None),
        ("append, append", {}, "append", None),
        ("append, delete", {}, "delete", None),
        ("overwrite, blind append", overwrite, "blind append", None),
        ("overwrite, append that may have read", overwrite, "append", "ConcurrentAppend"),
        ("overwrite, blind append, serializable", overwrite | serializable, "blind append", "ConcurrentAppend"),
        ("F2 overwrite, overwrite", only_a, "overwrite a", "ConcurrentAppend"),
        ("overwrite, overwrite elsewhere", only_a, "overwrite b", None),
        ("overwrite, update", overwrite, "delete", "ConcurrentAppend"),
        ("overwrite, delete", overwrite, "delete all of b", "ConcurrentDeleteRead"),
        ("overwrite, delete elsewhere", only_a, "delete all of b", None),
        ("append, new column", {}, "column", None),
        ("append at a version, new column", {"readVersion": 3}, "column", "MetadataChanged"),
        ("numbered, numbered", {"txnAppId": "app", "txnVersion": 8}, "txn", None),
        ("numbered at a version, numbered", numbered, "txn", "ConcurrentTransaction"),
        ("numbered, the same", {"txnAppId": "app", "txnVersion": 7}, "txn", "again"),
    ):
        mount, uri = fresh(name)
        with mount as t:
            t.begin()
            for first, p in ((0, "a"), (10, "a"), (20, "b")):
                t.append(batch(first, p))
            directory = t.stage(batch(100))
            if winner == "blind append":
                t.append(batch(50))
            else:
                _win(uri, winner, batch)
            if expected == "again":
                answer, status = ways.fsync(directory, json.dumps(options)), t.status(directory)
                good = answer.errno == 0 and status.get("alreadyApplied") and status["version"] == 4
                lab.report.check(bool(good) and t.latest() == 4, t.name, f"{answer}: {status}")
            else:
                outcome(t, directory, options, expected)


def _win(uri: str, winner: str, batch: object) -> None:
    from deltalake import CommitProperties, Transaction

    make = batch  # (first, partition) -> rows
    if winner == "compact":
        DeltaTable(uri).optimize.compact()
    elif winner == "append":
        write_deltalake(uri, make(50), mode="append")
    elif winner == "delete":
        DeltaTable(uri).delete("id = 0")
    elif winner == "delete all of b":
        DeltaTable(uri).delete("p = 'b'")
    elif winner in ("overwrite a", "overwrite b"):
        p = winner[-1]
        write_deltalake(uri, make(60, p), mode="overwrite", predicate=f"p = '{p}'")
    elif winner == "column":
        wide = make(50).append_column("more", pa.array([1, 2], pa.int64()))
        write_deltalake(uri, wide, mode="append", schema_mode="merge")
    else:
        properties = CommitProperties(app_transactions=[Transaction("app", 7)])
        write_deltalake(uri, make(50), mode="append", commit_properties=properties)


def creators(lab: Lab) -> None:
    """F7: of several who create one table at once, one does, and the others are told of it."""
    place = lab.place()
    (place / "schema.json").write_text(json.dumps(schema(_KINDS)))
    results: list[int] = []

    def create() -> None:
        command = [str(lab.deltafs.binary), "create", str(place / "table"), "--schema", str(place / "schema.json")]
        results.append(subprocess.run(command, capture_output=True, timeout=60, check=False).returncode)

    threads = [threading.Thread(target=create) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    lab.report.check(sorted(results) == [0, 3, 3, 3, 3, 3], "writes/creators", f"exit codes {sorted(results)}")
    versions = list(Log(place / "table").commits)
    lab.report.check(versions == [0], "writes/creators", f"versions {versions}")
    lab.report.check(len(actions(place / "table", 0, "metaData")) == 1, "writes/creators", "no metaData")


_APPEND = """
import sys, deltalake, pyarrow
deltalake.write_deltalake(sys.argv[1], pyarrow.table({"id": pyarrow.array([1], pyarrow.int64())}), mode="append")
"""


def delta_rs_on_the_mount(lab: Lab) -> None:
    """F30: delta-rs, pointed at the mount in place of the table, is told EROFS, and leaves nothing behind."""
    table = lab.create(schema(_KINDS))
    with lab.staged("delta-rs on the mount", table) as t:
        t.begin()
        t.append(_batch(0))
        before = sorted(os.listdir(table))
        for where in ("", "@latest", f"@v{t.latest()}"):
            what = f"{t.name}: {where or 'the mountpoint'}"
            # In a child: delta-rs panics besides, and says so on standard error.
            done = subprocess.run(
                [sys.executable, "-c", _APPEND, str(t.mountpoint / where)], capture_output=True, text=True, timeout=60
            )
            lab.report.check(done.returncode != 0, what, "delta-rs could write there")
            good = "Read-only file system" in done.stderr or "os error 30" in done.stderr
            lab.report.check(good, what, f"the reason is not EROFS: {done.stderr[-600:]}")
        lab.report.check(
            sorted(os.listdir(table)) == before, t.name, f"left {sorted(set(os.listdir(table)) - set(before))}"
        )
        lab.report.check(t.latest() == 1, t.name, f"made version {t.latest()}")
        t.append(_batch(20))
        lab.check(t)


CASES = {
    "appends by others": appends,
    "made by delta-rs": of_delta_rs,
    "conflicts": conflicts,
    "creators": creators,
    "delta-rs on the mount": delta_rs_on_the_mount,
}

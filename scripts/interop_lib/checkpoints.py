"""Checkpoints that deltafs writes, as other people's readers see them.

Each table is copied, its readers are asked what the newest version holds, deltafs writes a checkpoint of that version,
all of the log before it is deleted, and the readers are asked again. Every answer must be the same: our plain replay
(with pyarrow), delta-rs, DuckDB and delta-kernel.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from . import oracles
from .golden import ORACLES_KEEP_REMOVED_FILES
from .replay import Log, ReplayError, Snapshot
from .report import Report, shorten
from .rows import row_differences
from .tables import Case
from .truth import KERNEL_ROWS_WRONG

TIMEOUT = 60
HEADERS = ["table", "files", "replay", "delta-rs", "duckdb", "kernel", "note"]

# The features that a legacy writer version stands for (PROTOCOL.md, "Writer Version Requirements").
_BY_WRITER_VERSION = [
    (2, ["appendOnly", "invariants"]),
    (3, ["checkConstraints"]),
    (4, ["changeDataFeed", "generatedColumns"]),
    (5, ["columnMapping"]),
    (6, ["identityColumns"]),
]

# Answers that differ before and after, form by form, and why the one after is as right or righter.
_EXPECTED = {
    ("made/partition-columns-only", "struct", "delta-rs"): "no numRecords where `stats_parsed` has no columns beside it",
}


@dataclass
class Checked:
    """One line of the overview: how many forms of checkpoint which reader confirmed."""

    table: str
    files: int = 0
    by: Counter = field(default_factory=Counter)
    note: str = ""

    def row(self) -> list[object]:
        readers = ("replay", "delta-rs", "duckdb", "kernel")
        return [self.table, self.files, *(self.by[reader] for reader in readers), self.note]


def run(case: Case, program: Path, report: Report, scratch: Path) -> Checked:
    """All forms of checkpoint of one table."""
    checked = Checked(case.name)
    if case.refused is not None or case.may_refuse is not None:
        checked.note = "not readable"
        return checked
    for form, prepare in FORMS.items():
        copy = scratch / form
        shutil.copytree(case.path, copy, symlinks=True)
        what = f"{case.name}: {form} checkpoint"
        try:
            prepare(copy)
            _check(what, form, copy, program, report, checked)
        except ReplayError as e:
            report.fail(what, f"replay: {e}")
        except subprocess.TimeoutExpired:
            report.fail(what, f"not written after {TIMEOUT} s")
        finally:
            shutil.rmtree(copy, ignore_errors=True)
    return checked


def _check(what: str, form: str, table: Path, program: Path, report: Report, checked: Checked) -> None:
    version = Log(table).latest()
    before = _answers(table, version)
    done = subprocess.run(
        [str(program), str(table)], capture_output=True, text=True, timeout=TIMEOUT, check=False
    )
    if not report.check(done.returncode == 0, what, f"not written: {done.stderr.strip()[-400:]}"):
        return
    _forget_before(table, version)
    _check_form(what, form, table, version, report)
    after = _answers(table, version)
    snapshot = before["replay"]
    checked.files = len(snapshot.files)
    for reader, wanted in before.items():
        got = after[reader]
        if isinstance(wanted, oracles.Refused):
            continue  # what a reader cannot read before, it need not read after
        if reader != "replay" and checked.table in ORACLES_KEEP_REMOVED_FILES:
            continue  # they keep files that the checkpoint rightly does not have
        if reader == "kernel" and checked.table in KERNEL_ROWS_WRONG or (checked.table, form, reader) in _EXPECTED:
            continue
        differences = _differences(snapshot, wanted, got)
        if report.check(not differences, f"{what}: {reader}", shorten(differences)):
            checked.by[reader.split()[0]] += reader in ("replay", "delta-rs", "duckdb rows", "kernel")


# ---- what readers say ----------------------------------------------------------------------------------------------


def _answers(table: Path, version: int) -> dict[str, Any]:
    """By reader; `Refused` where it does not read the table."""
    snapshot = Log(table).snapshot(version)
    return {
        "replay": snapshot,
        "delta-rs": _ask(lambda: sorted(oracles.deltalake_files(table, version), key=lambda f: f.path)),
        "duckdb files": _ask(lambda: sorted(oracles.duckdb_files(table, version), key=lambda f: f.path)),
        "duckdb rows": _ask(lambda: oracles.duckdb_rows(table, version)),
        "duckdb filter": _ask(lambda: oracles.duckdb_counts(table, version, _comparable(snapshot))),
        "kernel": _ask(lambda: oracles.kernel_rows(table, version)),
    }


def _ask(question: Callable[[], Any]) -> Any:
    try:
        return question()
    except oracles.Refused as e:
        return e


def _comparable(snapshot: Snapshot) -> list[str]:
    """Columns by which readers skip files. Not partition columns with floats: DuckDB takes 0.0 and -0.0 for one value,
    and finds either in the middle."""
    fields = (snapshot.schema or {"fields": []})["fields"]
    floats = [f["name"] for f in fields if f["type"] in ("float", "double")]
    fields = [f for f in fields if f["name"] not in floats or f["name"] not in snapshot.partition_columns]
    simple = ("byte", "short", "integer", "long", "float", "double", "string", "date", "timestamp")
    return [f["name"] for f in fields if f["type"] in simple or str(f["type"]).startswith("decimal")]


def _differences(snapshot: Snapshot, wanted: Any, got: Any) -> list[object]:
    if isinstance(got, oracles.Refused):
        return [f"refused: {got}"]
    if isinstance(wanted, Snapshot):
        parts = ("protocol", "metadata", "files", "txns", "domains")
        # A checkpoint has columns for absent fields.
        pairs = [(part, _without_nulls(getattr(wanted, part)), _without_nulls(getattr(got, part))) for part in parts]
        return [f"{part}: {str(b)[:200]}, expected {str(a)[:200]}" for part, a, b in pairs if a != b]
    if isinstance(wanted, list):
        # A reader that does not find the statistics of the checkpoint before may find those of ours.
        pairs = [(a, replace(b, num_records=None) if a.num_records is None else b) for a, b in zip(wanted, got)]
        return [f"{b}, expected {a}" for a, b in pairs if a != b] + (
            [f"{len(got)} files, expected {len(wanted)}"] if len(wanted) != len(got) else []
        )
    if isinstance(wanted, dict):
        return [f"{k}: {got.get(k)}, expected {v}" for k, v in wanted.items() if got.get(k) != v]
    schema = snapshot.schema
    return list(row_differences(schema, wanted, got)) if schema else []


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _without_nulls(v) for k, v in value.items() if v not in (None, {})}
    return value


# ---- forms ---------------------------------------------------------------------------------------------------------


def _commit(table: Path, change: Callable[[dict[str, Any], dict[str, Any]], None]) -> None:
    """Commits another protocol and metadata."""
    log = Log(table)
    newest = log.latest()
    snapshot = log.snapshot(newest)
    protocol, metadata = _plain(snapshot.protocol), _plain(snapshot.metadata)
    metadata.setdefault("configuration", {})
    change(protocol, metadata)
    info: dict[str, Any] = {"operation": "SET TBLPROPERTIES", "operationParameters": {}}
    if snapshot.configuration.get("delta.enableInCommitTimestamps") == "true":
        info["inCommitTimestamp"] = 4_102_444_800_000
    lines = [{"commitInfo": info}, {"protocol": protocol}, {"metaData": metadata}]
    path = table / "_delta_log" / f"{newest + 1:020}.json"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


def _plain(action: dict[str, Any]) -> dict[str, Any]:
    return json.loads(json.dumps({k: v for k, v in action.items() if v is not None}))


def _classic(table: Path) -> None:
    def change(_: dict[str, Any], metadata: dict[str, Any]) -> None:
        metadata["configuration"].pop("delta.checkpointPolicy", None)

    if Log(table).snapshot(Log(table).latest()).configuration.get("delta.checkpointPolicy"):
        _commit(table, change)


def _struct(table: Path) -> None:
    def change(_: dict[str, Any], metadata: dict[str, Any]) -> None:
        metadata["configuration"]["delta.checkpoint.writeStatsAsStruct"] = "true"
        metadata["configuration"]["delta.checkpoint.writeStatsAsJson"] = "false"
        metadata["configuration"].pop("delta.checkpointPolicy", None)

    _commit(table, change)


def _v2(table: Path) -> None:
    def change(protocol: dict[str, Any], metadata: dict[str, Any]) -> None:
        reader, writer = protocol["minReaderVersion"], protocol["minWriterVersion"]
        features = set(protocol.get("writerFeatures") or [])
        for since, names in _BY_WRITER_VERSION:
            if since <= writer < 7:
                features.update(names)
        readers = set(protocol.get("readerFeatures") or [])
        if reader == 2:
            readers.add("columnMapping")
            features.add("columnMapping")
        protocol.update(
            minReaderVersion=3,
            minWriterVersion=7,
            readerFeatures=sorted(readers | {"v2Checkpoint"}),
            writerFeatures=sorted(features | {"v2Checkpoint"}),
        )
        metadata["configuration"]["delta.checkpointPolicy"] = "v2"

    _commit(table, change)


FORMS: dict[str, Callable[[Path], None]] = {"classic": _classic, "struct": _struct, "v2": _v2}


def _forget_before(table: Path, version: int) -> None:
    """Deletes all of the log but the checkpoint of `version`, its commit file, and the pointer."""
    log = table / "_delta_log"
    pointer = json.loads((log / "_last_checkpoint").read_text(encoding="utf-8"))
    name = (pointer.get("v2Checkpoint") or {}).get("path", f"{version:020}.checkpoint.parquet")
    kept = {name, f"{version:020}.json", "_last_checkpoint"}
    for entry in list(os.scandir(log)):
        if entry.is_file() and entry.name not in kept:
            os.unlink(entry.path)
    sidecars = log / "_sidecars"
    if sidecars.is_dir():
        rows = pq.ParquetFile(log / name).read().to_pylist(maps_as_pydicts="strict")
        referred = {row["sidecar"]["path"] for row in rows if row.get("sidecar")}
        for path in sidecars.iterdir():
            if path.name not in referred:
                path.unlink()


def _check_form(what: str, form: str, table: Path, version: int, report: Report) -> None:
    """That it is the form asked for."""
    names = [n for n in os.listdir(table / "_delta_log") if ".checkpoint." in n]
    uuid = rf"{version:020}\.checkpoint\.[0-9a-f-]{{36}}\.parquet"
    pattern = uuid if form == "v2" else rf"{version:020}\.checkpoint\.parquet"
    good = len(names) == 1 and re.fullmatch(pattern, names[0])
    report.check(bool(good), what, f"found {names}")

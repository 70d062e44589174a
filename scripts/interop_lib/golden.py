"""File lists, details, histories and times of `deltafs`, against a replay of the log and against other libraries.

For every version that the log can rebuild, four parties list the live files: our own plain replay (from every
possible starting point), delta-rs, DuckDB's delta extension, and `deltafs`. The replay is the reference, because it
alone knows deletion vector ids; the libraries check the replay wherever they answer.
"""

from __future__ import annotations

import datetime as dt
import json
import posixpath
import re
import struct
import subprocess
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import oracles
from .product import Deltafs, Failed
from .replay import Log, LogicalFile, ReplayError, Snapshot, decode_path, ranges
from .report import Report, shorten
from .tables import Case

# delta-kernel compares paths by their bytes, so that `file:/x` does not remove `/x`, nor `a b` the file `a%20b`. Delta
# on Spark compares decoded, canonical paths; the first two tables come with the statement that no file is left.
ORACLES_KEEP_REMOVED_FILES = {
    "canonicalized-paths-normal-a": 1,
    "canonicalized-paths-special-b": 1,
    "made/names-escaped": 2,
}


@dataclass
class Compared:
    """One line of the overview: how many versions of a table which oracle confirmed."""

    table: str
    versions: int = 0
    files: int = 0
    starts: int = 0
    by: Counter = field(default_factory=Counter)
    note: str = ""

    def row(self) -> list[object]:
        return [self.table, self.versions, self.files, self.starts, self.by["delta-rs"], self.by["duckdb"], self.note]


HEADERS = ["table", "versions", "files", "replays", "delta-rs", "duckdb", "note"]


def run(case: Case, deltafs: Deltafs, report: Report) -> Compared:
    """All checks of this module on one table."""
    compared = Compared(case.name)
    try:
        if case.refused is not None:
            _check_refused(case, deltafs, report, compared)
        else:
            _check_table(case, deltafs, report, compared)
    except subprocess.TimeoutExpired as e:
        report.fail(case.name, f"no answer after {e.timeout:.0f} s: {' '.join(map(str, e.cmd))}")
    return compared


# ---- refusals ------------------------------------------------------------------------------------------------------


def _check_refused(case: Case, deltafs: Deltafs, report: Report, compared: Compared) -> None:
    assert case.refused is not None
    compared.note = "must be refused"
    if not case.kernel_accepts:
        theirs = oracles.kernel_refusal(case.path, None)
        report.check(theirs is not None, f"{case.name}: oracle", "delta-kernel opens a table that is here as broken")
    _expect_failure(report, f"{case.name}: files", case.refused, deltafs.files, case.path)
    # `detail` helps to find out what is wrong, so it may answer, if it says that the table cannot be read and why.
    what = f"{case.name}: detail"
    try:
        unreadable = deltafs.detail(case.path).get("unreadable")
    except Failed as e:
        _refused_for(report, what, case.refused, e)
    else:
        good = isinstance(unreadable, str) and bool(re.search(case.refused, unreadable))
        report.check(good, what, f"answers without `unreadable` speaking of /{case.refused}/: {unreadable!r}")


def _expect_failure(report: Report, what: str, pattern: str, command: Any, *arguments: Any) -> None:
    try:
        answer = command(*arguments)
    except Failed as e:
        _refused_for(report, what, pattern, e)
        return
    report.fail(what, f"accepted, expected a refusal that speaks of /{pattern}/; got {str(answer)[:120]}")


def _refused_for(report: Report, what: str, pattern: str, error: Failed) -> None:
    text = error.stderr.strip()
    report.check(error.code == 1, what, f"refused with exit code {error.code}, expected 1: {text}")
    report.check(bool(re.search(pattern, text)), what, f"the refusal does not speak of /{pattern}/: {text!r}")


# ---- one good table ------------------------------------------------------------------------------------------------


def _check_table(case: Case, deltafs: Deltafs, report: Report, compared: Compared) -> None:
    log = Log(case.path)
    versions = log.rebuildable()
    if not report.check(bool(versions), case.name, "the replay can rebuild no version of a table that is here as good"):
        return
    names: dict[str, tuple[Any, ...]] = {}
    for version in versions:
        what = f"{case.name}@v{version}"
        try:
            replays = [log.snapshot(version, start=s) for s in log.starts(version)]
        except ReplayError as e:
            report.fail(f"{what}: replay", str(e))
            continue
        snapshot = replays[-1]
        compared.versions += 1
        compared.files += len(snapshot.files)
        compared.starts += len(replays)
        for other in replays[:-1]:
            report.check(
                _same_state(other, snapshot), f"{what}: replay", "commits and checkpoint tell different states"
            )
        _check_oracles(case, snapshot, report, compared)
        _check_files(case, snapshot, deltafs, report, names)
        _check_detail(case, log, snapshot, deltafs, report)
    _check_bounds(case, log, versions, deltafs, report)
    _check_history(case, log, deltafs, report)
    _check_times(case, log, versions, deltafs, report)


def _same_state(a: Snapshot, b: Snapshot) -> bool:
    def facts(s: Snapshot) -> Any:
        # Statistics may be in the commits alone or in the checkpoint alone.
        files = {(f.key, f.size, f.modification_time, f.partition_values) for f in s.files.values()}
        protocol = {k: sorted(v) if isinstance(v, list) else v for k, v in s.protocol.items() if v is not None}
        return files, protocol, s.schema, s.configuration, s.partition_columns, s.txns, s.domains

    return facts(a) == facts(b)


def _check_oracles(case: Case, snapshot: Snapshot, report: Report, compared: Compared) -> None:
    if ORACLES_KEEP_REMOVED_FILES.get(case.name) == snapshot.version:
        compared.note = "delta-kernel keeps a removed file here"
        return
    what = f"{case.name}@v{snapshot.version}"
    files = list(snapshot.files.values())
    try:
        theirs = oracles.deltalake_files(case.path, snapshot.version)
    except oracles.Refused as e:
        compared.note = f"delta-rs: {str(e)[:60]}"
    else:
        compared.by["delta-rs"] += 1
        # It reads the number of records from JSON statistics only.
        known = {f.path for f in theirs if f.num_records is not None}
        a = Counter((f.path, f.size, f.modification_time, f.num_records if f.path in known else None) for f in files)
        b = Counter((f.path, f.size, f.modification_time, f.num_records) for f in theirs)
        _compare_lists(report, f"{what}: replay against delta-rs", a, b)
    try:
        listed = oracles.duckdb_files(case.path, snapshot.version)
    except oracles.Refused as e:
        compared.note = f"duckdb: {str(e)[:60]}"
    else:
        compared.by["duckdb"] += 1
        mapped = snapshot.column_mapping  # then DuckDB's partition values are NULL, a known fault
        a = Counter(
            (f.path, f.dv_cardinality or 0, () if mapped else _spelled(snapshot, f.partition_values)) for f in files
        )
        b = Counter(
            (f.path, f.deleted_rows, () if mapped else _spelled(snapshot, f.partition_values or ())) for f in listed
        )
        _compare_lists(report, f"{what}: replay against duckdb", a, b)


def _spelled(snapshot: Snapshot, values: tuple[tuple[str, str | None], ...]) -> tuple[tuple[str, str], ...]:
    """Partition values in one spelling: DuckDB's where it writes anew, for null, an instant with its zone, a float."""
    types = {f["name"]: f["type"] for f in (snapshot.schema or {"fields": []})["fields"]}

    def spell(name: str, value: str | None) -> str:
        if not value:
            return "NULL"  # the empty string is null too
        if types.get(name) in ("float", "double") and value != "NULL":
            number = float(value)
            # DuckDB writes as few digits as tell a float from its neighbours.
            return repr(struct.unpack("f", struct.pack("f", number))[0] if types[name] == "float" else number)
        if types.get(name) == "timestamp" and value != "NULL" and not re.search(r"[+-]\d\d$", value):
            return re.sub(r"(\.\d*?)0*Z?$", r"\1", value.replace("T", " ")).removesuffix("Z") + "+00"
        return value

    return tuple((n, spell(n, v)) for n, v in values)


def _compare_lists(report: Report, what: str, wanted: Counter, got: Counter) -> None:
    lost, extra = list((wanted - got).elements()), list((got - wanted).elements())
    report.check(
        wanted == got, what, f"{len(lost)} missing: {shorten(lost)}; {len(extra)} that should not be: {shorten(extra)}"
    )


def _check_refusal(case: Case, refusal: Failed, report: Report, what: str) -> None:
    """A command may refuse what the case says, with the reason."""
    if case.may_refuse is None:
        report.fail(what, str(refusal))
    else:
        given = bool(re.search(case.may_refuse, refusal.stderr))
        report.check(given, what, f"refused without a reason: {refusal.stderr.strip()!r}")


# ---- deltafs files -------------------------------------------------------------------------------------------------

_Listed = tuple[str, int, int, tuple[tuple[str, str | None], ...], str | None, int | None]


def _check_files(
    case: Case, snapshot: Snapshot, deltafs: Deltafs, report: Report, names: dict[str, tuple[Any, ...]]
) -> None:
    what = f"{case.name}@v{snapshot.version}: files"
    try:
        listed = deltafs.files(f"{case.path}@v{snapshot.version}")
    except Failed as e:
        _check_refusal(case, e, report, what)
        return
    wanted = Counter(_of_replay(case.path, snapshot, f) for f in snapshot.files.values())
    got = Counter(_of_deltafs(case.path, f) for f in listed)
    # A logical file without a live row is presented nowhere; the command may leave it out.
    empty = Counter(
        _of_replay(case.path, snapshot, f)
        for f in snapshot.files.values()
        if f.num_records is not None and (f.dv_cardinality or 0) >= f.num_records
    )
    _compare_lists(report, what, wanted - (empty - got), got)
    _check_records(snapshot, listed, what, report)
    presented = [f["name"] for f in listed]
    report.check(len(set(presented)) == len(presented), what, f"names repeat: {shorten(sorted(presented))}")
    bad = [n for n in presented if not n.endswith(".parquet")] if snapshot.schema else []
    report.check(not bad or _odd_names(snapshot), what, f"names that are no *.parquet: {shorten(bad)}")
    changed = []
    for f in listed:
        identity = (f["path"], (f["deletionVector"] or {}).get("uniqueId"))
        if names.setdefault(f["name"], identity) != identity:
            changed.append(f["name"])
    report.check(not changed, what, f"one name, two contents in different versions: {shorten(changed)}")
    try:
        raw = deltafs.files(f"{case.path}@v{snapshot.version}", "--view", "raw")
    except Failed as e:
        report.fail(f"{what} --view raw", str(e))
        return
    _compare_lists(report, f"{what} --view raw", wanted, Counter(_of_deltafs(case.path, f) for f in raw))


def _odd_names(snapshot: Snapshot) -> bool:
    """Whether the log itself names data files without the suffix (hand-made logs do), which identity keeps."""
    return any(not f.path.endswith(".parquet") for f in snapshot.files.values())


def _of_replay(table: Path, snapshot: Snapshot, f: LogicalFile) -> _Listed:
    logical = {_physical_name(field_): field_["name"] for field_ in (snapshot.schema or {"fields": []})["fields"]}
    values = ((logical.get(n, n) if snapshot.column_mapping else n, v or None) for n, v in f.partition_values)
    return _inside(table, f.path), f.size, f.modification_time, tuple(sorted(values)), f.dv_id, f.dv_cardinality


def _of_deltafs(table: Path, f: dict[str, Any]) -> _Listed:
    path = decode_path(f["path"]) if f["path"].startswith("file:") else f["path"]
    values = tuple(sorted((n, v or None) for n, v in f["partitionValues"].items()))
    dv = f["deletionVector"] or {}
    return _inside(table, path), f["size"], f["modificationTime"], values, dv.get("uniqueId"), dv.get("cardinality")


def _inside(table: Path, path: str) -> str:
    """One spelling of a path: relative where it lies under the table root, without `.` and `..` in its middle."""
    return posixpath.normpath(path).removeprefix(f"{table}/")


def _physical_name(field_: dict[str, Any]) -> str:
    return (field_.get("metadata") or {}).get("delta.columnMapping.physicalName", field_["name"])


def _check_records(snapshot: Snapshot, listed: list[dict[str, Any]], what: str, report: Report) -> None:
    wanted = {f.key: f.num_records for f in snapshot.files.values()}
    wrong = []
    for f in listed:
        key = (f["path"], (f["deletionVector"] or {}).get("uniqueId"))
        if key in wanted and f["numRecords"] is not None and f["numRecords"] != wanted[key]:
            wrong.append(f"{f['path']}: {f['numRecords']}, statistics say {wanted[key]}")
    report.check(not wrong, what, f"numRecords differ: {shorten(wrong)}")


# ---- detail, history, times ----------------------------------------------------------------------------------------


def _check_detail(case: Case, log: Log, snapshot: Snapshot, deltafs: Deltafs, report: Report) -> None:
    what = f"{case.name}@v{snapshot.version}: detail"
    try:
        got = deltafs.detail(f"{case.path}@v{snapshot.version}")
    except Failed as e:
        _check_refusal(case, e, report, what)
        return
    features = {*(snapshot.protocol.get("readerFeatures") or []), *(snapshot.protocol.get("writerFeatures") or [])}
    wanted = {
        "id": snapshot.metadata.get("id"),
        "partitionColumns": snapshot.partition_columns,
        "numFiles": len(snapshot.files),
        "sizeInBytes": sum(f.size for f in snapshot.files.values()),
        "properties": snapshot.configuration,
        "minReaderVersion": snapshot.protocol["minReaderVersion"],
        "minWriterVersion": snapshot.protocol["minWriterVersion"],
        "version": snapshot.version,
        "rebuildableVersions": ranges(log.rebuildable()),
    }
    if snapshot.version in log.commits:
        wanted["timestamp"] = log.timestamps()[snapshot.version]
    wrong = [f"{k} is {got.get(k)!r}, expected {v!r}" for k, v in wanted.items() if got.get(k) != v]
    if not features <= set(got.get("tableFeatures") or []):
        wrong.append(f"tableFeatures {got.get('tableFeatures')} lack some of {sorted(features)}")
    if _without_empty_metadata(got.get("schema") or None) != _without_empty_metadata(snapshot.schema):
        wrong.append("schema differs from schemaString")
    report.check(not wrong, what, "; ".join(wrong))


def _without_empty_metadata(schema: Any) -> Any:
    if isinstance(schema, str) and schema.startswith("{"):
        return _without_empty_metadata(json.loads(schema))
    if isinstance(schema, dict):
        return {k: _without_empty_metadata(v) for k, v in schema.items() if (k, v) != ("metadata", {})}
    if isinstance(schema, list):
        return [_without_empty_metadata(v) for v in schema]
    return schema


def _check_bounds(case: Case, log: Log, versions: list[int], deltafs: Deltafs, report: Report) -> None:
    outside = [log.latest() + 1]
    if versions[0] > 0:
        outside.append(versions[0] - 1)
    for version in outside:
        what = f"{case.name}@v{version}: files of a version that does not exist"
        _expect_failure(report, what, rf"\b{version}\b", deltafs.files, f"{case.path}@v{version}")


def _check_history(case: Case, log: Log, deltafs: Deltafs, report: Report) -> None:
    what = f"{case.name}: history"
    try:
        got = deltafs.history(case.path)
    except Failed as e:
        if case.may_refuse is None:
            report.fail(what, str(e))
        return
    times = log.timestamps()
    wanted = [(v, times[v], log.commit_info(v).get("operation")) for v in sorted(log.commits, reverse=True)]
    have = [(e.get("version"), e.get("timestamp"), e.get("operation")) for e in got]
    report.check(have == wanted, what, _first_difference(have, wanted))


def _first_difference(have: list[Any], wanted: list[Any]) -> str:
    for h, w in zip(have, wanted):
        if h != w:
            return f"(version, timestamp, operation) is {h}, expected {w}"
    return f"{len(have)} entries, expected {len(wanted)}"


def _check_times(case: Case, log: Log, versions: list[int], deltafs: Deltafs, report: Report) -> None:
    times = {v: t for v, t in log.timestamps().items() if v in versions}
    if case.may_refuse is not None or not times:
        return
    for version, time in times.items():
        for moment, wanted in ((time, version), (time - 1, _at(times, time - 1))):
            what = f"{case.name}@{iso(moment)}"
            if wanted is None:
                _expect_failure(
                    report, what, r"(?i)before|earl|no version", deltafs.detail, f"{case.path}@{iso(moment)}"
                )
                continue
            try:
                got = deltafs.detail(f"{case.path}@{iso(moment)}")["version"]
            except Failed as e:
                report.fail(what, str(e))
                continue
            report.check(got == wanted, what, f"is version {got}, expected {wanted}")
    future = iso(int((dt.datetime.now(dt.UTC) + dt.timedelta(days=1)).timestamp() * 1000))
    _expect_failure(report, f"{case.name}@{future}", r"(?i)future|after|later", deltafs.detail, f"{case.path}@{future}")


def _at(times: dict[int, int], moment: int) -> int | None:
    """The newest version at or before a moment, None before the first."""
    return max((v for v, t in times.items() if t <= moment), default=None)


def iso(ms: int) -> str:
    """Milliseconds since the epoch as the time name `2024-01-15T10:30:00.123Z`."""
    moment = dt.datetime(1970, 1, 1) + dt.timedelta(milliseconds=ms)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{ms % 1000:03}Z"

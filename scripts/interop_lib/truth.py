"""What a version of a table is, before any mount: its state by the log, its rows by Delta readers."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from . import oracles
from .golden import ORACLES_KEEP_REMOVED_FILES
from .product import Deltafs
from .replay import Log, ReplayError, Snapshot
from .report import Report
from .rows import row_differences
from .tables import Case

# Tables whose rows delta-kernel gets wrong through polars, and how.
KERNEL_ROWS_WRONG = {
    "table_with_edge_timestamps": "INT96 becomes nanoseconds, which end in the year 2262",
    "made/legacy-int96": "INT96 becomes nanoseconds, which end in the year 2262",
    "made/legacy-calendar": "days of the calendar before Spark 3.0 are taken for those of ISO 8601",
    "made/legacy-calendar-zones": "instants of the calendar before Spark 3.0 are taken for those of ISO 8601",
    "made/evolution-by-id-with-other-names": "columns are found by their names where the field ids say otherwise",
    "made/partition-nulls": "the empty string is a null partition value of every type, a string too",
}

# The same for DuckDB.
DUCKDB_ROWS_WRONG = {
    "made/legacy-calendar-zones": "instants of the calendar before Spark 3.0 are taken for those of ISO 8601",
    "made/legacy-calendar": "days of the calendar before Spark 3.0 are taken for those of ISO 8601",
    "made/evolution-by-id-with-other-names": "columns are found by their names where the field ids say otherwise",
    "made/legacy-lists": "the elements of lists of two levels are null",
}

# Expected rows that were written down in the time zone of the machine, where the log says nothing of a zone.
EXPECTATION_IN_LOCAL_TIME = {"data-reader-partition-values"}


@dataclass
class Version:
    """One version: its state, and its files as `deltafs files --check` shows them in one view and layout."""

    snapshot: Snapshot
    listed: list[dict[str, Any]]

    @property
    def presentable(self) -> bool:
        return all(f["reason"] is None for f in self.listed)

    @property
    def schema(self) -> dict[str, Any]:
        """The columns that a reader has to see: the table's, but for void ones, which have no place in Parquet."""
        fields = (self.snapshot.schema or {"fields": []})["fields"]
        return {"type": "struct", "fields": [f for f in fields if f["type"] != "void"]}


def versions(case: Case, deltafs: Deltafs, report: Report, *options: str) -> dict[int, Version]:
    """Every version that can be rebuilt. `options` choose the view and layout. Raises `product.Failed`."""
    log, found = Log(case.path), {}
    for version in log.rebuildable():
        try:
            snapshot = log.snapshot(version)
        except ReplayError as e:
            report.fail(f"{case.name}@v{version}: replay", str(e))
            continue
        found[version] = Version(snapshot, deltafs.files(f"{case.path}@v{version}", "--check", *options))
    return found


class Truth:
    """The rows of the versions of one table, asked for once each and kept."""

    def __init__(self, case: Case, report: Report):
        self._case, self._report = case, report
        self._latest = Log(case.path).latest()
        self._rows: dict[int, pa.Table | None] = {}
        self.sources: set[str] = set()
        self.refusal = ""

    def rows(self, snapshot: Snapshot) -> pa.Table | None:
        """The rows of a version, or None when nobody can tell (its data files may be missing).

        What the recipe of the table states counts, else delta-kernel's answer; they are checked by each other, by
        DuckDB's answer and by the expectation that came with the table. Where none of them answers, and a version is no more than its data files, these are read.
        """
        if snapshot.version not in self._rows:
            self._rows[snapshot.version] = self._ask(snapshot)
        return self._rows[snapshot.version]

    def _ask(self, snapshot: Snapshot) -> pa.Table | None:
        answers = self._answers(snapshot)
        if not answers and (rows := self._data_files(snapshot)) is not None:
            answers["data files"] = rows
        if not answers:
            return None
        self.sources |= set(answers)
        schema = snapshot.schema or {"fields": []}
        (name, first), *others = answers.items()
        for other, table in others:
            differences = row_differences(schema, first, table)
            text = f"{name} and {other} disagree: {'; '.join(differences)}"
            self._report.check(not differences, f"{self._case.name}@v{snapshot.version}: oracles", text)
        return first

    def _answers(self, snapshot: Snapshot) -> dict[str, pa.Table]:
        case, version = self._case, snapshot.version
        if ORACLES_KEEP_REMOVED_FILES.get(case.name) == version:
            self.refusal = "delta-kernel keeps a removed file here"
            return {}
        answers: dict[str, pa.Table] = {}
        if (stated := case.states(version)) is not None:
            with pa.memory_map(str(stated)) as source:
                answers["recipe"] = pa.ipc.open_file(source).read_all()
        if case.name in KERNEL_ROWS_WRONG:
            self.refusal = KERNEL_ROWS_WRONG[case.name]
        else:
            try:
                answers["delta-kernel"] = oracles.kernel_rows(case.path, version)
            except oracles.Refused as e:
                self.refusal = str(e)[:60]
        mapped_partitions = snapshot.column_mapping and snapshot.partition_columns
        if case.name not in DUCKDB_ROWS_WRONG and not mapped_partitions:
            with contextlib.suppress(oracles.Refused):
                answers["duckdb"] = oracles.duckdb_rows(case.path, version)
        if case.expected_rows is not None and version == self._latest and case.name not in EXPECTATION_IN_LOCAL_TIME:
            answers["expectation"] = pq.read_table(case.expected_rows, coerce_int96_timestamp_unit="us")
        return answers

    def _data_files(self, snapshot: Snapshot) -> pa.Table | None:
        files = list(snapshot.files.values())
        paths = [self._case.path / f.path for f in files]
        if snapshot.partition_columns or snapshot.column_mapping or any(f.dv_id for f in files):
            return None
        if not paths or not all(p.is_file() for p in paths):
            return None
        names = [f["name"] for f in (snapshot.schema or {"fields": []})["fields"]]
        tables = [pq.read_table(p, partitioning=None) for p in paths]
        if any(set(names) - set(t.column_names) for t in tables):
            return None
        return pa.concat_tables([t.select(names) for t in tables], promote_options="permissive")

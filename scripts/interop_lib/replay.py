"""A small, independent replay of a Delta log, written from PROTOCOL.md for comparison only.

It favours being obviously right over being quick: every commit is parsed with `json`, every checkpoint is read
whole with pyarrow, and nothing is cached. It shares no code and no idea with the Rust implementation, so
agreement between the two means something.

Sections of PROTOCOL.md that are followed: "Delta Log Entries", "Checkpoints" (classic, multi-part and V2 with
sidecars), "Action Reconciliation", "Deletion Vectors" (the derived field `uniqueId`), "In-Commit Timestamps".
Log compaction files are left out on purpose: they only repeat what the commits say.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow.parquet as pq

COMMIT = re.compile(r"^(\d{20})\.json$")
CLASSIC = re.compile(r"^(\d{20})\.checkpoint\.parquet$")
PART = re.compile(r"^(\d{20})\.checkpoint\.(\d{10})\.(\d{10})\.parquet$")
UUID_NAMED = re.compile(r"^(\d{20})\.checkpoint\.[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\.(json|parquet)$")
COMPACTED = re.compile(r"^(\d{20})\.(\d{20})\.compacted\.json$")


class ReplayError(Exception):
    """The log does not describe a table at the version asked for; the message says why."""


@dataclass(frozen=True)
class LogicalFile:
    """One live logical file: what PROTOCOL.md identifies by (path, deletion vector id)."""

    path: str
    size: int
    modification_time: int
    partition_values: tuple[tuple[str, str | None], ...]
    dv_id: str | None
    dv_cardinality: int | None
    num_records: int | None

    @property
    def key(self) -> tuple[str, str | None]:
        return self.path, self.dv_id


@dataclass
class Snapshot:
    """The state of the table at `version`. `files` is keyed by (path, deletion vector id)."""

    version: int
    protocol: dict[str, Any]
    metadata: dict[str, Any]
    files: dict[tuple[str, str | None], LogicalFile]
    txns: dict[str, int] = field(default_factory=dict)
    domains: dict[str, str] = field(default_factory=dict)

    @property
    def schema(self) -> dict[str, Any] | None:
        text = self.metadata.get("schemaString")
        return json.loads(text) if text else None

    @property
    def configuration(self) -> dict[str, str]:
        return self.metadata.get("configuration") or {}

    @property
    def partition_columns(self) -> list[str]:
        return list(self.metadata.get("partitionColumns") or [])

    @property
    def column_mapping(self) -> bool:
        return self.configuration.get("delta.columnMapping.mode", "none") != "none"


def decode_path(raw: str) -> str:
    """The decoded form of `add.path`: relative to the table root, or absolute without `file:`.

    "The path is a URI as specified by RFC 2396, which needs to be decoded to get the data file path."
    `file:/x`, `file:///x` and `/x` are three spellings of one absolute path.
    """
    decoded = unquote(raw)
    if re.match(r"^file:/", decoded):
        decoded = "/" + decoded[len("file:") :].lstrip("/")
    return decoded


def dv_unique_id(dv: dict[str, Any] | None) -> str | None:
    """`uniqueId` of a deletion vector descriptor: storageType, pathOrInlineDv and, if any, `@offset`."""
    if not dv:
        return None
    base = f"{dv['storageType']}{dv['pathOrInlineDv']}"
    return base if dv.get("offset") is None else f"{base}@{dv['offset']}"


class Log:
    """The `_delta_log` of a table in a local directory, listed once."""

    def __init__(self, table: str | os.PathLike[str]):
        self.table = Path(table)
        self.dir = self.table / "_delta_log"
        if not self.dir.is_dir():
            raise ReplayError(f"{self.dir} is not a directory")
        self.commits: dict[int, Path] = {}
        self.compacted: dict[tuple[int, int], Path] = {}
        self._classic: dict[int, Path] = {}
        self._parts: dict[tuple[int, int], dict[int, Path]] = {}
        self._uuid: dict[int, list[Path]] = {}
        for entry in sorted(os.scandir(self.dir), key=lambda e: e.name):
            try:
                size = entry.stat().st_size if entry.is_file() else None
            except FileNotFoundError:  # what a writer has renamed meanwhile
                continue
            if size is None:
                continue
            path, name = Path(entry.path), entry.name
            if m := COMMIT.match(name):
                self.commits[int(m[1])] = path
            elif m := COMPACTED.match(name):
                self.compacted[int(m[1]), int(m[2])] = path
            elif size == 0:
                continue  # an empty checkpoint is a torn write; it cannot be complete
            elif m := CLASSIC.match(name):
                self._classic[int(m[1])] = path
            elif m := PART.match(name):
                self._parts.setdefault((int(m[1]), int(m[3])), {})[int(m[2])] = path
            elif m := UUID_NAMED.match(name):
                self._uuid.setdefault(int(m[1]), []).append(path)

    def checkpoints(self) -> dict[int, list[list[Path]]]:
        """Complete checkpoints by version; each is the list of its top-level files."""
        found: dict[int, list[list[Path]]] = {}
        for version, path in self._classic.items():
            found.setdefault(version, []).append([path])
        for (version, total), parts in self._parts.items():
            if sorted(parts) == list(range(1, total + 1)):
                found.setdefault(version, []).append([parts[i] for i in sorted(parts)])
        for version, paths in self._uuid.items():
            found.setdefault(version, []).extend([p] for p in paths)
        return found

    def latest(self) -> int:
        """The newest version the log names, whether or not it can be rebuilt."""
        versions = [*self.commits, *self.checkpoints()]
        if not versions:
            raise ReplayError(f"no commit and no checkpoint in {self.dir}")
        return max(versions)

    def rebuildable(self) -> list[int]:
        """Versions whose state follows from a complete checkpoint or from version 0, without a gap."""
        starts = set(self.checkpoints())
        if 0 in self.commits:
            starts.add(0)
        found: set[int] = set()
        for start in starts:
            version = start
            found.add(version)
            while version + 1 in self.commits:
                version += 1
                found.add(version)
        return sorted(found)

    def snapshot(self, version: int, *, start: int | None | str = "nearest") -> Snapshot:
        """The state at `version`.

        `start` is "nearest" (the newest complete checkpoint at or below `version`, else version 0), a checkpoint's
        version, or None to use commits alone.
        """
        checkpoints = self.checkpoints()
        if start == "nearest":
            start = max((v for v in checkpoints if v <= version), default=None)
        state = _State()
        if start is None:
            first = 0
        else:
            if start not in checkpoints:
                raise ReplayError(f"no complete checkpoint at version {start}")
            state.take_checkpoint(self._checkpoint_actions(checkpoints[start][0]))
            first = start + 1
        for v in range(first, version + 1):
            if v not in self.commits:
                raise ReplayError(f"commit file of version {v} is missing, so version {version} cannot be rebuilt")
            state.take_commit(v, list(self.actions(v)))
        return state.finish(version)

    def starts(self, version: int) -> list[int | None]:
        """Every place from which `version` can be replayed: None for commits alone, else a checkpoint."""
        choices: list[int | None] = []
        for start in [None, *sorted(v for v in self.checkpoints() if v <= version)]:
            first = 0 if start is None else start + 1
            if all(v in self.commits for v in range(first, version + 1)):
                choices.append(start)
        return choices

    def actions(self, version: int) -> Iterator[tuple[str, dict[str, Any]]]:
        """The actions of one commit file, in the order of its lines."""
        yield from _json_actions(self.commits[version])

    def commit_info(self, version: int) -> dict[str, Any]:
        for kind, body in self.actions(version):
            if kind == "commitInfo":
                return body
        return {}

    def timestamps(self) -> dict[int, int]:
        """Milliseconds since the epoch of every commit file that is there.

        In-commit timestamps from the version on where they were enabled; before it the modification times of the
        commit files, each made at least 1 ms later than its predecessor's.
        """
        times: dict[int, int] = {}
        previous: int | None = None
        since = self._in_commit_timestamps_since()
        for version in sorted(self.commits):
            ict = None if since is None or version < since else self.commit_info(version).get("inCommitTimestamp")
            if ict is None:
                mtime = self.commits[version].stat().st_mtime_ns // 1_000_000
                time = mtime if previous is None else max(mtime, previous + 1)
                previous = time
            else:
                time = ict
            times[version] = time
        return times

    def _in_commit_timestamps_since(self) -> int | None:
        """The version from which on in-commit timestamps hold, by the newest metadata; None when they are off."""
        try:
            config = self.snapshot(self.latest()).configuration
        except ReplayError:
            return None
        if config.get("delta.enableInCommitTimestamps") != "true":
            return None
        return int(config.get("delta.inCommitTimestampEnablementVersion", "0"))

    def _checkpoint_actions(self, files: list[Path]) -> Iterator[tuple[str, dict[str, Any]]]:
        for path in files:
            for kind, body in _file_actions(path):
                if kind == "sidecar":
                    yield from _parquet_actions(self.dir / "_sidecars" / unquote(body["path"]))
                elif kind != "checkpointMetadata":
                    yield kind, body


def _file_actions(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    return _json_actions(path) if path.suffix == ".json" else _parquet_actions(path)


def _json_actions(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    with open(path, encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                obj = json.loads(line)
            except ValueError as e:
                raise ReplayError(f"{path} line {number} is not JSON: {e}") from e
            for kind, body in obj.items():
                if body is not None:
                    yield kind, body


_KINDS = ("add", "remove", "metaData", "protocol", "txn", "domainMetadata", "sidecar", "checkpointMetadata")


def _parquet_actions(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    table = pq.ParquetFile(path).read()
    columns = [k for k in _KINDS if k in table.column_names]
    for row in table.select(columns).to_pylist(maps_as_pydicts="strict"):
        for kind in columns:
            if row[kind] is not None:
                yield kind, row[kind]


class _State:
    """Action reconciliation, oldest action first: the last word on each key wins."""

    def __init__(self) -> None:
        self.protocol: dict[str, Any] | None = None
        self.metadata: dict[str, Any] | None = None
        self.files: dict[tuple[str, str | None], LogicalFile] = {}
        self.txns: dict[str, int] = {}
        self.domains: dict[str, str] = {}

    def take_checkpoint(self, actions: Iterator[tuple[str, dict[str, Any]]]) -> None:
        for kind, body in actions:
            if kind != "remove":  # a tombstone of a checkpoint cancels nothing that the checkpoint itself adds
                self._take(kind, body)

    def take_commit(self, version: int, actions: list[tuple[str, dict[str, Any]]]) -> None:
        # Lines of one commit have no order among themselves: a file that a commit both removes and adds under
        # one key would be contradictory, so applying removes first is safe and spells out the usual case, where
        # the same path is added again with another deletion vector.
        for kind, body in actions:
            if kind == "remove":
                self.files.pop((decode_path(body["path"]), dv_unique_id(body.get("deletionVector"))), None)
        for kind, body in actions:
            if kind != "remove":
                self._take(kind, body)

    def _take(self, kind: str, body: dict[str, Any]) -> None:
        if kind == "protocol":
            self.protocol = body
        elif kind == "metaData":
            self.metadata = body
        elif kind == "txn":
            self.txns[body["appId"]] = body["version"]
        elif kind == "domainMetadata":
            if body.get("removed"):
                self.domains.pop(body["domain"], None)
            else:
                self.domains[body["domain"]] = body["configuration"]
        elif kind == "add":
            entry = _logical_file(body)
            self.files[entry.key] = entry

    def finish(self, version: int) -> Snapshot:
        if self.protocol is None:
            raise ReplayError(f"no protocol action up to version {version}")
        if self.metadata is None:
            raise ReplayError(f"no metaData action up to version {version}")
        reader = self.protocol.get("minReaderVersion")
        if reader not in (1, 2, 3):
            raise ReplayError(f"reader version {reader} is not one of 1, 2, 3")
        return Snapshot(version, self.protocol, self.metadata, self.files, self.txns, self.domains)


def _logical_file(add: dict[str, Any]) -> LogicalFile:
    dv = add.get("deletionVector")
    stats = add.get("stats")
    records = json.loads(stats).get("numRecords") if stats else (add.get("stats_parsed") or {}).get("numRecords")
    return LogicalFile(
        path=decode_path(add["path"]),
        size=add["size"],
        modification_time=add["modificationTime"],
        partition_values=tuple(sorted((add.get("partitionValues") or {}).items())),
        dv_id=dv_unique_id(dv),
        dv_cardinality=dv["cardinality"] if dv else None,
        num_records=records,
    )


def ranges(versions: list[int]) -> list[list[int]]:
    """Sorted versions as inclusive ranges: [0, 1, 2, 5] gives [[0, 2], [5, 5]]."""
    out: list[list[int]] = []
    for v in versions:
        if out and out[-1][1] + 1 == v:
            out[-1][1] = v
        else:
            out.append([v, v])
    return out

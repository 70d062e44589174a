"""A Delta table written by hand: Parquet files by pyarrow, commit files and checkpoints as PROTOCOL.md describes them.

`Handmade` remembers the state that its commits lead to, so that a checkpoint of any kind can be written at any
version. Everything random comes from the table's name: two runs make the same bytes.
"""

from __future__ import annotations

import json
import random
import uuid
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq

from . import footer

Action = dict[str, Any]

_MODIFIED_MS = 1_700_000_000_000

_MAP = pa.map_(pa.string(), pa.string())
_DV = pa.struct(
    [
        ("storageType", pa.string()),
        ("pathOrInlineDv", pa.string()),
        ("offset", pa.int32()),
        ("sizeInBytes", pa.int32()),
        ("cardinality", pa.int64()),
    ]
)
_ADD = [
    ("path", pa.string()),
    ("partitionValues", _MAP),
    ("size", pa.int64()),
    ("modificationTime", pa.int64()),
    ("dataChange", pa.bool_()),
    ("stats", pa.string()),
    ("tags", _MAP),
    ("deletionVector", _DV),
]
CHECKPOINT_TYPES: dict[str, pa.DataType] = {
    "protocol": pa.struct(
        [
            ("minReaderVersion", pa.int32()),
            ("minWriterVersion", pa.int32()),
            ("readerFeatures", pa.list_(pa.string())),
            ("writerFeatures", pa.list_(pa.string())),
        ]
    ),
    "metaData": pa.struct(
        [
            ("id", pa.string()),
            ("name", pa.string()),
            ("description", pa.string()),
            ("format", pa.struct([("provider", pa.string()), ("options", _MAP)])),
            ("schemaString", pa.string()),
            ("partitionColumns", pa.list_(pa.string())),
            ("configuration", _MAP),
            ("createdTime", pa.int64()),
        ]
    ),
    "txn": pa.struct([("appId", pa.string()), ("version", pa.int64()), ("lastUpdated", pa.int64())]),
    "domainMetadata": pa.struct([("domain", pa.string()), ("configuration", pa.string()), ("removed", pa.bool_())]),
    "add": pa.struct(_ADD),
    "remove": pa.struct(
        [
            ("path", pa.string()),
            ("deletionTimestamp", pa.int64()),
            ("dataChange", pa.bool_()),
            ("extendedFileMetadata", pa.bool_()),
            ("partitionValues", _MAP),
            ("size", pa.int64()),
            ("deletionVector", _DV),
        ]
    ),
    "sidecar": pa.struct(
        [("path", pa.string()), ("sizeInBytes", pa.int64()), ("modificationTime", pa.int64()), ("tags", _MAP)]
    ),
    "checkpointMetadata": pa.struct([("version", pa.int64()), ("tags", _MAP)]),
}


def field(name: str, kind: Any, nullable: bool = True, **metadata: Any) -> dict[str, Any]:
    """One column of a Delta schema."""
    return {"name": name, "type": kind, "nullable": nullable, "metadata": metadata}


class Handmade:
    """A table under construction at `root`. The next commit gets version `self.version + 1`."""

    def __init__(self, root: Path):
        self.root = root
        self.log = root / "_delta_log"
        self.log.mkdir(parents=True)
        self.version = -1
        self._random = random.Random(root.name)
        self._files = 0
        self._state: dict[tuple[str, ...], Action] = {}
        self._tombstones: dict[tuple[str, ...], Action] = {}

    # ---- data files and their actions ----

    def unique_id(self) -> str:
        return str(uuid.UUID(int=self._random.getrandbits(128), version=4))

    def write(
        self,
        rows: pa.Table,
        *,
        directory: str = "",
        name: str | None = None,
        values: dict[str, str | None] | None = None,
        raw_path: str | None = None,
        stats: bool = True,
        edit: Callable[[footer.Struct], None] | None = None,
        **options: Any,
    ) -> Action:
        """Writes one data file and returns its `add`. `directory` and `name` are as on disk, not yet encoded.

        `edit` changes the footer of the file.
        """
        name = name or f"part-{self._files:05}-{self.unique_id()}-c000.snappy.parquet"
        self._files += 1
        path = self.root / directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(rows, path, **options)
        if edit:
            footer.change(path, edit)
        relative = f"{directory}/{name}" if directory else name
        add: Action = {
            "path": quote(relative, safe="/=:@!$&'()*+,;~-._") if raw_path is None else raw_path,
            "partitionValues": values or {},
            "size": path.stat().st_size,
            "modificationTime": _MODIFIED_MS + self._files * 1000,
            "dataChange": True,
        }
        if stats:
            add["stats"] = json.dumps({"numRecords": rows.num_rows})
        return {"add": add}

    def expect(self, rows: pa.Table) -> None:
        """States the rows of the current version, for tables that are not left to other Delta readers."""
        home = expectations(self.root)
        home.mkdir(exist_ok=True)
        with pa.OSFile(str(home / f"{self.version}.arrow"), "wb") as sink, pa.ipc.new_file(sink, rows.schema) as out:
            out.write_table(rows)

    def remove(self, add: Action) -> Action:
        """The `remove` that cancels an `add`."""
        body = add["add"]
        out = {
            "path": body["path"],
            "deletionTimestamp": _MODIFIED_MS + 500_000 + self.version,
            "dataChange": True,
            "extendedFileMetadata": True,
            "partitionValues": body["partitionValues"],
            "size": body["size"],
        }
        if "deletionVector" in body:
            out["deletionVector"] = body["deletionVector"]
        return {"remove": out}

    # ---- commits ----

    def protocol(
        self, reader: int = 1, writer: int = 2, features: Iterable[str] = (), writer_only: Iterable[str] = ()
    ) -> Action:
        """A `protocol` action; with features it is (3, 7)."""
        features, writer_only = list(features), list(writer_only)
        if not features and not writer_only:
            return {"protocol": {"minReaderVersion": reader, "minWriterVersion": writer}}
        if not features:
            return {"protocol": {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": writer_only}}
        both = [*features, *writer_only]
        return {
            "protocol": {
                "minReaderVersion": 3,
                "minWriterVersion": 7,
                "readerFeatures": features,
                "writerFeatures": both,
            }
        }

    def metadata(
        self, fields: list[dict[str, Any]], partitions: Iterable[str] = (), configuration: dict[str, str] | None = None
    ) -> Action:
        return {
            "metaData": {
                "id": str(uuid.uuid5(uuid.NAMESPACE_URL, self.root.name)),
                "format": {"provider": "parquet", "options": {}},
                "schemaString": json.dumps({"type": "struct", "fields": fields}),
                "partitionColumns": list(partitions),
                "configuration": configuration or {},
                "createdTime": _MODIFIED_MS,
            }
        }

    def commit(self, *actions: Action, operation: str = "WRITE", **info: Any) -> int:
        """Writes the next commit file and returns its version. `commitInfo` is its first line."""
        self.version += 1
        timestamp = _MODIFIED_MS + self.version * 60_000
        commit_info = {
            "commitInfo": {"timestamp": timestamp, "operation": operation, "operationParameters": {}, **info}
        }
        self.write_commit(self.version, [commit_info, *actions])
        for action in actions:
            self._apply(action)
        return self.version

    def write_commit(self, version: int, actions: Iterable[Action]) -> Path:
        """Writes a commit file without any bookkeeping."""
        path = self.log / f"{version:020}.json"
        path.write_text("".join(json.dumps(a, ensure_ascii=False) + "\n" for a in actions), encoding="utf-8")
        return path

    def _apply(self, action: Action) -> None:
        ((kind, body),) = action.items()
        if kind in ("add", "remove"):
            dv = body.get("deletionVector") or {}
            key = ("file", body["path"], dv.get("storageType", ""), dv.get("pathOrInlineDv", ""), str(dv.get("offset")))
            self._tombstones.pop(key, None)
            self._state.pop(key, None)
            (self._state if kind == "add" else self._tombstones)[key] = action
        elif kind in ("protocol", "metaData"):
            self._state[(kind,)] = action
        elif kind == "txn":
            self._state[kind, body["appId"]] = action
        elif kind == "domainMetadata":
            self._state.pop((kind, body["domain"]), None)
            if not body.get("removed"):
                self._state[kind, body["domain"]] = action
        elif kind not in ("cdc", "commitInfo"):
            raise ValueError(f"no rule for the action {kind}")

    # ---- checkpoints ----

    def state(self) -> tuple[list[Action], list[Action]]:
        """The reconciled state: (everything but files, files and tombstones)."""
        files = [a for k, a in self._state.items() if k[0] == "file"]
        return [a for k, a in self._state.items() if k[0] != "file"], [*files, *self._tombstones.values()]

    def checkpoint(self, parts: int = 1, *, hint: bool = True) -> list[Path]:
        """A classic checkpoint of the current version: one file, or `parts` of them."""
        others, files = self.state()
        actions = [*others, *files]
        if parts == 1:
            paths = [self.log / f"{self.version:020}.checkpoint.parquet"]
        else:
            paths = [
                self.log / f"{self.version:020}.checkpoint.{i:010}.{parts:010}.parquet" for i in range(1, parts + 1)
            ]
        share = -(-len(actions) // parts)
        for i, path in enumerate(paths):
            write_actions(path, actions[i * share : (i + 1) * share])
        if hint:
            self.write_hint({"version": self.version, "size": len(actions)} | ({"parts": parts} if parts > 1 else {}))
        return paths

    def checkpoint_v2(self, kind: str, sidecars: int) -> Path:
        """A V2 checkpoint whose top-level file is `json` or `parquet`; with 0 sidecars it holds the files itself."""
        others, files = self.state()
        actions: list[Action] = [{"checkpointMetadata": {"version": self.version}}, *others]
        if sidecars:
            (self.log / "_sidecars").mkdir(exist_ok=True)
            share = -(-len(files) // sidecars)
            for i in range(sidecars):
                path = self.log / "_sidecars" / f"{self.unique_id()}.parquet"
                write_actions(path, files[i * share : (i + 1) * share], kinds=("add", "remove"))
                size = path.stat().st_size
                actions.append({"sidecar": {"path": path.name, "sizeInBytes": size, "modificationTime": _MODIFIED_MS}})
        else:
            actions += files
        path = self.log / f"{self.version:020}.checkpoint.{self.unique_id()}.{kind}"
        if kind == "json":
            path.write_text("".join(json.dumps(a) + "\n" for a in actions), encoding="utf-8")
        else:
            write_actions(path, actions)
        self.write_hint({"version": self.version, "size": len(actions)})
        return path

    def write_hint(self, hint: Any) -> None:
        (self.log / "_last_checkpoint").write_text(json.dumps(hint))


def expectations(root: Path) -> Path:
    """Where the expected rows of a table lie: `VERSION.arrow` beside the table, not in it."""
    return root.with_name(f"{root.name}.expected")


def deleted(add: Action, vector: dict[str, object]) -> Action:
    """The `add` of the same data file with a deletion vector."""
    return {"add": {**add["add"], "deletionVector": vector}}


def mapped(name: str, kind: Any, number: int, physical: str) -> dict[str, Any]:
    """A column of a schema with column mapping."""
    return field(name, kind, **{"delta.columnMapping.id": number, "delta.columnMapping.physicalName": physical})


def write_actions(path: Path, actions: list[Action], kinds: Iterable[str] = tuple(CHECKPOINT_TYPES)) -> None:
    """Writes actions as rows of a checkpoint file: one struct column a kind, one of them set in each row."""
    columns = {}
    for kind in kinds:
        values = [_maps_as_pairs(a.get(kind)) for a in actions]
        columns[kind] = pa.array(values, CHECKPOINT_TYPES[kind])
    pq.write_table(pa.table(columns), path)


def _maps_as_pairs(body: Action | None) -> Action | None:
    # pyarrow takes a map as a list of pairs; within actions, each such dict is a map but the two structs.
    if body is None:
        return None
    out: Action = {}
    for key, value in body.items():
        if key == "format":
            out[key] = {**value, "options": list(value["options"].items())}
        elif isinstance(value, dict) and key != "deletionVector":
            out[key] = list(value.items())
        else:
            out[key] = value
    return out

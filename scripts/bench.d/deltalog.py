"""Writing Delta logs: just what the made tables need, fast, and laid out as Delta on Spark does."""

import json
import os
import random
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

# 2023-01-01T00:00:00Z; commit N of a made table is N seconds later.
EPOCH_MS = 1_672_531_200_000


def field(name: str, kind: str) -> dict:
    """A nullable column."""
    return {"name": name, "type": kind, "nullable": True, "metadata": {}}


def mapped(number: int, column: dict, physical: str | None = None) -> dict:
    """A column under column mapping: column number `number`, called `physical` in the files."""
    mapping = {
        "delta.columnMapping.id": number,
        "delta.columnMapping.physicalName": physical or column["name"],
    }
    return column | {"metadata": mapping}


def metadata(
    columns: list[dict],
    partitions: list[str] = (),
    version: int = 0,
    configuration: dict[str, str] | None = None,
) -> dict:
    """A `metaData` action."""
    return {
        "id": "7f1a2b3c-0000-4000-8000-00000000b001",
        "format": {"provider": "parquet", "options": {}},
        "schemaString": json.dumps({"type": "struct", "fields": columns}, separators=(",", ":")),
        "partitionColumns": list(partitions),
        "configuration": configuration or {},
        "createdTime": EPOCH_MS + 1000 * version,
    }


def protocol(reader: int = 1, writer: int = 2, features: list[str] = ()) -> dict:
    """A `protocol` action; table features come with 3 and 7."""
    action = {"minReaderVersion": reader, "minWriterVersion": writer}
    if reader >= 3:
        action["readerFeatures"] = list(features)
        action["writerFeatures"] = list(features)
    return action


def commit_info(version: int, operation: str = "WRITE") -> dict:
    """A `commitInfo` action as Spark writes it."""
    return {
        "timestamp": EPOCH_MS + 1000 * version,
        "operation": operation,
        "operationParameters": {"mode": "Append", "partitionBy": "[]"},
        "isolationLevel": "Serializable",
        "isBlindAppend": True,
        "engineInfo": "Apache-Spark/3.5.1 Delta-Lake/3.2.0",
    }


def part_names(seed: int) -> Iterator[str]:
    """Endless file names as Spark makes them, the same for one seed."""
    bits = random.Random(seed).getrandbits
    number = 0
    while True:
        h = f"{bits(128):032x}"
        yield (
            f"part-{number % 100000:05}-{h[:8]}-{h[8:12]}-{h[12:16]}-{h[16:20]}-{h[20:]}"
            "-c000.snappy.parquet"
        )
        number += 1


def add(path: str, size: int, version: int, stats: str, partition: dict | None = None) -> dict:
    """An `add` action."""
    return {
        "path": path,
        "partitionValues": partition or {},
        "size": size,
        "modificationTime": EPOCH_MS + 1000 * version,
        "dataChange": True,
        "stats": stats,
    }


def remove(path: str, size: int, version: int, partition: dict | None = None) -> dict:
    """A `remove` action."""
    return {
        "path": path,
        "deletionTimestamp": EPOCH_MS + 1000 * version,
        "dataChange": True,
        "extendedFileMetadata": True,
        "partitionValues": partition or {},
        "size": size,
    }


def commit_text(actions: list[tuple[str, dict]]) -> str:
    """The text of a commit file."""
    return "".join(
        json.dumps({kind: action}, separators=(",", ":")) + "\n" for kind, action in actions
    )


def commit_path(log: Path, version: int) -> Path:
    """Where a commit file stands."""
    return log / f"{version:020}.json"


def write_commit(log: Path, version: int, actions: list[tuple[str, dict]]) -> None:
    """Writes a commit file, one second younger than the commit before it."""
    path = str(commit_path(log, version))
    with open(path, "w") as out:
        out.write(commit_text(actions))
    seconds = EPOCH_MS // 1000 + version
    os.utime(path, (seconds, seconds))


# The columns of a checkpoint as Spark writes them.
STRINGS = pa.map_(pa.string(), pa.string())
VECTOR = pa.struct(
    [
        ("storageType", pa.string()),
        ("pathOrInlineDv", pa.string()),
        ("offset", pa.int32()),
        ("sizeInBytes", pa.int32()),
        ("cardinality", pa.int64()),
        ("maxRowIndex", pa.int64()),
    ]
)
CHECKPOINT = {
    "txn": pa.struct(
        [("appId", pa.string()), ("version", pa.int64()), ("lastUpdated", pa.int64())]
    ),
    "add": pa.struct(
        [
            ("path", pa.string()),
            ("partitionValues", STRINGS),
            ("size", pa.int64()),
            ("modificationTime", pa.int64()),
            ("dataChange", pa.bool_()),
            ("tags", STRINGS),
            ("deletionVector", VECTOR),
            ("baseRowId", pa.int64()),
            ("defaultRowCommitVersion", pa.int64()),
            ("clusteringProvider", pa.string()),
            ("stats", pa.string()),
        ]
    ),
    "remove": pa.struct(
        [
            ("path", pa.string()),
            ("deletionTimestamp", pa.int64()),
            ("dataChange", pa.bool_()),
            ("extendedFileMetadata", pa.bool_()),
            ("partitionValues", STRINGS),
            ("size", pa.int64()),
            ("deletionVector", VECTOR),
            ("baseRowId", pa.int64()),
            ("defaultRowCommitVersion", pa.int64()),
        ]
    ),
    "metaData": pa.struct(
        [
            ("id", pa.string()),
            ("name", pa.string()),
            ("description", pa.string()),
            ("format", pa.struct([("provider", pa.string()), ("options", STRINGS)])),
            ("schemaString", pa.string()),
            ("partitionColumns", pa.list_(pa.string())),
            ("configuration", STRINGS),
            ("createdTime", pa.int64()),
        ]
    ),
    "protocol": pa.struct(
        [
            ("minReaderVersion", pa.int32()),
            ("minWriterVersion", pa.int32()),
            ("readerFeatures", pa.list_(pa.string())),
            ("writerFeatures", pa.list_(pa.string())),
        ]
    ),
    "domainMetadata": pa.struct(
        [("domain", pa.string()), ("configuration", pa.string()), ("removed", pa.bool_())]
    ),
}
MAPS = {"partitionValues", "tags", "options", "configuration"}


class Adds:
    """The adds of a checkpoint, by column: a million of them as dictionaries would take minutes."""

    def __init__(self):
        self.paths: list[str] = []
        self.sizes: list[int] = []
        self.times: list[int] = []
        self.stats: list[str] = []
        self.partitions: list[list[tuple[str, str]]] = []

    def append(self, path: str, size: int, time: int, stats: str, partition=()) -> None:
        """One more live file."""
        self.paths.append(path)
        self.sizes.append(size)
        self.times.append(time)
        self.stats.append(stats)
        self.partitions.append(list(partition))

    def __len__(self) -> int:
        return len(self.paths)

    def array(self) -> pa.StructArray:
        """The `add` column."""
        kind, count = CHECKPOINT["add"], len(self)
        columns = {
            "path": pa.array(self.paths, pa.string()),
            "partitionValues": pa.array(self.partitions, STRINGS),
            "size": pa.array(self.sizes, pa.int64()),
            "modificationTime": pa.array(self.times, pa.int64()),
            "dataChange": pa.repeat(False, count),
            "stats": pa.array(self.stats, pa.string()),
        }
        return pa.StructArray.from_arrays(
            [columns.get(f.name, pa.nulls(count, f.type)) for f in kind], fields=list(kind)
        )


def write_checkpoint(
    log: Path, version: int, actions: list[tuple[str, dict]], adds: Adds, hint: bool = True
) -> None:
    """Writes a classic checkpoint of one file, in one row group if a million rows suffice, and the
    hint to it. `actions` are the protocol, the metadata and the tombstones."""
    small = [{kind: spell(action)} for kind, action in actions]
    count = len(small) + len(adds)
    columns = []
    for name, kind in CHECKPOINT.items():
        head = pa.array([action.get(name) for action in small], kind)
        body = adds.array() if name == "add" else pa.nulls(len(adds), kind)
        columns.append(pa.chunked_array([head, body], kind))
    path = log / f"{version:020}.checkpoint.parquet"
    pq.write_table(
        pa.table(columns, names=list(CHECKPOINT)),
        path,
        compression="snappy",
        row_group_size=1 << 20,
        store_schema=False,
    )
    seconds = EPOCH_MS // 1000 + version
    os.utime(path, (seconds, seconds))
    if hint:
        (log / "_last_checkpoint").write_text(
            json.dumps(
                {
                    "version": version,
                    "size": count,
                    "sizeInBytes": path.stat().st_size,
                    "numOfAddFiles": len(adds),
                },
                separators=(",", ":"),
            )
        )


def spell(action: dict) -> dict:
    """An action with its maps as Arrow wants them."""
    return {
        key: list(value.items())
        if key in MAPS
        else spell(value)
        if isinstance(value, dict)
        else value
        for key, value in action.items()
    }

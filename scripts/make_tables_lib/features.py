"""Tables that use table features beyond the schema: deletion vectors, in-commit timestamps, txn, domains, CDF."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa

from . import deletion_vectors as dv
from .checkpoints import FIELDS, rows
from .handmade import Action, Handmade, deleted, field
from .registry import recipe

_WITH_DV = {"delta.enableDeletionVectors": "true"}


@recipe()
def deletion_vectors(root: Path) -> None:
    """Inline, by UUID with and without a prefix, by absolute path; changed, shared, full and taken back."""
    table = Handmade(root)
    file = dv.File(root, table.unique_id())
    nested = dv.File(root, table.unique_id(), prefix="ab")
    table.commit(table.protocol(features=["deletionVectors"]), table.metadata(FIELDS, configuration=_WITH_DV))
    first, second = table.write(rows(0, 40)), table.write(rows(100, 10))
    table.commit(first, second)
    inline = deleted(first, dv.inline([0, 7, 39]))
    table.commit(table.remove(first), inline, operation="DELETE")
    by_uuid = deleted(first, file.add([0, 1, 7, 39]))
    table.commit(table.remove(inline), by_uuid, operation="DELETE")
    other = deleted(second, file.add(range(10)))
    table.commit(table.remove(second), other, operation="DELETE")
    prefixed = deleted(first, nested.add([0, 1, 2, 7, 39]))
    table.commit(table.remove(by_uuid), prefixed, operation="DELETE")
    absolute = deleted(first, file.add([5], absolute=True))
    table.commit(table.remove(prefixed), absolute, operation="RESTORE")
    table.checkpoint()
    table.commit(table.remove(absolute), first, table.remove(other), operation="RESTORE")


@recipe()
def deletion_vectors_off(root: Path) -> None:
    """The property is switched off after a checkpoint: existing vectors stay in force."""
    table = Handmade(root)
    table.commit(table.protocol(features=["deletionVectors"]), table.metadata(FIELDS, configuration=_WITH_DV))
    file = table.write(rows(0, 10))
    table.commit(file)
    table.commit(table.remove(file), deleted(file, dv.inline([1, 3])), operation="DELETE")
    table.checkpoint()
    table.commit(
        table.metadata(FIELDS, configuration={"delta.enableDeletionVectors": "false"}), operation="SET TBLPROPERTIES"
    )


@recipe()
def deletion_vectors_large(root: Path) -> None:
    """More rows than a container holds, so that bitmap containers and several keys are needed."""
    table = Handmade(root)
    count = 150_000
    table.commit(
        table.protocol(features=["deletionVectors"]), table.metadata([field("n", "long")], configuration=_WITH_DV)
    )
    file = table.write(pa.table({"n": pa.array(range(count), pa.int64())}), row_group_size=20_000)
    table.commit(file)
    vectors = dv.File(root, table.unique_id())
    gone = [*range(0, 30_000, 3), *range(60_000, 85_000), 149_999]
    table.commit(table.remove(file), deleted(file, vectors.add(gone)), operation="DELETE")


@recipe(keeps_times=True)
def in_commit_timestamps(root: Path) -> None:
    """In-commit timestamps from the first version on; the file times say something else."""
    table = Handmade(root)
    config = {"delta.enableInCommitTimestamps": "true"}
    start = 1_705_312_800_000  # 2024-01-15T10:00:00Z
    table.commit(
        table.protocol(writer_only=["inCommitTimestamp"]),
        table.metadata(FIELDS, configuration=config),
        operation="CREATE TABLE",
        inCommitTimestamp=start,
    )
    for i in range(1, 6):
        table.commit(table.write(rows(i * 10)), inCommitTimestamp=start + i * 1000 + i)
    _set_times(table, [1_600_000_000 + 86_400 * (7 - v) for v in range(6)])


@recipe(keeps_times=True)
def in_commit_timestamps_enabled_later(root: Path) -> None:
    """File times up to version 2, in-commit timestamps from version 3 on, where they were enabled."""
    table = Handmade(root)
    start = 1_705_312_800_000
    table.commit(table.protocol(), table.metadata(FIELDS))
    table.commit(table.write(rows(10)))
    table.commit(table.write(rows(20)))
    config = {
        "delta.enableInCommitTimestamps": "true",
        "delta.inCommitTimestampEnablementVersion": "3",
        "delta.inCommitTimestampEnablementTimestamp": str(start),
    }
    table.commit(
        table.protocol(writer_only=["inCommitTimestamp", "appendOnly", "invariants"]),
        table.metadata(FIELDS, configuration=config),
        operation="SET TBLPROPERTIES",
        inCommitTimestamp=start,
    )
    for i in (4, 5):
        table.commit(table.write(rows(i * 10)), inCommitTimestamp=start + i * 60_000)
    seconds = start // 1000
    _set_times(table, [seconds - 7200, seconds - 3600, seconds - 1800, seconds + 5, seconds + 9, seconds - 86_400])


def _set_times(table: Handmade, seconds: list[int]) -> None:
    for version, at in enumerate(seconds):
        os.utime(table.log / f"{version:020}.json", (at, at))


@recipe()
def txn_and_domains(root: Path) -> None:
    """Transaction identifiers that advance, and domain metadata set, changed and removed; with a checkpoint between."""
    table = Handmade(root)

    def txn(app: str, version: int) -> Action:
        return {"txn": {"appId": app, "version": version, "lastUpdated": 1_700_000_000_000}}

    def domain(name: str, text: str, removed: bool = False) -> Action:
        return {"domainMetadata": {"domain": name, "configuration": text, "removed": removed}}

    table.commit(table.protocol(writer_only=["domainMetadata"]), table.metadata(FIELDS), domain("app.one", '{"a":1}'))
    table.commit(table.write(rows(0)), txn("stream", 1), txn("other", 7))
    table.commit(table.write(rows(10)), txn("stream", 2), domain("app.two", "free text"))
    table.checkpoint()
    table.commit(table.write(rows(20)), txn("stream", 3), domain("app.one", "", removed=True))
    table.commit(domain("app.two", "changed"), operation="SET TBLPROPERTIES")


@recipe()
def change_data_feed(root: Path) -> None:
    """Change files stand in the log as `cdc` and on the disk under `_change_data`; they are not rows of the table."""
    table = Handmade(root)
    config = {"delta.enableChangeDataFeed": "true"}
    table.commit(table.protocol(1, 4), table.metadata(FIELDS, configuration=config))
    old = table.write(rows(0, 5))
    table.commit(old)
    change = table.write(rows(0, 1), directory="_change_data")["add"]
    cdc = {"cdc": {"path": change["path"], "partitionValues": {}, "size": change["size"], "dataChange": False}}
    table.commit(table.remove(old), table.write(rows(1, 4)), cdc, operation="DELETE")


@recipe()
def rearranged(root: Path) -> None:
    """OPTIMIZE: files replaced without a change of data, with tags and row-tracking fields that readers pass over."""
    table = Handmade(root)
    table.commit(table.protocol(writer_only=["rowTracking", "domainMetadata", "clustering"]), table.metadata(FIELDS))
    small = [table.write(rows(i * 4)) for i in range(3)]
    for i, a in enumerate(small):
        a["add"] |= {"baseRowId": i * 4, "defaultRowCommitVersion": 1}
    table.commit(*small)
    big = table.write(rows(0, 12))
    big["add"] |= {"dataChange": False, "tags": {"ZCUBE_ID": "x"}, "clusteringProvider": "liquid", "baseRowId": 0}
    removes = [table.remove(a) for a in small]
    for r in removes:
        r["remove"]["dataChange"] = False
    table.commit(*removes, big, operation="OPTIMIZE")

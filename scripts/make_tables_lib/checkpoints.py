"""Tables that differ in how their log is kept: checkpoints of every kind, compaction, cleaning, litter."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pyarrow as pa

from .handmade import Action, Handmade, field
from .registry import recipe

FIELDS = [field("id", "long"), field("item", "string"), field("price", "double")]


def rows(first: int, count: int = 4) -> pa.Table:
    ids = list(range(first, first + count))
    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "item": pa.array([None if i % 7 == 3 else f"item {i}" for i in ids], pa.string()),
            "price": pa.array([i * 1.25 for i in ids], pa.float64()),
        }
    )


def history(table: Handmade, commits: int, at: dict[int, Any] | None = None, features: tuple[str, ...] = ()) -> None:
    """A life of appends, one delete and one overwrite. `at` holds what is to be done after a version."""
    adds: list[Action] = []
    for version in range(commits):
        if version == 0:
            table.commit(table.protocol(features=features), table.metadata(FIELDS), operation="CREATE TABLE")
        elif version == 4:
            gone = adds.pop(0)
            table.commit(table.remove(gone), operation="DELETE")
        elif version == 7:
            new = table.write(rows(1000))
            table.commit(
                *(table.remove(a) for a in adds), new, operation="WRITE", operationParameters={"mode": "Overwrite"}
            )
            adds = [new]
        else:
            adds.append(table.write(rows(version * 10)))
            table.commit(adds[-1])
        if at and version in at:
            at[version]()


@recipe()
def history_without_checkpoint(root: Path) -> None:
    history(Handmade(root), 10)


@recipe()
def checkpoint_classic(root: Path) -> None:
    table = Handmade(root)
    history(table, 12, {5: table.checkpoint, 9: table.checkpoint})


@recipe()
def checkpoint_multi_part(root: Path) -> None:
    """A checkpoint of three parts, and a later one whose second part is missing, which therefore does not count."""
    table = Handmade(root)

    def torn() -> None:
        os.remove(table.checkpoint(3, hint=False)[1])

    history(table, 11, {6: lambda: table.checkpoint(3), 8: torn})


@recipe()
def checkpoint_v2_json(root: Path) -> None:
    table = Handmade(root)
    history(
        table,
        9,
        {3: lambda: table.checkpoint_v2("json", 0), 6: lambda: table.checkpoint_v2("json", 2)},
        ("v2Checkpoint",),
    )


@recipe()
def checkpoint_v2_parquet(root: Path) -> None:
    table = Handmade(root)
    history(
        table,
        9,
        {3: lambda: table.checkpoint_v2("parquet", 0), 6: lambda: table.checkpoint_v2("parquet", 3)},
        ("v2Checkpoint",),
    )


@recipe()
def checkpoint_hint_lies(root: Path) -> None:
    """The hint names a checkpoint that is not there; another one is."""
    table = Handmade(root)
    history(table, 10, {5: table.checkpoint})
    table.write_hint({"version": 8, "size": 9})


@recipe()
def checkpoint_hint_broken(root: Path) -> None:
    table = Handmade(root)
    history(table, 8, {5: table.checkpoint})
    (table.log / "_last_checkpoint").write_text('{"version":')


@recipe()
def checkpoint_empty_file(root: Path) -> None:
    """A checkpoint of 0 bytes, as a crash leaves it, beside a good older one."""
    table = Handmade(root)
    history(table, 10, {4: table.checkpoint})
    (table.log / f"{8:020}.checkpoint.parquet").touch()


@recipe()
def log_cleaned(root: Path) -> None:
    """Commits before the newest checkpoint are gone, as after the retention period."""
    table = Handmade(root)
    history(table, 11, {4: table.checkpoint, 8: table.checkpoint})
    for version in range(8):
        os.remove(table.log / f"{version:020}.json")
    os.remove(table.log / f"{4:020}.checkpoint.parquet")


@recipe()
def log_two_ranges(root: Path) -> None:
    """Two checkpoints with a hole between them: versions 4 and 5 and from 8 on can be rebuilt, nothing else."""
    table = Handmade(root)
    history(table, 11, {4: table.checkpoint, 8: table.checkpoint})
    for version in (0, 1, 2, 3, 6, 7):
        os.remove(table.log / f"{version:020}.json")


@recipe()
def log_checkpoint_alone(root: Path) -> None:
    """The commit file of the checkpoint's version is gone too."""
    table = Handmade(root)
    history(table, 10, {7: table.checkpoint})
    for version in range(8):
        os.remove(table.log / f"{version:020}.json")


@recipe()
def log_compacted(root: Path) -> None:
    """Compacted commits that cover versions 1 to 4 and 5 to 8; readers may use them or not."""
    table = Handmade(root)
    history(table, 10)
    for first, last in ((1, 4), (5, 8)):
        _compact(table, first, last)


def _compact(table: Handmade, first: int, last: int) -> None:
    files: dict[str, Action] = {}
    others: dict[str, Action] = {}
    for version in range(first, last + 1):
        for line in (table.log / f"{version:020}.json").read_text().splitlines():
            action = json.loads(line)
            ((kind, body),) = action.items()
            if kind in ("add", "remove"):
                files[body["path"]] = action
            elif kind != "commitInfo":
                others[kind] = action
    text = "".join(json.dumps(a) + "\n" for a in [*others.values(), *files.values()])
    (table.log / f"{first:020}.{last:020}.compacted.json").write_text(text)


@recipe()
def log_litter(root: Path) -> None:
    """What crashed and foreign writers leave in a log directory."""
    table = Handmade(root)
    history(table, 6)
    log = table.log
    (log / f"_commit_{table.unique_id()}.json.tmp").write_text("{}")
    (log / f".{3:020}.json.crc").write_bytes(b"crc\0\0\0\0\0")
    (log / f".{9:020}.json.{table.unique_id()}.tmp").write_text('{"add":')
    (log / f"{3:020}.crc").touch()
    (log / ".tmp").mkdir()
    (log / ".tmp" / f"{5:020}.json").write_text("not a commit")
    (log / "_staged_commits").mkdir()
    (log / "12.json").write_text("{}")
    (log / f"{7:020}.json.bak").write_text("{}")


@recipe()
def table_without_rows(root: Path) -> None:
    """Created, never written; then appended to and emptied."""
    table = Handmade(root)
    table.commit(table.protocol(), table.metadata(FIELDS), operation="CREATE TABLE")
    one = table.write(rows(0))
    table.commit(one)
    table.commit(table.remove(one), operation="TRUNCATE")
    table.commit(table.write(rows(0, 0)))

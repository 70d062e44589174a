"""Tables that must be refused, each for one reason that the refusal has to name."""

from __future__ import annotations

import os
from pathlib import Path

from .checkpoints import FIELDS, history, rows
from .handmade import Handmade
from .registry import recipe


@recipe(refused=r"(?i)gap|missing|contiguous|\bversion 3\b")
def refused_log_gap(root: Path) -> None:
    table = Handmade(root)
    history(table, 6)
    os.remove(table.log / f"{3:020}.json")


@recipe(refused=r"(?i)protocol")
def refused_no_protocol(root: Path) -> None:
    table = Handmade(root)
    table.commit(table.metadata(FIELDS), table.write(rows(0)))


@recipe(refused=r"(?i)meta ?data")
def refused_no_metadata(root: Path) -> None:
    table = Handmade(root)
    table.commit(table.protocol(), table.write(rows(0)))


@recipe(refused=r"fooBar")
def refused_unknown_feature(root: Path) -> None:
    table = Handmade(root)
    table.commit(table.protocol(features=["fooBar"]), table.metadata(FIELDS), table.write(rows(0)))


@recipe(refused=r"(?i)reader.*\b4\b|\b4\b.*reader")
def refused_reader_version(root: Path) -> None:
    table = Handmade(root)
    table.commit(table.protocol(4, 7), table.metadata(FIELDS), table.write(rows(0)))


@recipe(refused=r"(?i)0{19}2\.json|\bversion 2\b", kernel_accepts=True)
def refused_empty_commit(root: Path) -> None:
    """A commit file of 0 bytes is a torn write, not a version without actions: every writer puts a commitInfo."""
    table = Handmade(root)
    history(table, 3)
    (table.log / f"{2:020}.json").write_text("")


@recipe(refused=r"(?i)0{19}2\.json|\bversion 2\b")
def refused_torn_commit(root: Path) -> None:
    table = Handmade(root)
    history(table, 3)
    path = table.log / f"{2:020}.json"
    path.write_text(path.read_text()[:-40])


@recipe(refused=r"(?i)partition")
def refused_partition_column_unknown(root: Path) -> None:
    """partitionColumns names a column that the schema lacks."""
    table = Handmade(root)
    table.commit(table.protocol(), table.metadata(FIELDS, ["nowhere"]))


@recipe(refused=r"(?i)_delta_log|no table|not a delta table|not found")
def refused_no_log(root: Path) -> None:
    root.mkdir()
    (root / "a.parquet").write_bytes(b"PAR1")

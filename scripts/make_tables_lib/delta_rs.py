"""Tables written by delta-rs, a writer nobody here wrote."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

from .checkpoints import rows
from .registry import recipe


@recipe()
def written_by_delta_rs(root: Path) -> None:
    """Append, delete, overwrite, update, optimize, with two checkpoints on the way."""
    uri = str(root)
    write_deltalake(uri, rows(0, 20))
    write_deltalake(uri, rows(100, 20), mode="append")
    DeltaTable(uri).delete("id < 5")
    write_deltalake(uri, rows(200, 5), mode="append")
    DeltaTable(uri).create_checkpoint()
    DeltaTable(uri).update(updates={"price": "price + 1"}, predicate="id >= 200")
    DeltaTable(uri).optimize.compact()
    write_deltalake(uri, rows(300, 7), mode="overwrite")
    DeltaTable(uri).create_checkpoint()
    write_deltalake(uri, rows(400, 3), mode="append")


@recipe()
def written_by_delta_rs_partitioned(root: Path) -> None:
    """Partitioned by a string with odd characters and a null, with a partition overwritten."""
    uri = str(root)

    def part(values: list[str | None], first: int) -> pa.Table:
        ids = range(first, first + len(values))
        return pa.table({"id": pa.array(ids, pa.int64()), "p": pa.array(values, pa.string())})

    write_deltalake(uri, part(["a b", "x:y", "é/%", None], 0), partition_by=["p"])
    write_deltalake(uri, part(["a b", None], 10), mode="append")
    write_deltalake(uri, part(["x:y"], 20), mode="overwrite", predicate="p = 'x:y'")
    DeltaTable(uri).delete("id = 10")


@recipe()
def written_by_delta_rs_evolving(root: Path) -> None:
    """Schema merged by an append, then replaced by an overwrite."""
    uri = str(root)
    write_deltalake(uri, pa.table({"a": pa.array([1, 2], pa.int64())}))
    write_deltalake(uri, pa.table({"a": pa.array([3], pa.int64()), "b": ["new"]}), mode="append", schema_mode="merge")
    write_deltalake(uri, pa.table({"c": [1.5]}), mode="overwrite", schema_mode="overwrite")

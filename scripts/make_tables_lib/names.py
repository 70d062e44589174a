"""Tables whose column names are hard: other scripts, very long, punctuation, upper and lower case."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from . import deletion_vectors as dv
from .deletions import without
from .handmade import Handmade, deleted, field, mapped
from .registry import recipe

_HARD = [
    "größe",
    "列",
    "🦀",
    "cafe\u0301",
    "שם",
    "with space",
    "a.b",
    "a`b",
    'quo"te',
    "it's",
    "semi;colon",
    "br{ace}s",
    "(paren)",
    "back\\slash",
    "slash/ed",
    "tab\tbed",
    "new\nline",
    "=",
    "x" * 5000,
    "é" * 1000,
    "_leading",
    "#",
    "%41",
    "null",
    "select",
    "element",
    "key_value",
]


@recipe()
def names_hard(root: Path) -> None:
    """Logical names that only column mapping allows, over physical names; then deletions and a null column between."""
    table = Handmade(root)
    config = {
        "delta.columnMapping.mode": "name",
        "delta.columnMapping.maxColumnId": str(len(_HARD) + 1),
        "delta.enableDeletionVectors": "true",
    }
    fields = [mapped(name, "long", i + 1, f"col-{i}") for i, name in enumerate(_HARD)]
    table.commit(
        table.protocol(features=["columnMapping", "deletionVectors"]), table.metadata(fields, configuration=config)
    )
    values = {i: pa.array([i, None, -i], pa.int64()) for i in range(len(_HARD))}
    file = table.write(pa.table({f"col-{i}": v for i, v in values.items()}))
    table.commit(file)
    rows = pa.table({_HARD[i]: v for i, v in values.items()})
    table.expect(rows)
    table.commit(table.remove(file), deleted(file, dv.inline([1])), operation="DELETE")
    table.expect(without(rows, [1]))
    extra = mapped("nowhere 🫥", "string", len(_HARD) + 1, "col-new")
    table.commit(table.metadata([*fields[:5], extra, *fields[5:]], configuration=config), operation="ADD COLUMNS")
    kept = without(rows, [1])
    table.expect(kept.add_column(5, "nowhere 🫥", pa.nulls(len(kept), pa.string())))


@recipe()
def names_in_the_file(root: Path) -> None:
    """Names that need no mapping: they stand in the file itself."""
    table = Handmade(root)
    names = ["größe", "列", "🦀", "cafe\u0301", "x" * 3000, "a-b", "a.b", "_x", "%41"]
    rows = pa.table({name: pa.array([i, None], pa.int64()) for i, name in enumerate(names)})
    table.commit(table.protocol(), table.metadata([field(n, "long") for n in names]))
    table.commit(table.write(rows))
    table.expect(rows)
    table.commit(table.metadata([field("新", "string"), *(field(n, "long") for n in names)]), operation="ADD COLUMNS")
    table.expect(rows.add_column(0, "新", pa.nulls(2, pa.string())))


@recipe()
def names_partition(root: Path) -> None:
    """Partition columns with hard names and values."""
    table = Handmade(root)
    names = ["größe", "列 🦀", "a.b", "UPPER"]
    fields = [field("id", "long"), *(field(n, "string") for n in names)]
    table.commit(table.protocol(), table.metadata(fields, names))
    expected = []
    for i, value in enumerate(["x", "é/%", "🦀=\n", None]):
        table.commit(
            table.write(
                pa.table({"id": pa.array([i], pa.int64())}), directory=f"d{i}", values=dict.fromkeys(names, value)
            )
        )
        columns = {n: pa.array([value], pa.string()) for n in names}
        expected.append(pa.table({"id": pa.array([i], pa.int64()), **columns}))
        table.expect(pa.concat_tables(expected))


@recipe()
def names_differ_in_case(root: Path) -> None:
    """Two physical names that differ only in case, and logical names the other way round, which mapping allows."""
    table = Handmade(root)
    config = {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "2"}
    fields = [mapped("Upper", "long", 1, "col"), mapped("lower", "string", 2, "COL")]
    table.commit(table.protocol(2, 5), table.metadata(fields, configuration=config))
    table.commit(table.write(pa.table({"COL": ["a", None], "col": pa.array([1, 2], pa.int64())})))
    table.expect(pa.table({"Upper": pa.array([1, 2], pa.int64()), "lower": ["a", None]}))

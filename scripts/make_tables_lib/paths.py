"""Tables whose paths and partition values are hard: escapes, nulls, absolute paths, missing files."""

from __future__ import annotations

import datetime as dt
import os
from pathlib import Path
from urllib.parse import quote

import pyarrow as pa

from .checkpoints import FIELDS, rows
from .handmade import Handmade, field
from .registry import recipe


def _hive(value: str | None) -> str:
    """A partition value as Hive and Spark spell it in a directory name."""
    if not value:
        return "__HIVE_DEFAULT_PARTITION__"
    special = set("\"#%'*/:=?\\{[]^") | {chr(c) for c in range(32)} | {"\x7f"}
    return "".join(f"%{ord(c):02X}" if c in special else c for c in value)


@recipe()
def partition_special_characters(root: Path) -> None:
    """One file a value. A directory name is escaped once by Hive's rules and once more as a URI in the log."""
    table = Handmade(root)
    ascii_ = "".join(chr(c) for c in range(32, 127))
    values = [
        "plain",
        "A/A",
        "B B",
        "/a",
        "a/",
        "x:y",
        "x%3Ay",
        "x=1",
        "é",
        "🦀",
        "a+b",
        "tab\there",
        ".hidden",
        "..",
        ascii_,
    ]
    table.commit(table.protocol(), table.metadata([field("id", "long"), field("p", "string")], ["p"]))
    adds = [
        table.write(pa.table({"id": pa.array([i], pa.int64())}), directory=f"p={_hive(v)}", values={"p": v})
        for i, v in enumerate(values)
    ]
    table.commit(*adds)
    table.commit(*(table.remove(a) for a in adds[::2]), operation="DELETE")
    table.checkpoint()


@recipe()
def partition_nulls(root: Path) -> None:
    """Null and the empty string, which is null too, in partition columns of several types."""
    table = Handmade(root)
    kinds = {"s": "string", "i": "integer", "d": "date", "b": "boolean"}
    table.commit(
        table.protocol(), table.metadata([field("id", "long"), *(field(n, k) for n, k in kinds.items())], list(kinds))
    )
    for i, values in enumerate(
        (
            {"s": "x", "i": "1", "d": "2024-01-15", "b": "true"},
            {"s": None, "i": None, "d": None, "b": None},
            {"s": "", "i": "", "d": "", "b": ""},
        )
    ):
        directory = "/".join(f"{n}={_hive(v)}" for n, v in values.items())
        table.commit(table.write(pa.table({"id": pa.array([i], pa.int64())}), directory=directory, values=values))


@recipe()
def partition_types(root: Path) -> None:
    """A partition column of each type that can be one."""
    table = Handmade(root)
    values = {
        "by": ("byte", "-7"),
        "sh": ("short", "-300"),
        "ii": ("integer", "2147483647"),
        "lo": ("long", "-9223372036854775808"),
        "fl": ("float", "0.25"),
        "do": ("double", "-1.0E300"),
        "de": ("decimal(20,3)", "12345678901234567.891"),
        "bo": ("boolean", "false"),
        "da": ("date", "1969-12-31"),
        "ts": ("timestamp", "2024-02-29 23:59:59.123456"),
        "st": ("string", "2024-01-01"),
    }
    fields = [field("id", "long"), *(field(n, kind) for n, (kind, _) in values.items())]
    table.commit(table.protocol(), table.metadata(fields, list(values)))
    texts = {n: text for n, (_, text) in values.items()}
    directory = "/".join(f"{n}={_hive(v)}" for n, v in texts.items())
    table.commit(table.write(pa.table({"id": pa.array([1, 2], pa.int64())}), directory=directory, values=texts))


@recipe()
def partition_not_by_directory(root: Path) -> None:
    """The directory says one thing, the log another; the log is right."""
    table = Handmade(root)
    table.commit(table.protocol(), table.metadata([field("id", "long"), field("p", "integer")], ["p"]))
    one = pa.table({"id": pa.array([1], pa.int64())})
    table.commit(
        table.write(one, directory="zz", values={"p": "1"}), table.write(one, directory="p=2", values={"p": "1"})
    )


@recipe()
def partition_column_in_file(root: Path) -> None:
    """The second file holds the partition column too."""
    table = Handmade(root)
    table.commit(table.protocol(), table.metadata([field("id", "long"), field("p", "integer")], ["p"]))
    without = pa.table({"id": pa.array([1], pa.int64())})
    with_p = pa.table({"id": pa.array([2], pa.int64()), "p": pa.array([7], pa.int32())})
    table.commit(
        table.write(without, directory="p=6", values={"p": "6"}),
        table.write(with_p, directory="p=7", values={"p": "7"}),
    )


@recipe()
def names_escaped(root: Path) -> None:
    """Data files in the table root whose names need escaping in the log; shown names are the decoded ones."""
    table = Handmade(root)
    table.commit(table.protocol(), table.metadata(FIELDS))
    names = ["a b.parquet", "a%20b.parquet", "a+b.parquet", "ü#1.parquet", "100%.parquet", "q?x=1.parquet"]
    adds = [table.write(rows(i * 10), name=n) for i, n in enumerate(names)]
    table.commit(*adds)
    # The same path, spelled with a literal space: it is the same file.
    gone = table.remove(adds[0])
    gone["remove"]["path"] = "a b.parquet"
    table.commit(gone, operation="DELETE")


@recipe()
def names_in_directories(root: Path) -> None:
    """Unpartitioned, but the files lie in directories, two of them under one name."""
    table = Handmade(root)
    table.commit(table.protocol(), table.metadata(FIELDS))
    table.commit(
        table.write(rows(0), directory="a", name="part.parquet"),
        table.write(rows(10), directory="b", name="part.parquet"),
    )


@recipe()
def path_absolute(root: Path) -> None:
    """A shallow clone: one file by absolute URI outside the table, one by absolute URI inside it."""
    table, other = Handmade(root), Handmade(root.with_name(root.name + "-source") / "data")
    table.commit(table.protocol(), table.metadata(FIELDS))
    for home, i in ((other, 0), (table, 10)):
        add = home.write(rows(i))
        add["add"]["path"] = "file://" + quote(str(home.root / add["add"]["path"]))
        table.commit(add)
    table.commit(table.write(rows(20)))


@recipe()
def path_outside(root: Path) -> None:
    """Paths that climb out of the table. The list shows them; nothing may be read through them."""
    table = Handmade(root)
    table.commit(table.protocol(), table.metadata(FIELDS))
    inside = table.write(rows(0), name="inside.parquet")
    outside = [root.with_name(f"{root.name}-secret-{i}.parquet") for i in range(3)]
    for secret, path in zip(outside, ("../{}", "a/../../{}", "%2E%2E/{}")):
        secret.write_bytes((root / "inside.parquet").read_bytes())
        table.commit({"add": {**inside["add"], "path": path.format(secret.name)}})
    os.symlink(outside[0], root / "link.parquet")
    table.commit({"add": {**inside["add"], "path": "link.parquet"}})


@recipe()
def files_vacuumed(root: Path) -> None:
    """The files that version 2 removed are gone from the disk: versions 1 list them, but they do not open."""
    table = Handmade(root)
    table.commit(table.protocol(), table.metadata(FIELDS))
    old = [table.write(rows(0)), table.write(rows(10))]
    table.commit(*old)
    table.commit(*(table.remove(a) for a in old), table.write(rows(20)), operation="OPTIMIZE")
    for a in old:
        os.remove(root / a["add"]["path"])


@recipe(keeps_times=True)
def commit_times(root: Path) -> None:
    """Commit files whose times stand still, run backwards and jump ahead."""
    table = Handmade(root)
    table.commit(table.protocol(), table.metadata(FIELDS))
    for i in range(5):
        table.commit(table.write(rows(i * 10)))
    start = dt.datetime(2024, 1, 15, tzinfo=dt.UTC).timestamp()
    for version, seconds in enumerate((0, 0, 3600, 60, 3600, 7200.5)):
        os.utime(table.log / f"{version:020}.json", (start + seconds, start + seconds))

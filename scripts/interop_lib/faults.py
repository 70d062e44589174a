"""What Parquet readers get wrong on any Parquet file, so also on a mount.

Each fault comes with a plain file, written by pyarrow, on which the reader shows it: when it no longer does, the run
fails until the fault leaves the list. On a mount, a wrong answer is forgiven only if a listed fault touches the
columns that are wrong, and if the reader makes the same of a plain file that holds the same rows.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from make_tables_lib import footer

from .replay import Snapshot
from .rows import arrow_type
from .truth import Version


@dataclass(frozen=True)
class Specimen:
    """A plain file that shows a fault: how its columns and rows have to read."""

    version: Version
    rows: pa.Table
    partitions: tuple[str, ...] = ()


Writing = Callable[[pa.Table, Path], None]

_ROWS_ALONE = 32


def plain(rows: pa.Table, home: Path) -> None:
    """One file as pyarrow writes it, without the Arrow schema, which not every file has."""
    pq.write_table(rows, home / "rows.parquet", store_schema=False)


def with_arrow_schema(rows: pa.Table, home: Path) -> None:
    """One file as pyarrow writes it by default."""
    pq.write_table(rows, home / "rows.parquet")


def decimals_as_integers(rows: pa.Table, home: Path) -> None:
    """Two files as Spark writes them: a decimal of up to 18 digits is an integer."""
    half = len(rows) // 2
    for name, part in (("first", rows.slice(0, half)), ("second", rows.slice(half))):
        pq.write_table(part, home / f"{name}.parquet", store_schema=False, store_decimal_as_integer=True)


def split_decimals(rows: pa.Table, home: Path) -> None:
    """One file whose long and whose decimals of fixed-length bytes are BYTE_STREAM_SPLIT."""
    kinds = (pa.types.is_int64, pa.types.is_int32, pa.types.is_decimal)
    split = {f.name: "BYTE_STREAM_SPLIT" for f in rows.schema if any(k(f.type) for k in kinds)}
    pq.write_table(rows, home / "rows.parquet", store_schema=False, use_dictionary=False, column_encoding=split)


def with_and_without_dictionary(rows: pa.Table, home: Path) -> None:
    """Two files of all rows, of which the first alone has dictionaries; together they are no specimen of rows."""
    for name in ("first", "second"):
        pq.write_table(rows, home / f"{name}.parquet", store_schema=False, use_dictionary=name == "first")


def without_dictionary(rows: pa.Table, home: Path) -> None:
    """One file without dictionaries."""
    pq.write_table(rows, home / "rows.parquet", store_schema=False, use_dictionary=False)


def structs_in_front(rows: pa.Table, home: Path) -> None:
    """A file for each of the first rows, and one for the others; structs come before all other columns."""
    front = [f.name for f in rows.schema if pa.types.is_struct(f.type)]
    rows = rows.select(front + [name for name in rows.column_names if name not in front])
    for i in range(min(len(rows), _ROWS_ALONE)):
        pq.write_table(rows.slice(i, 1), home / f"{i}.parquet", store_schema=False)
    if len(rows) > _ROWS_ALONE:
        pq.write_table(rows.slice(_ROWS_ALONE), home / "rest.parquet", store_schema=False)


def two_level_lists(rows: pa.Table, home: Path) -> None:
    """One file whose lists have two levels, but for those with a null among their elements."""
    lists = [
        f.name
        for f in rows.schema
        if pa.types.is_list(f.type)
        and not pa.types.is_nested(f.type.value_type)
        and pc.list_flatten(rows.column(f.name)).null_count == 0
    ]
    for name in lists:
        kind = pa.list_(pa.field("element", rows.schema.field(name).type.value_type, False))
        rows = rows.set_column(rows.column_names.index(name), name, rows.column(name).cast(kind))
    pq.write_table(rows, home / "rows.parquet", store_schema=False)

    def edit(metadata: footer.Struct) -> None:
        for name in lists:
            footer.as_two_level_list(metadata, name)

    footer.change(home / "rows.parquet", edit)


def brotli(rows: pa.Table, home: Path) -> None:
    """One file that is compressed with BROTLI."""
    pq.write_table(rows, home / "rows.parquet", store_schema=False, compression="brotli")


def decimals_as_bytes(rows: pa.Table, home: Path) -> None:
    """One file whose decimals are bytes of any length, with a dictionary."""
    kinds = {f.name: f.type for f in rows.schema if pa.types.is_decimal(f.type)}
    for name in kinds:
        unscaled = [None if v is None else int(v.scaleb(kinds[name].scale)) for v in rows.column(name).to_pylist()]
        texts = [None if v is None else v.to_bytes(v.bit_length() // 8 + 1, "big", signed=True) for v in unscaled]
        rows = rows.set_column(rows.column_names.index(name), name, pa.array(texts, pa.binary()))
    pq.write_table(rows, home / "rows.parquet", store_schema=False, write_statistics=False)

    def edit(metadata: footer.Struct) -> None:
        for name, kind in kinds.items():
            footer.as_decimal(metadata, name, kind.precision, kind.scale)

    footer.change(home / "rows.parquet", edit)


def mixed_views(rows: pa.Table, home: Path) -> None:
    """Two files; the Arrow schema in the first has `string_view` where that in the second has `string`."""
    half = len(rows) // 2
    views = [f.with_type(pa.string_view()) if pa.types.is_string(f.type) else f for f in rows.schema]
    pq.write_table(rows.slice(0, half).cast(pa.schema(views)), home / "first.parquet")
    pq.write_table(rows.slice(half), home / "second.parquet")


@dataclass(frozen=True)
class Fault:
    """`reason` says what the readers whose labels match `reader` do, as the end of "a plain file shows that ...".

    `hits` tells the Delta types that are touched. The specimen has one column `c` of the type `kind` with `values`, and
    is written by `write`. With `directories` the fault is one about directory names: `c` is a partition column, and
    a version with such a partition value is not read by this reader in the hive layout. With `says`, an expression, the
    reader does not answer, and its error has to match.
    """

    reader: str
    reason: str
    hits: Callable[[Any], bool]
    kind: Any
    values: list[Any]
    write: Writing = plain
    directories: Callable[[Any], bool] | None = None
    says: str = ""
    seen: list[str] = field(default_factory=list)

    def of(self, label: str) -> bool:
        return fnmatch.fnmatchcase(label, self.reader)

    def specimen(self, home: Path) -> Specimen:
        """Writes the plain file below `home`, once."""
        fields = [_column("id", "long"), _column("c", self.kind)]
        ids = pa.array(range(len(self.values)), pa.int64())
        values = pa.array(self.values, arrow_type(self.kind))
        if not home.exists():
            home.mkdir()
            if self.directories:
                for i, value in enumerate(self.values):
                    directory = home / f"c={_NULL_DIRECTORY if value is None else value}"
                    directory.mkdir()
                    pq.write_table(pa.table({"id": ids.slice(i, 1)}), directory / "rows.parquet")
            else:
                self.write(pa.table({"id": ids, "c": values}), home)
        snapshot = Snapshot(0, {}, {"schemaString": _schema(fields)}, {})
        return Specimen(Version(snapshot, []), pa.table({"id": ids, "c": values}), ("c",) if self.directories else ())


def of_types(label: str, schema: dict[str, Any], answer: pa.Table | str) -> list[Fault]:
    """The faults of a reader that touch a column of the schema, and can be what is wrong with an answer."""
    return [
        f
        for f in FAULTS
        if not f.directories
        and f.of(label)
        and any(f.hits(column["type"]) for column in schema["fields"])
        and (not f.says or (isinstance(answer, str) and re.search(f.says, answer) is not None))
    ]


def of_directories(label: str, rows: pa.Table, partitions: Iterable[str]) -> Fault | None:
    """The fault for which a reader is not asked about these rows in the hive layout."""
    values = {v for p in partitions for v in _plain_values(rows.column(p))}
    return next((f for f in FAULTS if f.directories and f.of(label) and any(map(f.directories, values))), None)


def _plain_values(column: pa.ChunkedArray) -> list[Any]:
    return column.cast(pa.string()).to_pylist() if not pa.types.is_binary(column.type) else column.to_pylist()


def writings(known: list[Fault]) -> list[Writing]:
    """The ways to write plain files on which the faults can show: pyarrow's own, and those that they need."""
    return list(dict.fromkeys([plain, *(f.write for f in known)]))


def _column(name: str, kind: Any) -> dict[str, Any]:
    return {"name": name, "type": kind, "nullable": True, "metadata": {}}


def _schema(fields: list[dict[str, Any]]) -> str:
    import json

    return json.dumps({"type": "struct", "fields": fields})


def contains(*kinds: str) -> Callable[[Any], bool]:
    """Whether a Delta type is or holds one of these primitive types, `decimal` for every decimal."""

    def hits(t: Any) -> bool:
        if isinstance(t, str):
            return t.partition("(")[0] in kinds
        inner = t["fields"] if t["type"] == "struct" else []
        return any(hits(f["type"]) for f in inner) or any(
            hits(t[k]) for k in ("elementType", "keyType", "valueType") if k in t
        )

    return hits


def nested(t: Any) -> bool:
    """Whether a Delta type is a struct, a list or a map."""
    return not isinstance(t, str)


_NULL_DIRECTORY = "__HIVE_DEFAULT_PARTITION__"
_POINT = {"type": "struct", "fields": [_column("x", "integer")]}
_LIST = {"type": "array", "elementType": "integer", "containsNull": True}

FAULTS = [
    Fault(
        "duckdb",
        "DuckDB takes a directory `p=null` for a null where it is the string",
        contains("string"),
        "string",
        ["null", "x"],
        directories=lambda value: value == "null",
    ),
    Fault(
        "datafusion",
        "DataFusion takes a directory `p=__HIVE_DEFAULT_PARTITION__` for that string where it is null",
        contains("string"),
        "string",
        [None, "x"],
        directories=lambda value: value is None,
    ),
    Fault(
        "datafusion",
        "DataFusion does not read files together whose Arrow schemas differ in string and string_view",
        contains("string"),
        "string",
        ["a", "b"],
        mixed_views,
    ),
    Fault(
        "clickhouse",
        "ClickHouse has no time without a zone",
        contains("timestamp_ntz"),
        "timestamp_ntz",
        [0],
    ),
    Fault(
        "clickhouse",
        "ClickHouse has no null struct, list or map: their members are null, or they are empty",
        nested,
        _POINT,
        [{"x": 1}, None],
    ),
    Fault(
        "clickhouse",
        "ClickHouse has no type of its own for bytes, only String",
        contains("binary"),
        "binary",
        [b"text"],
    ),
    Fault(
        "daft",
        "daft does not read a file whose Arrow schema has a string_view",
        contains("string"),
        "string",
        ["a", "b"],
        mixed_views,
    ),
    *(
        Fault(
            reader,
            f"{reader.removesuffix('*')} reads BYTE_STREAM_SPLIT of nothing but floats",
            contains("decimal"),
            "decimal(30,0)",
            [Decimal(1)],
            split_decimals,
        )
        for reader in ("polars*", "duckdb", "old *")
    ),
    Fault(
        "fastparquet",
        "fastparquet makes a double of a decimal",
        contains("decimal"),
        "decimal(9,2)",
        [Decimal("0.01")],
    ),
    Fault(
        "fastparquet",
        "fastparquet makes a time of a date",
        contains("date"),
        "date",
        [0],
    ),
    Fault(
        "fastparquet",
        "fastparquet forgets that a time is in UTC",
        contains("timestamp"),
        "timestamp",
        [0],
    ),
    Fault(
        "fastparquet",
        "fastparquet takes structs apart and leaves out lists and maps of them",
        nested,
        _POINT,
        [{"x": 1}, None],
    ),
    Fault(
        "fastparquet",
        "pandas has one null for null and NaN",
        contains("float", "double"),
        "double",
        [float("nan"), 1.0],
    ),
    Fault(
        "fastparquet",
        "pandas has no type for texts and bytes, so without a value they have none",
        contains("string", "binary"),
        "string",
        [None],
    ),
    Fault(
        "old p[!o]*",
        "pyarrow 14 does not read a file whose Arrow schema has a string_view",
        contains("string"),
        "string",
        ["a", "b"],
        mixed_views,
    ),
    Fault(
        "old polars*",
        "polars 0.20 makes a double of a decimal",
        contains("decimal"),
        "decimal(20,3)",
        [Decimal("12345678901234567.891")],
    ),
    Fault(
        "old polars*",
        "polars 0.20 has no null struct: its members are null",
        nested,
        _POINT,
        [{"x": 1}, None],
    ),
    Fault(
        "old polars*",
        "polars 0.20 makes a double of a decimal but in a file that it passes over",
        contains("decimal"),
        "decimal(9,2)",
        [Decimal("0.01")],
        decimals_as_integers,
    ),
    Fault(
        "old polars*",
        "polars 0.20 does not read a map where the Arrow schema says that it is one",
        nested,
        {"type": "map", "keyType": "string", "valueType": "integer", "valueContainsNull": True},
        [[("k", 1)]],
        with_arrow_schema,
    ),
    Fault(
        "fastparquet",
        "fastparquet makes integers of the times in a list that has no dictionary",
        lambda t: nested(t) and contains("timestamp")(t),
        {"type": "array", "elementType": "timestamp", "containsNull": True},
        [[0, 1], None],
        with_and_without_dictionary,
    ),
    Fault(
        "fastparquet",
        "fastparquet has only nulls for lists of two levels",
        lambda t: nested(t) and t["type"] == "array",
        {"type": "array", "elementType": "integer", "containsNull": False},
        [[0, 1], None],
        two_level_lists,
    ),
    Fault(
        "fastparquet",
        "fastparquet takes lists of texts without dictionary for texts or nulls",
        lambda t: nested(t) and contains("string", "binary")(t),
        {"type": "array", "elementType": "string", "containsNull": True},
        [["a"], None],
        without_dictionary,
    ),
    Fault(
        "fastparquet",
        "fastparquet, behind a struct, looks for the nulls of a number in the statistics of another column",
        lambda t: nested(t) and t["type"] == "struct",
        _POINT,
        [{"x": 1}, {"x": None}],
        structs_in_front,
    ),
    Fault(
        "spark*",
        "Spark has no BROTLI unless somebody adds it",
        lambda t: True,
        "long",
        [1, 2],
        brotli,
        says=r"(?i)brotli",
    ),
    *(
        Fault(
            reader,
            "Spark's vectorized reader knows no BYTE_STREAM_SPLIT",
            lambda t: True,
            "decimal(30,0)",
            [Decimal(1)],
            split_decimals,
            says="Unsupported encoding: BYTE_STREAM_SPLIT",
        )
        for reader in ("spark", "spark v2")
    ),
    *(
        Fault(
            reader,
            "Spark's vectorized reader reads no decimals of bytes of any length from a dictionary",
            contains("decimal"),
            "decimal(9,2)",
            [Decimal("0.01"), Decimal("0.02")],
            decimals_as_bytes,
            says="PlainBinaryDictionary",
        )
        for reader in ("spark", "spark v2")
    ),
]

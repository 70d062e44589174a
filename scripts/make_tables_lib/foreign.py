"""Data files of other writers than Spark: integers without a sign, bytes of one length, columns of nulls, metadata."""

from __future__ import annotations

import datetime as dt
import json
import struct
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa

from . import deletion_vectors as dv
from .deletions import without
from .handmade import Handmade, deleted, field
from .registry import recipe

_ON = {"delta.enableDeletionVectors": "true"}
_COUNT = 300


@recipe()
def foreign_types(root: Path) -> None:
    """What CONVERT TO DELTA takes over from other writers; then deletions, then an added column."""
    table = Handmade(root)
    ids = range(_COUNT)

    def column(kind: pa.DataType, value: Any) -> pa.Array:
        return pa.array([None if i % 7 == 6 else value(i) for i in ids], kind)

    # name, type of the table, what the file has, what is read
    columns = [
        ("u8", "short", column(pa.uint8(), lambda i: 255 - i % 256), pa.int16()),
        ("u16", "integer", column(pa.uint16(), lambda i: 65535 - i), pa.int32()),
        ("u32", "long", column(pa.uint32(), lambda i: 2**31 - 150 + i), pa.int64()),
        ("u64", "decimal(20,0)", column(pa.uint64(), lambda i: 2**63 - 150 + i), pa.decimal128(20, 0)),
        ("fixed", "binary", column(pa.binary(4), lambda i: (i * 2**24 // 2).to_bytes(4, "big")), pa.binary()),
        ("few", "binary", column(pa.binary(2), lambda i: (i % 5).to_bytes(2, "little")), pa.binary()),
        ("at", "timestamp_ntz", column(pa.timestamp("us"), lambda i: i * 86_400_000_001), pa.timestamp("us")),
        ("none", "string", pa.nulls(_COUNT), pa.string()),
    ]
    stored = pa.table({name: values for name, _, values, _ in columns})
    read = pa.table(
        {
            name: pa.array(
                [Decimal(v) if isinstance(v, int) and name == "u64" else v for v in values.to_pylist()], kind
            )
            for name, _, values, kind in columns
        }
    )
    fields = [field(name, kind) for name, kind, _, _ in columns]
    features = table.protocol(features=["deletionVectors", "timestampNtz"])
    table.commit(features, table.metadata(fields, configuration=_ON))
    old = {"use_deprecated_int96_timestamps": True, "store_schema": False}
    files = [
        table.write(stored, row_group_size=100, **old),
        table.write(stored, use_dictionary=False, data_page_version="2.0", compression="zstd", **old),
    ]
    table.commit(*files)
    table.expect(pa.concat_tables([read, read]))
    gone = [0, 6, *range(100, 200), 299]
    table.commit(table.remove(files[0]), deleted(files[0], dv.inline(gone)), operation="DELETE")
    left = pa.concat_tables([without(read, gone), read])
    table.expect(left)
    table.commit(table.metadata([*fields, field("new", "date")], configuration=_ON), operation="ADD COLUMNS")
    table.expect(left.append_column("new", pa.nulls(len(left), pa.date32())))


@recipe()
def foreign_nulls(root: Path) -> None:
    """Columns without a type: alone, in structs, in lists and in maps, of which some are null or empty."""
    table = Handmade(root)
    long_list = {"type": "array", "elementType": "long", "containsNull": True}
    point = {"type": "struct", "fields": [field("x", "double"), field("tags", long_list)]}
    fields = [
        field("id", "long"),
        field("l", long_list),
        field("s", point),
        field("m", {"type": "map", "keyType": "string", "valueType": point, "valueContainsNull": True}),
        field("only", {"type": "struct", "fields": [field("x", "double")]}),
    ]
    ids = pa.array(range(4), pa.int64())
    nothing = pa.struct([("x", pa.null()), ("tags", pa.list_(pa.null()))])
    kind = pa.struct([("x", pa.float64()), ("tags", pa.list_(pa.int64()))])

    def rows(element: pa.DataType, point: pa.DataType, x: pa.DataType) -> pa.Table:
        some = {"x": None, "tags": [None]}
        return pa.table(
            {
                "id": ids,
                "l": pa.array([[None, None], [], None, [None]], pa.list_(element)),
                "s": pa.array([some, None, {"x": None, "tags": []}, {"x": None, "tags": None}], point),
                "m": pa.array([[("a", some), ("b", None)], [], None, [("c", some)]], pa.map_(pa.string(), point)),
                "only": pa.array([{"x": None}, None, {"x": None}, None], pa.struct([("x", x)])),
            }
        )

    table.commit(table.protocol(features=["deletionVectors"]), table.metadata(fields, configuration=_ON))
    file = table.write(rows(pa.null(), nothing, pa.null()), store_schema=False)
    table.commit(file)
    read = rows(pa.int64(), kind, pa.float64())
    table.expect(read)
    table.commit(table.remove(file), deleted(file, dv.inline([1])), operation="DELETE")
    table.expect(without(read, [1]))


@recipe()
def foreign_metadata(root: Path) -> None:
    """Metadata by which readers see other columns: of GeoParquet, of pandas, and of Spark, as pyarrow leaves it."""
    table = Handmade(root)
    fields = [field("id", "long"), field("shape", "binary"), field("name", "string")]
    table.commit(table.protocol(), table.metadata(fields))
    point = struct.pack("<BIdd", 1, 1, 1.5, 2.5)
    geo = {
        "version": "1.1.0",
        "primary_column": "shape",
        "columns": {"shape": {"encoding": "WKB", "geometry_types": []}},
    }
    names = {"name": "label", "field_name": "name", "pandas_type": "unicode", "numpy_type": "object", "metadata": None}
    count = {"name": "id", "field_name": "id", "pandas_type": "unicode", "numpy_type": "string", "metadata": None}
    frame = {"index_columns": [], "column_indexes": [], "columns": [count, names], "pandas_version": "3.1.1"}
    row = {"type": "struct", "fields": [field("id", "integer"), field("name", "string")]}
    entries = {"geo": geo, "pandas": frame, "org.apache.spark.sql.parquet.row.metadata": row}
    shown: list[pa.Table] = []
    for i, (key, value) in enumerate(entries.items()):
        rows = pa.table(
            {
                "id": pa.array([2 * i, 2 * i + 1], pa.int64()),
                "shape": pa.array([point, None], pa.binary()),
                "name": pa.array([None, key]),
            }
        )
        table.commit(table.write(rows.replace_schema_metadata({key: json.dumps(value)})))
        shown.append(rows)
        table.expect(pa.concat_tables(shown))


@recipe()
def foreign_file_without_rows(root: Path) -> None:
    """What pandas makes of no rows: columns without a type, or of another; beside a file with rows."""
    table = Handmade(root)
    fields = [field("id", "long", nullable=False), field("name", "string"), field("day", "date"), field("p", "integer")]
    table.commit(table.protocol(), table.metadata(fields, ["p"]))
    none = pa.table({"id": pa.array([], pa.float64()), "name": pa.nulls(0), "day": pa.array([], pa.string())})
    rows = pa.table({"id": [1, 2], "name": ["a", None], "day": pa.array([dt.date(2024, 2, 29), None])})
    table.commit(table.write(none, values={"p": "1"}), table.write(rows, values={"p": "2"}))
    table.expect(rows.append_column("p", pa.array([2, 2], pa.int32())))


@recipe()
def foreign_partition_decimals(root: Path) -> None:
    """Partition values of decimals as Java prints them, with exponents."""
    table = Handmade(root)
    texts = {"0E-18": 0, "1E-18": Decimal("1e-18"), "-1.50E+3": -1500, "1": 1, "+2.50": Decimal("2.5")}
    table.commit(table.protocol(), table.metadata([field("id", "long"), field("p", "decimal(38,18)")], ["p"]))
    ids = [pa.table({"id": pa.array([i], pa.int64())}) for i in range(len(texts))]
    table.commit(*(table.write(rows, values={"p": text}) for rows, text in zip(ids, texts, strict=True)))
    values = pa.array(list(texts.values()), pa.decimal128(38, 18))
    table.expect(pa.concat_tables(ids).append_column("p", values))

"""Tables whose schema matters: every type, evolution, column mapping, widening."""

from __future__ import annotations

import datetime as dt
import decimal
from pathlib import Path

import pyarrow as pa

from .handmade import Handmade, field, mapped
from .registry import recipe

_UTC = pa.timestamp("us", "UTC")


@recipe()
def every_type(root: Path) -> None:
    """Each primitive type with its edges and a null, in one unpartitioned file."""
    table = Handmade(root)
    day, moment = dt.date(2024, 2, 29), dt.datetime(2024, 2, 29, 12, 34, 56, 789012)
    columns = [
        ("a_byte", "byte", pa.int8(), [-128, 127, None]),
        ("a_short", "short", pa.int16(), [-(2**15), 2**15 - 1, None]),
        ("an_integer", "integer", pa.int32(), [-(2**31), 2**31 - 1, None]),
        ("a_long", "long", pa.int64(), [-(2**63), 2**63 - 1, None]),
        ("a_float", "float", pa.float32(), [float("nan"), -0.0, None]),
        ("a_double", "double", pa.float64(), [float("inf"), 5e-324, None]),
        ("a_string", "string", pa.string(), ["", "naïve 🦀 \x00", None]),
        ("a_binary", "binary", pa.binary(), [b"", bytes(range(256)), None]),
        ("a_boolean", "boolean", pa.bool_(), [True, False, None]),
        ("a_date", "date", pa.date32(), [dt.date(1, 1, 1), day, None]),
        ("a_timestamp", "timestamp", _UTC, [moment, dt.datetime(1899, 12, 31, 23, 59, 59, 1), None]),
        (
            "a_small_decimal",
            "decimal(9,2)",
            pa.decimal128(9, 2),
            [decimal.Decimal("-1234567.89"), decimal.Decimal("0.01"), None],
        ),
        (
            "a_decimal",
            "decimal(18,4)",
            pa.decimal128(18, 4),
            [decimal.Decimal("99999999999999.9999"), decimal.Decimal(0), None],
        ),
        (
            "a_big_decimal",
            "decimal(38,10)",
            pa.decimal128(38, 10),
            [decimal.Decimal("-1e20"), decimal.Decimal("1e-10"), None],
        ),
    ]
    data = pa.table({name: pa.array(values, kind) for name, _, kind, values in columns})
    table.commit(table.protocol(), table.metadata([field(name, kind) for name, kind, _, _ in columns]))
    # Spark's way: a decimal of up to 18 digits is an integer.
    table.commit(table.write(data, store_decimal_as_integer=True))
    # Arrow's way: every decimal is a fixed-length byte array.
    table.commit(table.write(data))


@recipe()
def timestamp_without_zone(root: Path) -> None:
    table = Handmade(root)
    fields = [field("id", "long"), field("at", "timestamp_ntz")]
    data = pa.table(
        {"id": pa.array([1, 2]), "at": pa.array([dt.datetime(2024, 3, 31, 2, 30), None], pa.timestamp("us"))}
    )
    table.commit(table.protocol(features=["timestampNtz"]), table.metadata(fields))
    table.commit(table.write(data))


@recipe()
def nested_types(root: Path) -> None:
    table = Handmade(root)
    point = {"type": "struct", "fields": [field("x", "double"), field("y", "double")]}
    fields = [
        field("id", "long"),
        field("point", point),
        field("tags", {"type": "array", "elementType": "string", "containsNull": True}),
        field("prices", {"type": "map", "keyType": "string", "valueType": "double", "valueContainsNull": True}),
        field("track", {"type": "array", "elementType": point, "containsNull": True}),
    ]
    xy = pa.struct([("x", pa.float64()), ("y", pa.float64())])
    data = pa.table(
        {
            "id": pa.array([1, 2, 3], pa.int64()),
            "point": pa.array([{"x": 1.5, "y": None}, None, {"x": float("nan"), "y": 0.0}], xy),
            "tags": pa.array([["a", None, ""], [], None], pa.list_(pa.string())),
            "prices": pa.array([[("eur", 1.0), ("usd", None)], None, []], pa.map_(pa.string(), pa.float64())),
            "track": pa.array([[{"x": 0.0, "y": 1.0}, None], None, []], pa.list_(xy)),
        }
    )
    table.commit(table.protocol(), table.metadata(fields))
    table.commit(table.write(data))


@recipe()
def schema_evolution(root: Path) -> None:
    """A column is added, then another, and old files are rewritten at the end."""
    table = Handmade(root)
    one = [field("id", "long")]
    two = [*one, field("name", "string")]
    three = [*two, field("extra", {"type": "struct", "fields": [field("k", "integer")]})]
    ids = pa.array([1, 2], pa.int64())
    names = pa.array(["a", None])
    first = table.write(pa.table({"id": ids}))
    table.commit(table.protocol(), table.metadata(one), first)
    table.commit(table.metadata(two), table.write(pa.table({"id": ids, "name": names})), operation="ADD COLUMNS")
    table.commit(table.metadata(three), operation="ADD COLUMNS")
    extra = pa.array([{"k": 1}, None], pa.struct([("k", pa.int32())]))
    whole = table.write(pa.table({"id": ids, "name": names, "extra": extra}))
    table.commit(table.remove(first), whole, operation="MERGE")


@recipe()
def schema_reordered(root: Path) -> None:
    """A file whose columns stand in another order than the table's."""
    table = Handmade(root)
    table.commit(table.protocol(), table.metadata([field("a", "long"), field("b", "string")]))
    table.commit(table.write(pa.table({"a": pa.array([1, 2], pa.int64()), "b": ["x", "y"]})))
    table.commit(table.write(pa.table({"b": ["z"], "a": pa.array([3], pa.int64())})))


@recipe()
def schema_overwritten(root: Path) -> None:
    """Overwritten with another schema, so that old versions keep the old one."""
    table = Handmade(root)
    old = table.write(pa.table({"a": pa.array([1, 2], pa.int64())}))
    table.commit(table.protocol(), table.metadata([field("a", "long")]), old)
    new = table.write(pa.table({"a": ["one"], "b": [True]}))
    table.commit(table.metadata([field("a", "string"), field("b", "boolean")]), table.remove(old), new)


def _physical(columns: dict[str, tuple[int, pa.Array]]) -> pa.Table:
    schema = pa.schema(
        [
            pa.field(name, values.type, metadata={b"PARQUET:field_id": str(n).encode()})
            for name, (n, values) in columns.items()
        ]
    )
    return pa.table([values for _, values in columns.values()], schema=schema)


def _mapping(root: Path, mode: str) -> None:
    """Mapped from the start; then a rename, a dropped column, and a new column under the old name."""
    table = Handmade(root)
    config = {"delta.columnMapping.mode": mode, "delta.columnMapping.maxColumnId": "3"}
    a, b, p = (
        mapped("a", "long", 1, "col-a1"),
        mapped("b", "string", 2, "col-b2"),
        mapped("p", "string", 3, "col-p3"),
    )
    table.commit(table.protocol(2, 5), table.metadata([a, b, p], ["p"], config))
    data = {"col-a1": (1, pa.array([1, 2], pa.int64())), "col-b2": (2, pa.array(["x", None]))}
    table.commit(table.write(_physical(data), directory="Xy", values={"col-p3": "one"}))
    renamed = mapped("alpha", "long", 1, "col-a1")
    table.commit(table.metadata([renamed, b, p], ["p"], config), operation="RENAME COLUMN")
    table.commit(table.metadata([renamed, p], ["p"], config), operation="DROP COLUMNS")
    config = {**config, "delta.columnMapping.maxColumnId": "4"}
    again = mapped("b", "double", 4, "col-b4")
    table.commit(table.metadata([renamed, p, again], ["p"], config), operation="ADD COLUMNS")
    data = {"col-a1": (1, pa.array([3], pa.int64())), "col-b4": (4, pa.array([0.5]))}
    table.commit(table.write(_physical(data), directory="qZ", values={"col-p3": None}))


@recipe()
def column_mapping_name(root: Path) -> None:
    _mapping(root, "name")


@recipe()
def column_mapping_id(root: Path) -> None:
    _mapping(root, "id")


@recipe()
def column_mapping_off(root: Path) -> None:
    """Physical names stand in the schema, but the mode is not set: the logical names are the file's."""
    table = Handmade(root)
    fields = [mapped("a", "long", 1, "col-a1"), mapped("b", "string", 2, "col-b2")]
    table.commit(table.protocol(2, 5), table.metadata(fields))
    table.commit(table.write(pa.table({"a": pa.array([1], pa.int64()), "b": ["x"]})))


@recipe()
def column_mapping_upgraded(root: Path) -> None:
    """Mapping by name is switched on over existing files: physical names equal the old ones, then one is renamed."""
    table = Handmade(root)
    table.commit(table.protocol(), table.metadata([field("id", "long"), field("value", "string")]))
    data = pa.table({"id": pa.array([1, 2], pa.int64()), "value": ["x", None]})
    table.commit(table.write(data))
    config = {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "2"}
    columns = [mapped("id", "long", 1, "id"), mapped("value", "string", 2, "value")]
    table.commit(table.protocol(2, 5), table.metadata(columns, configuration=config), operation="SET TBLPROPERTIES")
    columns = [mapped("id2", "long", 1, "id"), mapped("value", "string", 2, "value")]
    table.commit(table.metadata(columns, configuration=config), operation="RENAME COLUMN")
    table.commit(table.write(_physical({"id": (1, pa.array([3], pa.int64())), "value": (2, pa.array(["y"]))})))


@recipe()
def type_widening(root: Path) -> None:
    """Widened step by step; old files keep the narrow type."""
    table = Handmade(root)
    wide = {"delta.enableTypeWidening": "true"}

    def changed(name: str, kind: str, *steps: tuple[str, str]) -> dict[str, object]:
        return field(name, kind, **{"delta.typeChanges": [{"fromType": a, "toType": b} for a, b in steps]})

    features = table.protocol(features=["typeWidening"])
    fields = [field("n", "short"), field("f", "float"), field("d", "date"), field("m", "decimal(8,2)")]
    cents = [decimal.Decimal("1.25"), None]
    narrow = pa.table(
        {
            "n": pa.array([1, -2], pa.int16()),
            "f": pa.array([1.5, None], pa.float32()),
            "d": pa.array([dt.date(2024, 1, 1), None]),
            "m": pa.array(cents, pa.decimal128(8, 2)),
        }
    )
    table.commit(features, table.metadata(fields, configuration=wide))
    table.commit(table.write(narrow, store_decimal_as_integer=True))
    fields[0] = changed("n", "integer", ("short", "integer"))
    table.commit(table.metadata(fields, configuration=wide), operation="CHANGE COLUMN")
    fields[0] = changed("n", "long", ("short", "integer"), ("integer", "long"))
    fields[1] = changed("f", "double", ("float", "double"))
    fields[3] = changed("m", "decimal(18,2)", ("decimal(8,2)", "decimal(18,2)"))
    table.commit(table.metadata(fields, configuration=wide), operation="CHANGE COLUMN")
    rest = pa.table(
        {
            "n": pa.array([2**40, None], pa.int64()),
            "f": pa.array([1e300, None], pa.float64()),
            "d": pa.array([dt.date(2024, 1, 2), None]),
            "m": pa.array([decimal.Decimal("123456789012.25"), None], pa.decimal128(18, 2)),
        }
    )
    table.commit(table.write(rest, store_decimal_as_integer=True))

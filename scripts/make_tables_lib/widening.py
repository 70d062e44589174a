"""Tables whose columns were widened, at the top and inside other types. See PROTOCOL.md, "Type Widening"."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa

from . import deletion_vectors as dv
from .handmade import Handmade, deleted, field
from .registry import recipe

_DAY_US = 86_400_000_000


def _changed(name: str, kind: Any, *steps: tuple[str, str], path: str | None = None) -> dict[str, Any]:
    extra = {"fieldPath": path} if path else {}
    return field(name, kind, **{"delta.typeChanges": [{"fromType": a, "toType": b, **extra} for a, b in steps]})


@recipe()
def widening_of_every_kind(root: Path) -> None:
    """Each change that the protocol allows, on a file of the narrow types; then rows of it deleted."""
    table = Handmade(root)
    config = {"delta.enableTypeWidening": "true", "delta.enableDeletionVectors": "true"}
    features = table.protocol(features=["typeWidening", "timestampNtz", "deletionVectors"])
    d = Decimal
    # name, narrow type, its Arrow type, values, wide type, Arrow type, values
    bounds = {8: (-128, 127), 16: (-(2**15), 2**15 - 1), 32: (-(2**31), 2**31 - 1), 64: (-(2**63), 2**63 - 1)}
    integer = {8: "byte", 16: "short", 32: "integer", 64: "long"}
    arrow = {8: pa.int8(), 16: pa.int16(), 32: pa.int32(), 64: pa.int64()}
    columns: list[tuple[str, str, pa.DataType, list[Any], str, pa.DataType, list[Any]]] = []
    for a in (8, 16, 32):
        values = [*bounds[a], None, 0]
        for b in (16, 32, 64):
            if b > a:
                columns.append((f"i{a}_i{b}", integer[a], arrow[a], values, integer[b], arrow[b], values))
        doubles = [None if v is None else float(v) for v in values]
        columns.append((f"i{a}_double", integer[a], arrow[a], values, "double", pa.float64(), doubles))
        decimals = [None if v is None else d(v) for v in values]
        columns.append((f"i{a}_d10", integer[a], arrow[a], values, "decimal(10,0)", pa.decimal128(10, 0), decimals))
        columns.append((f"i{a}_d38_9", integer[a], arrow[a], values, "decimal(38,9)", pa.decimal128(38, 9), decimals))
    values = [*bounds[64], None, 0]
    decimals = [None if v is None else d(v) for v in values]
    columns.append(("i64_d20", "long", pa.int64(), values, "decimal(20,0)", pa.decimal128(20, 0), decimals))
    columns.append(("i64_d38_18", "long", pa.int64(), values, "decimal(38,18)", pa.decimal128(38, 18), decimals))
    floats = [1.5, float("inf"), None, -0.1]
    rounded = pa.array(floats, pa.float32()).to_pylist()
    columns.append(("float_double", "float", pa.float32(), floats, "double", pa.float64(), rounded))
    days = [-719162, 2932896, None, -1]
    moments = [None if v is None else v * _DAY_US for v in days]
    columns.append(("date_ntz", "date", pa.date32(), days, "timestamp_ntz", pa.timestamp("us"), moments))
    for (p, s), (q, t) in (
        ((4, 2), (9, 2)),
        ((4, 2), (10, 2)),
        ((9, 2), (18, 2)),
        ((9, 2), (19, 2)),
        ((18, 2), (38, 2)),
        ((4, 2), (9, 4)),
        ((9, 2), (18, 6)),
        ((18, 4), (38, 24)),
        ((20, 2), (38, 2)),
        ((20, 2), (38, 12)),
    ):
        top = d(10) ** (p - s) - d(1).scaleb(-s)
        values = [top, -top, None, d(1).scaleb(-s)]
        columns.append(
            (
                f"d{p}_{s}_d{q}_{t}",
                f"decimal({p},{s})",
                pa.decimal128(p, s),
                values,
                f"decimal({q},{t})",
                pa.decimal128(q, t),
                values,
            )
        )

    def array(values: list[Any], kind: pa.DataType) -> pa.Array:
        if pa.types.is_date(kind):
            return pa.array(values, pa.int32()).cast(kind)
        return pa.array(values, pa.int64()).cast(kind) if pa.types.is_timestamp(kind) else pa.array(values, kind)

    narrow = pa.table({c[0]: array(c[3], c[2]) for c in columns})
    wide = pa.table({c[0]: array(c[6], c[5]) for c in columns})
    table.commit(features, table.metadata([field(c[0], c[1]) for c in columns], configuration=config))
    files = [table.write(narrow, store_decimal_as_integer=True), table.write(narrow, row_group_size=2)]
    table.commit(*files)
    table.commit(
        table.metadata([_changed(c[0], c[4], (c[1], c[4])) for c in columns], configuration=config),
        operation="CHANGE COLUMN",
    )
    table.expect(pa.concat_tables([wide, wide]))
    table.commit(table.write(wide, store_decimal_as_integer=True))
    table.expect(pa.concat_tables([wide] * 3))
    gone = [deleted(f, dv.inline([1])) for f in files]
    table.commit(*(table.remove(f) for f in files), *gone, operation="DELETE")
    left = pa.concat_tables([wide.slice(0, 1), wide.slice(2)])
    table.expect(pa.concat_tables([left, left, wide]))


@recipe()
def widening_in_steps(root: Path) -> None:
    """int, then long, then decimal, then a decimal of another scale; each step with a file of its own."""
    table = Handmade(root)
    config = {"delta.enableTypeWidening": "true"}
    steps = [
        ("byte", pa.int8(), 100),
        ("integer", pa.int32(), 2**30),
        ("long", pa.int64(), 2**60),
        ("decimal(20,0)", pa.decimal128(20, 0), Decimal(10**19)),
        ("decimal(30,5)", pa.decimal128(30, 5), Decimal("1e19")),
    ]
    table.commit(table.protocol(features=["typeWidening"]), table.metadata([field("n", "byte")], configuration=config))
    values: list[Any] = []
    for i, (kind, arrow, value) in enumerate(steps):
        changes = [(steps[k][0], steps[k + 1][0]) for k in range(i)]
        if i:
            fields = [_changed("n", kind, *changes)]
            table.commit(table.metadata(fields, configuration=config), operation="CHANGE COLUMN")
            table.expect(pa.table({"n": pa.array(values, arrow)}))
        table.commit(table.write(pa.table({"n": pa.array([value, None], arrow)})))
        values += [value, None]
        table.expect(pa.table({"n": pa.array(values, arrow)}))


@recipe()
def widening_inside(root: Path) -> None:
    """A field of a struct, the elements of a list, keys and values of a map are widened."""
    table = Handmade(root)
    config = {"delta.enableTypeWidening": "true"}

    def fields(new: bool) -> list[dict[str, Any]]:
        small = "integer" if new else "short"
        number = "long" if new else "integer"
        inner = _changed("x", number, ("integer", "long")) if new else field("x", "integer")
        listed = {"type": "array", "elementType": "double" if new else "float", "containsNull": True}
        keyed = {
            "type": "map",
            "keyType": small,
            "valueType": "decimal(12,4)" if new else "decimal(8,2)",
            "valueContainsNull": True,
        }
        structs = {"type": "array", "elementType": {"type": "struct", "fields": [inner]}, "containsNull": True}
        elements, m = field("l", listed), field("m", keyed)
        if new:
            elements = _changed("l", listed, ("float", "double"), path="element")
            m["metadata"]["delta.typeChanges"] = [
                {"fromType": "short", "toType": "integer", "fieldPath": "key"},
                {"fromType": "decimal(8,2)", "toType": "decimal(12,4)", "fieldPath": "value"},
            ]
        return [field("s", {"type": "struct", "fields": [inner]}), elements, m, field("ls", structs)]

    def rows(new: bool) -> pa.Table:
        number = pa.struct([("x", pa.int64() if new else pa.int32())])
        return pa.table(
            {
                "s": pa.array([{"x": -1}, {"x": None}, None], number),
                "l": pa.array([[0.5, None], [], None], pa.list_(pa.float64() if new else pa.float32())),
                "m": pa.array(
                    [[(1, Decimal("1.25")), (-2, None)], [], None],
                    pa.map_(pa.int32(), pa.decimal128(12, 4)) if new else pa.map_(pa.int16(), pa.decimal128(8, 2)),
                ),
                "ls": pa.array([[{"x": 7}, None, {"x": None}], [], None], pa.list_(number)),
            }
        )

    table.commit(table.protocol(features=["typeWidening"]), table.metadata(fields(False), configuration=config))
    table.commit(table.write(rows(False)))
    table.expect(rows(False))
    table.commit(table.metadata(fields(True), configuration=config), operation="CHANGE COLUMN")
    table.expect(rows(True))
    table.commit(table.write(rows(True)))
    table.expect(pa.concat_tables([rows(True), rows(True)]))

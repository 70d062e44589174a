"""Tables whose nested columns changed: fields added, renamed, dropped and added again under the same name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa

from . import deletion_vectors as dv
from .deletions import without
from .handmade import Handmade, deleted, field, mapped
from .registry import recipe


def _array(element: Any) -> dict[str, Any]:
    return {"type": "array", "elementType": element, "containsNull": True}


def _map(value: Any) -> dict[str, Any]:
    return {"type": "map", "keyType": "string", "valueType": value, "valueContainsNull": True}


def _struct(*fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": "struct", "fields": list(fields)}


@recipe()
def evolution_nested(root: Path) -> None:
    """Fields added inside a struct, a struct in it, a list of structs, a list of lists of structs and a map of structs."""
    table = Handmade(root)
    config = {"delta.enableDeletionVectors": "true"}
    a, b = field("a", "integer"), field("b", "string")
    inner = field("inner", _struct(field("u", "double"), field("v", _array("long"))))
    old, new = _struct(a), _struct(b, a, inner)

    def fields(s: Any) -> list[dict[str, Any]]:
        return [
            field("s", s),
            field("deep", _struct(field("s", s))),
            field("l", _array(s)),
            field("ll", _array(_array(s))),
            field("m", _map(s)),
        ]

    def rows(kind: pa.DataType, x: Any, y: Any) -> pa.Table:
        deep = pa.struct([("s", kind)])
        return pa.table(
            {
                "s": pa.array([x, y, None], kind),
                "deep": pa.array([{"s": x}, {"s": None}, None], deep),
                "l": pa.array([[x, None, y], [], None], pa.list_(kind)),
                "ll": pa.array([[[x], None, [], [None, y]], [], None], pa.list_(pa.list_(kind))),
                "m": pa.array([[("k", x), ("n", None)], [], None], pa.map_(pa.string(), kind)),
            }
        )

    narrow = pa.struct([("a", pa.int32())])
    wide = pa.struct(
        [
            ("b", pa.string()),
            ("a", pa.int32()),
            ("inner", pa.struct([("u", pa.float64()), ("v", pa.list_(pa.int64()))])),
        ]
    )
    before = rows(narrow, {"a": 1}, {"a": None})
    seen = rows(wide, {"b": None, "a": 1, "inner": None}, {"b": None, "a": None, "inner": None})
    after = rows(wide, {"b": "x", "a": 2, "inner": {"u": 0.5, "v": [1, None]}}, {"b": None, "a": 3, "inner": None})
    table.commit(table.protocol(features=["deletionVectors"]), table.metadata(fields(old), configuration=config))
    file = table.write(before)
    table.commit(file)
    table.expect(before)
    table.commit(table.metadata(fields(new), configuration=config), operation="ADD COLUMNS")
    table.expect(seen)
    table.commit(table.write(after))
    table.expect(pa.concat_tables([seen, after]))
    table.commit(table.remove(file), deleted(file, dv.inline([1])), operation="DELETE")
    table.expect(pa.concat_tables([without(seen, [1]), after]))


@recipe()
def evolution_whole_nested(root: Path) -> None:
    """A list, a map and a struct of structs are added as a whole, in front of, among and behind the others."""
    table = Handmade(root)
    one, two = field("one", "long"), field("two", "string")
    ids = pa.table({"one": pa.array([1, 2], pa.int64()), "two": ["a", None]})
    table.commit(table.protocol(), table.metadata([one, two]))
    table.commit(table.write(ids))
    table.expect(ids)
    point = _struct(field("x", "double"), field("tags", _array("string")))
    fields = [field("l", _array(point)), one, field("m", _map(point)), two, field("s", _struct(field("p", point)))]
    table.commit(table.metadata(fields), operation="ADD COLUMNS")
    kind = pa.struct([("x", pa.float64()), ("tags", pa.list_(pa.string()))])
    full = pa.table(
        {
            "l": pa.nulls(2, pa.list_(kind)),
            "one": ids.column("one"),
            "m": pa.nulls(2, pa.map_(pa.string(), kind)),
            "two": ids.column("two"),
            "s": pa.nulls(2, pa.struct([("p", kind)])),
        }
    )
    table.expect(full)


def _mapping_nested(root: Path, mode: str) -> None:
    """Nested fields renamed, dropped, and one added again under the old name with another type."""
    table = Handmade(root)
    config = {"delta.columnMapping.mode": mode, "delta.columnMapping.maxColumnId": "20"}

    def numbered(name: str, kind: pa.DataType, number: int) -> pa.Field:
        return pa.field(name, kind, metadata={b"PARQUET:field_id": str(number).encode()})

    def point(x: str, y: dict[str, Any]) -> dict[str, Any]:
        return _struct(mapped(x, "integer", 2, "c-x"), y)

    def fields(s: str, x: str, y: dict[str, Any]) -> list[dict[str, Any]]:
        return [
            mapped(s, point(x, y), 1, "c-s"),
            mapped("l", _array(_struct(mapped(x, "integer", 5, "c-lx"))), 4, "c-l"),
            mapped("m", _map(_struct(mapped(x, "integer", 7, "c-mx"))), 6, "c-m"),
        ]

    def physical(y: pa.Field, value: Any) -> pa.Table:
        s = pa.struct([numbered("c-x", pa.int32(), 2), y])
        lx, mx = pa.struct([numbered("c-lx", pa.int32(), 5)]), pa.struct([numbered("c-mx", pa.int32(), 7)])
        schema = pa.schema(
            [
                numbered("c-s", s, 1),
                numbered("c-l", pa.list_(lx), 4),
                numbered("c-m", pa.map_(pa.string(), mx), 6),
            ]
        )
        return pa.table(
            [
                pa.array([{"c-x": 1, y.name: value}, None], s),
                pa.array([[{"c-lx": 2}, None], []], pa.list_(lx)),
                pa.array([[("k", {"c-mx": 3})], None], pa.map_(pa.string(), mx)),
            ],
            schema=schema,
        )

    def logical(s: str, x: str, y: str, kind: pa.DataType, value: Any) -> pa.Table:
        only = pa.struct([(x, pa.int32())])
        return pa.table(
            {
                s: pa.array([{x: 1, y: value}, None], pa.struct([(x, pa.int32()), (y, kind)])),
                "l": pa.array([[{x: 2}, None], []], pa.list_(only)),
                "m": pa.array([[("k", {x: 3})], None], pa.map_(pa.string(), only)),
            }
        )

    y = mapped("y", "string", 3, "c-y")
    table.commit(table.protocol(2, 5), table.metadata(fields("s", "x", y), configuration=config))
    table.commit(table.write(physical(numbered("c-y", pa.string(), 3), "old")))
    table.expect(logical("s", "x", "y", pa.string(), "old"))
    table.commit(table.metadata(fields("S2", "é x", y), configuration=config), operation="RENAME COLUMN")
    table.expect(logical("S2", "é x", "y", pa.string(), "old"))
    again = mapped("y", "double", 8, "c-y8")
    table.commit(table.metadata(fields("S2", "é x", again), configuration=config), operation="ADD COLUMNS")
    table.expect(logical("S2", "é x", "y", pa.float64(), None))
    table.commit(table.write(physical(numbered("c-y8", pa.float64(), 8), 0.5)))
    both = [logical("S2", "é x", "y", pa.float64(), v) for v in (None, 0.5)]
    table.expect(pa.concat_tables(both))


@recipe()
def evolution_nested_by_name(root: Path) -> None:
    _mapping_nested(root, "name")


@recipe()
def evolution_nested_by_id(root: Path) -> None:
    _mapping_nested(root, "id")


@recipe()
def evolution_by_id_with_other_names(root: Path) -> None:
    """Mapping by id where the file's names are others than the physical names, even each other's."""
    table = Handmade(root)
    config = {"delta.columnMapping.mode": "id", "delta.columnMapping.maxColumnId": "3"}
    fields = [mapped("a", "long", 1, "col-a"), mapped("b", "long", 2, "col-b"), mapped("c", "string", 3, "col-c")]
    table.commit(table.protocol(2, 5), table.metadata(fields, configuration=config))

    def numbered(name: str, number: int) -> pa.Field:
        return pa.field(name, pa.int64(), metadata={b"PARQUET:field_id": str(number).encode()})

    schema = pa.schema([numbered("col-b", 1), numbered("col-a", 2), numbered("elsewhere", 9)])
    table.commit(table.write(pa.table([pa.array([v, v + 1], pa.int64()) for v in (10, 20, 30)], schema=schema)))
    table.expect(pa.table({"a": pa.array([10, 11]), "b": pa.array([20, 21]), "c": pa.nulls(2, pa.string())}))


@recipe()
def evolution_drop_and_add_again(root: Path) -> None:
    """A column is dropped and added again twice under one name, with the first type and with another."""
    table = Handmade(root)
    config = {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "4"}
    key = mapped("id", "long", 1, "id")
    table.commit(table.protocol(2, 5), table.metadata([key, mapped("v", "string", 2, "v")], configuration=config))
    ids = pa.array([1, 2], pa.int64())
    table.commit(table.write(pa.table({"id": ids, "v": ["old", "older"]})))
    rows: list[pa.Array] = [ids]
    for number, kind, arrow, value in ((3, "string", pa.string(), "new"), (4, "integer", pa.int32(), 7)):
        table.commit(table.metadata([key], configuration=config), operation="DROP COLUMNS")
        table.expect(pa.table({"id": pa.concat_arrays(rows)}))
        again = mapped("v", kind, number, f"col-{number}")
        table.commit(table.metadata([key, again], configuration=config), operation="ADD COLUMNS")
        table.expect(pa.table({"id": pa.concat_arrays(rows), "v": pa.nulls(2 * len(rows), arrow)}))
        values = pa.array([value, None], arrow)
        table.commit(table.write(pa.table({"id": ids, f"col-{number}": values})))
        nulls = pa.nulls(2 * len(rows), arrow)
        rows.append(ids)
        table.expect(pa.table({"id": pa.concat_arrays(rows), "v": pa.concat_arrays([nulls, values])}))

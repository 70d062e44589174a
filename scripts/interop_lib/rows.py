"""Comparison of two tables of rows, by the Delta schema of the version, without regard to order.

Readers hand back the same rows in different clothes: `large_string` or `string`, maps as lists of structs,
timestamps in nanoseconds. The schema in the log says what a value *means*, so both sides are first brought to one
form by it.
Values are then compared exactly: floats by their bits (all NaN are one value, 0.0 and -0.0 are one value as in
Parquet statistics), decimals by value, timestamps by their microseconds.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from collections import Counter
from collections.abc import Iterable
from decimal import Decimal
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

_EPOCH = dt.datetime(1970, 1, 1)
_LARGE = 20_000
_SIMPLE = {
    "byte": pa.int8(),
    "short": pa.int16(),
    "integer": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
    "boolean": pa.bool_(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
    "void": pa.null(),
}


def arrow_type(delta: Any) -> pa.DataType:
    """The Arrow type that a value of a Delta type has. `delta` is the type as it stands in `schemaString`."""
    if isinstance(delta, str):
        if delta in _SIMPLE:
            return _SIMPLE[delta]
        if m := re.fullmatch(r"decimal\((\d+),\s*(-?\d+)\)", delta):
            return pa.decimal128(int(m[1]), int(m[2]))
        if delta == "decimal":
            return pa.decimal128(10, 0)
        raise ValueError(f"Delta type {delta!r} is not known here")
    if delta["type"] == "struct":
        return pa.struct([pa.field(f["name"], arrow_type(f["type"])) for f in delta["fields"]])
    if delta["type"] == "array":
        return pa.list_(arrow_type(delta["elementType"]))
    if delta["type"] == "map":
        return pa.map_(arrow_type(delta["keyType"]), arrow_type(delta["valueType"]))
    raise ValueError(f"Delta type {delta!r} is not known here")


def describe(t: pa.DataType, *, maps: bool = True) -> str:
    """A type as text, without differences of encoding. With `maps` false, a map reads as the list it is stored as."""
    if pa.types.is_dictionary(t):
        return describe(t.value_type, maps=maps)
    if pa.types.is_string(t) or pa.types.is_large_string(t) or t == pa.string_view():
        return "string"
    if pa.types.is_binary(t) or pa.types.is_large_binary(t) or t == pa.binary_view():
        return "binary"
    if pa.types.is_decimal(t):
        return f"decimal({t.precision},{t.scale})"
    if pa.types.is_timestamp(t):
        return "timestamp" if t.tz else "timestamp_ntz"
    if pa.types.is_date(t):
        return "date"
    if pa.types.is_struct(t):
        inner = (f"{f.name}:{describe(f.type, maps=maps)}" for f in t)
        return f"struct<{', '.join(inner)}>"
    if pa.types.is_map(t):
        k, v = describe(t.key_type, maps=maps), describe(t.item_type, maps=maps)
        return f"map<{k}, {v}>" if maps else f"list<struct<key:{k}, value:{v}>>"
    if pa.types.is_list(t) or pa.types.is_large_list(t) or pa.types.is_fixed_size_list(t):
        return f"list<{describe(t.value_type, maps=maps)}>"
    return str(t)


def type_differences(schema: dict[str, Any], got: pa.Schema, *, maps: bool = True) -> list[str]:
    """How the columns a reader saw differ from the Delta schema: names, order, types. Empty when they agree."""
    wanted_names = [f["name"] for f in schema["fields"]]
    if got.names != wanted_names:
        return [f"columns {got.names}, expected {wanted_names}"]
    out = []
    for f in schema["fields"]:
        wanted = describe(arrow_type(f["type"]), maps=maps)
        have = describe(got.field(f["name"]).type, maps=maps)
        if wanted != have:
            out.append(f"column {f['name']!r} is {have}, expected {wanted}")
    return out


def row_differences(schema: dict[str, Any], wanted: pa.Table, got: pa.Table) -> list[str]:
    """How two sets of rows differ, as multisets. Both need the columns of `schema`, in any order."""
    fields = schema["fields"]
    for side, table in (("expected", wanted), ("read", got)):
        missing = [f["name"] for f in fields if f["name"] not in table.column_names]
        if missing:
            return [f"the rows {side} lack the columns {missing}"]
    if wanted.num_rows != got.num_rows:
        return [f"{got.num_rows} rows, expected {wanted.num_rows}"]
    flat = all(isinstance(f["type"], str) for f in fields)
    if flat and wanted.num_rows > _LARGE:
        return _large_differences(fields, wanted, got)
    a, b = _multiset(fields, wanted), _multiset(fields, got)
    if a == b:
        return []
    lost, extra = list((a - b).elements()), list((b - a).elements())
    return [f"{len(lost)} rows differ, for example expected {lost[:1]} but read {extra[:1]}"]


def with_partition_values(schema: dict[str, Any], table: pa.Table, partitions: Iterable[str]) -> pa.Table:
    """The table with its partition columns, which are text, as values of their types.

    See PROTOCOL.md, "Partition Value Serialization".
    """
    types = {f["name"]: f["type"] for f in schema["fields"]}
    for name in partitions:
        texts = table.column(name).cast(pa.string()).to_pylist()
        values = pa.array([_from_text(t, types[name]) if t else None for t in texts], arrow_type(types[name]))
        table = table.set_column(table.column_names.index(name), name, values)
    return table


def _from_text(text: str, t: str) -> Any:
    """The value that a partition value's text stands for. Raises `ValueError` when it stands for none."""
    if t in ("byte", "short", "integer", "long"):
        return int(text)
    if t in ("float", "double"):
        return float(text)
    if t.startswith("decimal"):
        return Decimal(text)
    if t == "boolean":
        return text == "true"
    if t == "date":
        return dt.date.fromisoformat(text)
    if t in ("timestamp", "timestamp_ntz"):
        moment = dt.datetime.fromisoformat(text)
        return moment if t == "timestamp_ntz" else moment.replace(tzinfo=moment.tzinfo or dt.UTC)
    return text.encode() if t == "binary" else text


def _multiset(fields: list[dict[str, Any]], table: pa.Table) -> Counter:
    columns = []
    for f in fields:
        plain = _plain(table.column(f["name"]))
        columns.append([_value(v, f["type"]) for v in plain])
    return Counter(zip(*columns)) if columns else Counter({(): table.num_rows})


def _plain(column: pa.ChunkedArray) -> list[Any]:
    # Python's datetime ends with year 9999 and at microseconds: go through integers where that matters.
    t = column.type
    if pa.types.is_dictionary(t):
        return _plain(column.cast(t.value_type))
    if pa.types.is_timestamp(t):
        return _micros(column).to_pylist()
    if pa.types.is_date32(t):
        return column.cast(pa.int32()).to_pylist()
    return column.to_pylist()


def _micros(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column.cast(pa.timestamp("us", column.type.tz), safe=False).cast(pa.int64())


def _value(v: Any, t: Any) -> Any:
    """One value in the form that is compared; `t` is its Delta type."""
    if v is None or t == "void":
        return None
    if isinstance(t, dict):
        if t["type"] == "struct":
            return tuple(_value(v.get(f["name"]), f["type"]) for f in t["fields"])
        if t["type"] == "array":
            return tuple(_value(x, t["elementType"]) for x in v)
        pairs = v.items() if isinstance(v, dict) else ((p["key"], p["value"]) if isinstance(p, dict) else p for p in v)
        return tuple(sorted(((_value(k, t["keyType"]), _value(x, t["valueType"])) for k, x in pairs), key=repr))
    if t in ("timestamp", "timestamp_ntz"):
        if isinstance(v, int):
            return v
        naive = v.astimezone(dt.UTC).replace(tzinfo=None) if v.tzinfo else v
        return (naive.replace(tzinfo=None) - _EPOCH) // dt.timedelta(microseconds=1)
    if t == "date":
        if isinstance(v, int):
            return v
        day = v.date() if isinstance(v, dt.datetime) else v
        return (day - _EPOCH.date()).days
    if t in ("float", "double"):
        return "NaN" if math.isnan(v) else float(v) + 0.0
    if t.startswith("decimal"):
        return Decimal(v).normalize()
    if t == "binary":
        return bytes(v)
    return v


def _large_differences(fields: list[dict[str, Any]], wanted: pa.Table, got: pa.Table) -> list[str]:
    names = [f["name"] for f in fields]

    def frame(table: pa.Table) -> pl.DataFrame:
        columns = []
        for f in fields:
            column = table.column(f["name"])
            if pa.types.is_dictionary(column.type):
                column = column.cast(column.type.value_type)
            if pa.types.is_timestamp(column.type):
                column = _micros(column)
            elif pa.types.is_floating(column.type):
                column = pc.add(column, pa.scalar(0.0, column.type))
            else:
                column = column.cast(arrow_type(f["type"]))
            columns.append(column)
        return pl.from_arrow(pa.table(columns, names=[str(i) for i in range(len(columns))]))

    a, b = frame(wanted), frame(got)
    order = a.columns
    a, b = a.sort(order), b.sort(order)
    if a.equals(b, null_equal=True):
        return []
    bad = [names[int(c)] for c in order if not a[c].equals(b[c], null_equal=True)]
    return [f"the columns {bad} differ when all {len(a)} rows are sorted"]


# ---- plain files -----------------------------------------------------------------------------------------------------


def as_delta(schema: dict[str, Any], table: pa.Table) -> pa.Table:
    """The rows with the Arrow types that `schema` asks for, whatever a reader made of them."""
    columns = []
    for f in schema["fields"]:
        column = table.column(f["name"]).combine_chunks()
        if isinstance(column, pa.ChunkedArray):  # without a chunk
            column = pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
        columns.append(_as(column, arrow_type(f["type"])))
    return pa.table(columns, names=[f["name"] for f in schema["fields"]])


def _as(a: pa.Array, t: pa.DataType) -> pa.Array:
    if a.type.equals(t):
        return a
    if pa.types.is_dictionary(a.type):
        return _as(a.dictionary_decode(), t)
    if pa.types.is_struct(t):
        children = [_as(pc.struct_field(a, f.name), f.type) for f in t]
        return pa.StructArray.from_arrays(children, fields=list(t), mask=a.is_null())
    if pa.types.is_list(t):
        return pa.ListArray.from_arrays(_offsets(a), _as(a.flatten(), t.value_type), type=t, mask=a.is_null())
    if pa.types.is_map(t):
        pairs = a.flatten() if not pa.types.is_map(a.type) else None
        keys = pc.struct_field(pairs, "key") if pairs is not None else pa.concat_arrays([x.keys for x in _valid(a)])
        items = pc.struct_field(pairs, "value") if pairs is not None else pa.concat_arrays([x.items for x in _valid(a)])
        return pa.MapArray.from_arrays(
            _offsets(a), _as(keys, t.key_type), _as(items, t.item_type), type=t, mask=a.is_null()
        )
    return a.cast(t)


def _valid(a: pa.Array) -> list[pa.Array]:
    return [a.drop_null()]


def _offsets(a: pa.Array) -> pa.Array:
    """Where each list begins in the flattened values, in which null lists have no place."""
    lengths = (
        pc.fill_null(pc.list_value_length(a), 0)
        if not pa.types.is_map(a.type)
        else pa.array([len(v) if v is not None else 0 for v in a.to_pylist()], pa.int64())
    )
    return pa.concat_arrays([pa.array([0], pa.int32()), pc.cumulative_sum(lengths.cast(pa.int64())).cast(pa.int32())])


def same_answer(a: pa.Table | str, b: pa.Table | str) -> bool:
    """Whether two reads by one reader ended alike: both in an error, or both with the same columns and rows."""
    if isinstance(a, str) or isinstance(b, str):
        return isinstance(a, str) and isinstance(b, str)
    if a.column_names != b.column_names:
        return False
    kinds = zip((describe(f.type) for f in a.schema), (describe(f.type) for f in b.schema))
    if any(x != y and "null" not in (x, y) for x, y in kinds):  # without a value there may be no type
        return False

    def rows(t: pa.Table) -> Counter:
        return Counter(map(repr, zip(*(_plain(c) for c in t.columns))))

    return rows(a) == rows(b)

"""Rows of every type, with the values at which writers of statistics go wrong."""

from __future__ import annotations

import datetime as dt
import math
import random
from decimal import Decimal
from typing import Any

import pyarrow as pa

ARRAY = {"type": "array", "elementType": "integer", "containsNull": True}
MAP = {"type": "map", "keyType": "string", "valueType": "double", "valueContainsNull": True}
STRUCT = {
    "type": "struct",
    "fields": [
        {"name": "a", "type": "long", "nullable": True, "metadata": {}},
        {"name": "b", "type": "string", "nullable": True, "metadata": {}},
        {"name": "when", "type": "timestamp", "nullable": True, "metadata": {}},
    ],
}
NEST = {
    "type": "array",
    "elementType": {
        "type": "struct",
        "fields": [
            {"name": "x", "type": "integer", "nullable": True, "metadata": {}},
            {
                "name": "y",
                "type": {"type": "array", "elementType": "string", "containsNull": True},
                "nullable": True,
                "metadata": {},
            },
        ],
    },
    "containsNull": True,
}

# Columns of every type that Delta has. Those that only new protocols know stand in `NEW`.
KINDS: dict[str, Any] = {
    "id": "long",
    "flag": "boolean",
    "i8": "byte",
    "i16": "short",
    "i32": "integer",
    "f32": "float",
    "f64": "double",
    "dec9": "decimal(9,2)",
    "dec18": "decimal(18,4)",
    "dec38": "decimal(38,10)",
    "text": "string",
    "long_text": "string",
    "bytes": "binary",
    "day": "date",
    "ts": "timestamp",
    "list": ARRAY,
    "struct": STRUCT,
    "map": MAP,
    "nest": NEST,
}
NEW: dict[str, Any] = {"ntz": "timestamp_ntz"}

_EPOCH = dt.datetime(1970, 1, 1)
_ARROW: dict[str, pa.DataType] = {
    "long": pa.int64(),
    "boolean": pa.bool_(),
    "byte": pa.int8(),
    "short": pa.int16(),
    "integer": pa.int32(),
    "float": pa.float32(),
    "double": pa.float64(),
    "decimal(9,2)": pa.decimal128(9, 2),
    "decimal(18,4)": pa.decimal128(18, 4),
    "decimal(38,10)": pa.decimal128(38, 10),
    "string": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
}
_NESTED: dict[str, pa.DataType] = {
    "list": pa.list_(pa.int32()),
    "struct": pa.struct([("a", pa.int64()), ("b", pa.string()), ("when", pa.timestamp("us", "UTC"))]),
    "map": pa.map_(pa.string(), pa.float64()),
    "nest": pa.list_(pa.struct([("x", pa.int32()), ("y", pa.list_(pa.string()))])),
}

# Longer than the prefix of texts that statistics keep, with characters beyond the first plane at its end.
_LONG = ["a" * 31 + "\U0010ffff" * 3, "z" * 40, "é" * 33, "\U0001f980" * 20, "\uffff" * 35, "a" * 31 + "\ud7ff\ue000"]


def schema(kinds: dict[str, Any], *, required: tuple[str, ...] = ()) -> dict[str, Any]:
    """The schema of such columns, as it stands in the log."""
    fields = [{"name": n, "type": t, "nullable": n not in required, "metadata": {}} for n, t in kinds.items()]
    return {"type": "struct", "fields": fields}


def rows(first: int, count: int, kinds: dict[str, Any], *, plain: bool = False) -> pa.Table:
    """Rows numbered from `first`, the same each time. Without `plain`, a third of all values are null or at an edge."""
    dice = random.Random(first)
    columns = {}
    for name, kind in kinds.items():
        if name == "id":
            values: list[Any] = list(range(first, first + count))
        else:
            values = [_value(name, kind, dice, plain) for _ in range(count)]
        columns[name] = pa.array(values, arrow(name, kind))
    return pa.table(columns)


def arrow(name: str, kind: Any) -> pa.DataType:
    """The Arrow type in which rows of a column are made."""
    return _ARROW[kind] if isinstance(kind, str) else _NESTED[name]


def _value(name: str, kind: Any, dice: random.Random, plain: bool) -> Any:
    pick = dice.random()
    if pick < 0.2 and not plain:
        return None
    if pick < 0.35 and not plain and isinstance(kind, str) and kind in _EDGES:
        return dice.choice(_EDGES[kind])
    if name == "long_text":
        return dice.choice(_LONG)
    if not isinstance(kind, str):
        return _nested(name, dice)
    if kind.startswith("decimal"):
        digits, scale = (int(n) for n in kind[8:-1].split(","))
        return Decimal(dice.randrange(-(10 ** (digits - 2)), 10 ** (digits - 2))).scaleb(-scale)
    return _USUAL[kind](dice)


def _nested(name: str, dice: random.Random) -> Any:
    if name == "list":
        return [dice.choice([None, dice.randrange(100)]) for _ in range(dice.randrange(4))]
    if name == "map":
        return [(f"k{i}", dice.choice([None, 0.5, math.nan])) for i in range(dice.randrange(3))]
    if name == "struct":
        return {
            "a": dice.choice([None, dice.randrange(-5, 5)]),
            "b": dice.choice([None, "", "s"]),
            "when": dice.choice([None, _moment(dice)]),
        }
    return [
        dice.choice([None, {"x": dice.randrange(9), "y": dice.choice([None, [], ["t", None]])}])
        for _ in range(dice.randrange(3))
    ]


def _moment(dice: random.Random) -> dt.datetime:
    return _EPOCH + dt.timedelta(microseconds=dice.randrange(-(10**15), 2 * 10**15))


_USUAL: dict[str, Any] = {
    "long": lambda dice: dice.randrange(-(2**40), 2**40),
    "boolean": lambda dice: dice.random() < 0.5,
    "byte": lambda dice: dice.randrange(-100, 100),
    "short": lambda dice: dice.randrange(-9999, 9999),
    "integer": lambda dice: dice.randrange(-(10**6), 10**6),
    "float": lambda dice: dice.randrange(-1000, 1000) / 8,
    "double": lambda dice: dice.uniform(-1e9, 1e9),
    "string": lambda dice: dice.choice(["", "a", "Ä", "b'c\"d", "\\", "line\nbreak", "\U0001f980", "z" * 33]),
    "binary": lambda dice: dice.choice([b"", b"\x00\xff", b"abc", bytes(range(40))]),
    "date": lambda dice: dt.date(1970, 1, 1) + dt.timedelta(days=dice.randrange(-9000, 30000)),
    "timestamp": _moment,
    "timestamp_ntz": _moment,
}

_EDGES: dict[str, list[Any]] = {
    "long": [-(2**63), 2**63 - 1],
    "byte": [-128, 127],
    "short": [-(2**15), 2**15 - 1],
    "integer": [-(2**31), 2**31 - 1],
    "float": [math.nan, math.inf, -math.inf, -0.0, 3.4e38],
    "double": [math.nan, math.inf, -math.inf, -0.0, 5e-324, 1.7e308],
    "decimal(9,2)": [Decimal("-9999999.99"), Decimal("9999999.99")],
    "decimal(18,4)": [Decimal("-99999999999999.9999"), Decimal("99999999999999.9999")],
    "decimal(38,10)": [Decimal("9" * 28 + "." + "9" * 10), Decimal("-" + "9" * 28 + "." + "9" * 10)],
    "date": [dt.date(1, 1, 1), dt.date(9999, 12, 31), dt.date(1969, 12, 31)],
    "timestamp": [
        dt.datetime(1, 1, 1),
        dt.datetime(9999, 12, 31, 23, 59, 59, 999999),
        _EPOCH - dt.timedelta(microseconds=1),
        dt.datetime(2024, 2, 29, 12, 0, 0, 999999),
    ],
    "timestamp_ntz": [
        dt.datetime(1, 1, 1),
        dt.datetime(9999, 12, 31, 23, 59, 59, 999999),
        dt.datetime(2024, 3, 31, 2, 30, 0, 1),
    ],
}

"""Tables with partition values of every type, at their extremes. See PROTOCOL.md, "Partition Value Serialization"."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa

from . import deletion_vectors as dv
from .handmade import Action, Handmade, deleted, field
from .registry import recipe

_DATES = [("0001-01-01", -719162), ("9999-12-31", 2932896), ("1582-10-14", -141428), ("1970-01-01", 0)]
_MOMENTS = [
    ("0001-01-01 00:00:00", -62_135_596_800_000_000),
    ("9999-12-30 21:59:59.999999", 253_402_207_199_999_999),
    ("1969-12-31 23:59:59.999999", -1),
    ("2024-02-29 12:00:00.5", 1_709_208_000_500_000),
]
_ZONED = [
    *_MOMENTS[:3],
    ("2024-02-29T12:00:00.500000Z", 1_709_208_000_500_000),
]
_TYPES: list[tuple[str, Any, list[tuple[str, Any]]]] = [
    ("byte", pa.int8(), [("-128", -128), ("127", 127)]),
    ("short", pa.int16(), [("-32768", -(2**15)), ("32767", 2**15 - 1)]),
    ("integer", pa.int32(), [("-2147483648", -(2**31)), ("2147483647", 2**31 - 1)]),
    ("long", pa.int64(), [("-9223372036854775808", -(2**63)), ("9223372036854775807", 2**63 - 1)]),
    ("float", pa.float32(), [("-3.4028235E38", -3.4028234663852886e38), ("1.4E-45", 1.401298464324817e-45)]),
    ("double", pa.float64(), [("1.7976931348623157E308", 1.7976931348623157e308), ("4.9E-324", 5e-324)]),
    ("decimal(9,2)", pa.decimal128(9, 2), [("-9999999.99", Decimal("-9999999.99")), ("0.10", Decimal("0.1"))]),
    ("decimal(18,0)", pa.decimal128(18, 0), [("9" * 18, Decimal("9" * 18)), ("-1", Decimal(-1))]),
    ("decimal(38,10)", pa.decimal128(38, 10), [("9" * 28 + "." + "9" * 10, Decimal("9" * 28 + "." + "9" * 10))]),
    ("boolean", pa.bool_(), [("true", True), ("false", False)]),
    ("date", pa.date32(), _DATES),
    ("timestamp", pa.timestamp("us", "UTC"), _ZONED),
    ("timestamp_ntz", pa.timestamp("us"), _MOMENTS),
    ("string", pa.string(), [("null", "null"), (" ", " "), ("é\n🦀", "é\n🦀"), ("x" * 200, "x" * 200), ("1", "1")]),
]


def _column(kind: pa.DataType, value: Any, count: int) -> pa.Array:
    if pa.types.is_date(kind):
        return pa.array([value] * count, pa.int32()).cast(kind)
    return (
        pa.array([value] * count, pa.int64()).cast(kind)
        if pa.types.is_timestamp(kind)
        else pa.array([value] * count, kind)
    )


@recipe()
def partition_extremes(root: Path) -> None:
    """The largest, smallest and oddest values of each type, and null, each in a file; then deletions."""
    table = Handmade(root)
    config = {"delta.enableDeletionVectors": "true"}
    names = [f"p{i}" for i in range(len(_TYPES))]
    fields = [*(field(n, t[0]) for n, t in zip(names, _TYPES)), field("id", "long")]
    table.commit(table.protocol(features=["deletionVectors", "timestampNtz"]), table.metadata(fields, names, config))
    files: list[Action] = []
    expected = []
    for i in range(6):
        picked = [None if i == 5 else t[2][i % len(t[2])] for t in _TYPES]
        values = {n: p and p[0] for n, p in zip(names, picked)}
        ids = pa.array([3 * i, 3 * i + 1, 3 * i + 2], pa.int64())
        files.append(table.write(pa.table({"id": ids}), directory=f"d{i}", values=values))
        columns = {n: _column(t[1], p and p[1], 3) for n, t, p in zip(names, _TYPES, picked)}
        expected.append(pa.table({**columns, "id": ids}))
    table.commit(*files)
    table.expect(pa.concat_tables(expected))
    vectors = dv.File(root, table.unique_id())
    gone = [deleted(f, vectors.add([1])) for f in files]
    table.commit(*(table.remove(f) for f in files), *gone, operation="DELETE")
    table.expect(pa.concat_tables([t.take(pa.array([0, 2])) for t in expected]))


@recipe()
def partition_timestamp_last_day(root: Path) -> None:
    """The last microsecond that Spark can write down, as a partition value."""
    table = Handmade(root)
    fields = [field("id", "long"), field("at", "timestamp"), field("local", "timestamp_ntz")]
    table.commit(table.protocol(features=["timestampNtz"]), table.metadata(fields, ["at", "local"]))
    text, at = "9999-12-31 23:59:59.999999", 253_402_300_799_999_999
    ids = pa.array([1], pa.int64())
    table.commit(table.write(pa.table({"id": ids}), directory="d", values={"at": text, "local": text}))
    columns = {n: _column(t, at, 1) for n, t in (("at", pa.timestamp("us", "UTC")), ("local", pa.timestamp("us")))}
    table.expect(pa.table({"id": ids, **columns}))


@recipe()
def partition_floats(root: Path) -> None:
    """NaN, the infinities and the zeros as partition values."""
    table = Handmade(root)
    fields = [field("id", "long"), field("f", "float"), field("d", "double")]
    table.commit(table.protocol(), table.metadata(fields, ["f", "d"]))
    expected = []
    for i, (text, value) in enumerate(
        [("NaN", float("nan")), ("Infinity", float("inf")), ("-Infinity", -float("inf")), ("-0.0", -0.0), ("0.0", 0.0)]
    ):
        ids = pa.array([i], pa.int64())
        table.commit(table.write(pa.table({"id": ids}), directory=f"d{i}", values={"f": text, "d": text}))
        expected.append(
            pa.table({"id": ids, "f": pa.array([value], pa.float32()), "d": pa.array([value], pa.float64())})
        )
        table.expect(pa.concat_tables(expected))


@recipe()
def partition_columns_only(root: Path) -> None:
    """A table whose files have no column that is a column of the table."""
    table = Handmade(root)
    table.commit(table.protocol(), table.metadata([field("p", "string")], ["p"]))
    table.commit(table.write(pa.table({"unused": pa.array([1, 2, 3], pa.int64())}), directory="p=x", values={"p": "x"}))
    table.expect(pa.table({"p": ["x"] * 3}))

"""Tables with the physical types of old writers: INT96, lists of two levels, decimals in every physical type."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pyarrow as pa

from . import deletion_vectors as dv
from . import footer
from .deletions import without
from .handmade import Handmade, deleted, field
from .registry import recipe

_ON = {"delta.enableDeletionVectors": "true"}


@recipe()
def legacy_int96(root: Path) -> None:
    """INT96 timestamps of the years 1, 1582, 1900, 1969, 2262 and 9999, plain, by dictionary, in lists; then deletions."""
    table = Handmade(root)
    # Microseconds since 1970 of 0001-01-01, 1582-10-14 and -15, 1900-01-01T00:00:00.000001, 1969-12-31T23:59:59.999999,
    # 2262-04-11T23:47:16.854776 (past nanoseconds in 64 bits) and 9999-12-31T23:59:59.999999.
    moments = [
        -62_135_596_800_000_000,
        -12_219_379_200_000_000,
        -12_219_292_800_000_000,
        -2_208_988_799_999_999,
        -1,
        None,
        9_223_372_036_854_776,
        253_402_300_799_999_999,
    ]
    fields = [
        field("id", "long"),
        field("at", "timestamp"),
        field("all", {"type": "array", "elementType": "timestamp", "containsNull": True}),
    ]
    utc = pa.timestamp("us", "UTC")
    rows = pa.table(
        {
            "id": pa.array(range(8), pa.int64()),
            "at": pa.array(moments, pa.int64()).cast(utc),
            "all": pa.array([moments[:i] if i % 3 else None for i in range(8)], pa.list_(pa.int64())).cast(
                pa.list_(utc)
            ),
        }
    )
    table.commit(table.protocol(features=["deletionVectors"]), table.metadata(fields, configuration=_ON))
    old = {"use_deprecated_int96_timestamps": True, "store_schema": False}
    files = [table.write(rows, **old), table.write(rows, use_dictionary=False, row_group_size=3, **old)]
    table.commit(*files)
    table.expect(pa.concat_tables([rows, rows]))
    gone = [deleted(f, dv.inline([1, 7])) for f in files]
    table.commit(*(table.remove(f) for f in files), *gone, operation="DELETE")
    table.expect(pa.concat_tables([without(rows, [1, 7])] * 2))
    table.commit(table.metadata([*fields, field("new", "timestamp")], configuration=_ON), table.write(rows))
    both = pa.concat_tables([without(rows, [1, 7])] * 2 + [rows])
    table.expect(both.append_column("new", pa.nulls(len(both), utc)))


@recipe()
def legacy_lists(root: Path) -> None:
    """Lists of two levels, as parquet-mr and parquet-avro wrote them; then deletions, then an added column."""
    table = Handmade(root)
    fields = [
        field("id", "long"),
        field("l", {"type": "array", "elementType": "integer", "containsNull": False}),
        field("t", {"type": "array", "elementType": "string", "containsNull": False}),
    ]
    ids = range(50)
    numbers = pa.list_(pa.field("element", pa.int32(), False))
    texts = pa.list_(pa.field("element", pa.string(), False))
    rows = pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "l": pa.array([None if i % 7 == 6 else list(range(i % 5)) for i in ids], numbers),
            "t": pa.array([None if i % 5 == 4 else [f"{i}-{j}" for j in range(i % 3)] for i in ids], texts),
        }
    )

    def two_levels(metadata: footer.Struct) -> None:
        footer.as_two_level_list(metadata, "l")
        footer.as_two_level_list(metadata, "t")

    table.commit(table.protocol(features=["deletionVectors"]), table.metadata(fields, configuration=_ON))
    file = table.write(rows, edit=two_levels, store_schema=False, row_group_size=20)
    table.commit(file)
    table.expect(rows)
    gone = [0, 6, 13, 20, 21, 49]
    table.commit(table.remove(file), deleted(file, dv.inline(gone)), operation="DELETE")
    table.expect(without(rows, gone))
    table.commit(table.metadata([field("new", "date"), *fields], configuration=_ON), operation="ADD COLUMNS")
    kept = without(rows, gone)
    table.expect(kept.add_column(0, "new", pa.nulls(len(kept), pa.date32())))


@recipe()
def legacy_decimals(root: Path) -> None:
    """Decimals as INT32, INT64, fixed and variable bytes, where another writer would take another of them."""
    table = Handmade(root)
    kinds = {"small": (9, 2), "middle": (18, 4), "large": (38, 10)}
    fields = [field("id", "long"), *(field(n, f"decimal({p},{s})") for n, (p, s) in kinds.items())]
    columns: dict[str, pa.Array] = {"id": pa.array(range(6), pa.int64())}
    unscaled: dict[str, list[int | None]] = {}
    for name, (p, s) in kinds.items():
        top = 10**p - 1
        unscaled[name] = [top, -top, 0, None, -1, 255]
        values = [None if v is None else Decimal(f"{v}E-{s}") for v in unscaled[name]]
        columns[name] = pa.array(values, pa.decimal128(p, s))
    rows = pa.table(columns)
    table.commit(table.protocol(features=["deletionVectors"]), table.metadata(fields, configuration=_ON))

    def as_bytes(v: int | None) -> bytes | None:
        return None if v is None else v.to_bytes(v.bit_length() // 8 + 1, "big", signed=True)

    def marked(metadata: footer.Struct) -> None:
        for name, (p, s) in kinds.items():
            footer.as_decimal(metadata, name, p, s)

    long = rows.set_column(1, "small", pa.array(unscaled["small"], pa.int64()))
    long = long.set_column(2, "middle", pa.array(unscaled["middle"], pa.int64())).drop_columns(["large"])
    binary = pa.table(
        {"id": rows.column("id"), **{n: pa.array([as_bytes(v) for v in unscaled[n]], pa.binary()) for n in kinds}}
    )

    def marked_long(metadata: footer.Struct) -> None:
        for name in ("small", "middle"):
            footer.as_decimal(metadata, name, *kinds[name])

    options = {"store_schema": False}
    files = [
        table.write(rows, **options),
        table.write(rows, store_decimal_as_integer=True, **options),
        table.write(long, edit=marked_long, **options),
        table.write(binary, edit=marked, write_statistics=False, **options),
    ]
    table.commit(*files)
    partly = rows.set_column(3, "large", pa.nulls(6, pa.decimal128(38, 10)))
    table.expect(pa.concat_tables([rows, rows, partly, rows]))
    gone = [deleted(f, dv.inline([0, 3])) for f in files]
    table.commit(*(table.remove(f) for f in files), *gone, operation="DELETE")
    table.expect(pa.concat_tables([without(t, [0, 3]) for t in (rows, rows, partly, rows)]))


@recipe()
def legacy_calendar(root: Path) -> None:
    """Dates and instants in the calendar of Spark before 3.0, Julian until 1582, as Databricks marks them; then deletions."""
    table = Handmade(root)
    utc = pa.timestamp("us", "UTC")
    day = 86_400_000_000
    # 0001-01-01, 1500-02-29 (which ISO 8601 takes for 1500-03-01), 1582-10-04, 1582-10-15 and 2024-02-29.
    old = [-719_164, -171_596, -141_428, -141_427, None, 19_782]
    new = [-719_162, -171_605, -141_438, -141_427, None, 19_782]
    nested = [field("day", "date"), field("at", "timestamp")]
    fields = [
        field("id", "long"),
        field("day", "date"),
        field("at", "timestamp"),
        field("was", "timestamp"),
        field("wall", "timestamp_ntz"),
        field("all", {"type": "array", "elementType": {"type": "struct", "fields": nested}, "containsNull": True}),
        field("p", "date"),
    ]

    def rows(days: list[int | None], *, converted: bool) -> pa.Table:
        micros = [None if d is None else d * day + 1 for d in days]
        # Instants without a zone are in no calendar.
        walls = [None if d is None or d == old[0] else d * day + 1 for d in old]
        inner = pa.struct([("day", pa.int32()), ("at", pa.int64())])
        # Without the first, which Python has no date for when a reader takes it for one of ISO 8601.
        pairs = [[{"day": d, "at": m}, None] if d != days[0] else [] for d, m in zip(days, micros, strict=True)]
        table = pa.table(
            {
                "id": pa.array(range(6), pa.int64()),
                "day": pa.array(days, pa.int32()).cast(pa.date32()),
                "at": pa.array(micros, pa.int64()).cast(utc),
                "was": pa.array(micros, pa.int64()).cast(utc),
                "wall": pa.array(walls, pa.int64()).cast(pa.timestamp("us")),
                "all": pa.array(pairs, pa.list_(inner)).cast(pa.list_(pa.struct([("day", pa.date32()), ("at", utc)]))),
            }
        )
        partition = pa.array([-719_162] * 6, pa.int32()).cast(pa.date32())
        return table.append_column("p", partition) if converted else table

    marks = {
        "org.apache.spark.version": "3.5.0",
        "org.apache.spark.timeZone": "Etc/UTC",
        "org.apache.spark.legacyDateTime": "",
        "org.apache.spark.legacyINT96": "",
    }
    stored = rows(old, converted=False).replace_schema_metadata(marks)
    config = _ON
    features = table.protocol(features=["deletionVectors", "timestampNtz"])
    table.commit(features, table.metadata(fields, ["p"], config))
    file = table.write(stored, values={"p": "0001-01-01"})
    table.commit(file)
    read = rows(new, converted=True)
    table.expect(read)
    table.commit(table.remove(file), deleted(file, dv.inline([1, 5])), operation="DELETE")
    table.expect(without(read, [1, 5]))


# Seconds since 1970 in the old calendar and in that of ISO 8601, as Spark 4.1 shows what it has written.
_ZONES = {
    "America/Los_Angeles": [(-14_825_768_479, -14_826_632_901), (-2_208_992_371, -2_208_992_371)],
    "Europe/Amsterdam": [(-14_825_767_880, -14_826_629_330), (-2_208_995_971, -2_208_992_371)],
    "Asia/Kolkata": [(-12_219_303_588, -12_219_304_996), (-2_208_992_901, -2_208_992_371)],
    "Asia/Manila": [(-14_825_769_357, -14_826_547_197), (-3_944_620_560, -3_944_620_800)],
    "Pacific/Apia": [(-14_825_766_946, -14_826_629_330), (-2_209_080_387, -2_208_992_371)],
    "GMT+5:30": [(-14_825_768_901, -14_826_632_901), (-12_219_303_604, -12_219_303_604)],
    # Java knows no such name, and takes UTC.
    "+05:30": [(-14_825_768_901, -14_826_632_901), (-12_219_303_695, -12_220_167_695)],
}


@recipe()
def legacy_calendar_zones(root: Path) -> None:
    """Instants in the calendar of Spark before 3.0, in time zones with a local mean time, as INT64 and as INT96."""
    table = Handmade(root)
    utc = pa.timestamp("us", "UTC")
    table.commit(table.protocol(), table.metadata([field("zone", "string"), field("at", "timestamp")]))
    files, shown = [], []
    for zone, pairs in _ZONES.items():
        for int96 in (False, True):
            olds, news = ([None if p is None else p[i] * 1_000_000 + 123_456 for p in [*pairs, None]] for i in (0, 1))
            names = pa.array([zone] * len(olds))
            rows = pa.table({"zone": names, "at": pa.array(olds, pa.int64()).cast(utc)})
            marks = {"org.apache.spark.version": "4.1.0", "org.apache.spark.timeZone": zone}
            marks["org.apache.spark.legacyINT96" if int96 else "org.apache.spark.legacyDateTime"] = ""
            files.append(table.write(rows.replace_schema_metadata(marks), use_deprecated_int96_timestamps=int96))
            shown.append(pa.table({"zone": names, "at": pa.array(news, pa.int64()).cast(utc)}))
    table.commit(*files)
    table.expect(pa.concat_tables(shown))

"""Tables with deletion vectors where they meet other things: row groups, mapping, partitions, widening, evolution."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa

from . import deletion_vectors as dv
from .handmade import Action, Handmade, deleted, field, mapped
from .registry import recipe

_ON = {"delta.enableDeletionVectors": "true"}


def _measurements(count: int) -> pa.Table:
    """Columns whose bounds are alone in one row each: whoever trusts old statistics after a deletion is wrong."""
    ids = list(range(count))
    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "small": pa.array([None if i % 10 == 9 else -i for i in ids], pa.int32()),
            "name": pa.array([f"row {i:06}" for i in ids], pa.string()),
            "price": pa.array([i / 4 for i in ids], pa.float64()),
            "day": pa.array([i - 20_000 for i in ids], pa.int32()).cast(pa.date32()),
            "at": pa.array([i * 1_000_001 for i in ids], pa.int64()).cast(pa.timestamp("us", "UTC")),
            "cents": pa.array(ids, pa.int64()).cast(pa.decimal128(19, 0)).cast(pa.decimal128(21, 2)),
            "even": pa.array([i % 2 == 0 for i in ids], pa.bool_()),
        }
    )


_FIELDS = [
    field("id", "long"),
    field("small", "integer"),
    field("name", "string"),
    field("price", "double"),
    field("day", "date"),
    field("at", "timestamp"),
    field("cents", "decimal(21,2)"),
    field("even", "boolean"),
]


def without(rows: pa.Table, gone: Iterable[int]) -> pa.Table:
    lost = set(gone)
    return rows.take(pa.array([i for i in range(len(rows)) if i not in lost], pa.int64()))


@recipe()
def deletions_by_row_group(root: Path) -> None:
    """Ten row groups in one file: deletions in one, at the bounds of all, in whole groups, in all but one row."""
    table = Handmade(root)
    table.commit(table.protocol(features=["deletionVectors"]), table.metadata(_FIELDS, configuration=_ON))
    rows = _measurements(1000)
    file = table.write(rows, row_group_size=100, write_page_index=True, store_decimal_as_integer=True)
    table.commit(file)
    vectors = dv.File(root, table.unique_id())
    now = file
    for gone in (
        [555],
        [0],
        [999],
        range(900, 1000),
        [*range(0, 100), *range(300, 400), 450],
        [i for i in range(1000) if i % 100 in (0, 99)],
        [i for i in range(1000) if i != 512],
        [i for i in range(1000) if i % 3],
    ):
        changed = deleted(file, vectors.add(gone))
        table.commit(table.remove(now), changed, operation="DELETE")
        table.expect(without(rows, gone))
        now = changed


@recipe()
def deletions_of_everything(root: Path) -> None:
    """Files whose rows are all deleted, alone and beside others, with and without statistics."""
    table = Handmade(root)
    table.commit(table.protocol(features=["deletionVectors"]), table.metadata(_FIELDS, configuration=_ON))
    rows = _measurements(50)
    known, unknown = table.write(rows), table.write(rows, stats=False)
    table.commit(known, unknown)
    all_of = dv.inline(range(50))
    table.commit(table.remove(known), deleted(known, all_of), operation="DELETE")
    table.expect(rows)
    table.commit(table.remove(unknown), deleted(unknown, all_of), operation="DELETE")
    table.expect(rows.slice(0, 0))
    table.commit(table.write(rows.slice(7, 3)), table.write(rows.slice(0, 0)))
    table.expect(rows.slice(7, 3))


@recipe()
def deletions_shared_bin(root: Path) -> None:
    """Five files whose vectors lie in one `.bin`, one of them empty, beside an inline one."""
    table = Handmade(root)
    table.commit(table.protocol(features=["deletionVectors"]), table.metadata(_FIELDS, configuration=_ON))
    rows = _measurements(60)
    parts = [rows.slice(i * 10, 10) for i in range(6)]
    files = [table.write(p) for p in parts]
    table.commit(*files)
    vectors = dv.File(root, table.unique_id())
    lost = [[0], [1, 2], [], [9], list(range(1, 10)), [4, 5]]
    actions: list[Action] = []
    for file, gone in zip(files[:5], lost):
        actions += [table.remove(file), deleted(file, vectors.add(gone))]
    actions += [table.remove(files[5]), deleted(files[5], dv.inline(lost[5]))]
    table.commit(*actions, operation="DELETE")
    table.expect(pa.concat_tables([without(p, gone) for p, gone in zip(parts, lost)]))


@recipe()
def deletions_and_everything(root: Path) -> None:
    """Vectors, partition columns, column mapping, a widened, a renamed, an added and a dropped column in one table."""
    table = Handmade(root)
    config = _ON | {
        "delta.columnMapping.mode": "name",
        "delta.columnMapping.maxColumnId": "5",
        "delta.enableTypeWidening": "true",
    }
    features = table.protocol(features=["deletionVectors", "columnMapping", "typeWidening"])
    n, text = mapped("n", "integer", 1, "col-n"), mapped("text", "string", 2, "col-t")
    gone, p = mapped("gone", "double", 3, "col-g"), mapped("p", "date", 4, "col-p")
    table.commit(features, table.metadata([n, p, text, gone], ["p"], config))
    ids, words = list(range(40)), [f"word {i}" for i in range(40)]

    def file(day: str | None) -> Action:
        rows = {
            "col-n": pa.array(ids, pa.int32()),
            "col-t": pa.array(words),
            "col-g": pa.array([0.5] * 40, pa.float64()),
        }
        return table.write(pa.table(rows), directory="aB", values={"col-p": day}, row_group_size=10)

    first, second = file("2024-02-29"), file(None)
    table.commit(first, second)
    n = {**mapped("number", "long", 1, "col-n")}
    n["metadata"]["delta.typeChanges"] = [{"fromType": "integer", "toType": "long"}]
    late = mapped("late", {"type": "struct", "fields": [mapped("k", "string", 6, "col-k")]}, 5, "col-l")
    fields = [late, text, p, n]
    config["delta.columnMapping.maxColumnId"] = "6"
    table.commit(table.metadata(fields, ["p"], config), operation="CHANGE COLUMN")
    vectors = dv.File(root, table.unique_id())
    lost = [0, 11, 12, 13, 39]
    table.commit(
        table.remove(first),
        deleted(first, vectors.add(lost)),
        table.remove(second),
        deleted(second, vectors.add(range(10, 40))),
        operation="DELETE",
    )
    kind = pa.struct([("k", pa.string())])

    def logical(rows: list[int], day: int | None) -> pa.Table:
        return pa.table(
            {
                "late": pa.array([None] * len(rows), kind),
                "text": pa.array([words[i] for i in rows]),
                "p": pa.array([day] * len(rows), pa.int32()).cast(pa.date32()),
                "number": pa.array(rows, pa.int64()),
            }
        )

    kept = [logical([i for i in ids if i not in lost], 19782), logical(ids[:10], None)]
    table.expect(pa.concat_tables(kept))
    new = pa.table(
        {
            "col-l": pa.array([{"col-k": "here"}, {"col-k": None}, None], pa.struct([("col-k", pa.string())])),
            "col-t": pa.array(["x", None, "z"]),
            "col-n": pa.array([2**40, None, 3], pa.int64()),
        }
    )
    third = table.write(new, directory="zz", values={"col-p": "1969-12-31"})
    table.commit(third)
    table.commit(table.remove(third), deleted(third, dv.inline([1])), operation="DELETE")
    kept.append(
        pa.table(
            {
                "late": pa.array([{"k": "here"}, None], kind),
                "text": pa.array(["x", "z"]),
                "p": pa.array([-1, -1], pa.int32()).cast(pa.date32()),
                "number": pa.array([2**40, 3], pa.int64()),
            }
        )
    )
    table.expect(pa.concat_tables(kept))


@recipe()
def deletions_in_nested_rows(root: Path) -> None:
    """Rows of lists, maps and structs of several lengths, some of them deleted, in pages of few values."""
    table = Handmade(root)
    item = {
        "type": "struct",
        "fields": [field("k", "string"), field("n", {"type": "array", "elementType": "integer", "containsNull": True})],
    }
    fields = [
        field("id", "long"),
        field("items", {"type": "array", "elementType": item, "containsNull": True}),
        field("by", {"type": "map", "keyType": "string", "valueType": item, "valueContainsNull": True}),
    ]
    struct = pa.struct([("k", pa.string()), ("n", pa.list_(pa.int32()))])

    def value(i: int) -> dict[str, object] | None:
        return None if i % 5 == 4 else {"k": f"k{i}", "n": [None, *range(i % 3)] if i % 4 else None}

    ids = range(300)
    rows = pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "items": pa.array(
                [None if i % 7 == 0 else [value(i + j) for j in range(i % 6)] for i in ids], pa.list_(struct)
            ),
            "by": pa.array(
                [None if i % 11 == 0 else [(f"{i}-{j}", value(i + j)) for j in range(i % 4)] for i in ids],
                pa.map_(pa.string(), struct),
            ),
        }
    )
    table.commit(table.protocol(features=["deletionVectors"]), table.metadata(fields, configuration=_ON))
    for options in ({}, {"data_page_version": "2.0", "use_dictionary": False}):
        file = table.write(rows, row_group_size=120, data_page_size=256, write_page_index=True, **options)
        table.commit(file)
        gone = [0, 1, 2, 3, 119, 120, *range(150, 170), 299]
        table.commit(table.remove(file), deleted(file, dv.inline(gone)), operation="DELETE")
        state = [without(rows, gone)] * (2 if options else 1)
        table.expect(pa.concat_tables(state))

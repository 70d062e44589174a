"""Tables whose data files differ in how they are encoded: codecs, page versions, encodings, indexes.

Each recipe adds files, then deletes rows of all of them by deletion vectors, then adds a column, so that every encoding
is read as it stands, with rows dropped, and below a new footer.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from . import deletion_vectors as dv
from .deletions import without
from .handmade import Handmade, deleted, field
from .registry import recipe

_GONE = [0, 5, 6, 7, 99, 100, 250, *range(300, 400), 499]


def _rows(count: int = 500) -> pa.Table:
    ids = list(range(count))
    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "small": pa.array([i % 7 - 3 for i in ids], pa.int32()),
            "text": pa.array([None if i % 9 == 8 else f"text {i % 50} {'é' * (i % 4)}" for i in ids], pa.string()),
            "bytes": pa.array([bytes([i % 256]) * (i % 5) for i in ids], pa.binary()),
            "real": pa.array([i / 8 for i in ids], pa.float32()),
            "double": pa.array([None if i % 13 == 12 else -i / 3 for i in ids], pa.float64()),
            "flag": pa.array([None if i % 17 == 16 else i % 3 == 0 for i in ids], pa.bool_()),
            "cents": pa.array(ids, pa.int64()).cast(pa.decimal128(30, 0)),
            "list": pa.array([None if i % 10 == 9 else list(range(i % 4)) for i in ids], pa.list_(pa.int64())),
        }
    )


_FIELDS = [
    field("id", "long"),
    field("small", "integer"),
    field("text", "string"),
    field("bytes", "binary"),
    field("real", "float"),
    field("double", "double"),
    field("flag", "boolean"),
    field("cents", "decimal(30,0)"),
    field("list", {"type": "array", "elementType": "long", "containsNull": True}),
]


def _life(root: Path, ways: list[dict[str, Any]]) -> None:
    table, rows = Handmade(root), _rows()
    config = {"delta.enableDeletionVectors": "true"}
    table.commit(table.protocol(features=["deletionVectors"]), table.metadata(_FIELDS, configuration=config))
    files = [table.write(rows, **way) for way in ways]
    table.commit(*files)
    table.expect(pa.concat_tables([rows] * len(ways)))
    vectors = dv.File(root, table.unique_id())
    gone = [deleted(f, vectors.add(_GONE)) for f in files]
    table.commit(*(table.remove(f) for f in files), *gone, operation="DELETE")
    kept = pa.concat_tables([without(rows, _GONE)] * len(ways))
    table.expect(kept)
    table.commit(table.metadata([*_FIELDS[1:], field("new", "string"), _FIELDS[0]], configuration=config))
    columns = [*rows.column_names[1:], "new", "id"]
    table.expect(kept.append_column("new", pa.nulls(len(kept), pa.string())).select(columns))
    table.commit(*(table.remove(g) for g in gone), *files, operation="RESTORE")
    whole = pa.concat_tables([rows] * len(ways))
    table.expect(whole.append_column("new", pa.nulls(len(whole), pa.string())).select(columns))


@recipe()
def encoding_codecs(root: Path) -> None:
    """Every codec, with and without a dictionary."""
    codecs = ["none", "snappy", "gzip", "brotli", "lz4", "zstd"]
    _life(root, [{"compression": c, "use_dictionary": d} for c in codecs for d in (True, False)])


@recipe()
def encoding_pages_v2(root: Path) -> None:
    """Data pages of version 2, small ones, with booleans as RLE."""
    v2 = {"data_page_version": "2.0", "data_page_size": 200, "write_batch_size": 20}
    plain = {"use_dictionary": False, "column_encoding": {"flag": "RLE"}}
    _life(root, [v2, v2 | {"compression": "zstd"}, v2 | plain, v2 | plain | {"compression": "none"}])


@recipe()
def encoding_delta(root: Path) -> None:
    """The DELTA encodings and BYTE_STREAM_SPLIT of floats, in pages of both versions."""
    encodings = {
        "id": "DELTA_BINARY_PACKED",
        "small": "DELTA_BINARY_PACKED",
        "text": "DELTA_BYTE_ARRAY",
        "bytes": "DELTA_LENGTH_BYTE_ARRAY",
        "real": "BYTE_STREAM_SPLIT",
        "double": "BYTE_STREAM_SPLIT",
        "cents": "DELTA_BYTE_ARRAY",
        "list.list.element": "DELTA_BINARY_PACKED",
    }
    other = encodings | {"text": "DELTA_LENGTH_BYTE_ARRAY"}
    base = {"use_dictionary": False, "data_page_size": 400, "write_batch_size": 50}
    _life(
        root,
        [base | {"column_encoding": e, "data_page_version": v} for e in (encodings, other) for v in ("1.0", "2.0")],
    )


@recipe()
def encoding_split_fixed(root: Path) -> None:
    """BYTE_STREAM_SPLIT of fixed-length bytes and of integers, which it is defined for since Parquet 2.11."""
    split = dict.fromkeys(("id", "small", "cents"), "BYTE_STREAM_SPLIT")
    _life(root, [{"use_dictionary": False, "column_encoding": split, "row_group_size": 200}])


@recipe()
def encoding_indexes(root: Path) -> None:
    """Page index, bloom filters, page checksums, sorting columns, many row groups, and no statistics at all."""
    bloom = {"id": True, "text": True}
    _life(
        root,
        [
            {"write_page_index": True, "data_page_size": 200, "write_batch_size": 20},
            {"bloom_filter_options": bloom, "row_group_size": 100},
            {"write_page_checksum": True, "write_page_index": True, "bloom_filter_options": bloom},
            {"sorting_columns": [pq.SortingColumn(0)], "row_group_size": 250},
            {"row_group_size": 3},
            {"write_statistics": False},
        ],
    )

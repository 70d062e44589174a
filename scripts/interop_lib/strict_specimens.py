"""Files that say something wrong of themselves, one thing each: what `strict` has to find."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from make_tables_lib import footer
from make_tables_lib.footer import Struct

from . import strict

_ROWS = pa.table(
    {
        "a": pa.array([1, 2, None, 4] * 500, pa.int64()),
        "s": pa.array(["x", "yy", None, "z"] * 500),
        "l": pa.array([[1], [], None, [2, 3]] * 500),
    }
)


def missed(directory: Path) -> Iterator[str]:
    """What is not found, by what was changed; and what is found in a file in which nothing was."""
    directory.mkdir()
    path = directory / "specimen.parquet"
    for name, edit in {"nothing": lambda metadata: None, **_EDITS}.items():
        pq.write_table(_ROWS, path, row_group_size=1000, data_page_size=512, write_page_index=True, store_schema=False)
        footer.change(path, edit)
        if (name == "nothing") != (not strict.check(str(path))):
            yield name


def _group(metadata: Struct) -> Struct:
    return metadata[4][1][1][0]


def _column(metadata: Struct) -> Struct:
    return _group(metadata)[1][1][1][0]


def _meta(metadata: Struct) -> Struct:
    return _column(metadata)[3][1]


def _more(where: Callable[[Struct], Struct], number: int) -> Callable[[Struct], None]:
    def edit(metadata: Struct) -> None:
        kind, value = where(metadata)[number]
        where(metadata)[number] = (kind, value + 1)

    return edit


def _set(where: Callable[[Struct], Struct], number: int, kind: int, value: object) -> Callable[[Struct], None]:
    return lambda metadata: where(metadata).update({number: (kind, value)})


def _bound(number: int, value: int) -> Callable[[Struct], None]:
    return _set(lambda m: _meta(m)[12][1], number, footer.BINARY, struct.pack("<q", value))


_EDITS: dict[str, Callable[[Struct], None]] = {
    "num_rows": _more(lambda m: m, 3),
    "num_rows of a row group": _more(_group, 3),
    "total_byte_size": _more(_group, 2),
    "total_compressed_size of a row group": _more(_group, 6),
    "file_offset": _more(_group, 5),
    "sorting_columns": _set(_group, 4, 9, (footer.STRUCT, [{1: (footer.I32, 0), 2: (2, False), 3: (1, True)}])),
    "num_values": _more(_meta, 5),
    "total_uncompressed_size": _more(_meta, 6),
    "total_compressed_size": _more(_meta, 7),
    "data_page_offset": _more(_meta, 9),
    "dictionary_page_offset": _more(_meta, 11),
    "encodings": _set(_meta, 2, 9, (footer.I32, [0, 3])),
    "path_in_schema": _set(_meta, 3, 9, (footer.BINARY, [b"b"])),
    "null_count": _more(lambda m: _meta(m)[12][1], 3),
    "the least value": _bound(6, 2),
    "the greatest value": _bound(5, 3),
    "the offset of the offset index": _more(_column, 4),
    "the length of the offset index": _more(_column, 5),
    "the offset of the column index": _more(_column, 6),
    "the length of the column index": _more(_column, 7),
    "the older annotation": lambda m: footer.element(m, "s").update({6: (footer.I32, 6)}),
}

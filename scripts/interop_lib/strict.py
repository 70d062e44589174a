"""Everything that a Parquet file says of itself, held against what it holds: `python -m interop_lib.strict FILE...`.

Readers each look at a part of it: one goes by the offset index, another by the sums of sizes, a third by `null_count`.
This looks at all of it. Each page is decoded (`pages`), and with that are compared the page headers, column chunks, row
groups, statistics of three kinds, page indexes, and the schema with its two kinds of annotations. What is found wrong
comes as text, each behind the place where it is.
"""

from __future__ import annotations

import itertools
import os
import struct
import sys
from typing import Any

from make_tables_lib.footer import Struct, decode

from . import pages
from .strict_columns import Chunk, Columns, start_of
from .strict_findings import get
from .strict_schema import Leaf, check_schema

# What `ColumnOrder`s are known: TYPE_ORDER, and IEEE_754_TOTAL_ORDER.
_ORDERS = (1, 2)
# The entries of a presented file: all others describe other columns than it has.
_ENTRIES = {b"org.apache.spark.version"}


def check(path: str, *, presented: bool = False) -> list[str]:
    """What is wrong with a file. With `presented` it is one that deltafs put together, from which more is asked."""
    with open(path, "rb") as f:
        data = f.read()
    file = _File(data, presented)
    try:
        file.check()
    except (pages.Broken, LookupError, TypeError, ValueError, struct.error, OSError) as e:
        file.wrong.append(f"{file.place}: {type(e).__name__}: {e}")
    return file.wrong


class _File(Columns):
    """A file as a whole."""

    def check(self) -> None:
        data = self.data
        self.expect(data[:4] == b"PAR1" and data[-4:] == b"PAR1", "no magic number at both ends")
        (length,) = struct.unpack("<I", data[-8:-4])
        self.footer = len(data) - 8 - length
        metadata, end = decode(data, self.footer)
        self.same(end, len(data) - 8, "the end of the footer")
        self._check_file(metadata)
        leaves = check_schema(self, get(metadata, 2))
        orders = get(metadata, 7)
        if orders is not None:
            self.same(len(orders), len(leaves), "the number of column orders")
            self.expect(all(len(o) == 1 and next(iter(o)) in _ORDERS for o in orders), f"column orders {orders}")
        groups = get(metadata, 4)
        self.place = "footer"
        self.same(get(metadata, 3), sum(get(g, 3) for g in groups), "num_rows")
        for ordinal, group in enumerate(groups):
            self.place = f"row group {ordinal}"
            self._check_group(group, ordinal, leaves)
        self._check_ranges()

    def _check_file(self, metadata: Struct) -> None:
        self.expect(get(metadata, 1) in (1, 2), f"version {get(metadata, 1)}")
        keys = [get(e, 1) for e in get(metadata, 5, [])]
        self.expect(len(set(keys)) == len(keys), f"repeated entries {keys}")
        self.expect(not self.presented or set(keys) <= _ENTRIES, f"entries of other columns: {keys}")

    def _check_group(self, group: Struct, ordinal: int, leaves: list[Leaf]) -> None:
        rows, columns = get(group, 3), get(group, 1)
        self.same(len(columns), len(leaves), "the number of column chunks")
        metas = [get(c, 3) for c in columns]
        self.same(get(group, 2), sum(get(m, 6) for m in metas), "total_byte_size")
        if get(group, 6) is not None:
            self.same(get(group, 6), sum(get(m, 7) for m in metas), "total_compressed_size")
        if get(group, 7) is not None:
            self.same(get(group, 7), ordinal, "ordinal")
        first = start_of(metas[0])
        if get(group, 5) is not None:
            self.same(get(group, 5), first, "file_offset")
        if self.presented:
            # Spark reads a row group with the part of the file that its middle lies in.
            size = sum(get(m, 7) for m in metas)
            self.expect(
                first + size // 2 < self.footer, f"the middle of {size} bytes from {first} on is behind {self.footer}"
            )
        chunks = []
        for leaf, column in zip(leaves, columns, strict=True):
            self.place = f"row group {ordinal}, column {'.'.join(leaf.path)}"
            chunks.append(self.check_column(column, leaf, rows))
        self.place = f"row group {ordinal}"
        self._check_sorting(get(group, 4, []), chunks)

    def _check_sorting(self, sorting: list[Struct], chunks: list[Chunk]) -> None:
        keys = []
        for s in sorting:
            leaf, descending, nulls_first = (get(s, n) for n in (1, 2, 3))
            if not 0 <= leaf < len(chunks):
                self.expect(False, f"sorted by column {leaf} of {len(chunks)}")
                return
            chunk = chunks[leaf]
            if chunk.leaf.repetition:
                return
            column: list[Any] = []
            for page in chunk.pages:
                values = iter(chunk.leaf.ordered(page.values))
                column += [next(values, None) if d == chunk.leaf.definition else None for d in page.definition]
            keys.append((column, descending, nulls_first))
        for row in range(1, len(keys[0][0]) if keys else 0):
            for column, descending, nulls_first in keys:
                a, b = column[row - 1], column[row]
                if a == b:
                    continue
                if a is None or b is None:
                    good = (a is None) == nulls_first
                else:
                    good = (a > b) == descending
                self.expect(good, f"row {row} is not sorted: {a!r} before {b!r}")
                if not good:
                    return
                break

    def _check_ranges(self) -> None:
        self.place = "bytes"
        ranges = sorted(r for r in self.used if r[1] > r[0])
        for (_, end, what), (start, _, other) in itertools.pairwise(ranges):
            if end > start and (what, end) != (other, end):
                self.expect(False, f"{what} ends at {end}, where {other} began at {start}")
        last = max(end for _, end, _ in ranges)
        self.expect(
            last <= self.footer, f"the footer begins at {self.footer}, in front of the end of all else at {last}"
        )


def main() -> int:
    bad = 0
    for path in sys.argv[1:]:
        for text in check(path, presented="~" in os.path.basename(path)):
            bad += 1
            print(f"{path}: {text}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())

"""Everything that a Parquet file says of itself, held against what it holds: `python -m interop_lib.strict FILE...`.

Readers each look at a part of it: one goes by the offset index, another by the sum of the sizes, a third by `null_count`.
This looks at all of it. Each page is decoded (`pages`), and with that are compared the page headers, column chunks, row
groups, statistics of three kinds, page indexes, and the schema with its two kinds of annotations. What is found wrong
comes as text, each behind the place where it is.
"""

from __future__ import annotations

import math
import os
import struct
import sys
import zlib
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from make_tables_lib.footer import Struct, decode

from . import pages

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


def _get(s: Struct | None, number: int, default: Any = None) -> Any:
    """The value of a field, of a list its elements."""
    if s is None or number not in s:
        return default
    kind, value = s[number]
    return value[1] if kind in (9, 10) else value


@dataclass
class _Leaf:
    path: list[str]
    element: Struct
    definition: int
    repetition: int

    @property
    def kind(self) -> int:
        return _get(self.element, 1)

    @property
    def is_decimal(self) -> bool:
        return _get(self.element, 6) == 5 or 5 in (_get(self.element, 10) or {})

    @property
    def is_unsigned(self) -> bool:
        integer = _get(_get(self.element, 10), 10)
        return _get(self.element, 6) in (11, 12, 13, 14) or (integer is not None and _get(integer, 2) is False)

    def ordered(self, found: Any) -> list[Any]:
        """Values that have a place in the order of the type; none where it has no order."""
        if self.kind == pages.INT96 or 15 in (_get(self.element, 10) or {}):
            return []
        if isinstance(found, list):
            return [int.from_bytes(v, "big", signed=True) for v in found] if self.is_decimal else found
        if found.dtype.kind == "f":
            return found[~np.isnan(found)].tolist()
        if self.is_unsigned:
            return found.view(f"<u{found.dtype.itemsize}").tolist()
        return found.tolist()

    def bound(self, data: bytes) -> Any:
        """A plainly encoded value, in the form of `ordered`."""
        if self.kind in (pages.BYTE_ARRAY, pages.FIXED):
            return int.from_bytes(data, "big", signed=True) if self.is_decimal else data
        if self.kind == pages.BOOLEAN:
            return data[0]
        one = pages.values(data, pages.PLAIN, self.kind, 0, 1, None)
        ordered = self.ordered(one)
        return ordered[0] if ordered else math.nan


@dataclass
class _Page:
    """A data page: where it is, with its header; its levels; its values; the first row that begins in it."""

    at: int
    size: int
    v2: bool
    encoding: int
    definition: np.ndarray
    repetition: np.ndarray
    values: Any
    first_row: int
    header: Struct

    @property
    def entries(self) -> int:
        return len(self.definition)


@dataclass
class _Chunk:
    leaf: _Leaf
    pages: list[_Page] = field(default_factory=list)
    dictionary: Any = None
    dictionary_encoding: int | None = None

    def flat(self, some: list[_Page] | None = None) -> list[Any]:
        return [v for p in (self.pages if some is None else some) for v in self.leaf.ordered(p.values)]

    def nulls(self, page: _Page) -> int:
        return int((page.definition < self.leaf.definition).sum())


class _File:
    def __init__(self, data: bytes, presented: bool):
        self.data, self.presented = data, presented
        self.wrong: list[str] = []
        self.place = "footer"
        # The byte ranges that something lies in.
        self.used: list[tuple[int, int, str]] = [(0, 4, "magic")]

    def expect(self, good: bool, text: str) -> None:
        if not good:
            self.wrong.append(f"{self.place}: {text}")

    def same(self, said: Any, found: Any, what: str) -> None:
        if said != found:
            self.wrong.append(f"{self.place}: {what} is {said!r}, and found is {found!r}")

    def check(self) -> None:
        data = self.data
        self.expect(data[:4] == b"PAR1" and data[-4:] == b"PAR1", "no magic number at both ends")
        (length,) = struct.unpack("<I", data[-8:-4])
        self.footer = len(data) - 8 - length
        metadata, end = decode(data, self.footer)
        self.same(end, len(data) - 8, "the end of the footer")
        self._check_file(metadata)
        leaves = self._check_schema(_get(metadata, 2))
        orders = _get(metadata, 7)
        if orders is not None:
            self.same(len(orders), len(leaves), "the number of column orders")
            self.expect(all(len(o) == 1 and next(iter(o)) in _ORDERS for o in orders), f"column orders {orders}")
        groups = _get(metadata, 4)
        self.place = "footer"
        self.same(_get(metadata, 3), sum(_get(g, 3) for g in groups), "num_rows")
        for ordinal, group in enumerate(groups):
            self.place = f"row group {ordinal}"
            self._check_group(group, ordinal, leaves)
        self._check_ranges()

    def _check_file(self, metadata: Struct) -> None:
        self.expect(_get(metadata, 1) in (1, 2), f"version {_get(metadata, 1)}")
        keys = [_get(e, 1) for e in _get(metadata, 5, [])]
        self.expect(len(set(keys)) == len(keys), f"repeated entries {keys}")
        self.expect(not self.presented or set(keys) <= _ENTRIES, f"entries of other columns: {keys}")

    def _check_schema(self, elements: list[Struct]) -> list[_Leaf]:
        self.place = "schema"
        rest = iter(elements)
        root = next(rest)
        self.expect(1 not in root and not _get(root, 3), "the root is a column")
        leaves: list[_Leaf] = []

        def node(path: list[str], definition: int, repetition: int) -> str:
            e = next(rest)
            name = _get(e, 4).decode()
            self.place = f"schema element {'.'.join([*path, name])}"
            how = _get(e, 3)
            self.expect(how in (0, 1, 2), f"repetition {how}")
            definition += how != 0
            repetition += how == 2
            self._check_annotations(e)
            children = _get(e, 5)
            if children is None:
                self.expect(_get(e, 1) is not None, "neither a type nor children")
                leaves.append(_Leaf([*path, name], e, definition, repetition))
            else:
                self.expect(_get(e, 1) is None and children > 0, f"a group of the type {_get(e, 1)}, {children} children")
                names = [node([*path, name], definition, repetition) for _ in range(children)]
                self.expect(len(set(names)) == len(names), f"fields of one name: {names}")
            return name

        names = [node([], 0, 0) for _ in range(_get(root, 5))]
        self.expect(len(set(names)) == len(names), f"columns of one name: {names}")
        self.expect(next(rest, None) is None, "elements that belong to nothing")
        return leaves

    def _check_annotations(self, e: Struct) -> None:
        """The older annotation is the one that the format names beside the logical type."""
        kind, length, converted, logical = _get(e, 1), _get(e, 2), _get(e, 6), _get(e, 10)
        self.expect((kind == pages.FIXED) == (length is not None and length > 0), f"type {kind}, length {length}")
        if converted == 5:
            self.expect(_get(e, 8) is not None and 0 <= _get(e, 7, 0) <= _get(e, 8), "a decimal without digits")
            most = {1: 9, 2: 18, 7: math.floor(math.log10(2 ** (8 * (length or 1) - 1) - 1)) if length else 0}.get(kind, 99)
            self.expect(_get(e, 8, 0) <= most, f"{_get(e, 8)} digits in the type {kind} of length {length}")
        if not logical:
            return
        (number,) = logical
        inner = _get(logical, number)
        older: int | None = {1: 0, 2: 1, 3: 3, 4: 4, 5: 5, 6: 6, 12: 19, 13: 20}.get(number)
        if number == 5:
            self.same((_get(inner, 1), _get(inner, 2)), (_get(e, 7, 0), _get(e, 8)), "scale and precision")
        if number in (7, 8):
            (unit,) = _get(inner, 2)
            older = {(7, 1): 7, (7, 2): 8, (8, 1): 9, (8, 2): 10}.get((number, unit))
        if number == 10:
            older = {8: 11, 16: 12, 32: 13, 64: 14}[_get(inner, 1)] + 4 * bool(_get(inner, 2))
        self.expect(converted == older or (not self.presented and converted is None), f"{logical} beside {converted}")

    def _check_group(self, group: Struct, ordinal: int, leaves: list[_Leaf]) -> None:
        rows, columns = _get(group, 3), _get(group, 1)
        self.same(len(columns), len(leaves), "the number of column chunks")
        metas = [_get(c, 3) for c in columns]
        self.same(_get(group, 2), sum(_get(m, 6) for m in metas), "total_byte_size")
        if _get(group, 6) is not None:
            self.same(_get(group, 6), sum(_get(m, 7) for m in metas), "total_compressed_size")
        if _get(group, 7) is not None:
            self.same(_get(group, 7), ordinal, "ordinal")
        first = _start(metas[0])
        if _get(group, 5) is not None:
            self.same(_get(group, 5), first, "file_offset")
        if self.presented:
            # Spark reads a row group with the part of the file that its middle lies in.
            size = sum(_get(m, 7) for m in metas)
            self.expect(first + size // 2 < self.footer, f"the middle of {size} bytes from {first} on is behind {self.footer}")
        chunks = []
        for leaf, column in zip(leaves, columns, strict=True):
            self.place = f"row group {ordinal}, column {'.'.join(leaf.path)}"
            chunks.append(self._check_column(column, leaf, rows))
        self.place = f"row group {ordinal}"
        self._check_sorting(_get(group, 4, []), chunks)

    def _check_column(self, column: Struct, leaf: _Leaf, rows: int) -> _Chunk:
        meta = _get(column, 3)
        self.expect(_get(column, 1) is None, "it lies in another file")
        self.expect(not (8 in column or 9 in column), "it is encrypted")
        self.same(_get(meta, 1), leaf.kind, "type")
        self.same([p.decode() for p in _get(meta, 3)], leaf.path, "path_in_schema")
        chunk = _Chunk(leaf)
        self._read_pages(meta, chunk)
        entries = sum(p.entries for p in chunk.pages)
        self.same(_get(meta, 5), entries, "num_values")
        starts = sum(int((p.repetition == 0).sum()) for p in chunk.pages)
        self.same(rows, starts, "num_rows")
        self._check_encodings(meta, chunk)
        self._check_statistics(_get(meta, 12), chunk, None, "statistics")
        for i, page in enumerate(chunk.pages):
            self._check_statistics(_get(page.header, 8 if page.v2 else 5), chunk, page, f"statistics of page {i}")
        self._check_sizes(_get(meta, 16), chunk)
        self._check_indexes(column, chunk)
        if _get(meta, 14) is not None:
            at = _get(meta, 14)
            header, end = decode(self.data, at)
            size = end - at + _get(header, 1)
            self.used.append((at, at + size, f"{self.place}: Bloom filter"))
            if _get(meta, 15) is not None:
                self.same(_get(meta, 15), size, "bloom_filter_length")
        return chunk

    def _read_pages(self, meta: Struct, chunk: _Chunk) -> None:
        leaf, codec = chunk.leaf, _get(meta, 4)
        start, size = _start(meta), _get(meta, 7)
        self.used.append((start, start + size, self.place))
        at, plain_size, row, first_data = start, 0, 0, None
        while at < start + size:
            header, body = decode(self.data, at)
            packed = self.data[body : body + _get(header, 3)]
            self.expect(len(packed) == _get(header, 3), "a page ends behind the file")
            plain_size += body - at + _get(header, 2)
            if (said := _get(header, 4)) is not None:
                self.same(said & 0xFFFFFFFF, zlib.crc32(packed), f"the checksum of the page at {at}")
            kind = _get(header, 1)
            if kind == 2:
                self.expect(at == start and chunk.dictionary is None, "a dictionary page that is not the first page")
                # parquet-mr before 1.11 has but one offset, that of the first page.
                offset = _get(meta, 9) if _get(meta, 11) is None else _get(meta, 11)
                self.same(offset, at, "dictionary_page_offset")
                dictionary = _get(header, 7)
                content = pages.decompress(codec, packed, _get(header, 2))
                self.same(_get(header, 2), len(content), "the size of the dictionary page")
                chunk.dictionary_encoding = _get(dictionary, 2)
                self.expect(chunk.dictionary_encoding in (pages.PLAIN, pages.PLAIN_DICTIONARY), "encoding of the dictionary")
                count = _get(dictionary, 1)
                chunk.dictionary = pages.values(content, pages.PLAIN, leaf.kind, _get(leaf.element, 2), count, None)
            elif kind in (0, 3):
                first_data = at if first_data is None else first_data
                page = self._read_page(header, at, body, packed, codec, chunk, row)
                row += int((page.repetition == 0).sum())
                chunk.pages.append(page)
            else:
                self.expect(False, f"a page of the kind {kind}")
            at = body + _get(header, 3)
        self.same(size, at - start, "total_compressed_size")
        self.same(_get(meta, 6), plain_size, "total_uncompressed_size")
        alone = chunk.dictionary is not None and _get(meta, 11) is None
        if first_data is not None and not alone:
            self.same(_get(meta, 9), first_data, "data_page_offset")
        if chunk.dictionary is None:
            self.expect(not _get(meta, 11), "dictionary_page_offset without a dictionary")

    def _read_page(
        self, header: Struct, at: int, body: int, packed: bytes, codec: int, chunk: _Chunk, row: int
    ) -> _Page:
        leaf = chunk.leaf
        v2 = _get(header, 1) == 3
        said = _get(header, 8 if v2 else 5)
        count, plain = _get(said, 1), _get(header, 2)
        levels = {}
        widths = {"repetition": leaf.repetition.bit_length(), "definition": leaf.definition.bit_length()}
        if v2:
            encoding = _get(said, 4)
            sizes = {"repetition": _get(said, 6), "definition": _get(said, 5)}
            rest = packed
            for which in ("repetition", "definition"):
                part, rest = rest[: sizes[which]], rest[sizes[which] :]
                self.expect(bool(widths[which]) or not part, f"{which} levels where there are none")
                levels[which] = pages.hybrid(part, widths[which], count) if widths[which] else np.zeros(count, np.int64)
            left = plain - sizes["repetition"] - sizes["definition"]
            content = pages.decompress(codec, rest, left) if _get(said, 7, True) and (rest or left) else rest
            self.same(left, len(content), f"the size of the page at {at}")
        else:
            encoding = _get(said, 2)
            content = pages.decompress(codec, packed, plain)
            self.same(plain, len(content), f"the size of the page at {at}")
            for which, number in (("repetition", 4), ("definition", 3)):
                if not widths[which]:
                    levels[which] = np.zeros(count, np.int64)
                elif _get(said, number) == pages.RLE:
                    (size,) = struct.unpack("<I", content[:4])
                    levels[which] = pages.hybrid(content[4 : 4 + size], widths[which], count)
                    content = content[4 + size :]
                else:
                    size = (widths[which] * count + 7) // 8
                    levels[which] = pages.bit_packed(content[:size], widths[which], count)
                    content = content[size:]
        definition, repetition = levels["definition"], levels["repetition"]
        if count:
            self.expect(definition.max() <= leaf.definition and repetition.max() <= leaf.repetition, "too high a level")
            self.expect(row > 0 or repetition[0] == 0, "the first entry continues a row")
        here = count if not leaf.definition else int((definition == leaf.definition).sum())
        found = pages.values(content, encoding, leaf.kind, _get(leaf.element, 2), here, chunk.dictionary)
        self.same(here, len(found), f"the number of values of the page at {at}")
        if v2:
            self.same(_get(said, 2), count - here, f"num_nulls of the page at {at}")
            self.same(_get(said, 3), int((repetition == 0).sum()), f"num_rows of the page at {at}")
            self.expect(not count or repetition[0] == 0, f"the page at {at} begins within a row")
        return _Page(at, body - at + len(packed), v2, encoding, definition, repetition, found, row, header)

    def _check_encodings(self, meta: Struct, chunk: _Chunk) -> None:
        said = _get(meta, 2)
        found = {p.encoding for p in chunk.pages}
        self.expect(found <= set(said), f"encodings {said}, the pages have {found}")
        levels = {pages.RLE, pages.BIT_PACKED}
        named = {chunk.dictionary_encoding, pages.PLAIN, *levels, *found}
        self.expect(set(said) <= named, f"encodings {said}, the pages have {found} and {chunk.dictionary_encoding}")
        if (stats := _get(meta, 13)) is not None:
            # Arrow C++ has pages of version 2 under the type of those of version 1.
            counted = Counter((0, p.encoding) for p in chunk.pages)
            if chunk.dictionary_encoding is not None:
                counted[(2, chunk.dictionary_encoding)] = 1
            told: Counter[tuple[int, int]] = Counter()
            for s in stats:
                told[(_get(s, 1) % 3, _get(s, 2))] += _get(s, 3)
            self.same(dict(told), dict(counted), "encoding_stats")

    def _check_statistics(self, said: Struct | None, chunk: _Chunk, page: _Page | None, what: str) -> None:
        if page is not None:
            said = _get(said, 8 if page.v2 else 5)
        if not said:
            return
        some = chunk.pages if page is None else [page]
        nulls = sum(chunk.nulls(p) for p in some)
        if (count := _get(said, 3)) is not None:
            self.same(count, nulls, f"null_count of the {what}")
        values = chunk.flat(some)
        if (distinct := _get(said, 4)) is not None and values:
            self.same(distinct, len(set(values)), f"distinct_count of the {what}")
        for low, high, exact in ((6, 5, True), (2, 1, False)):
            least, greatest = _get(said, low), _get(said, high)
            if least is None or greatest is None or not values:
                continue
            if not exact and chunk.leaf.kind in (pages.BYTE_ARRAY, pages.FIXED) and least != greatest:
                continue  # the older fields have signed bytes there
            a, b = chunk.leaf.bound(least), chunk.leaf.bound(greatest)
            self.expect(a <= min(values), f"{what}: the least value is {min(values)!r}, said is {a!r}")
            self.expect(b >= max(values), f"{what}: the greatest value is {max(values)!r}, said is {b!r}")
            if exact and _get(said, 8):
                self.expect(a == min(values), f"{what}: {a!r} is not exactly {min(values)!r}")
            if exact and _get(said, 7):
                self.expect(b == max(values), f"{what}: {b!r} is not exactly {max(values)!r}")
            if self.presented and any(isinstance(v, float) and math.isnan(v) for v in (a, b)):
                self.expect(False, f"{what}: a bound is NaN")

    def _check_sizes(self, said: Struct | None, chunk: _Chunk) -> None:
        if said is None:
            return
        if (size := _get(said, 1)) is not None:
            self.same(size, sum(len(v) for p in chunk.pages for v in p.values), "unencoded_byte_array_data_bytes")
        for number, most, which in ((2, chunk.leaf.repetition, "repetition"), (3, chunk.leaf.definition, "definition")):
            if histogram := _get(said, number):
                levels = np.concatenate([getattr(p, which) for p in chunk.pages])
                self.same(histogram, np.bincount(levels, minlength=most + 1).tolist(), f"the histogram of {which} levels")

    def _check_indexes(self, column: Struct, chunk: _Chunk) -> None:
        for at, size in ((4, 5), (6, 7)):
            self.same(at in column, size in column, "whether an index has an offset and a length")
        offsets = self._index(column, 4, "offset index")
        columns = self._index(column, 6, "column index")
        self.expect(columns is None or offsets is not None, "a column index without an offset index")
        # Pages without values are in no index of some writers.
        found = [p for p in chunk.pages if p.entries]
        if offsets is not None:
            told = [(_get(p, 1), _get(p, 2), _get(p, 3)) for p in _get(offsets, 1)]
            self.same(told, [(p.at, p.size, p.first_row) for p in found], "the offset index")
            if (sizes := _get(offsets, 2)) is not None:
                self.same(sizes, [sum(map(len, p.values)) for p in found], "sizes of byte arrays in the offset index")
            if self.presented:
                self.expect(all(p.repetition[0] == 0 for p in found), "an offset index of pages that begin within a row")
        if columns is not None:
            self._check_column_index(columns, chunk, found)

    def _index(self, column: Struct, number: int, what: str) -> Struct | None:
        at, size = _get(column, number), _get(column, number + 1)
        if at is None:
            return None
        self.used.append((at, at + size, f"{self.place}: {what}"))
        index, end = decode(self.data, at)
        self.same(size, end - at, f"the length of the {what}")
        return index

    def _check_column_index(self, index: Struct, chunk: _Chunk, found: list[_Page]) -> None:
        nulls, lows, highs, order = (_get(index, n) for n in (1, 2, 3, 4))
        for name, each in (("null_pages", nulls), ("min_values", lows), ("max_values", highs)):
            self.same(len(each), len(found), f"the number of {name}")
        for i, (null, page) in enumerate(zip(nulls, found)):
            count = chunk.nulls(page)
            # The parquet crate compares with rows, where it should with entries.
            rows = int((page.repetition == 0).sum())
            taken = chunk.leaf.repetition and count == rows
            self.expect(null == (count == page.entries) or taken, f"null_pages has {null} for page {i}, {count} nulls")
        if (counts := _get(index, 5)) is not None:
            self.same(counts, [chunk.nulls(p) for p in found], "null_counts")
        bounds = []
        for i, (page, null, low, high) in enumerate(zip(found, nulls, lows, highs)):
            values = chunk.flat([page])
            if null or not values:
                continue
            a, b = chunk.leaf.bound(low), chunk.leaf.bound(high)
            bounds.append((a, b))
            self.expect(a <= min(values), f"column index, page {i}: the least value is {min(values)!r}, said is {a!r}")
            self.expect(b >= max(values), f"column index, page {i}: the greatest value is {max(values)!r}, said is {b!r}")
        pairs = list(zip(bounds, bounds[1:]))
        if order == 1:
            self.expect(all(x[0] <= y[0] and x[1] <= y[1] for x, y in pairs), "the column index is not ascending")
        if order == 2:
            self.expect(all(x[0] >= y[0] and x[1] >= y[1] for x, y in pairs), "the column index is not descending")

    def _check_sorting(self, sorting: list[Struct], chunks: list[_Chunk]) -> None:
        keys = []
        for s in sorting:
            leaf, descending, nulls_first = (_get(s, n) for n in (1, 2, 3))
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
        for (_, end, what), (start, _, other) in zip(ranges, ranges[1:]):
            if end > start and (what, end) != (other, end):
                self.expect(False, f"{what} ends at {end}, where {other} began at {start}")
        last = max(end for _, end, _ in ranges)
        self.expect(last <= self.footer, f"the footer begins at {self.footer}, in front of the end of all else at {last}")


def _start(meta: Struct) -> int:
    dictionary, first = _get(meta, 11), _get(meta, 9)
    if not dictionary:
        return first
    return min(dictionary, first) if first else dictionary


def main() -> int:
    bad = 0
    for path in sys.argv[1:]:
        for text in check(path, presented="~" in os.path.basename(path)):
            bad += 1
            print(f"{path}: {text}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())

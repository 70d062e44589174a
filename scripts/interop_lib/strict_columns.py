"""A column chunk, held against its pages: sizes, encodings, statistics of three kinds, page indexes."""

from __future__ import annotations

import math
import struct
import zlib
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from make_tables_lib.footer import Struct, decode

from . import pages
from .strict_findings import Findings, get
from .strict_schema import Leaf
import itertools


@dataclass
class Page:
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
class Chunk:
    leaf: Leaf
    pages: list[Page] = field(default_factory=list)
    dictionary: Any = None
    dictionary_encoding: int | None = None

    def flat(self, some: list[Page] | None = None) -> list[Any]:
        return [v for p in (self.pages if some is None else some) for v in self.leaf.ordered(p.values)]

    def nulls(self, page: Page) -> int:
        return int((page.definition < self.leaf.definition).sum())


class Columns(Findings):
    """A file whose column chunks are looked at."""

    def check_column(self, column: Struct, leaf: Leaf, rows: int) -> Chunk:
        meta = get(column, 3)
        self.expect(get(column, 1) is None, "it lies in another file")
        self.expect(not (8 in column or 9 in column), "it is encrypted")
        self.same(get(meta, 1), leaf.kind, "type")
        self.same([p.decode() for p in get(meta, 3)], leaf.path, "path_in_schema")
        chunk = Chunk(leaf)
        self._read_pages(meta, chunk)
        entries = sum(p.entries for p in chunk.pages)
        self.same(get(meta, 5), entries, "num_values")
        starts = sum(int((p.repetition == 0).sum()) for p in chunk.pages)
        self.same(rows, starts, "num_rows")
        self._check_encodings(meta, chunk)
        self._check_statistics(get(meta, 12), chunk, None, "statistics")
        for i, page in enumerate(chunk.pages):
            self._check_statistics(get(page.header, 8 if page.v2 else 5), chunk, page, f"statistics of page {i}")
        self._check_sizes(get(meta, 16), chunk)
        self._check_indexes(column, chunk)
        if get(meta, 14) is not None:
            at = get(meta, 14)
            header, end = decode(self.data, at)
            size = end - at + get(header, 1)
            self.used.append((at, at + size, f"{self.place}: Bloom filter"))
            if get(meta, 15) is not None:
                self.same(get(meta, 15), size, "bloom_filter_length")
        return chunk

    def _read_pages(self, meta: Struct, chunk: Chunk) -> None:
        leaf, codec = chunk.leaf, get(meta, 4)
        start, size = start_of(meta), get(meta, 7)
        self.used.append((start, start + size, self.place))
        at, plain_size, row, first_data = start, 0, 0, None
        while at < start + size:
            header, body = decode(self.data, at)
            packed = self.data[body : body + get(header, 3)]
            self.expect(len(packed) == get(header, 3), "a page ends behind the file")
            plain_size += body - at + get(header, 2)
            if (said := get(header, 4)) is not None:
                self.same(said & 0xFFFFFFFF, zlib.crc32(packed), f"the checksum of the page at {at}")
            kind = get(header, 1)
            if kind == 2:
                self.expect(at == start and chunk.dictionary is None, "a dictionary page that is not the first page")
                # parquet-mr before 1.11 has but one offset, that of the first page.
                offset = get(meta, 9) if get(meta, 11) is None else get(meta, 11)
                self.same(offset, at, "dictionary_page_offset")
                dictionary = get(header, 7)
                content = pages.decompress(codec, packed, get(header, 2))
                self.same(get(header, 2), len(content), "the size of the dictionary page")
                chunk.dictionary_encoding = get(dictionary, 2)
                self.expect(
                    chunk.dictionary_encoding in (pages.PLAIN, pages.PLAIN_DICTIONARY), "encoding of the dictionary"
                )
                count = get(dictionary, 1)
                chunk.dictionary = pages.values(content, pages.PLAIN, leaf.kind, get(leaf.element, 2), count, None)
            elif kind in (0, 3):
                first_data = at if first_data is None else first_data
                page = self._read_page(header, at, body, packed, codec, chunk, row)
                row += int((page.repetition == 0).sum())
                chunk.pages.append(page)
            else:
                self.expect(False, f"a page of the kind {kind}")
            at = body + get(header, 3)
        self.same(size, at - start, "total_compressed_size")
        self.same(get(meta, 6), plain_size, "total_uncompressed_size")
        alone = chunk.dictionary is not None and get(meta, 11) is None
        if first_data is not None and not alone:
            self.same(get(meta, 9), first_data, "data_page_offset")
        if chunk.dictionary is None:
            self.expect(not get(meta, 11), "dictionary_page_offset without a dictionary")

    def _read_page(self, header: Struct, at: int, body: int, packed: bytes, codec: int, chunk: Chunk, row: int) -> Page:
        leaf = chunk.leaf
        v2 = get(header, 1) == 3
        said = get(header, 8 if v2 else 5)
        count, plain = get(said, 1), get(header, 2)
        levels = {}
        widths = {"repetition": leaf.repetition.bit_length(), "definition": leaf.definition.bit_length()}
        if v2:
            encoding = get(said, 4)
            sizes = {"repetition": get(said, 6), "definition": get(said, 5)}
            rest = packed
            for which in ("repetition", "definition"):
                part, rest = rest[: sizes[which]], rest[sizes[which] :]
                self.expect(bool(widths[which]) or not part, f"{which} levels where there are none")
                levels[which] = pages.hybrid(part, widths[which], count) if widths[which] else np.zeros(count, np.int64)
            left = plain - sizes["repetition"] - sizes["definition"]
            content = pages.decompress(codec, rest, left) if get(said, 7, True) and (rest or left) else rest
            self.same(left, len(content), f"the size of the page at {at}")
        else:
            encoding = get(said, 2)
            content = pages.decompress(codec, packed, plain)
            self.same(plain, len(content), f"the size of the page at {at}")
            for which, number in (("repetition", 4), ("definition", 3)):
                if not widths[which]:
                    levels[which] = np.zeros(count, np.int64)
                elif get(said, number) == pages.RLE:
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
        found = pages.values(content, encoding, leaf.kind, get(leaf.element, 2), here, chunk.dictionary)
        self.same(here, len(found), f"the number of values of the page at {at}")
        if v2:
            self.same(get(said, 2), count - here, f"num_nulls of the page at {at}")
            self.same(get(said, 3), int((repetition == 0).sum()), f"num_rows of the page at {at}")
            self.expect(not count or repetition[0] == 0, f"the page at {at} begins within a row")
        return Page(at, body - at + len(packed), v2, encoding, definition, repetition, found, row, header)

    def _check_encodings(self, meta: Struct, chunk: Chunk) -> None:
        said = get(meta, 2)
        found = {p.encoding for p in chunk.pages}
        self.expect(found <= set(said), f"encodings {said}, the pages have {found}")
        levels = {pages.RLE, pages.BIT_PACKED}
        named = {chunk.dictionary_encoding, pages.PLAIN, *levels, *found}
        self.expect(set(said) <= named, f"encodings {said}, the pages have {found} and {chunk.dictionary_encoding}")
        if (stats := get(meta, 13)) is not None:
            # Arrow C++ has pages of version 2 under the type of those of version 1.
            counted = Counter((0, p.encoding) for p in chunk.pages)
            if chunk.dictionary_encoding is not None:
                counted[(2, chunk.dictionary_encoding)] = 1
            told: Counter[tuple[int, int]] = Counter()
            for s in stats:
                told[(get(s, 1) % 3, get(s, 2))] += get(s, 3)
            self.same(dict(told), dict(counted), "encoding_stats")

    def _check_statistics(self, said: Struct | None, chunk: Chunk, page: Page | None, what: str) -> None:
        if page is not None:
            said = get(said, 8 if page.v2 else 5)
        if not said:
            return
        some = chunk.pages if page is None else [page]
        nulls = sum(chunk.nulls(p) for p in some)
        if (count := get(said, 3)) is not None:
            self.same(count, nulls, f"null_count of the {what}")
        values = chunk.flat(some)
        if (distinct := get(said, 4)) is not None and values:
            self.same(distinct, len(set(values)), f"distinct_count of the {what}")
        for low, high, exact in ((6, 5, True), (2, 1, False)):
            least, greatest = get(said, low), get(said, high)
            if least is None or greatest is None or not values:
                continue
            if not exact and chunk.leaf.kind in (pages.BYTE_ARRAY, pages.FIXED) and least != greatest:
                continue  # the older fields have signed bytes there
            a, b = chunk.leaf.bound(least), chunk.leaf.bound(greatest)
            self.expect(a <= min(values), f"{what}: the least value is {min(values)!r}, said is {a!r}")
            self.expect(b >= max(values), f"{what}: the greatest value is {max(values)!r}, said is {b!r}")
            if exact and get(said, 8):
                self.expect(a == min(values), f"{what}: {a!r} is not exactly {min(values)!r}")
            if exact and get(said, 7):
                self.expect(b == max(values), f"{what}: {b!r} is not exactly {max(values)!r}")
            if self.presented and any(isinstance(v, float) and math.isnan(v) for v in (a, b)):
                self.expect(False, f"{what}: a bound is NaN")

    def _check_sizes(self, said: Struct | None, chunk: Chunk) -> None:
        if said is None:
            return
        if (size := get(said, 1)) is not None:
            self.same(size, sum(len(v) for p in chunk.pages for v in p.values), "unencoded_byte_array_data_bytes")
        for number, most, which in ((2, chunk.leaf.repetition, "repetition"), (3, chunk.leaf.definition, "definition")):
            if histogram := get(said, number):
                levels = np.concatenate([getattr(p, which) for p in chunk.pages])
                self.same(
                    histogram, np.bincount(levels, minlength=most + 1).tolist(), f"the histogram of {which} levels"
                )

    def _check_indexes(self, column: Struct, chunk: Chunk) -> None:
        for at, size in ((4, 5), (6, 7)):
            self.same(at in column, size in column, "whether an index has an offset and a length")
        offsets = self._index(column, 4, "offset index")
        columns = self._index(column, 6, "column index")
        self.expect(columns is None or offsets is not None, "a column index without an offset index")
        # Pages without entries are in the indexes of some writers (Arrow C++), and in none of others.
        found = chunk.pages
        if offsets is not None:
            if len(get(offsets, 1)) != len(found):
                found = [p for p in found if p.entries]
            told = [(get(p, 1), get(p, 2), get(p, 3)) for p in get(offsets, 1)]
            self.same(told, [(p.at, p.size, p.first_row) for p in found], "the offset index")
            if (sizes := get(offsets, 2)) is not None:
                self.same(sizes, [sum(map(len, p.values)) for p in found], "sizes of byte arrays in the offset index")
            if self.presented:
                self.expect(
                    all(p.repetition[0] == 0 for p in found if p.entries),
                    "an offset index of pages that begin within a row",
                )
        if columns is not None:
            self._check_column_index(columns, chunk, found)

    def _index(self, column: Struct, number: int, what: str) -> Struct | None:
        at, size = get(column, number), get(column, number + 1)
        if at is None:
            return None
        self.used.append((at, at + size, f"{self.place}: {what}"))
        index, end = decode(self.data, at)
        self.same(size, end - at, f"the length of the {what}")
        return index

    def _check_column_index(self, index: Struct, chunk: Chunk, found: list[Page]) -> None:
        nulls, lows, highs, order = (get(index, n) for n in (1, 2, 3, 4))
        for name, each in (("null_pages", nulls), ("min_values", lows), ("max_values", highs)):
            self.same(len(each), len(found), f"the number of {name}")
        for i, (null, page) in enumerate(zip(nulls, found)):
            count = chunk.nulls(page)
            # The parquet crate compares with rows, where it should with entries.
            rows = int((page.repetition == 0).sum())
            taken = chunk.leaf.repetition and count == rows
            self.expect(null == (count == page.entries) or taken, f"null_pages has {null} for page {i}, {count} nulls")
        if (counts := get(index, 5)) is not None:
            self.same(counts, [chunk.nulls(p) for p in found], "null_counts")
        bounds = []
        for i, (page, null, low, high) in enumerate(zip(found, nulls, lows, highs)):
            values = chunk.flat([page])
            if null or not values:
                continue
            a, b = chunk.leaf.bound(low), chunk.leaf.bound(high)
            bounds.append((a, b))
            self.expect(a <= min(values), f"column index, page {i}: the least value is {min(values)!r}, said is {a!r}")
            self.expect(
                b >= max(values), f"column index, page {i}: the greatest value is {max(values)!r}, said is {b!r}"
            )
        pairs = list(itertools.pairwise(bounds))
        if order == 1:
            self.expect(all(x[0] <= y[0] and x[1] <= y[1] for x, y in pairs), "the column index is not ascending")
        if order == 2:
            self.expect(all(x[0] >= y[0] and x[1] >= y[1] for x, y in pairs), "the column index is not descending")


def start_of(meta: Struct) -> int:
    dictionary, first = get(meta, 11), get(meta, 9)
    if not dictionary:
        return first
    return min(dictionary, first) if first else dictionary

"""The schema of a file, held against the format: its tree, and its two kinds of annotations."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from make_tables_lib.footer import Struct

from . import pages
from .strict_findings import Findings, get


@dataclass
class Leaf:
    path: list[str]
    element: Struct
    definition: int
    repetition: int

    @property
    def kind(self) -> int:
        return get(self.element, 1)

    @property
    def is_decimal(self) -> bool:
        return get(self.element, 6) == 5 or 5 in (get(self.element, 10) or {})

    @property
    def is_unsigned(self) -> bool:
        integer = get(get(self.element, 10), 10)
        return get(self.element, 6) in (11, 12, 13, 14) or (integer is not None and get(integer, 2) is False)

    def ordered(self, found: Any) -> list[Any]:
        """Values that have a place in the order of the type; none where it has no order."""
        if self.kind == pages.INT96 or 15 in (get(self.element, 10) or {}):
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


def check_schema(file: Findings, elements: list[Struct]) -> list[Leaf]:
    file.place = "schema"
    rest = iter(elements)
    root = next(rest)
    file.expect(1 not in root and not get(root, 3), "the root is a column")
    leaves: list[Leaf] = []

    def node(path: list[str], definition: int, repetition: int) -> str:
        e = next(rest)
        name = get(e, 4).decode()
        file.place = f"schema element {'.'.join([*path, name])}"
        how = get(e, 3)
        file.expect(how in (0, 1, 2), f"repetition {how}")
        definition += how != 0
        repetition += how == 2
        _check_annotations(file, e)
        children = get(e, 5)
        if children is None:
            file.expect(get(e, 1) is not None, "neither a type nor children")
            leaves.append(Leaf([*path, name], e, definition, repetition))
        else:
            file.expect(get(e, 1) is None and children > 0, f"a group of the type {get(e, 1)}, {children} children")
            names = [node([*path, name], definition, repetition) for _ in range(children)]
            file.expect(len(set(names)) == len(names), f"fields of one name: {names}")
        return name

    names = [node([], 0, 0) for _ in range(get(root, 5))]
    file.expect(len(set(names)) == len(names), f"columns of one name: {names}")
    file.expect(next(rest, None) is None, "elements that belong to nothing")
    return leaves


def _check_annotations(file: Findings, e: Struct) -> None:
    """The older annotation is the one that the format names beside the logical type."""
    kind, length, converted, logical = get(e, 1), get(e, 2), get(e, 6), get(e, 10)
    file.expect((kind == pages.FIXED) == (length is not None and length > 0), f"type {kind}, length {length}")
    if converted == 5:
        file.expect(get(e, 8) is not None and 0 <= get(e, 7, 0) <= get(e, 8), "a decimal without digits")
        most = {1: 9, 2: 18, 7: math.floor(math.log10(2 ** (8 * (length or 1) - 1) - 1)) if length else 0}.get(kind, 99)
        file.expect(get(e, 8, 0) <= most, f"{get(e, 8)} digits in the type {kind} of length {length}")
    if not logical:
        return
    (number,) = logical
    inner = get(logical, number)
    older: int | None = {1: 0, 2: 1, 3: 3, 4: 4, 5: 5, 6: 6, 12: 19, 13: 20}.get(number)
    if number == 5:
        file.same((get(inner, 1), get(inner, 2)), (get(e, 7, 0), get(e, 8)), "scale and precision")
    if number in (7, 8):
        (unit,) = get(inner, 2)
        older = {(7, 1): 7, (7, 2): 8, (8, 1): 9, (8, 2): 10}.get((number, unit))
    if number == 10:
        older = {8: 11, 16: 12, 32: 13, 64: 14}[get(inner, 1)] + 4 * bool(get(inner, 2))
    file.expect(converted == older or (not file.presented and converted is None), f"{logical} beside {converted}")

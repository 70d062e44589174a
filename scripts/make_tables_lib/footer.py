"""Changes to the footer of a Parquet file, for shapes that pyarrow reads but does not write.

The footer is decoded into plain Python values by the thrift compact protocol, changed, and encoded again; the pages
stay. A struct is a dict from field number to (type, value), a list is (element type, values).
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

_TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = range(1, 13)
I32, BINARY, STRUCT = _I32, _BINARY, _STRUCT

Struct = dict[int, tuple[int, Any]]

# FileMetaData: 2 schema, 3 num_rows, 4 row_groups. SchemaElement: 1 type, 2 type_length, 3 repetition_type, 4 name,
# 5 num_children, 6 converted_type, 7 scale, 8 precision, 10 logicalType. RowGroup: 1 columns. ColumnChunk: 3 meta_data.
# ColumnMetaData: 3 path_in_schema.
REPEATED = 2
DECIMAL = 5
LIST = 3


def change(path: Path, edit: Callable[[Struct], None]) -> None:
    """Rewrites the footer of a file after `edit` has changed its FileMetaData."""
    data = path.read_bytes()
    (length,) = struct.unpack("<I", data[-8:-4])
    start = len(data) - 8 - length
    metadata = _Decoder(data[start:-8]).struct()
    edit(metadata)
    out = bytearray()
    _encode_struct(out, metadata)
    path.write_bytes(data[:start] + bytes(out) + struct.pack("<I", len(out)) + b"PAR1")


def decode(data: bytes, at: int = 0) -> tuple[Struct, int]:
    """The struct that stands at `at`, such as a page header, and where it ends."""
    decoder = _Decoder(data)
    decoder._at = at
    return decoder.struct(), decoder._at


def schema(metadata: Struct) -> list[Struct]:
    """The schema elements, in their order; the list itself can be changed."""
    return metadata[2][1][1]


def element(metadata: Struct, name: str) -> Struct:
    """The first schema element of that name."""
    return next(e for e in schema(metadata) if e[4][1] == name.encode())


def paths(metadata: Struct) -> list[list[bytes]]:
    """The path of each column chunk; each is a list that can be changed."""
    return [column[3][1][3][1][1] for group in metadata[4][1][1] for column in group[1][1][1]]


def as_decimal(metadata: Struct, name: str, precision: int, scale: int) -> None:
    """Marks an integer or binary column as a decimal."""
    e = element(metadata, name)
    e.pop(10, None)
    e[6], e[7], e[8] = (_I32, DECIMAL), (_I32, scale), (_I32, precision)


def as_two_level_list(metadata: Struct, name: str) -> None:
    """Makes the three levels of a list whose elements are required the two levels of old parquet-mr.

    `optional group c (LIST) { repeated group list { required T element } }` has the levels of
    `optional group c (LIST) { repeated T array }`.
    """
    elements = schema(metadata)
    at = elements.index(element(metadata, name))
    elements[at].pop(10, None)
    elements[at][6] = (_I32, LIST)
    del elements[at + 1]
    leaf = elements[at + 1]
    leaf[3], leaf[4] = (_I32, REPEATED), (_BINARY, b"array")
    for path in paths(metadata):
        if path[0] == name.encode():
            path[1:] = [b"array"]


class _Decoder:
    def __init__(self, data: bytes):
        self._data, self._at = data, 0

    def _byte(self) -> int:
        self._at += 1
        return self._data[self._at - 1]

    def _varint(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7

    def _zigzag(self) -> int:
        n = self._varint()
        return (n >> 1) ^ -(n & 1)

    def value(self, kind: int) -> Any:
        if kind in (_TRUE, _FALSE):
            return kind == _TRUE
        if kind == _BYTE:
            return self._byte()
        if kind in (_I16, _I32, _I64):
            return self._zigzag()
        if kind == _DOUBLE:
            self._at += 8
            return struct.unpack("<d", self._data[self._at - 8 : self._at])[0]
        if kind == _BINARY:
            length = self._varint()
            self._at += length
            return self._data[self._at - length : self._at]
        if kind in (_LIST, _SET):
            head = self._byte()
            size = head >> 4 if head >> 4 != 15 else self._varint()
            inner = head & 15
            if inner in (_TRUE, _FALSE):
                return inner, [self._byte() == _TRUE for _ in range(size)]
            return inner, [self.value(inner) for _ in range(size)]
        if kind == _STRUCT:
            return self.struct()
        raise ValueError(f"the thrift type {kind} does not occur in a footer")

    def struct(self) -> Struct:
        out: Struct = {}
        number = 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self._zigzag()
            out[number] = (head & 15, self.value(head & 15))
        return out


def _encode_varint(out: bytearray, value: int) -> None:
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)


def _encode_zigzag(out: bytearray, value: int) -> None:
    _encode_varint(out, value << 1 if value >= 0 else (-value << 1) - 1)


def _encode(out: bytearray, kind: int, value: Any) -> None:
    if kind == _BYTE:
        out.append(value)
    elif kind in (_I16, _I32, _I64):
        _encode_zigzag(out, value)
    elif kind == _DOUBLE:
        out += struct.pack("<d", value)
    elif kind == _BINARY:
        _encode_varint(out, len(value))
        out += value
    elif kind in (_LIST, _SET):
        inner, values = value
        if len(values) < 15:
            out.append(len(values) << 4 | inner)
        else:
            out.append(0xF0 | inner)
            _encode_varint(out, len(values))
        for v in values:
            if inner in (_TRUE, _FALSE):
                out.append(_TRUE if v else _FALSE)
            else:
                _encode(out, inner, v)
    elif kind == _STRUCT:
        _encode_struct(out, value)
    else:
        raise ValueError(f"the thrift type {kind} does not occur in a footer")


def _encode_struct(out: bytearray, fields: Struct) -> None:
    previous = 0
    for number, (kind, value) in sorted(fields.items()):
        if kind in (_TRUE, _FALSE):
            kind = _TRUE if value else _FALSE
        if 0 < number - previous < 16:
            out.append((number - previous) << 4 | kind)
        else:
            out.append(kind)
            _encode_zigzag(out, number)
        if kind not in (_TRUE, _FALSE):
            _encode(out, kind, value)
        previous = number
    out.append(0)

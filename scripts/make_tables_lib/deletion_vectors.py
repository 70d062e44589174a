"""Deletion vectors as bytes: PROTOCOL.md, "Deletion Vector Format" and "Deletion Vector File Storage Format"."""

from __future__ import annotations

import struct
import uuid
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

_MAGIC = 1681511377
_ALPHABET = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
_COOKIE_WITHOUT_RUNS = 12346
_LARGEST_ARRAY = 4096


def z85(data: bytes) -> str:
    """The Z85 form of bytes whose number is a multiple of 4."""
    if len(data) % 4:
        raise ValueError(f"Z85 encodes multiples of 4 bytes, not {len(data)}")
    out = []
    for (word,) in struct.iter_unpack(">I", data):
        digits = []
        for _ in range(5):
            word, digit = divmod(word, 85)
            digits.append(_ALPHABET[digit])
        out += reversed(digits)
    return "".join(out)


def bitmap_array(rows: Iterable[int]) -> bytes:
    """The portable form of a 64-bit Roaring bitmap of row numbers, with its magic number."""
    by_key: dict[int, list[int]] = {}
    for row in sorted(set(rows)):
        by_key.setdefault(row >> 32, []).append(row & 0xFFFF_FFFF)
    body = b"".join(struct.pack("<I", key) + _bitmap(values) for key, values in sorted(by_key.items()))
    return struct.pack("<IQ", _MAGIC, len(by_key)) + body


def _bitmap(values: list[int]) -> bytes:
    containers: dict[int, list[int]] = {}
    for value in values:
        containers.setdefault(value >> 16, []).append(value & 0xFFFF)
    header = struct.pack("<II", _COOKIE_WITHOUT_RUNS, len(containers))
    bodies = []
    for key, low in containers.items():
        header += struct.pack("<HH", key, len(low) - 1)
        if len(low) <= _LARGEST_ARRAY:
            bodies.append(struct.pack(f"<{len(low)}H", *low))
        else:
            bits = bytearray(8192)
            for bit in low:
                bits[bit >> 3] |= 1 << (bit & 7)
            bodies.append(bytes(bits))
    offset = len(header) + 4 * len(containers)
    offsets = b""
    for body in bodies:
        offsets += struct.pack("<I", offset)
        offset += len(body)
    return header + offsets + b"".join(bodies)


def inline(rows: Iterable[int]) -> dict[str, Any]:
    """The descriptor of a deletion vector that stands in the log itself."""
    rows = set(rows)
    data = bitmap_array(rows)
    padded = data + bytes(-len(data) % 4)
    return {"storageType": "i", "pathOrInlineDv": z85(padded), "sizeInBytes": len(data), "cardinality": len(rows)}


class File:
    """A file of deletion vectors under construction."""

    def __init__(self, root: Path, identifier: str, prefix: str = ""):
        self._uuid = uuid.UUID(identifier)
        self._prefix = prefix
        self.path = root / prefix / f"deletion_vector_{identifier}.bin"
        self._bytes = b"\x01"

    def add(self, rows: Iterable[int], *, absolute: bool = False) -> dict[str, Any]:
        """Appends one vector and returns its descriptor: relative by UUID, or `absolute` by path."""
        rows = set(rows)
        data = bitmap_array(rows)
        offset = len(self._bytes)
        self._bytes += struct.pack(">I", len(data)) + data + struct.pack(">I", zlib.crc32(data))
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_bytes(self._bytes)
        where = self.path.as_uri() if absolute else self._prefix + z85(self._uuid.bytes)
        kind = "p" if absolute else "u"
        return {
            "storageType": kind,
            "pathOrInlineDv": where,
            "offset": offset,
            "sizeInBytes": len(data),
            "cardinality": len(rows),
        }

"""Decoding of Parquet pages from the text of the format alone: levels and values, with nothing of a Parquet library.

What `strict` compares footers and indexes with. Numbers come as numpy arrays, byte arrays as lists of bytes.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pyarrow as pa

BOOLEAN, INT32, INT64, INT96, FLOAT, DOUBLE, BYTE_ARRAY, FIXED = range(8)
PLAIN, PLAIN_DICTIONARY, RLE, BIT_PACKED, DELTA, DELTA_LENGTH, DELTA_BYTES, RLE_DICTIONARY, SPLIT = (
    0,
    2,
    3,
    4,
    5,
    6,
    7,
    8,
    9,
)
CODECS = {1: "snappy", 2: "gzip", 4: "brotli", 6: "zstd", 7: "lz4_raw"}
_NUMBERS = {INT32: "<i4", INT64: "<i8", FLOAT: "<f4", DOUBLE: "<f8"}


class Broken(Exception):
    """The bytes are not what the format says."""


def decompress(codec: int, packed: bytes, size: int) -> bytes:
    if codec == 0:
        return packed
    if codec == 5:  # LZ4 in the framing of Hadoop: blocks behind their two lengths
        out = b""
        while packed:
            whole, part = struct.unpack(">II", packed[:8])
            out += pa.Codec("lz4_raw").decompress(packed[8 : 8 + part], whole).to_pybytes()
            packed = packed[8 + part :]
        return out
    return pa.Codec(CODECS[codec]).decompress(packed, size).to_pybytes()


def varint(data: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        byte = data[at]
        at += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number, at
        shift += 7


def unpack(data: bytes, width: int, count: int) -> np.ndarray:
    """`count` numbers of `width` bits, the lowest bit first."""
    if width == 0:
        return np.zeros(count, np.int64)
    bits = np.unpackbits(np.frombuffer(data, np.uint8), bitorder="little")
    if len(bits) < count * width:
        raise Broken("bit-packed numbers end too early")
    weights = np.left_shift(np.uint64(1), np.arange(width, dtype=np.uint64))
    return (bits[: count * width].reshape(count, width).astype(np.uint64) * weights).sum(1).astype(np.int64)


def hybrid(data: bytes, width: int, count: int) -> np.ndarray:
    """`count` numbers of the hybrid of runs and bit-packing. All bytes have to be used but for padding."""
    parts: list[np.ndarray] = []
    at = found = 0
    while found < count:
        if at >= len(data):
            raise Broken(f"{found} numbers instead of {count}")
        header, at = varint(data, at)
        if header & 1:
            groups = header >> 1
            take = min(groups * 8, count - found)
            parts.append(unpack(data[at : at + groups * width], width, take))
            at += groups * width
        else:
            take = header >> 1
            if take == 0 or take > count - found:
                raise Broken(f"a run of {take} where {count - found} numbers are left")
            size = (width + 7) // 8
            value = int.from_bytes(data[at : at + size], "little")
            if value >> width:
                raise Broken(f"a run of {value}, which has more than {width} bits")
            parts.append(np.full(take, value, np.int64))
            at += size
        found += take
    if at < len(data):
        raise Broken(f"{len(data) - at} bytes behind the last number")
    return np.concatenate(parts) if parts else np.zeros(0, np.int64)


def bit_packed(data: bytes, width: int, count: int) -> np.ndarray:
    """Levels of the deprecated encoding, the highest bit first."""
    bits = np.unpackbits(np.frombuffer(data, np.uint8))[: count * width].reshape(count, width).astype(np.int64)
    return bits @ np.left_shift(np.int64(1), np.arange(width - 1, -1, -1))


def values(data: bytes, encoding: int, kind: int, length: int, count: int, dictionary: Any) -> Any:
    """`count` values of the physical type `kind`, FIXED ones of `length` bytes."""
    if encoding in (PLAIN_DICTIONARY, RLE_DICTIONARY):
        if count == 0:
            return [] if kind in (BYTE_ARRAY, FIXED, INT96) else np.zeros(0, _NUMBERS.get(kind, np.int64))
        if dictionary is None:
            raise Broken("indices without a dictionary")
        indices = hybrid(data[1:], data[0], count)
        if len(indices) and indices.max() >= len(dictionary):
            raise Broken(f"the index {indices.max()} into a dictionary of {len(dictionary)} values")
        return [dictionary[i] for i in indices] if isinstance(dictionary, list) else dictionary[indices]
    if encoding == PLAIN:
        return _plain(data, kind, length, count)
    if encoding == RLE and kind == BOOLEAN:
        (size,) = struct.unpack("<I", data[:4])
        return hybrid(data[4 : 4 + size], 1, count)
    if encoding == DELTA:
        found, rest = _delta(data, 32 if kind == INT32 else 64)
        _all_used(rest)
        return found[:count].astype(_NUMBERS[kind])
    if encoding == DELTA_LENGTH:
        lengths, rest = _delta(data, 32)
        return _cut(rest, lengths)
    if encoding == DELTA_BYTES:
        shared, rest = _delta(data, 32)
        lengths, rest = _delta(rest, 32)
        out: list[bytes] = []
        for prefix, suffix in zip(shared, _cut(rest, lengths), strict=True):
            out.append((out[-1][:prefix] if prefix else b"") + suffix)
        return out
    if encoding == SPLIT:
        width = length if kind == FIXED else np.dtype(_NUMBERS[kind]).itemsize
        if len(data) != width * count:
            raise Broken(f"{len(data)} bytes for {count} values of {width}")
        joined = np.frombuffer(data, np.uint8).reshape(width, count).T.tobytes()
        return _plain(joined, kind, length, count)
    raise Broken(f"the encoding {encoding} of the type {kind}")


def _plain(data: bytes, kind: int, length: int, count: int) -> Any:
    if kind in _NUMBERS:
        width = np.dtype(_NUMBERS[kind]).itemsize
        if len(data) != width * count:
            raise Broken(f"{len(data)} bytes for {count} values of {width}")
        return np.frombuffer(data, _NUMBERS[kind])
    if kind == BOOLEAN:
        if len(data) != (count + 7) // 8:
            raise Broken(f"{len(data)} bytes for {count} bits")
        return unpack(data, 1, count)
    if kind in (FIXED, INT96):
        width = 12 if kind == INT96 else length
        if len(data) != width * count:
            raise Broken(f"{len(data)} bytes for {count} values of {width}")
        return [data[i * width : (i + 1) * width] for i in range(count)]
    out, at = [], 0
    for _ in range(count):
        (size,) = struct.unpack_from("<I", data, at)
        out.append(data[at + 4 : at + 4 + size])
        at += 4 + size
    _all_used(data[at:])
    return out


def _all_used(rest: bytes) -> None:
    if rest:
        raise Broken(f"{len(rest)} bytes behind the last value")


def _cut(data: bytes, lengths: np.ndarray) -> list[bytes]:
    ends = np.cumsum(lengths)
    if len(ends) and ends[-1] != len(data):
        raise Broken(f"{len(data)} bytes where the lengths add up to {ends[-1]}")
    return [data[end - size : end] for end, size in zip(ends.tolist(), lengths.tolist(), strict=True)]


def _delta(data: bytes, bits: int) -> tuple[np.ndarray, bytes]:
    """DELTA_BINARY_PACKED, and what follows it."""
    block, at = varint(data, 0)
    minis, at = varint(data, at)
    total, at = varint(data, at)
    first, at = varint(data, at)
    mask = (1 << bits) - 1
    out = [_unzigzag(first) & mask] if total else []
    each = block // minis if minis else 0
    while len(out) < total:
        least, at = varint(data, at)
        least = _unzigzag(least)
        widths = data[at : at + minis]
        at += minis
        for width in widths:
            if len(out) >= total:
                break
            deltas = _wide(data[at : at + width * each // 8], width, each)
            at += width * each // 8
            for delta in deltas[: total - len(out)]:
                out.append((out[-1] + least + delta) & mask)
    half = 1 << (bits - 1)
    return np.array([n - (1 << bits) if n >= half else n for n in out], np.int64), data[at:]


def _wide(data: bytes, width: int, count: int) -> list[int]:
    number = int.from_bytes(data, "little")
    mask = (1 << width) - 1
    return [(number >> (i * width)) & mask for i in range(count)]


def _unzigzag(n: int) -> int:
    return (n >> 1) ^ -(n & 1)

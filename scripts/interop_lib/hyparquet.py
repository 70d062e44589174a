"""Reading with hyparquet, a reader in JavaScript, by way of node: its answer as an Arrow table."""

from __future__ import annotations

import json
import os
import subprocess
from decimal import Context
from pathlib import Path
from typing import Any

import pyarrow as pa

HERE = Path(__file__).resolve().parent
MODULES = HERE.parents[1] / ".venv-node"

_EXACT = Context(prec=76)
_INTEGERS = {
    "INT_8": pa.int8(),
    "INT_16": pa.int16(),
    "INT_32": pa.int32(),
    "INT_64": pa.int64(),
    "UINT_8": pa.uint8(),
    "UINT_16": pa.uint16(),
    "UINT_32": pa.uint32(),
    "UINT_64": pa.uint64(),
}
_PHYSICAL = {
    "BOOLEAN": pa.bool_(),
    "INT32": pa.int32(),
    "INT64": pa.int64(),
    "INT96": pa.timestamp("us", "UTC"),
    "FLOAT": pa.float32(),
    "DOUBLE": pa.float64(),
    "BYTE_ARRAY": pa.binary(),
    "FIXED_LEN_BYTE_ARRAY": pa.binary(),
}


def read(path: str) -> pa.Table:
    """The rows of every file in a directory. Raises `RuntimeError` with what hyparquet says."""
    files = [os.path.join(path, n) for n in sorted(os.listdir(path))]
    child = subprocess.run(
        ["node", str(HERE / "hyparquet.mjs"), str(MODULES), *files], capture_output=True, text=True, check=False
    )
    if child.returncode != 0:
        lines = child.stderr.strip().splitlines()
        raise RuntimeError(next((line for line in lines if "Error" in line), lines[-1] if lines else "no message"))
    tables = [_table(json.loads(line)) for line in child.stdout.splitlines()]
    return pa.concat_tables(tables)


def _table(file: dict[str, Any]) -> pa.Table:
    root, rest = _Node.read(file["schema"])
    assert not rest, "the elements of a schema are one tree"
    arrays = [pa.array([n.value(v) for v in file["columns"][n.name]], n.kind()) for n in root.children]
    return pa.table(arrays, names=[n.name for n in root.children])


class _Node:
    """A schema element with those below it."""

    def __init__(self, element: dict[str, Any], children: list[_Node]):
        self.element, self.children = element, children
        self.name = element["name"]

    @staticmethod
    def read(elements: list[dict[str, Any]]) -> tuple[_Node, list[dict[str, Any]]]:
        first, rest = elements[0], elements[1:]
        children = []
        for _ in range(first.get("num_children") or 0):
            child, rest = _Node.read(rest)
            children.append(child)
        return _Node(first, children), rest

    @property
    def _converted(self) -> str | None:
        return self.element.get("converted_type")

    def _element(self) -> _Node:
        """What a list is a list of."""
        (repeated,) = self.children
        return repeated.children[0] if len(repeated.children) == 1 else repeated

    def kind(self) -> pa.DataType:
        logical = self.element.get("logical_type") or {}
        if self._converted == "LIST":
            return pa.list_(self._element().kind())
        if self._converted == "MAP":
            key, value = self.children[0].children
            return pa.map_(key.kind(), value.kind())
        if self.children:
            return pa.struct([pa.field(c.name, c.kind()) for c in self.children])
        if self._converted == "DECIMAL":
            return pa.decimal128(self.element["precision"], self.element.get("scale") or 0)
        if self._converted == "UTF8" or logical.get("type") == "STRING":
            return pa.string()
        if self._converted == "DATE":
            return pa.date32()
        if logical.get("type") == "TIMESTAMP":
            return pa.timestamp("us", "UTC" if logical.get("isAdjustedToUTC") else None)
        if self._converted in ("TIMESTAMP_MILLIS", "TIMESTAMP_MICROS"):
            return pa.timestamp("us", "UTC")
        return _INTEGERS.get(self._converted or "", _PHYSICAL[self.element["type"]])

    def value(self, v: Any) -> Any:
        if v is None:
            return None
        if self._converted == "LIST":
            element = self._element()
            return [element.value(x) for x in v]
        if self._converted == "MAP":
            key, value = self.children[0].children
            return [(key.key(k), value.value(x)) for k, x in v.items()]
        if self.children:
            return {c.name: c.value(v.get(c.name)) for c in self.children}
        if self._converted == "DECIMAL":
            is_bytes = isinstance(v, dict) and "b" in v
            unscaled = int.from_bytes(bytes.fromhex(v["b"]), "big", signed=True) if is_bytes else _number(v)
            return _EXACT.scaleb(_EXACT.create_decimal(unscaled), -(self.element.get("scale") or 0))
        if isinstance(v, dict):
            if "t" in v:
                return int(v["t"])
            return v["d"] if "d" in v else bytes.fromhex(v["b"]) if "b" in v else _number(v)
        return v

    def key(self, text: str) -> Any:
        """A key of a map, which JavaScript has as text."""
        t = self.kind()
        if pa.types.is_integer(t):
            return int(text)
        return float(text) if pa.types.is_floating(t) else text


def _number(v: Any) -> Any:
    if isinstance(v, dict):
        return int(v["i"]) if "i" in v else float(v["f"].replace("Infinity", "inf"))
    return v

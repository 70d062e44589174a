"""The table, and the rows of each batch."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa

# The writer that delta-rs counts as.
APPENDER = 1_000_000

SCHEMA = {
    "type": "struct",
    "fields": [
        {"name": name, "type": kind, "nullable": False, "metadata": {}}
        for name, kind in (("writer", "long"), ("batch", "long"), ("row", "long"), ("amount", "long"))
    ],
}


def batch(writer: int, number: int, rows: int) -> pa.Table:
    """The rows of one batch of one writer. The amounts of each batch add up to another sum."""
    schema = pa.schema([pa.field(f["name"], pa.int64(), nullable=False) for f in SCHEMA["fields"]])
    columns = [[writer] * rows, [number] * rows, range(rows), [writer * 7 + number * 3 + i for i in range(rows)]]
    return pa.table([pa.array(c, pa.int64()) for c in columns], schema=schema)


def amount(writer: int, number: int, rows: int) -> int:
    """What the amounts of a batch add up to."""
    return rows * (writer * 7 + number * 3) + rows * (rows - 1) // 2


def write_schema(path: Path) -> None:
    path.write_text(json.dumps(SCHEMA))

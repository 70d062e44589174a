"""Other people's readers of Delta tables, asked for all rows and for how many rows a filter keeps.

A filter is what data skipping by the statistics of the log answers: whoever writes bounds that are too narrow loses
rows in it. `questions` picks filters for every column from the rows that are right; each reader counts what they keep.
"""

from __future__ import annotations

import json
import math
import operator
import subprocess
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable, QueryBuilder

from . import oracles
from .bounds import has_order
from .environments import ROOT
from .oracles import Refused, refusing
from .replay import Log

_OPERATORS = {"=": pc.equal, "<": pc.less, ">": pc.greater, "<=": pc.less_equal, ">=": pc.greater_equal}
_PATIENCE = 60


@dataclass(frozen=True)
class Question:
    """`COLUMN OPERATOR LITERAL`, or `COLUMN is null`, and how many rows it keeps. The literal is of the column's type."""

    column: str
    operator: str
    literal: pa.Scalar | None
    kept: int

    def __str__(self) -> str:
        text = "" if self.literal is None else f" {str(self.literal)[:40]}"
        return f"{self.column} {self.operator}{text}"


def questions(rows: pa.Table) -> list[Question]:
    """Filters at and beyond the bounds of each column that has an order, and for its nulls."""
    out = []
    for name in rows.column_names:
        column = rows.column(name)
        if not pa.types.is_nested(column.type):
            out.append(Question(name, "is null", None, column.null_count))
        if not has_order(column.type):
            continue
        values = column.drop_null()
        signs = list(_OPERATORS)
        if pa.types.is_floating(column.type):
            nan = pc.is_nan(values)
            if pc.any(nan).as_py():
                # Engines place NaN differently, but none of them below or at a number.
                values, signs = values.filter(pc.invert(nan)), ["=", "<", "<="]
        if len(values) == 0:
            continue
        if pa.types.is_string(column.type):
            values = values.filter(pc.invert(pc.match_substring(values, "\0")))  # the end of a query, for some
            if len(values) == 0:
                continue
        values = values.take(pc.sort_indices(values)).combine_chunks()
        if pa.types.is_floating(column.type):
            values = values.filter(pc.not_equal(values, 0))  # some tell 0.0 from -0.0
            if len(values) == 0:
                continue
        for at, wanted in ((0, "=<>"), (len(values) // 2, "=<>"), (len(values) - 1, "=><")):
            for sign in signs:
                if sign[0] in wanted and (at in (0, len(values) - 1) or sign == "="):
                    kept = pc.sum(_OPERATORS[sign](column, values[at])).as_py() or 0
                    out.append(Question(name, sign, values[at], kept))
    return out


class Peer(ABC):
    """One reader. Every method raises `Refused` where it does not read the table."""

    name: str
    # Whether fractions lose their last digits: values of files of one value are taken from statistics, by way of doubles.
    rounds = False

    def can_read(self, table: Path, version: int) -> bool:
        """Whether versions like this one are read at all, by whoever they were written."""
        return True

    @abstractmethod
    def rows(self, table: Path, version: int) -> pa.Table: ...

    @abstractmethod
    def counts(self, table: Path, version: int, asked: list[Question]) -> list[int]: ...

    def close(self) -> None:
        """Ends what the reader runs in."""


class DeltaRs(Peer):
    name = "deltalake"

    def _table(self, table: Path, version: int) -> QueryBuilder:
        return QueryBuilder().register("t", DeltaTable(str(table), version=version))

    def rows(self, table: Path, version: int) -> pa.Table:
        with refusing():
            return pa.table(self._table(table, version).execute("SELECT * FROM t").read_all())

    def counts(self, table: Path, version: int, asked: list[Question]) -> list[int]:
        with refusing():
            query = self._table(table, version)
            texts = ["SELECT count(*) n FROM t WHERE " + sql(q, '"', _datafusion_type) for q in asked]
            return [pa.table(query.execute(text).read_all()).column(0)[0].as_py() for text in texts]


class Kernel(Peer):
    name = "polars-deltalake"

    def rows(self, table: Path, version: int) -> pa.Table:
        return oracles.kernel_rows(table, version)

    def counts(self, table: Path, version: int, asked: list[Question]) -> list[int]:
        import polars_deltalake

        with refusing():
            frame: pl.LazyFrame = polars_deltalake.scan_delta(str(table), version=version)
            return [
                frame.filter(_polars(q)).select(pl.len()).collect().item() if _survives_json(q) else q.kept
                for q in asked
            ]


class DuckDb(Peer):
    name = "duckdb"

    def rows(self, table: Path, version: int) -> pa.Table:
        return oracles.duckdb_rows(table, version)

    def counts(self, table: Path, version: int, asked: list[Question]) -> list[int]:
        where = [sql(q, '"', _duckdb_type) for q in asked]
        return oracles.duckdb_kept(table, version, where)


class Sail(Peer):
    """Sail, in a child of its own environment. It appends, too."""

    name = "sail"
    rounds = True

    def can_read(self, table: Path, version: int) -> bool:
        # Below a checkpoint it finds no version but the first two: "Missing commit file: expected version 0".
        return version < 2 or all(version >= at for at in Log(table).checkpoints())

    def __init__(self, python: Path, scratch: Path):
        self._scratch, self._number = scratch, 0
        self._log = open(scratch / "sail.log", "wb")
        self._child = subprocess.Popen(
            [str(python), "-m", "interop_lib.sail"],
            cwd=ROOT / "scripts",
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
        )

    def rows(self, table: Path, version: int) -> pa.Table:
        self._number += 1
        out = self._scratch / f"sail-{self._number}.arrow"
        self._ask(do="rows", table=str(table), version=version, out=str(out))
        with pa.memory_map(str(out)) as source:
            return pa.ipc.open_file(source).read_all()

    def counts(self, table: Path, version: int, asked: list[Question]) -> list[int]:
        sure = [q for q in asked if _survives_json(q) and not _is_decimal(q)]
        where = [sql(q, "`", _spark_type) for q in sure]
        kept = self._ask(do="counts", table=str(table), version=version, where=where)
        answers = {id(q): count for q, count in zip(sure, kept, strict=True)}
        return [answers.get(id(q), q.kept) for q in asked]

    def append(self, table: Path, file: Path, partitions: list[str]) -> None:
        self._ask(do="append", table=str(table), file=str(file), partitions=partitions)

    def _ask(self, **job: Any) -> Any:
        if self._child.poll() is not None:
            raise Refused(f"Sail ended with {self._child.returncode}; its log is {self._log.name}")
        self._child.stdin.write(json.dumps(job) + "\n")
        self._child.stdin.flush()
        answer = json.loads(self._child.stdout.readline() or '{"error": "Sail ended"}')
        if "error" in answer:
            raise Refused(answer["error"])
        return answer["answer"]

    def close(self) -> None:
        self._child.stdin.close()
        try:
            self._child.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self._child.kill()
        self._log.close()


# ---- filters as text -------------------------------------------------------------------------------------------------


def sql(question: Question, quote: str, type_of: Any) -> str:
    """The filter in a dialect: `quote` goes around names, `type_of` names a type to cast text to."""
    name = f"{quote}{question.column.replace(quote, quote * 2)}{quote}"
    if question.literal is None:
        return f"{name} IS NULL"
    text = _text(question.literal)
    if quote == "`":
        text = text.replace("\\", "\\\\").replace("'", "\\'")
    else:
        text = text.replace("'", "''")
    return f"{name} {question.operator} {type_of(question.literal.type, text)}"


def _text(literal: pa.Scalar) -> str:
    value, t = literal.as_py(), literal.type
    if pa.types.is_timestamp(t):
        return value.strftime("%Y-%m-%d %H:%M:%S.%f").zfill(26)
    if pa.types.is_date(t):
        return value.isoformat()
    if pa.types.is_floating(t):
        if math.isinf(value):
            return "Infinity" if value > 0 else "-Infinity"
        return repr(value)
    if pa.types.is_decimal(t):
        return format(value, "f")
    return str(value)


_DATAFUSION = {"int8": "TINYINT", "int16": "SMALLINT", "int32": "INT", "int64": "BIGINT", "float": "FLOAT"}
_DATAFUSION |= {"double": "DOUBLE", "string": "VARCHAR", "date32[day]": "DATE"}


def _datafusion_type(t: pa.DataType, text: str) -> str:
    if pa.types.is_timestamp(t):
        zone = 'Some("UTC")' if t.tz else "None"
        return f"arrow_cast('{text}{'Z' if t.tz else ''}', 'Timestamp(Microsecond, {zone})')"
    if pa.types.is_decimal(t):
        return f"CAST('{text}' AS DECIMAL({t.precision},{t.scale}))"
    if pa.types.is_string(t):
        return f"'{text}'"
    return f"CAST('{text}' AS {_DATAFUSION[str(t)]})"


def _duckdb_type(t: pa.DataType, text: str) -> str:
    if pa.types.is_timestamp(t):
        return f"'{text}{'+00' if t.tz else ''}'::{'TIMESTAMPTZ' if t.tz else 'TIMESTAMP'}"
    if pa.types.is_decimal(t):
        return f"'{text}'::DECIMAL({t.precision},{t.scale})"
    return f"'{text}'::{_DATAFUSION[str(t)]}"


def _spark_type(t: pa.DataType, text: str) -> str:
    if pa.types.is_timestamp(t):
        return f"{'TIMESTAMP' if t.tz else 'TIMESTAMP_NTZ'} '{text}'"
    if pa.types.is_decimal(t):
        return f"CAST('{text}' AS DECIMAL({t.precision},{t.scale}))"
    if pa.types.is_string(t):
        return f"'{text}'"
    return f"CAST('{text}' AS {_DATAFUSION[str(t)]})"


def _survives_json(question: Question) -> bool:
    """polars-deltalake hands filters on as JSON, in which infinity becomes null, and long fractions lose their last bit."""
    value = None if question.literal is None else question.literal.as_py()
    return not isinstance(value, float) or (abs(value) < 2**40 and (value * 1024).is_integer())


def _is_decimal(question: Question) -> bool:
    return question.literal is not None and pa.types.is_decimal(question.literal.type)


def _polars(question: Question) -> pl.Expr:
    column = pl.col(question.column)
    if question.literal is None:
        return column.is_null()
    one = pl.from_arrow(pa.array([question.literal.as_py()], question.literal.type))
    literal = pl.lit(one[0], dtype=one.dtype)
    return _COMPARE[question.operator](column, literal)


_COMPARE = {"=": operator.eq, "<": operator.lt, ">": operator.gt, "<=": operator.le, ">=": operator.ge}

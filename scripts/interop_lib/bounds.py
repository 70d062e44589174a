"""Questions that engines answer from statistics: COUNT, MIN, MAX, and filters at the bounds of a column.

A reader that trusts the statistics of a footer gets them wrong when they speak of rows that are deleted, or of a
constant that is not there. `literals` picks the values to ask for from the rows that are right, `expected` answers from
these rows, and `ASK` holds, by reader, the function that asks a directory of Parquet files. Only pyarrow is imported
here, so that a worker in any environment can use it.

An answer is a table of one row: `*` counts all rows; for column I, `I.count` counts its values, `I.min` and `I.max` are
its bounds, and `I.OP LITERAL` counts the rows that a filter keeps.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

_LITERALS = ("min", "mid", "max")
OPERATORS: dict[str, tuple[str, Callable[[Any, Any], Any]]] = {
    "eq": ("=", operator.eq),
    "lt": ("<", operator.lt),
    "gt": (">", operator.gt),
}
FILTERS = [(op, at) for at in range(3) for op in OPERATORS]
_MOST_COLUMNS = 12

# The ways of `spark` to read.
SPARK = ("spark", "spark rows", "spark v2")


def literals(rows: pa.Table) -> pa.Table | None:
    """For each column with an order, its smallest, middle and largest value, as a table of three rows."""
    columns = {}
    for name in rows.column_names:
        values = rows.column(name).drop_null()
        if len(values) == 0 or not has_order(values.type) or len(columns) == _MOST_COLUMNS:
            continue
        if pa.types.is_floating(values.type) and pc.any(pc.is_nan(values)).as_py():
            continue  # engines place NaN differently
        values = values.take(pc.sort_indices(values)).combine_chunks()
        columns[name] = values.take(pa.array([0, len(values) // 2, len(values) - 1]))
    return pa.table(columns) if columns else None


def has_order(t: pa.DataType) -> bool:
    """Whether all readers order values of the type: booleans, bytes and nested values are left out."""
    return (
        pa.types.is_integer(t)
        or pa.types.is_floating(t)
        or pa.types.is_decimal(t)
        or pa.types.is_date(t)
        or pa.types.is_timestamp(t)
        or pa.types.is_string(t)
    )


def expected(rows: pa.Table, asked: pa.Table) -> pa.Table:
    """The right answer, by a plain pass over the rows."""
    out: dict[str, Any] = {"*": pa.array([rows.num_rows], pa.int64())}
    compare = {"eq": pc.equal, "lt": pc.less, "gt": pc.greater}
    for i, name in enumerate(asked.column_names):
        values, at = rows.column(name), asked.column(name)
        out[f"{i}.count"] = pa.array([len(values) - values.null_count], pa.int64())
        out[f"{i}.min"], out[f"{i}.max"] = at.slice(0, 1), at.slice(2, 1)
        for op, k in FILTERS:
            out[key(i, op, k)] = pa.array([pc.sum(compare[op](values, at[k])).as_py() or 0], pa.int64())
    return pa.table(out)


def differences(asked: pa.Table, wanted: pa.Table, got: pa.Table) -> list[str]:
    """What of an answer is wrong."""
    out = []
    for key in wanted.column_names:
        a, b = wanted.column(key)[0], got.column(key)[0]
        if not b.type.equals(a.type):
            try:
                b = b.cast(a.type)
            except pa.ArrowInvalid:
                pass  # an answer beyond the type is a wrong one
        if not b.type.equals(a.type) or a != b:
            i, _, question = key.partition(".")
            name = "" if key == "*" else f"{question} of {asked.column_names[int(i)]!r}"
            out.append(f"{name or 'count(*)'} is {_shown(b)}, expected {_shown(a)}")
    return out


def _shown(value: Any) -> str:
    return str(value)[:60]  # of a scalar: one beyond the years of Python's datetime still has a text


def key(i: int, op: str, k: int) -> str:
    return f"{i}.{op} {_LITERALS[k]}"


# ---- by reader -----------------------------------------------------------------------------------------------------


def _ask_spark(reader: str) -> Callable[[str, pa.Table], pa.Table]:
    def ask(path: str, asked: pa.Table) -> pa.Table:
        from . import spark

        return spark.ASK[reader](path, asked)

    return ask


def ask_pyarrow(path: str, asked: pa.Table) -> pa.Table:
    import pyarrow.dataset as ds

    data = ds.dataset(path, format="parquet")
    out: dict[str, Any] = {"*": [data.count_rows()]}
    for i, name in enumerate(asked.column_names):
        column, at = pc.field(name), asked.column(name)
        values = data.to_table(columns=[name], filter=column.is_valid()).column(name)
        ends = pc.min_max(values)
        out[f"{i}.count"] = [len(values)]
        out[f"{i}.min"], out[f"{i}.max"] = pa.repeat(ends["min"], 1), pa.repeat(ends["max"], 1)
        for op, k in FILTERS:
            out[key(i, op, k)] = [data.count_rows(filter=OPERATORS[op][1](column, at[k]))]
    return pa.table(out)


def ask_polars(path: str, asked: pa.Table) -> pa.Table:
    import polars as pl

    frame = pl.scan_parquet(f"{path}/*.parquet")
    out: dict[str, Any] = {"*": [frame.select(pl.len()).collect().item()]}
    at = pl.from_arrow(asked)
    for i, name in enumerate(asked.column_names):
        column = pl.col(name)
        summary = frame.select(pl.count(name).alias("n"), column.min().alias("a"), column.max().alias("b")).collect()
        found = summary.to_arrow()
        out[f"{i}.count"] = found.column("n").cast(pa.int64())
        out[f"{i}.min"], out[f"{i}.max"] = found.column("a"), found.column("b")
        for op, k in FILTERS:
            literal = pl.lit(at.get_column(name)[k], dtype=at.get_column(name).dtype)
            kept = frame.filter(OPERATORS[op][1](column, literal)).select(pl.len()).collect().item()
            out[key(i, op, k)] = [kept]
    return pa.table(out)


def ask_datafusion(path: str, asked: pa.Table) -> pa.Table:
    import datafusion as df
    from datafusion import functions as f

    frame = df.SessionContext().read_parquet(f"{path}/")
    out: dict[str, Any] = {"*": _sole(frame.aggregate([], [f.count_star().alias("n")]), "n")}
    for i, name in enumerate(asked.column_names):
        column, at = df.column('"' + name.replace('"', '""') + '"'), asked.column(name)
        summary = frame.aggregate([], [f.count(column).alias("n"), f.min(column).alias("a"), f.max(column).alias("b")])
        out[f"{i}.count"], out[f"{i}.min"], out[f"{i}.max"] = (_sole(summary, c) for c in "nab")
        for op, k in FILTERS:
            kept = frame.filter(OPERATORS[op][1](column, df.lit(at[k])))
            out[key(i, op, k)] = _sole(kept.aggregate([], [f.count_star().alias("n")]), "n")
    return pa.table(out)


def _sole(frame: Any, name: str) -> pa.ChunkedArray:
    # Without the frame's schema, which promises more than the batches: columns without nulls.
    return pa.Table.from_batches(frame.collect()).column(name)


def ask_duckdb(path: str, asked: pa.Table) -> pa.Table:
    import duckdb as db

    with db.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        for k in range(3):
            connection.register(f"asked{k}", asked.slice(k, 1))
        connection.execute(f"CREATE VIEW t AS SELECT * FROM read_parquet('{path}/*.parquet')")

        def table(query: str) -> pa.Table:
            result = connection.execute(query)
            return result.to_arrow_table() if hasattr(result, "to_arrow_table") else result.fetch_arrow_table()

        out: dict[str, Any] = {"*": table("SELECT count(*) n FROM t").column("n")}
        for i, name in enumerate(asked.column_names):
            c = '"' + name.replace('"', '""') + '"'
            summary = table(f"SELECT count({c}) n, min({c}) a, max({c}) b FROM t")
            out[f"{i}.count"], out[f"{i}.min"], out[f"{i}.max"] = (summary.column(x) for x in "nab")
            for k in range(3):
                # Written out, for only a constant is compared with the statistics of the file.
                query = f"SELECT typeof({c}), {c}::VARCHAR FROM asked{k}"
                kind, text = connection.execute(query).fetchall()[0]
                for op, (sign, _) in OPERATORS.items():
                    result = connection.execute(f"SELECT count(*) FROM t WHERE {c} {sign} ?::{kind}", [text])
                    out[key(i, op, k)] = [result.fetchall()[0][0]]
        return pa.table(out)


ASK: dict[str, Callable[[str, pa.Table], pa.Table]] = {
    "pyarrow.dataset": ask_pyarrow,
    "polars glob": ask_polars,
    "datafusion": ask_datafusion,
    "duckdb": ask_duckdb,
    **{name: _ask_spark(name) for name in SPARK},
}

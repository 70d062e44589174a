"""What other people's Delta readers say about a table: live files and rows.

Each oracle answers or raises `Refused`; it is never asked to guess. Three libraries are used, because none is right
about everything: delta-rs does not name deletion vectors, DuckDB reports neither sizes nor times, polars-deltalake
does not list files. Known faults of an oracle are handled where it is called, with the reason.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import duckdb
import polars as pl
import pyarrow as pa
from deltalake import DeltaTable

from .replay import decode_path


class Refused(Exception):
    """The oracle does not read this table at this version; the message is the oracle's own, shortened."""


def _refused(error: BaseException) -> Refused:
    text = " ".join(str(error).split())
    return Refused(f"{type(error).__name__}: {text[:300]}")


@contextmanager
def refusing() -> Iterator[None]:
    """Makes `Refused` of whatever a reader raises, the panics of Rust ones too, which are no `Exception`."""
    try:
        yield
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as e:
        raise _refused(e) from e


@dataclass(frozen=True)
class ListedFile:
    """A live file as far as an oracle describes it; None where it does not say."""

    path: str
    size: int | None = None
    modification_time: int | None = None
    partition_values: tuple[tuple[str, str | None], ...] | None = None
    num_records: int | None = None
    deleted_rows: int | None = None


def _relative(table: Path, path: str) -> str:
    """A path below the table root as DuckDB shows it, relative. It puts the root before an absolute URI too."""
    path = path.removeprefix(f"{table}/")
    return decode_path(path) if path.startswith("file:") else path


# ---- delta-rs ------------------------------------------------------------------------------------------------------


def deltalake_files(table: Path, version: int) -> list[ListedFile]:
    """delta-rs: path, size, modification time and number of records of each live file."""
    try:
        # The paths come as they stand in the log, still percent-encoded.
        rows = pa.table(DeltaTable(str(table), version=version).get_add_actions(flatten=True)).to_pylist()
    except Exception as e:
        raise _refused(e) from e
    return [
        ListedFile(
            path=decode_path(r["path"]),
            size=r["size_bytes"],
            modification_time=r["modification_time"],
            num_records=r.get("num_records"),
        )
        for r in rows
    ]


# ---- DuckDB --------------------------------------------------------------------------------------------------------

_duckdb = threading.local()


def _connection() -> duckdb.DuckDBPyConnection:
    if not hasattr(_duckdb, "connection"):
        import duckdb_extension_delta

        root = Path(duckdb_extension_delta.__file__).parent
        found = sorted(root.glob("extensions/*/delta.duckdb_extension"))
        if not found:
            raise RuntimeError(f"no delta.duckdb_extension under {root}: install duckdb-extension-delta anew")
        connection = duckdb.connect()
        connection.execute(f"LOAD '{found[-1]}'")
        connection.execute("SET TimeZone = 'UTC'")
        _duckdb.connection = connection
    return _duckdb.connection


def _duckdb_refused(error: Exception) -> Refused:
    # An internal error invalidates the whole connection, so that every later question would fail.
    _duckdb.__dict__.pop("connection", None)
    return _refused(error)


def duckdb_files(table: Path, version: int) -> list[ListedFile]:
    """DuckDB's delta extension: path, partition values and number of deleted rows of each live file."""
    query = (
        "SELECT data_file, partitions, have_deletes, delete_count "
        "FROM delta_list_files(?, version := ?, delete_count := true)"
    )
    try:
        rows = _connection().execute(query, [str(table), version]).fetchall()
    except Exception as e:
        raise _duckdb_refused(e) from e
    return [
        ListedFile(
            path=_relative(table, path),
            partition_values=tuple(sorted((partitions or {}).items())),
            deleted_rows=count if deletes else 0,
        )
        for path, partitions, deletes, count in rows
    ]


def duckdb_rows(table: Path, version: int) -> pa.Table:
    """DuckDB's delta extension: the rows of a version. Wrong (NULL) for partition columns of a column-mapped table."""
    try:
        return (
            _connection().execute("SELECT * FROM delta_scan(?, version := ?)", [str(table), version]).to_arrow_table()
        )
    except Exception as e:
        raise _duckdb_refused(e) from e


def duckdb_counts(table: Path, version: int, columns: list[str]) -> dict[str, int]:
    """DuckDB's delta extension: how many rows have at least the value of each column that half of them have, and how
    many less. Files are skipped by their statistics and partition values for it."""
    counts: dict[str, int] = {}
    for column in columns:
        name = '"' + column.replace('"', '""') + '"'
        scan = "delta_scan(?, version := ?)"
        arguments = [str(table), version]
        try:
            (middle,) = _connection().execute(f"SELECT quantile_disc({name}, 0.5) FROM {scan}", arguments).fetchone()
            if middle is None:
                continue
            for operator in (">=", "<", "="):
                query = f"SELECT count(*) FROM {scan} WHERE {name} {operator} ?"
                (count,) = _connection().execute(query, [*arguments, middle]).fetchone()
                counts[f"{column} {operator}"] = count
        except Exception as e:
            raise _duckdb_refused(e) from e
    return counts


def duckdb_kept(table: Path, version: int, conditions: list[str]) -> list[int]:
    """DuckDB's delta extension: how many rows of a version each condition keeps."""
    query = "SELECT count(*) FROM delta_scan(?, version := ?) WHERE "
    try:
        connection = _connection()
        return [connection.execute(query + where, [str(table), version]).fetchall()[0][0] for where in conditions]
    except Exception as e:
        raise _duckdb_refused(e) from e


# ---- delta-kernel through polars -----------------------------------------------------------------------------------


def kernel_rows(table: Path, version: int) -> pa.Table:
    """delta-kernel-rs (polars-deltalake): the rows of a version, in the table's own columns and order."""
    import polars_deltalake

    with refusing():
        frame: pl.DataFrame = polars_deltalake.read_delta(str(table), version=version)
    return frame.to_arrow()


def kernel_refusal(table: Path, version: int | None) -> str | None:
    """Why delta-kernel-rs does not open the table, or None when it does."""
    import polars_deltalake

    try:
        polars_deltalake.scan_delta(os.fspath(table), version=version)
    except Exception as e:
        return str(_refused(e))
    return None

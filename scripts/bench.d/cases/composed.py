"""DuckDB over files into which the mount puts a partition column."""

from collections.abc import Iterator

import makers
from measure import Context, Row

from . import duckdb


def run(context: Context) -> Iterator[Row]:
    """Natively the column comes out of the names of the directories, so there is no target."""
    table = makers.table(
        context.dir,
        makers.many_files,
        "many_files_partitioned",
        partitioned=True,
        files=context.scaled(1000, 10),
        rows=duckdb.ROWS,
    )
    sides = {"native": (f"{table}/*/*.parquet", True)}
    queries = {
        "all columns": (f"{duckdb.COLUMNS}, min(region), max(region)", None),
        "count(*)": ("count(*)", None),
    }
    yield from duckdb.compare(context, table, sides, queries)

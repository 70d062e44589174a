"""DuckDB over files that the mount composes, against the same rows written out as plain files."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import duck
import makers
from measure import (
    Context,
    Failed,
    Row,
    forget_all,
    interleave,
    memory_rows,
    remember_content,
)
from mounts import Mount

from .duckdb import ROWS

# Sums keep DuckDB from answering out of the statistics of the footers. The day of the last one is
# that of one file in a hundred.
COLUMNS = (
    "sum(id), sum(amount), min(client), max(client), min(epoch_us(sold)), max(epoch_us(sold)), "
    "sum(quantity), sum(length(region)), sum(dayofyear(day))"
)
QUERIES = {
    "all columns": (COLUMNS, "", 1.15),
    "one column": ("sum(quantity)", "", 1.30),
    "one day": (f"count(*), {COLUMNS}", f" WHERE day = DATE '{makers.day_of(3)}'", 1.50),
    "count(*)": ("count(*)", "", None),
}


def run(context: Context) -> Iterator[Row]:
    """The mount adds two partition columns and a new name; natively all is in the files."""
    files = context.scaled(1000, 5 * makers.REGION_COUNT)
    made = makers.table(context.dir, makers.composed_files, files=files, rows=ROWS)
    table = made / "table"
    sides = {"native": made / "plain"}
    if context.binary is None:
        yield from standing(context, sides)
        return
    sides["mount"] = context.mountpoint / "@latest"
    kept = context.dir / "composed-cache"
    shutil.rmtree(kept, ignore_errors=True)
    try:
        with mount(context, table, kept):
            duck.agree({side: duck.parquet(folder) for side, folder in sides.items()})
        yield from mounted_anew(context, table, sides, "first", None)
        yield from mounted_anew(context, table, sides, "remounted", kept)
        with mount(context, table, kept) as daemon:
            yield from standing(context, sides)
            yield from memory_rows(
                {key: [value] for key, value in daemon.memory().items()}, "all scans", "at the end"
            )
        with mount(context, table, kept, "--fast-open"):
            yield from standing(context, sides, ", --fast-open")
    finally:
        shutil.rmtree(kept, ignore_errors=True)


def mount(context: Context, table: Path, cache: Path | None, *arguments: str) -> Mount:
    """The table, with an empty cache directory unless one is given."""
    arguments = [*context.mount_arguments, *arguments]
    return Mount(context.binary, table, context.mountpoint, arguments, cache)


def sql(name: str, folder: Path) -> str:
    """A query over a directory."""
    select, where, _ = QUERIES[name]
    return f"SELECT {select} FROM {duck.parquet(folder)}{where}"


def mounted_anew(
    context: Context, table: Path, sides: dict[str, Path], state: str, cache: Path | None
) -> Iterator[Row]:
    """Every sample is the first thing that happens to a new mount. The page cache holds the data
    files and logs of both sides, and what is in the cache directory; of the mount nothing."""
    memory: dict[str, list[float]] = {}
    for name in QUERIES:
        remember_content(table, sides["native"], *([cache] if cache else []))

        def through(name=name) -> float:
            with mount(context, table, cache) as daemon:
                seconds = duck.query(sql(name, sides["mount"]))[0]
                if name == "all columns":
                    for key, value in daemon.memory().items():
                        memory.setdefault(key, []).append(value)
                return seconds

        native = lambda name=name: duck.query(sql(name, sides["native"]))[0]
        taken = interleave(max(3, context.rounds // 2), {"native": native, "mount": through})
        yield Row(name, state, taken["mount"], taken["native"], "plain files")
    yield from memory_rows(memory, "all columns", state)


def standing(context: Context, sides: dict[str, Path], label: str = "") -> Iterator[Row]:
    """The queries when the page cache holds all files of both sides, and when it holds nothing but
    DuckDB, while the daemon runs on."""
    for name, (_, _, limit) in QUERIES.items():
        queries = {side: sql(name, folder) for side, folder in sides.items()}
        answers = {side: duck.query(text)[1] for side, text in queries.items()}
        if len({json.dumps(answer) for answer in answers.values()}) > 1:
            raise Failed(f"DuckDB, {name}: the answers differ: {answers}")
        for state in ["warm", "cold"] if context.root else ["warm"]:
            cold = state == "cold"
            taken = interleave(
                max(3, context.rounds // 2) if cold else context.rounds,
                {side: lambda t=text: duck.query(t)[0] for side, text in queries.items()},
                (lambda: forget_all(duck.bring_back)) if cold else (lambda: None),
            )
            yield Row(
                f"{name}{label}",
                state,
                taken.get("mount", []),
                taken["native"],
                "plain files",
                ratio_limit=None if cold else limit,
            )

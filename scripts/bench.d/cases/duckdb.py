"""DuckDB over a table of a thousand Parquet files."""

import json
from collections.abc import Iterator
from pathlib import Path

import duck
import makers
from measure import Context, Failed, Row, forget_content, interleave
from mounts import Mount

# Sums keep DuckDB from answering out of the statistics of the footers. amount has two decimals.
COLUMNS = (
    "sum(id), sum(amount), min(customer), max(customer), "
    "min(epoch_us(sold)), max(epoch_us(sold)), min(day), max(day), "
    "sum(quantity)"
)
# What a file needs to have about 358 KB.
ROWS = 11_000
QUERIES = {
    "all columns": (COLUMNS, 1.10),
    "count(*)": ("count(*)", 1.40),
}


def run(context: Context) -> Iterator[Row]:
    """Files that the mount serves as they are."""
    table = makers.table(
        context.dir, makers.many_files, files=context.scaled(1000, 10), rows=ROWS
    )
    sides = {"native": table}
    if context.binary is None:
        yield from ask(context, sides)
        return
    mountpoint = context.mountpoint
    through = sides | {"mount": mountpoint / "@latest"}
    # On a mount that may be written the kernel asks for a file's attributes anew after each read.
    ways = {
        "": ([], True),
        ", --read-only": ([], False),
        ", --fast-open": (["--fast-open"], False),
    }
    for label, (arguments, writable) in ways.items():
        arguments = [*context.mount_arguments, *arguments]
        with Mount(context.binary, table, mountpoint, arguments, writable=writable):
            yield from ask(context, through, label)


def ask(context: Context, sides: dict[str, Path], label: str = "") -> Iterator[Row]:
    """The queries, warm and cold."""
    for name, (select, limit) in QUERIES.items():
        sql = {side: f"SELECT {select} FROM {duck.parquet(path)}" for side, path in sides.items()}
        answers = {side: duck.query(text)[1] for side, text in sql.items()}
        if len({json.dumps(answer) for answer in answers.values()}) > 1:
            raise Failed(f"DuckDB{label}, {name}: the answers differ: {answers}")
        for state in ["warm", "cold"]:
            cold = state == "cold"
            taken = interleave(
                max(3, context.rounds // 2) if cold else context.rounds,
                {side: lambda t=text: duck.query(t)[0] for side, text in sql.items()},
                (lambda: forget_content(*sides.values())) if cold else (lambda: None),
            )
            yield Row(
                f"{name}{label}",
                state,
                mount=taken.get("mount", []),
                native=taken["native"],
                ratio_limit=None if cold else limit,
            )

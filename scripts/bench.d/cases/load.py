"""Loading the newest snapshot of a million-file table, against deltalake."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import makers
from measure import Context, Failed, Row, forget_content, interleave, timed

TIME, MEMORY = 1 / 4, 1 / 3
PEER = "import sys, deltalake; deltalake.DeltaTable(sys.argv[1]).file_uris()"
COMMITS = 100


def run(context: Context) -> Iterator[Row]:
    """Whole processes, from start to end: time and peak memory."""
    files = context.scaled(1_000_000, 5_000)
    for name, partitioned in (("million", False), ("million_partitioned", True)):
        table = makers.table(
            context.dir, makers.million, name, files=files, commits=COMMITS, partitioned=partitioned
        )
        label = "partitioned" if partitioned else "unpartitioned"
        check(context, table, makers.live_files(files, COMMITS))
        for state in ["warm", "cold"]:
            yield from compare(context, table, f"files, {label}", state)


def compare(context: Context, table: Path, label: str, state: str) -> Iterator[Row]:
    """Time and memory rows of one table."""
    commands = {"native": [sys.executable, "-c", PEER, str(table)]}
    if context.binary is not None:
        commands["mount"] = [context.binary, "files", str(table)]
    cpu: dict[str, list[float]] = {side: [] for side in commands}
    peaks: dict[str, list[float]] = {side: [] for side in commands}

    def sample(side: str) -> float:
        result = timed(commands[side])
        cpu[side].append(result["cpu"])
        peaks[side].append(result["peak"] / 1e6)
        return result["wall"]

    cold = state == "cold"
    walls = interleave(
        3 if cold else context.rounds,
        {side: lambda s=side: sample(s) for side in commands},
        (lambda: forget_content(table / "_delta_log")) if cold else (lambda: None),
    )
    rows = [("time", "s", walls, TIME)]
    if not cold:
        # Processor time tells apart what waits from what works, also on a busy machine.
        rows += [("user + system time", "s", cpu, None), ("peak memory", "MB", peaks, MEMORY)]
    for what, unit, taken, limit in rows:
        yield Row(
            f"{label}: {what}",
            state,
            taken.get("mount", []),
            taken["native"],
            "deltalake",
            unit,
            ratio_limit=limit,
        )


def check(context: Context, table: Path, expected: int) -> None:
    """Both must find the files that the maker made: a wrong answer has no speed."""
    count = "import sys, deltalake; print(len(deltalake.DeltaTable(sys.argv[1]).file_uris()))"
    commands = {"deltalake": [sys.executable, "-c", count, str(table)]}
    if context.binary is not None:
        commands["deltafs"] = [context.binary, "files", str(table)]
    for name, command in commands.items():
        try:
            done = subprocess.run(command, timeout=300, stdout=subprocess.PIPE, text=True)
        except subprocess.TimeoutExpired as late:
            raise Failed(f"{name} on {table} did not end in 300 s") from late
        if done.returncode != 0:
            raise Failed(f"{name} on {table}: exit {done.returncode}")
        found = (
            int(done.stdout)
            if name == "deltalake"
            else sum(".parquet" in line for line in done.stdout.splitlines())
        )
        if found != expected:
            raise Failed(f"{name} on {table} finds {found} files, there are {expected}")

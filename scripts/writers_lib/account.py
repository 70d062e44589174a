"""What must hold in the end: versions without a hole, each batch exactly once where its writer was told, nothing left over."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from deltalake import DeltaTable, QueryBuilder

from interop_lib.replay import Log, decode_path

from .table import APPENDER, amount

_DATA_FILE = re.compile(r"^part-\d{5}-[0-9a-f-]{36}-c000(\.\w+)?\.parquet$")


def versions(table: Path, commits: int) -> list[str]:
    """Version 0 made the table, each one after it is one commit."""
    have = sorted(Log(table).commits)
    wanted = list(range(commits + 1))
    if have == wanted:
        return []
    holes = sorted(set(range(max(have) + 1)) - set(have))
    return [f"versions 0 to {max(have)}, holes at {holes}, expected 0 to {commits}"]


def rows(read: pa.Table, batches: list[tuple[int, int]], count: int, by: str) -> list[str]:
    """Each batch once, whole, with its sum."""
    grouped = read.group_by(["writer", "batch"]).aggregate(
        [("row", "count"), ("row", "count_distinct"), ("amount", "sum")]
    )
    have = {
        (r["writer"], r["batch"]): (r["row_count"], r["row_count_distinct"], r["amount_sum"])
        for r in grouped.to_pylist()
    }
    wanted = {(w, b): (count, count, amount(w, b, count)) for w, b in batches}
    wrong = [f"{by}: batch {b} of writer {w} is missing" for w, b in sorted(set(wanted) - set(have))]
    wrong += [f"{by}: batch {b} of writer {w} was never staged" for w, b in sorted(set(have) - set(wanted))]
    for key in sorted(set(have) & set(wanted)):
        if have[key] != wanted[key]:
            wrong.append(
                f"{by}: batch {key[1]} of writer {key[0]}: rows, different ones, sum {have[key]}, expected {wanted[key]}"
            )
    total = pc.sum(read["amount"]).as_py() or 0
    if total != sum(amount(w, b, count) for w, b in batches):
        wrong.append(f"{by}: all amounts add up to {total}")
    return wrong


def by_delta_rs(table: Path) -> pa.Table:
    return pa.table(QueryBuilder().register("t", DeltaTable(str(table))).execute("SELECT * FROM t").read_all())


def by_mount(mountpoint: Path) -> pa.Table:
    return pa.concat_tables([pq.read_table(f, partitioning=None) for f in sorted((mountpoint / "@latest").iterdir())])


def answers(table: Path, told: dict[int, list[dict]]) -> list[str]:
    """Each writer was told of every batch, and the version that it was told holds this batch and nothing else."""
    log, wrong, seen = Log(table), [], Counter()
    for writer, lines in told.items():
        for line in lines:
            if "lost" in line:
                wrong.append(f"writer {writer}: {line['lost']}")
                continue
            seen[line["version"]] += 1
            said = log.commit_info(line["version"]).get("userMetadata")
            if said != f"{writer} {line['batch']}":
                wrong.append(
                    f"writer {writer} was told that batch {line['batch']} is version {line['version']}, which says {said!r}"
                )
            adds = [body for kind, body in log.actions(line["version"]) if kind == "add"]
            low = json.loads(adds[0]["stats"])["minValues"] if len(adds) == 1 else {}
            if (low.get("writer"), low.get("batch")) != (writer, line["batch"]):
                wrong.append(
                    f"version {line['version']} is not batch {line['batch']} of writer {writer}: {len(adds)} files, {low}"
                )
    wrong += [f"version {v} was the answer to {n} batches" for v, n in seen.items() if n > 1]
    return wrong


def leftovers(table: Path, allowed: int) -> list[str]:
    """No data file of ours that no version names, no transaction but those that writers gave up, no half-made thing."""
    log, named = Log(table), set()
    for version in log.commits:
        named |= {decode_path(body["path"]) for kind, body in log.actions(version) if kind == "add"}
    unnamed = [p for p in table.iterdir() if _DATA_FILE.match(p.name) and p.name not in named]
    # delta-rs leaves its own, of commits that failed.
    orphans = sorted(
        p.name for p in unnamed if APPENDER not in pq.read_table(p, columns=["writer"])["writer"].to_pylist()
    )
    wrong = [f"{len(orphans)} data files that no version names: {orphans[:3]}"] if orphans else []
    staging = table / "_deltafs" / "staging"
    left = sorted(staging.iterdir()) if staging.is_dir() else []
    if len(left) > allowed:
        wrong.append(f"{len(left)} transactions are left, of which {allowed} were given up")
    for directory in left:
        scratch = directory / "scratch"
        if scratch.is_dir() and any(scratch.iterdir()):
            wrong.append(f"{directory.name}/scratch is not empty")
    return wrong


def litter(table: Path) -> list[str]:
    """What kills left in the log of files that had not got their names.

    Nothing, where the file system can have files without names: but for what replaces `_last_checkpoint`, and what tries
    whether hard links work, each of which has a name of its own between two system calls.
    """
    log = Log(table).dir
    left = sorted(p.name for p in log.iterdir() if p.name.endswith(".deltafs.tmp"))
    try:
        os.close(os.open(log, os.O_TMPFILE | os.O_WRONLY))
    except OSError:
        return []
    wrong = [name for name in left if not name.startswith(("._last_checkpoint.", ".probe."))]
    return [f"{len(wrong)} temporary files are left in the log: {wrong[:3]}"] if wrong else []

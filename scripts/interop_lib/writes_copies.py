"""Every table that there is, with what its newest version shows copied back into it: `cp @latest/*.parquet @staging/b/`.

Afterwards every row is there twice, for each reader that read the table right before. What cannot be written has to say
so by EOPNOTSUPP and a reason; the reasons are listed.
"""

from __future__ import annotations

import errno
import os
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa

from . import ways
from .lab import Lab
from .oracles import Refused
from .peers import Peer, questions
from .product import Failed
from .replay import Log, ReplayError
from .report import Report, shorten
from .rows import row_differences
from .staged import Staged
from .tables import Case
from .truth import Truth


def run(lab: Lab, cases: list[Case], matches: Callable[[str], bool]) -> list[list[object]]:
    """Doubles each table, and returns what came of them: outcome and number of tables."""
    outcomes: Counter[str] = Counter()
    for case in cases:
        if case.refused is None and matches(f"writes/doubled {case.name}"):
            try:
                outcomes[_double(lab, case)] += 1
            except (Failed, OSError) as e:
                lab.report.fail(f"writes/doubled {case.name}", f"{type(e).__name__}: {e}")
    return [[outcome, count] for outcome, count in outcomes.most_common()]


def _double(lab: Lab, case: Case) -> str:
    log = Log(case.path)
    newest = log.latest()
    try:
        snapshot = log.snapshot(newest)
    except ReplayError as e:
        return f"not rebuilt: {str(e)[:40]}"
    if not snapshot.schema:
        return "no schema"
    before = Truth(case, Report()).rows(snapshot)
    if before is None:
        return "nobody tells its rows"
    schema = {"type": "struct", "fields": [f for f in snapshot.schema["fields"] if f["type"] != "void"]}
    peers = [p for p in lab.peers if _reads(p, case.path, newest, schema, before)]
    with lab.staged(f"doubled {case.name}", case.path) as t:
        shown = t.mountpoint / "@latest"
        names = sorted(os.listdir(shown))
        if not names:
            return "no files"
        directory = t.mountpoint / "@staging" / "b"
        try:
            ways.script('mkdir "$1"; cp "$2"/*.parquet "$1"/', directory, shown)
        except OSError as e:
            return f"not staged: {e.strerror}"
        except subprocess.CalledProcessError as e:
            # What cannot be presented cannot be copied, and a table that cannot be written says so at mkdir.
            return f"not staged: {' '.join(e.stderr.split())[-40:]}"
        answer = ways.fsync(directory, "")
        if answer.errno:
            return _refusal(lab, t, directory, answer.errno)
        once = t.shaped(before, t.schema(newest))
        t.became(newest + 1, pa.concat_tables([once, once]))
        lab.reads += t.check(peers, filters=False)
        for peer in peers:
            if (peer.name, case.name) not in _PANICS:
                lab.reads += _check_filters(lab, t, peer, newest + 1, once, t.now())
    return "doubled"


def _refusal(lab: Lab, t: Staged, directory: Path, number: int) -> str:
    error = t.status(directory)["error"]
    lab.report.check(number == errno.EOPNOTSUPP, t.name, f"refused by {errno.errorcode[number]}: {error}")
    return f"refused: {error['name']}: {shorten([error['message'][:90]])}"


# Readers that panic at length when they are asked what filters keep.
_PANICS = {("polars-deltalake", "made/legacy-decimals")}


def _check_filters(lab: Lab, t: Staged, peer: Peer, version: int, before: pa.Table, after: pa.Table) -> int:
    """What filters keep is right, unless the reader did not get it right before either."""
    asked = questions(after)
    try:
        counts = peer.counts(t.table, version, asked)
        wrong = [f"{q} keeps {n} rows, expected {q.kept}" for q, n in zip(asked, counts, strict=True) if n != q.kept]
    except Refused as e:
        wrong = [f"refused: {e}"]
    good = not wrong or not _filters(peer, t.table, version - 1, before)
    lab.report.check(good, f"{t.name}@v{version}: filters of {peer.name}", shorten(wrong, 5))
    return len(asked)


def _filters(peer: Peer, table: Path, version: int, rows: pa.Table) -> bool:
    asked = questions(rows)
    try:
        return all(n == q.kept for q, n in zip(asked, peer.counts(table, version, asked), strict=True))
    except Refused:
        return False


def _reads(peer: Peer, table: Path, version: int, schema: dict, wanted: pa.Table) -> bool:
    """Whether a reader reads the table right as it is."""
    try:
        return not row_differences(schema, wanted, peer.rows(table, version))
    except (Refused, pa.ArrowException, ValueError, KeyError):
        return False

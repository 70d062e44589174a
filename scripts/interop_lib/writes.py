"""What deltafs commits, read by other people's Delta readers; what it refuses, by its errno and its `.status`.

Every case stages batches through a mount, in one of the ways that `ways` has, and remembers what each version has to
hold. Then each of `peers` reads every version, and asks the newest one for what filters keep. A case that raises has
failed; the next one goes on.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from . import tables, ways, writes_copies, writes_failures, writes_features, writes_modes, writes_others, writes_tables
from . import writes_spark
from .children import JobFailed
from .environments import ROOT
from .lab import Lab
from .peers import DeltaRs, DuckDb, Kernel, Peer, Sail
from .product import Deltafs, Failed
from .report import Report, table
from .staged import Wrong

SAIL = ROOT / ".venv-sail" / "bin" / "python"

Case = Callable[[Lab], None]

CASES: dict[str, Case] = {
    **writes_tables.CASES,
    **writes_features.CASES,
    **writes_modes.CASES,
    **writes_others.CASES,
    **writes_failures.CASES,
}


def run(
    deltafs: Deltafs,
    report: Report,
    work: Path,
    copies: list[tables.Case],
    *,
    sail: bool,
    spark: bool,
    matches: Callable[[str], bool],
) -> None:
    """Runs every case whose name `writes/NAME` matches, and doubles the tables of `copies`, which are written to.

    With `spark` those that Spark writes, and nothing else.
    """
    work.mkdir()
    for text in ways.missing():
        report.skip("writes", text)
    peers: list[Peer] = [DeltaRs(), Kernel(), DuckDb()]
    if sail and SAIL.exists():
        peers.append(Sail(SAIL, work))
    elif sail:
        report.skip("writes: sail", f"{SAIL} is not there: scripts/interop could not install it")
    rows: list[list[object]] = []
    try:
        for name, case in (writes_spark.CASES if spark else CASES).items():
            if not matches(f"writes/{name}"):
                continue
            lab, started = Lab(deltafs, report, peers, work), time.monotonic()
            try:
                case(lab)
            except (Wrong, Failed, JobFailed, OSError, subprocess.SubprocessError) as e:
                report.fail(f"writes/{name}", f"{type(e).__name__}: {e}")
            rows.append([name, lab.reads, round(time.monotonic() - started, 1)])
        lab, started = Lab(deltafs, report, peers, work), time.monotonic()
        outcomes = writes_copies.run(lab, copies, matches)
        rows.append(["doubled tables", lab.reads, round(time.monotonic() - started, 1)])
    finally:
        for peer in peers:
            peer.close()
    table(["case", "reads", "s"], rows)
    if outcomes:
        print("\n== tables whose newest files were copied back into them")
        table(["outcome", "tables"], outcomes)

"""A table that delta-rs writes to while it is mounted: what is committed is there, and what was listed stays."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

from .environments import Environment
from .mounted import MountTrouble, Probe
from .product import Deltafs, Failed
from .readers import unmount
from .reads import Job, check_rows
from .replay import Log
from .report import Report, shorten
from .tables import Case
from .truth import Truth, Version

_NAME = "live table of delta-rs"


def run(environments: Sequence[Environment], deltafs: Deltafs, report: Report, scratch: Path) -> int:
    """Mounts a table, commits to it, and looks after each commit. Returns the number of reads compared."""
    table, mountpoint, log = scratch / "table", scratch / "mnt", scratch / "mount.log"
    uri = str(table)
    write_deltalake(uri, _rows(0, 10))
    case = Case(_NAME, table)
    commits: list[Callable[[], object]] = [
        lambda: write_deltalake(uri, _rows(10, 5), mode="append"),
        lambda: DeltaTable(uri).delete("id % 3 = 0"),
        lambda: DeltaTable(uri).create_checkpoint(),
        lambda: DeltaTable(uri).optimize.compact(),
        lambda: write_deltalake(uri, _rows(100, 7), mode="overwrite"),
        lambda: DeltaTable(uri).restore(1),
        lambda: write_deltalake(uri, _rows(200, 3), mode="append"),
    ]
    reads = 0
    try:
        with deltafs.mount(table, mountpoint, log, "--read-only") as daemon:
            probe, listed = Probe(mountpoint, daemon), set()
            for step in range(len(commits) + 1):
                if step:
                    commits[step - 1]()
                reads += _look(case, environments, probe, listed, report, mountpoint, scratch / f"rows{step}", daemon)
            unmount(case, deltafs, report, mountpoint, daemon, log)
    except (Failed, MountTrouble, subprocess.TimeoutExpired) as e:
        report.fail(_NAME, str(e))
    return reads


def _look(
    case: Case,
    environments: Sequence[Environment],
    probe: Probe,
    listed: set[str],
    report: Report,
    mountpoint: Path,
    out: Path,
    daemon: subprocess.Popen[bytes],
) -> int:
    newest = Log(case.path).latest()
    what = f"{_NAME}: after version {newest}"
    root = probe("listing", "")
    missing = [v for v in range(newest + 1) if f"@v{v}" not in root]
    report.check(not missing, what, f"the root does not list the versions {shorten(missing)} at once")
    names = probe("listing", "@latest")
    files = Log(case.path).snapshot(newest).files
    report.check(
        sorted(names) == sorted(f.path for f in files.values()), what, f"@latest lists {shorten(sorted(names))}"
    )
    listed.update(f"@latest/{n}" for n in names)
    lost = sorted(listed - set(probe("openable", sorted(listed))))
    report.check(not lost, what, f"was listed under @latest and does not open any more: {shorten(lost)}")
    version = Version(Log(case.path).snapshot(newest), [])
    rows = Truth(case, report).rows(version.snapshot)
    if not report.check(rows is not None, what, "no Delta reader reads the table"):
        return 0
    jobs = [Job(e, reader, "@latest", version, rows) for e in environments for reader in e.flat]
    return check_rows(case, jobs, report, mountpoint, out, daemon)


def _rows(first: int, count: int) -> pa.Table:
    ids = range(first, first + count)
    return pa.table({"id": pa.array(ids, pa.int64()), "text": pa.array([f"row {i}" for i in ids])})

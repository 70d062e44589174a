"""What Parquet readers see on a mount, against the rows that Delta readers see at the same version.

The promise under test is "right rows or a refusal": a version whose files are all presentable reads exactly like the
table at that version, by every reader; a file that is not presentable does not open. `reads` does the reading.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from . import bounds, faults
from .environments import Environment
from .golden import iso
from .mounted import MountTrouble, Probe, check_bytes, check_names, check_refused, check_strictly, check_tree
from .product import Deltafs, Failed
from .reads import Job, check_rows
from .replay import Log
from .report import Report
from .tables import Case
from .truth import Truth, Version, versions


@dataclass
class Read:
    """One line of the overview: how many versions of a table were read how, and compared with whose rows."""

    table: str
    flat: int = 0
    hive: int = 0
    refused: int = 0
    rows: int = 0
    reads: int = 0
    sources: set[str] = field(default_factory=set)
    note: str = ""
    seconds: float = 0

    def row(self) -> list[object]:
        return [
            self.table,
            self.flat,
            self.hive,
            self.refused,
            self.rows,
            self.reads,
            round(self.seconds, 1),
            "+".join(sorted(self.sources)),
            self.note,
        ]


HEADERS = ["table", "flat", "hive", "refused", "rows", "reads", "s", "rows of", "note"]


def run(case: Case, environments: Sequence[Environment], deltafs: Deltafs, report: Report, scratch: Path) -> Read:
    """Mounts one table in each view and layout, and does every check of this module on it."""
    read, started = Read(case.name), time.monotonic()
    mountpoint, log = scratch / "mnt", scratch / "mount.log"
    if case.refused is not None:
        check_refused(case, deltafs, report, mountpoint, log)
        read.note = "must be refused"
        return read
    try:
        truth = Truth(case, report)
        found = versions(case, deltafs, report)
        _flat(case, environments, found, truth, deltafs, report, read, scratch)
        if any(v.snapshot.partition_columns for v in found.values()):
            _hive_or_refusal(case, environments, truth, deltafs, report, read, scratch)
        _raw(case, versions(case, deltafs, report, "--view", "raw"), deltafs, report, scratch)
        read.sources, read.note = truth.sources, truth.refusal
    except (Failed, MountTrouble) as e:
        report.fail(f"{case.name}: mount", f"{e}; daemon log: {_tail(log)}")
    except subprocess.TimeoutExpired as e:
        report.fail(f"{case.name}: mount", f"no answer after {e.timeout:.0f} s: {e.cmd}; daemon log: {_tail(log)}")
    read.seconds = time.monotonic() - started
    return read


def _flat(
    case: Case,
    environments: Sequence[Environment],
    found: dict[int, Version],
    truth: Truth,
    deltafs: Deltafs,
    report: Report,
    read: Read,
    scratch: Path,
) -> None:
    mountpoint, log = scratch / "mnt", scratch / "mount.log"
    with deltafs.mount(case.path, mountpoint, log, "--read-only") as daemon:
        probe = Probe(mountpoint, daemon)
        check_tree(case, found, probe, report)
        check_names(case, found, probe, report)
        check_bytes(case, found, probe, report)
        check_strictly(case, found, probe, report, "flat")
        jobs = []
        for version, entry in found.items():
            if not entry.presentable:
                read.refused += 1
                # A recipe that states the rows of a version makes files that can be presented.
                reasons = sorted({f["reason"] for f in entry.listed if f["reason"] is not None})
                report.check(not case.states(version), f"{case.name}@v{version}: presentable", "; ".join(reasons)[:600])
            elif not entry.listed:
                continue
            elif (rows := truth.rows(entry.snapshot)) is None:
                report.skip(f"{case.name}@v{version}: rows", f"no Delta reader tells them: {truth.refusal}")
            else:
                read.flat += 1
                read.rows += rows.num_rows
                jobs += [Job(e, reader, f"@v{version}", entry, rows) for e in environments for reader in e.flat]
                jobs += _bounds(environments, version, entry, rows)
        newest = max(found)
        last = [j for j in jobs if j.directory == f"@v{newest}" and j.literals is None]
        jobs += [Job(j.environment, j.reader, "@latest", j.version, j.rows) for j in last]
        if newest in (times := Log(case.path).timestamps()):
            name = f"@{iso(times[newest]).replace(':', '-')}"
            jobs += [Job(j.environment, j.reader, name, j.version, j.rows) for j in last if j.reader == "duckdb"]
        read.reads += check_rows(case, jobs, report, mountpoint, scratch / "flat", daemon)
        unmount(case, deltafs, report, mountpoint, daemon, log)


def _hive_or_refusal(
    case: Case,
    environments: Sequence[Environment],
    truth: Truth,
    deltafs: Deltafs,
    report: Report,
    read: Read,
    scratch: Path,
) -> None:
    try:
        found = versions(case, deltafs, report, "--layout", "hive")
    except Failed as e:
        # Column names that readers would take for hidden directories cannot be shown so.
        good = e.code == 1 and "--layout flat" in e.stderr
        report.check(good, f"{case.name}: hive", f"refused without a way out: {e.stderr.strip()}")
        return
    _hive(case, environments, found, truth, deltafs, report, read, scratch)


def _hive(
    case: Case,
    environments: Sequence[Environment],
    found: dict[int, Version],
    truth: Truth,
    deltafs: Deltafs,
    report: Report,
    read: Read,
    scratch: Path,
) -> None:
    mountpoint, log = scratch / "mnt", scratch / "mount.log"
    with deltafs.mount(case.path, mountpoint, log, "--read-only", "--layout", "hive") as daemon:
        probe = Probe(mountpoint, daemon)
        check_tree(case, found, probe, report)
        check_bytes(case, found, probe, report)
        check_strictly(case, found, probe, report, "hive")
        jobs = []
        for version, entry in found.items():
            if entry.presentable and entry.listed and (rows := truth.rows(entry.snapshot)) is not None:
                read.hive += 1
                jobs += [
                    Job(e, reader, f"@v{version}", entry, rows, entry.snapshot.partition_columns)
                    for e in environments
                    for reader in e.hive
                    if not _is_at_fault(case, e.label(reader), entry, rows)
                ]
        read.reads += check_rows(case, jobs, report, mountpoint, scratch / "hive", daemon)
        unmount(case, deltafs, report, mountpoint, daemon, log)


def _bounds(environments: Sequence[Environment], version: int, entry: Version, rows: pa.Table) -> list[Job]:
    """The questions about bounds for one version: those whose files are not the data files themselves are asked."""
    if all(f["class"] == "identity" for f in entry.listed) or (asked := bounds.literals(rows)) is None:
        return []
    return [Job(e, reader, f"@v{version}", entry, rows, literals=asked) for e in environments for reader in e.bounds]


def _is_at_fault(case: Case, label: str, entry: Version, rows: pa.Table) -> bool:
    fault = faults.of_directories(label, rows, entry.snapshot.partition_columns)
    if fault is not None:
        fault.seen.append(f"{case.name}@v{entry.snapshot.version}")
    return fault is not None


def _raw(case: Case, found: dict[int, Version], deltafs: Deltafs, report: Report, scratch: Path) -> None:
    mountpoint, log = scratch / "mnt", scratch / "mount.log"
    with deltafs.mount(case.path, mountpoint, log, "--read-only", "--view", "raw") as daemon:
        probe = Probe(mountpoint, daemon)
        check_tree(case, found, probe, report)
        check_bytes(case, found, probe, report, raw=True)
        unmount(case, deltafs, report, mountpoint, daemon, log)


def unmount(
    case: Case, deltafs: Deltafs, report: Report, mountpoint: Path, daemon: subprocess.Popen[bytes], log: Path
) -> None:
    code = deltafs.unmount(mountpoint, daemon)
    report.check(code == 0, f"{case.name}: umount", f"the daemon exited with {code}: {_tail(log)}")


def _tail(log: Path) -> str:
    text = log.read_text(errors="replace") if log.exists() else ""
    return text.strip()[-500:] or "(empty)"

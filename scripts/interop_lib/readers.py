"""What Parquet readers see on a mount, against the rows that Delta readers see at the same version.

The promise under test is "right rows or a refusal": a version whose files are all presentable reads exactly like the
table at that version, by every reader; a file that is not presentable does not open. Reading happens in a child
process (`worker`), which is killed when it takes too long, so a mount that hangs fails one table and no more.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from .golden import iso
from .mounted import MountTrouble, Probe, check_bytes, check_names, check_refused, check_tree
from .product import Deltafs, Failed, clear
from .replay import Log
from .report import Report
from .rows import row_differences, type_differences, with_partition_values
from .tables import Case
from .truth import Truth, Version, versions
from .worker import FLAT, HIVE

_READ_TIMEOUT = 180

# What a reader makes of a directory tree on any file system: (reader, table) -> the fault.
HIVE_QUIRKS = {
    ("duckdb", "data-reader-partition-values"): "DuckDB takes a directory `p=null` for a null, here it is the string",
}


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

    def row(self) -> list[object]:
        return [
            self.table,
            self.flat,
            self.hive,
            self.refused,
            self.rows,
            self.reads,
            "+".join(sorted(self.sources)),
            self.note,
        ]


HEADERS = ["table", "flat", "hive", "refused", "rows", "reads", "rows of", "note"]


def run(case: Case, deltafs: Deltafs, report: Report, scratch: Path) -> Read:
    """Mounts one table in each view and layout, and does every check of this module on it."""
    read = Read(case.name)
    mountpoint, log = scratch / "mnt", scratch / "mount.log"
    if case.refused is not None:
        check_refused(case, deltafs, report, mountpoint, log)
        read.note = "must be refused"
        return read
    try:
        truth = Truth(case, report)
        found = versions(case, deltafs, report)
        _flat(case, found, truth, deltafs, report, read, scratch)
        if any(v.snapshot.partition_columns for v in found.values()):
            _hive_or_refusal(case, truth, deltafs, report, read, scratch)
        _raw(case, versions(case, deltafs, report, "--view", "raw"), deltafs, report, scratch)
        read.sources, read.note = truth.sources, truth.refusal
    except (Failed, MountTrouble) as e:
        report.fail(f"{case.name}: mount", f"{e}; daemon log: {_tail(log)}")
    except subprocess.TimeoutExpired as e:
        report.fail(f"{case.name}: mount", f"no answer after {e.timeout:.0f} s: {e.cmd}; daemon log: {_tail(log)}")
    return read


def _flat(
    case: Case, found: dict[int, Version], truth: Truth, deltafs: Deltafs, report: Report, read: Read, scratch: Path
) -> None:
    mountpoint, log = scratch / "mnt", scratch / "mount.log"
    with deltafs.mount(case.path, mountpoint, log, "--read-only") as daemon:
        probe = Probe(mountpoint, daemon)
        check_tree(case, found, probe, report)
        check_names(case, found, probe, report)
        check_bytes(case, found, probe, report)
        jobs = []
        for version, entry in found.items():
            if not entry.presentable:
                read.refused += 1
            elif not entry.listed:
                continue
            elif (rows := truth.rows(entry.snapshot)) is None:
                report.skip(f"{case.name}@v{version}: rows", f"no Delta reader tells them: {truth.refusal}")
            else:
                read.flat += 1
                read.rows += rows.num_rows
                jobs += [Job(reader, f"@v{version}", entry, rows) for reader in FLAT]
        newest = max(found)
        last = [j for j in jobs if j.directory == f"@v{newest}"]
        jobs += [Job(j.reader, "@latest", j.version, j.rows) for j in last]
        if newest in (times := Log(case.path).timestamps()):
            name = f"@{iso(times[newest]).replace(':', '-')}"
            jobs += [Job(j.reader, name, j.version, j.rows) for j in last if j.reader == "duckdb"]
        read.reads += check_rows(case, jobs, report, mountpoint, scratch / "flat", daemon)
        unmount(case, deltafs, report, mountpoint, daemon, log)


def _hive_or_refusal(case: Case, truth: Truth, deltafs: Deltafs, report: Report, read: Read, scratch: Path) -> None:
    try:
        found = versions(case, deltafs, report, "--layout", "hive")
    except Failed as e:
        # Column names that readers would take for hidden directories cannot be shown so.
        good = e.code == 1 and "--layout flat" in e.stderr
        report.check(good, f"{case.name}: hive", f"refused without a way out: {e.stderr.strip()}")
        return
    _hive(case, found, truth, deltafs, report, read, scratch)


def _hive(
    case: Case, found: dict[int, Version], truth: Truth, deltafs: Deltafs, report: Report, read: Read, scratch: Path
) -> None:
    mountpoint, log = scratch / "mnt", scratch / "mount.log"
    with deltafs.mount(case.path, mountpoint, log, "--read-only", "--layout", "hive") as daemon:
        probe = Probe(mountpoint, daemon)
        check_tree(case, found, probe, report)
        check_bytes(case, found, probe, report)
        jobs = []
        for version, entry in found.items():
            if entry.presentable and entry.listed and (rows := truth.rows(entry.snapshot)) is not None:
                read.hive += 1
                jobs += [
                    Job(reader, f"@v{version}", entry, rows, entry.snapshot.partition_columns)
                    for reader in HIVE
                    if not _has_quirk(case, reader, version, report)
                ]
        read.reads += check_rows(case, jobs, report, mountpoint, scratch / "hive", daemon)
        unmount(case, deltafs, report, mountpoint, daemon, log)


def _has_quirk(case: Case, reader: str, version: int, report: Report) -> bool:
    if (quirk := HIVE_QUIRKS.get((reader, case.name))) is None:
        return False
    report.skip(f"{case.name}/@v{version} by {reader} (hive)", quirk)
    return True


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


# ---- rows ----------------------------------------------------------------------------------------------------------


@dataclass
class Job:
    """One read: by which reader, of which directory of the mount, and what it has to give."""

    reader: str
    directory: str
    version: Version
    rows: pa.Table
    partitions: Iterable[str] = ()


def check_rows(
    case: Case, jobs: list[Job], report: Report, mountpoint: Path, out: Path, daemon: subprocess.Popen[bytes]
) -> int:
    """Runs the jobs and compares what they read. Returns their number."""
    if not jobs:
        return 0
    out.mkdir()
    lines = [
        json.dumps(
            {"id": i, "reader": j.reader, "path": f"{mountpoint}/{j.directory}", "partitions": list(j.partitions)}
        )
        for i, j in enumerate(jobs)
    ]
    child = subprocess.Popen(
        [sys.executable, "-m", "interop_lib.worker", str(out)], stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        _, errors = child.communicate("\n".join(lines), timeout=_READ_TIMEOUT)
    except subprocess.TimeoutExpired:
        clear(mountpoint, daemon)
        child.kill()
        done = len(list(out.iterdir()))
        job = jobs[min(done, len(jobs) - 1)]
        raise MountTrouble(
            f"{job.reader} hung on {job.directory}: {done} of {len(jobs)} reads in {_READ_TIMEOUT} s"
        ) from None
    for i, job in enumerate(jobs):
        what = f"{case.name}/{job.directory} by {job.reader}{' (hive)' if job.partitions else ''}"
        if (error := out / f"{i}.error").exists():
            report.fail(what, error.read_text()[:400])
        elif (answer := out / f"{i}.arrow").exists():
            with pa.memory_map(str(answer)) as source:
                differences = _differences(job, pa.ipc.open_file(source).read_all())
            report.check(not differences, what, "; ".join(differences))
        else:
            report.fail(what, f"the reading process ended with {child.returncode} before: {errors.strip()[-300:]}")
    return len(jobs)


def _differences(job: Job, got: pa.Table) -> list[str]:
    schema = job.version.schema
    maps = not job.reader.startswith("polars")  # polars has no map type
    if job.partitions:
        # The columns in the files come in the table's order, those of directories anywhere, as text.
        inside = {"type": "struct", "fields": [f for f in schema["fields"] if f["name"] not in job.partitions]}
        extra = set(got.column_names) ^ {f["name"] for f in schema["fields"]}
        if extra:
            return [f"the columns {sorted(extra)} are on one side only"]
        differences = type_differences(
            inside, got.select([n for n in got.column_names if n not in job.partitions]).schema, maps=maps
        )
        got = with_partition_values(schema, got, job.partitions)
    else:
        differences = type_differences(schema, got.schema, maps=maps)
    # Rows can be compared only under the right names.
    if not any(d.startswith("columns") for d in differences):
        differences += row_differences(schema, job.rows, got)
    return differences


def _tail(log: Path) -> str:
    text = log.read_text(errors="replace") if log.exists() else ""
    return text.strip()[-500:] or "(empty)"

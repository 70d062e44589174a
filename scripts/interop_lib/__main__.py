"""`python -m interop_lib`: see `scripts/interop --help`."""

from __future__ import annotations

import argparse
import fnmatch
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from . import calendars, checkpoints, faults, golden, live, readers, reads, strict_specimens, tables, writes
from .environments import MORE, NODE, OLD, SPARK, TODAY, Environment
from .product import Deltafs, default_binary
from .report import Report, table

ROOT = Path(__file__).resolve().parents[2]

_STAGES = ["golden", "checkpoints", "readers", "writes"]


def main() -> int:
    args = _arguments()
    if not args.deltafs.is_file():
        print(
            f"error: there is no deltafs at {args.deltafs}: run `cargo build`, or name it with --deltafs",
            file=sys.stderr,
        )
        return 2
    # Ended by a signal, the finally below must still take down what is mounted.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    report, deltafs = Report(), Deltafs(args.deltafs.resolve())
    work = Path(os.path.realpath(tempfile.mkdtemp(prefix="deltafs-interop-")))
    # What other versions of deltafs kept is not met, and nothing is left behind.
    os.environ["XDG_CACHE_HOME"] = str(work / "cache")
    try:
        cases = _cases(args, work, report)
        if not cases and "writes" not in args.stages and not fnmatch.fnmatch(calendars.NAME, args.table):
            report.fail("tables", f"no table matches {args.table!r}")
        if "golden" in args.stages:
            _golden(cases, deltafs, report)
        if "checkpoints" in args.stages:
            _checkpoints(cases, args.checkpoint, report, work)
        if "readers" in args.stages:
            calendar = fnmatch.fnmatch(calendars.NAME, args.table)
            _readers(cases, _environments(args, report), deltafs, report, work, calendar=calendar)
            report.expect_known([c.name for c in cases])
        if "writes" in args.stages:
            _writes(args, deltafs, report, work, cases)
    finally:
        _remove(work)
    return report.summary()


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="scripts/interop",
        description="Compares deltafs with delta-rs, DuckDB, delta-kernel and Parquet readers, over real tables.",
    )
    parser.add_argument(
        "stages", nargs="*", default=_STAGES, metavar="STAGE", help=f"{', '.join(_STAGES)} (all by default)"
    )
    parser.add_argument(
        "--deltafs", type=Path, default=default_binary(ROOT), help="the binary under test [target/debug/deltafs]"
    )
    parser.add_argument(
        "--checkpoint",
        type=Path,
        default=default_binary(ROOT).parent / "examples" / "checkpoint",
        help="the program that writes checkpoints [target/debug/examples/checkpoint]",
    )
    parser.add_argument(
        "--corpus",
        type=Path,
        default=Path(os.environ.get("DELTAFS_CORPUS", ROOT / ".." / "shared" / "corpus")),
        help="directory with golden/ and other/ [$DELTAFS_CORPUS, else ../shared/corpus]",
    )
    chosen = parser.add_mutually_exclusive_group()
    chosen.add_argument(
        "--all-readers",
        action="store_true",
        help="fastparquet, daft and hyparquet too; Sail, and the corpus, for writes",
    )
    chosen.add_argument(
        "--old-readers", action="store_true", help="pyarrow, pandas, polars and DuckDB of 2024 instead of today's"
    )
    chosen.add_argument(
        "--spark", action="store_true", help="Spark instead of today's readers, and what it writes (needs Java 17)"
    )
    parser.add_argument(
        "--table", default="*", help="only tables (writes/CASE: only cases) whose name matches this pattern"
    )
    args = parser.parse_args()
    if unknown := [s for s in args.stages if s not in _STAGES]:
        parser.error(f"unknown stage {unknown[0]}: expected {', '.join(_STAGES)}")
    return args


def _cases(args: argparse.Namespace, work: Path, report: Report) -> list[tables.Case]:
    made = work / "made"
    subprocess.run([sys.executable, str(ROOT / "scripts" / "make_tables.py"), str(made)], check=True, timeout=300)
    cases = tables.made(made)
    if (args.corpus / "golden").is_dir():
        copies = work / "corpus"
        copies.mkdir()
        cases += tables.corpus(args.corpus, copies)
    else:
        report.skip("corpus of Spark tables", f"{args.corpus} is not there; set DELTAFS_CORPUS to compare with it too")
    return [c for c in cases if fnmatch.fnmatch(c.name, args.table.removeprefix("writes/doubled "))]


def _golden(cases: list[tables.Case], deltafs: Deltafs, report: Report) -> None:
    print("\n== file lists, details, history and times, by version", flush=True)
    started = time.monotonic()
    rows = [golden.run(case, deltafs, report).row() for case in cases]
    table(golden.HEADERS, rows)
    print(f"({time.monotonic() - started:.0f} s)")


def _checkpoints(cases: list[tables.Case], program: Path, report: Report, work: Path) -> None:
    print("\n== tables of which only a checkpoint of deltafs is left, as readers see them", flush=True)
    if not program.is_file():
        report.skip("checkpoints", f"{program} is not there: run `cargo build --example checkpoint`")
        return
    started, rows = time.monotonic(), []
    for case in cases:
        scratch = Path(os.path.realpath(tempfile.mkdtemp(prefix="c-", dir=work)))
        rows.append(checkpoints.run(case, program.resolve(), report, scratch).row())
        shutil.rmtree(scratch, ignore_errors=True)
    table(checkpoints.HEADERS, rows)
    print(f"({time.monotonic() - started:.0f} s)")


def _environments(args: argparse.Namespace, report: Report) -> list[Environment]:
    """The readers to take, without those that could not be installed."""
    wanted = (
        [OLD] if args.old_readers else [SPARK] if args.spark else [TODAY, MORE, NODE] if args.all_readers else [TODAY]
    )
    for environment in wanted:
        if missing := environment.missing():
            report.skip(f"readers {', '.join(environment.label(n) for n in environment.flat)}", missing)
    return [e for e in wanted if not e.missing()]


def _readers(
    cases: list[tables.Case],
    environments: list[Environment],
    deltafs: Deltafs,
    report: Report,
    work: Path,
    *,
    calendar: bool,
) -> None:
    print("\n== rows that Parquet readers see on a mount", flush=True)
    if not os.path.exists("/dev/fuse"):
        report.skip("mounts", "/dev/fuse is not there: load the fuse module, or run where it may be used")
        return
    started, rows = time.monotonic(), []
    reads.check_specimens(environments, report, work / "specimens")
    wrong = list(strict_specimens.missed(work / "strict"))
    report.check(not wrong, "strict", f"it does not find what is wrong with a file: {wrong}")
    for case in cases:
        scratch = Path(os.path.realpath(tempfile.mkdtemp(prefix="t-", dir=work)))
        rows.append(readers.run(case, environments, deltafs, report, scratch).row())
        shutil.rmtree(scratch, ignore_errors=True)
    table(readers.HEADERS, rows)
    scratch = Path(os.path.realpath(tempfile.mkdtemp(prefix="live-", dir=work)))
    print(f"and {live.run(environments, deltafs, report, scratch)} reads while delta-rs wrote")
    if SPARK in environments and calendar:
        scratch = Path(os.path.realpath(tempfile.mkdtemp(prefix="calendars-", dir=work)))
        print(f"and {calendars.run(deltafs, report, scratch)} of files in the calendar of Spark before 3.0")
    shown = [[f.reader, len(f.seen), f.reason] for f in faults.FAULTS if f.seen]
    if shown:
        print("\n== what readers make of any Parquet file, so of a mount too")
        table(["reader", "reads", "fault"], shown)
    print(f"({time.monotonic() - started:.0f} s)")


def _writes(args: argparse.Namespace, deltafs: Deltafs, report: Report, work: Path, cases: list[tables.Case]) -> None:
    print("\n== what Delta readers see of what was committed through a mount", flush=True)
    if not os.path.exists("/dev/fuse"):
        report.skip("writes", "/dev/fuse is not there: load the fuse module, or run where it may be used")
        return
    started = time.monotonic()

    def matches(name: str) -> bool:
        return fnmatch.fnmatch(name, args.table)

    # Last of all, for it changes the tables. Those of the corpus take longest.
    copies = [c for c in cases if args.all_readers or c.name.startswith("made/")]
    if args.spark:
        copies = []
        if missing := SPARK.missing():
            report.skip("writes of Spark", missing)
            return
    writes.run(deltafs, report, work / "writes", copies, sail=args.all_readers, spark=args.spark, matches=matches)
    print(f"({time.monotonic() - started:.0f} s)")


def _remove(work: Path) -> None:
    """Removes the temporary directory, after unmounting by force whatever a failed check left in it."""
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        mountpoint = line.split()[4]
        if mountpoint.startswith(f"{work}/"):
            subprocess.run(["umount", "-l", mountpoint], capture_output=True, timeout=10, check=False)
    shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())

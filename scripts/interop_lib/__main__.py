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

from . import faults, golden, live, readers, reads, tables
from .environments import MORE, OLD, TODAY, Environment
from .product import Deltafs, default_binary
from .report import Report, table

ROOT = Path(__file__).resolve().parents[2]


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
        if not cases:
            report.fail("tables", f"no table matches {args.table!r}")
        if "golden" in args.stages:
            _golden(cases, deltafs, report)
        if "readers" in args.stages:
            _readers(cases, _environments(args, report), deltafs, report, work)
            report.expect_known([c.name for c in cases])
    finally:
        _remove(work)
    return report.summary()


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="scripts/interop",
        description="Compares deltafs with delta-rs, DuckDB, delta-kernel and Parquet readers, over real tables.",
    )
    parser.add_argument(
        "stages", nargs="*", default=["golden", "readers"], metavar="STAGE", help="golden, readers (both by default)"
    )
    parser.add_argument(
        "--deltafs", type=Path, default=default_binary(ROOT), help="the binary under test [target/debug/deltafs]"
    )
    parser.add_argument(
        "--corpus",
        type=Path,
        default=Path(os.environ.get("DELTAFS_CORPUS", ROOT / ".." / "shared" / "corpus")),
        help="directory with golden/ and other/ [$DELTAFS_CORPUS, else ../shared/corpus]",
    )
    chosen = parser.add_mutually_exclusive_group()
    chosen.add_argument("--all-readers", action="store_true", help="fastparquet and daft too")
    chosen.add_argument(
        "--old-readers", action="store_true", help="pyarrow, pandas, polars and DuckDB of 2024 instead of today's"
    )
    parser.add_argument("--table", default="*", help="only tables whose name matches this pattern")
    args = parser.parse_args()
    if unknown := [s for s in args.stages if s not in ("golden", "readers")]:
        parser.error(f"unknown stage {unknown[0]}: expected golden or readers")
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
    return [c for c in cases if fnmatch.fnmatch(c.name, args.table)]


def _golden(cases: list[tables.Case], deltafs: Deltafs, report: Report) -> None:
    print("\n== file lists, details, history and times, by version", flush=True)
    started = time.monotonic()
    rows = [golden.run(case, deltafs, report).row() for case in cases]
    table(golden.HEADERS, rows)
    print(f"({time.monotonic() - started:.0f} s)")


def _environments(args: argparse.Namespace, report: Report) -> list[Environment]:
    """The readers to take, without those that could not be installed."""
    wanted = [OLD] if args.old_readers else [TODAY, MORE] if args.all_readers else [TODAY]
    found = [e for e in wanted if e.python.exists()]
    for missing in wanted:
        if missing not in found:
            names = ", ".join(missing.label(n) for n in missing.flat)
            report.skip(f"readers {names}", f"{missing.python} is not there: scripts/interop could not install them")
    return found


def _readers(
    cases: list[tables.Case], environments: list[Environment], deltafs: Deltafs, report: Report, work: Path
) -> None:
    print("\n== rows that Parquet readers see on a mount", flush=True)
    if not os.path.exists("/dev/fuse"):
        report.skip("mounts", "/dev/fuse is not there: load the fuse module, or run where it may be used")
        return
    started, rows = time.monotonic(), []
    reads.check_specimens(environments, report, work / "specimens")
    for case in cases:
        scratch = Path(os.path.realpath(tempfile.mkdtemp(prefix="t-", dir=work)))
        rows.append(readers.run(case, environments, deltafs, report, scratch).row())
        shutil.rmtree(scratch, ignore_errors=True)
    table(readers.HEADERS, rows)
    scratch = Path(os.path.realpath(tempfile.mkdtemp(prefix="live-", dir=work)))
    print(f"and {live.run(environments, deltafs, report, scratch)} reads while delta-rs wrote")
    shown = [[f.reader, len(f.seen), f.reason] for f in faults.FAULTS if f.seen]
    if shown:
        print("\n== what readers make of any Parquet file, so of a mount too")
        table(["reader", "reads", "fault"], shown)
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

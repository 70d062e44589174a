"""The front of scripts/bench: arguments, the order of things, the report."""

import argparse
import importlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import traceback
from dataclasses import asdict
from pathlib import Path

import measure
import mounts

ROOT = Path(__file__).resolve().parents[2]
BENCHMARKS = {
    "read": "one 1 GiB Parquet file, through the mount and directly",
    "duckdb": "DuckDB over 1000 Parquet files, 358 MB",
    "composed": "DuckDB over 1000 files with partition and renamed columns, against plain files",
    "clone": "one composed file of 256 MiB on XFS, with and without a clone, and a plain copy of it",
    "dv": "a 130 MB file with deletion vectors, against composed and DuckDB's delta_scan",
    "list_composed": "ls of a version of 10,000 composed files",
    "list": "ls and find of a version of 100,000 files",
    "load": "the newest snapshot of 1,000,000 files, against deltalake",
    "travel": "opening neighbouring versions and seeing commits, 1,000,000 files",
    "commit": "committing files through @staging, against deltalake and bare system calls",
    "root": "mounting, opening and listing a table of 100,000 versions",
}


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="scripts/bench",
        description="Measures a mounted table against native ext4 and peers.",
        epilog="benchmarks:\n"
        + "\n".join(f"  {name:13}  {what}" for name, what in BENCHMARKS.items()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="which benchmarks (all)")
    parser.add_argument("--list", action="store_true", help="say what there is, and end")
    parser.add_argument(
        "--dir",
        type=Path,
        help="where tables are made, kept and found again (up to 4 GB); by "
        "default a directory under $TMPDIR that is removed at the end",
    )
    parser.add_argument("--keep", action="store_true", help="keep the tables under $TMPDIR too")
    parser.add_argument("--bin", help="the deltafs to measure (default: cargo build --release)")
    parser.add_argument(
        "--peers-only", action="store_true", help="without deltafs: the other side of each row"
    )
    parser.add_argument("--rounds", type=int, default=7, help="samples of warm figures (7)")
    parser.add_argument(
        "--scale", type=float, default=1.0, help="size of the tables; targets hold at 1.0 only"
    )
    parser.add_argument(
        "--mount-argument", action="append", default=[], metavar="ARG", help="passed to every mount"
    )
    parser.add_argument("--json", type=Path, help="write all samples to this file")
    parser.add_argument("--strict", action="store_true", help="exit 1 also when a target is missed")
    chosen = parser.parse_args()
    for name in chosen.names:
        if name not in BENCHMARKS:
            parser.error(f"no benchmark {name!r}; there are {', '.join(BENCHMARKS)}")
    return chosen


def build() -> str:
    """The release binary of this source tree."""
    subprocess.run(
        ["cargo", "build", "--release", "--quiet", "--bin", "deltafs"],
        cwd=ROOT,
        timeout=3600,
        check=True,
    )
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    return str(target / "release" / "deltafs")


def version_of(binary: str | None) -> str:
    """What the report calls the binary."""
    if binary is None:
        return "no deltafs"
    done = subprocess.run(
        [binary, "--version"], timeout=30, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    if done.returncode != 0:
        raise SystemExit(
            f"bench: {binary} --version: exit {done.returncode}: {done.stderr.strip()}"
        )
    return done.stdout.strip()


def run(options: argparse.Namespace, where: Path) -> int:
    """Runs the chosen benchmarks and prints each table as it is done."""
    import deltalake
    import duckdb

    binary = None if options.peers_only else (options.bin or build())
    context = measure.Context(binary, where, options.rounds, options.scale, options.mount_argument)
    print(measure.describe_machine(where))
    print(f"{version_of(binary)}, deltalake {deltalake.__version__}, DuckDB {duckdb.__version__}")
    if not context.root:
        print("not root: no cold rows, and no kernel passthrough for the mount")
    failed, missed, results = [], [], {}
    for name in options.names or BENCHMARKS:
        print(f"\n## {name}: {BENCHMARKS[name]}\n", flush=True)
        rows = []
        try:
            for row in importlib.import_module(f"cases.{name}").run(context):
                print(f"bench: {name}: {row.what}, {row.state}", file=sys.stderr, flush=True)
                rows.append(row)
        except (measure.Failed, mounts.MountFailed, OSError, subprocess.SubprocessError) as error:
            failed.append(name)
            traceback.print_exc(file=sys.stderr) if os.environ.get("BENCH_TRACE") else None
            print(f"{name} FAILED: {error}\n")
        if rows:
            print(measure.table(rows), flush=True)
        missed += [f"{name}: {row.what}, {row.state}" for row in rows if row.met is False]
        results[name] = [asdict(row) for row in rows]
    if options.json:
        options.json.write_text(json.dumps(results, indent=1))
    if missed and options.scale == 1.0:
        print("\nTargets missed:\n" + "\n".join(f"- {line}" for line in missed))
    if failed:
        print(f"\nFailed: {', '.join(failed)}")
    return 1 if failed or (options.strict and missed) else 0


def main() -> int:
    """Signals end the run as an exception, so that every mount is taken down."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda n, _: sys.exit(128 + n))
    options = arguments()
    if options.list:
        for name, what in BENCHMARKS.items():
            print(f"{name:13} {what}")
        return 0
    where = options.dir or Path(tempfile.gettempdir()) / "deltafs-bench"
    where = where.resolve()
    where.mkdir(parents=True, exist_ok=True)
    try:
        return run(options, where)
    finally:
        if options.dir is None and not options.keep:
            shutil.rmtree(where, ignore_errors=mounts.mounted(where / "mnt") is not None)


if __name__ == "__main__":
    sys.exit(main())

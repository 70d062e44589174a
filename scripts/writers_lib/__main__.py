"""`python -m writers_lib`: see `scripts/writers --help`."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq

from interop_lib.product import default_binary

from . import account
from .daemons import Daemon, Reaper
from .table import APPENDER, batch, write_schema

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/writers", description="Many writers, one table, every batch once.")
    parser.add_argument("--writers", type=int, default=20, help="parallel writers (20)")
    parser.add_argument("--commits", type=int, default=20, help="batches of each (20)")
    parser.add_argument("--mounts", type=int, default=3, help="mounts of the table (3)")
    parser.add_argument("--rows", type=int, default=100, help="rows of a batch (100)")
    parser.add_argument("--appends", type=int, help="batches of delta-rs (as many as one writer's)")
    parser.add_argument("--kill", action="store_true", help="kill daemons and mount again, at random")
    parser.add_argument("--pause", type=float, default=1.0, help="seconds between kills, about (1)")
    parser.add_argument("--seconds", type=float, default=900, help="give up after this time (900)")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="what is random (another each time)")
    parser.add_argument("--deltafs", type=Path, default=default_binary(ROOT), help="the binary [target/debug/deltafs]")
    parser.add_argument(
        "--keep", action="store_true", help="leave the table and the logs of the daemons where they are"
    )
    return parser.parse_args()


class Run:
    """One run: a table, its mounts, the writers."""

    def __init__(self, options: argparse.Namespace, work: Path):
        self.options, self.work = options, work
        self.table = work / "table"
        self.daemons = [Daemon(options.deltafs.resolve(), self.table, work / f"m{i}") for i in range(options.mounts)]
        self.children: list[subprocess.Popen[bytes]] = []
        self.wrong: list[str] = []

    def make_table(self) -> None:
        write_schema(self.work / "schema.json")
        command = [str(self.options.deltafs), "create", str(self.table), "--schema", str(self.work / "schema.json")]
        subprocess.run(command, check=True, timeout=60, stdout=subprocess.DEVNULL)

    def start_writers(self) -> None:
        deadline = time.time() + self.options.seconds
        for writer in range(self.options.writers):
            files = []
            for number in range(self.options.commits):
                files.append(str(self.work / f"w{writer}-{number}.parquet"))
                pq.write_table(batch(writer, number, self.options.rows), files[-1])
            job = {
                "writer": writer,
                "mounts": [str(d.mountpoint) for d in self.daemons],
                "app": f"writer {writer}" if writer % 2 else None,
                "files": files,
                "answers": str(self.work / f"answers-{writer}.jsonl"),
                "deadline": deadline,
                "seed": self.options.seed,
                "think": 0.05 if self.options.kill else 0,
            }
            path = self.work / f"job-{writer}.json"
            path.write_text(json.dumps(job))
            command = [sys.executable, "-I", "-S", str(HERE / "writer.py"), str(path)]
            self.children.append(subprocess.Popen(command))
        appends, rows = str(self.appends()), str(self.options.rows)
        command = [sys.executable, "-m", "writers_lib.appender", str(self.table), appends, rows, "0.05"]
        self.children.append(subprocess.Popen(command))

    def appends(self) -> int:
        return self.options.commits if self.options.appends is None else self.options.appends

    def watch(self) -> None:
        """Until all are done, or the time is over."""
        until = time.monotonic() + self.options.seconds + 5
        reaper = Reaper(self.daemons, self.options.seed, self.options.pause) if self.options.kill else None
        while any(c.poll() is None for c in self.children):
            if time.monotonic() > until:
                self.wrong.append(f"writers still run after {self.options.seconds:.0f} s: {self.states()}")
                break
            if reaper and (wrong := reaper.turn()):
                self.wrong.append(wrong)
            time.sleep(0.02)
        codes = Counter(c.poll() for c in self.children)
        if set(codes) != {0}:
            self.wrong.append(f"exit codes of the writers: {dict(codes)}")
        if reaper:
            print(f"{reaper.killed} daemons killed, {reaper.ended} ended by SIGTERM")

    def states(self) -> dict[str, int]:
        found: Counter[str] = Counter()
        for record in (self.table / "_deltafs" / "staging").glob("*/transaction.json"):
            found[str(json.loads(record.read_text()).get("state"))[:60]] += 1
        return dict(found)

    def check(self) -> None:
        told = {
            w: [json.loads(line) for line in (self.work / f"answers-{w}.jsonl").read_text().splitlines()]
            for w in range(self.options.writers)
        }
        batches = [(w, b) for w in told for b in range(self.options.commits)]
        batches += [(APPENDER, b) for b in range(self.appends())]
        count = self.options.rows
        self.wrong += account.versions(self.table, len(batches))
        self.wrong += account.answers(self.table, told)
        self.wrong += account.rows(account.by_delta_rs(self.table), batches, count, "delta-rs")
        for daemon in self.daemons:
            self.wrong += account.rows(account.by_mount(daemon.mountpoint), batches, count, daemon.mountpoint.name)
        lines = [line for w in told.values() for line in w if "lost" not in line]
        retried = [line for line in lines if line["attempts"] > 1]
        troubles = Counter(t.split(":")[0] for line in lines for t in line["troubles"])
        print(
            f"{len(batches)} batches, {len(retried)} of them retried, {sum(line['already'] for line in lines)} found "
            f"applied already; errors that writers met: {dict(troubles)}"
        )
        # A new daemon takes over what is left, and puts it in order.
        for daemon in self.daemons:
            if wrong := daemon.end(signal.SIGTERM):
                self.wrong.append(wrong)
        self.daemons[0].start()
        # A kill may come between the answer and the removal; numbered batches may have been staged more than once.
        self.wrong += account.leftovers(self.table, sum(line["attempts"] for line in retried))
        self.wrong += account.litter(self.table)
        if wrong := self.daemons[0].end(signal.SIGTERM):
            self.wrong.append(wrong)

    def stop(self) -> None:
        for child in self.children:
            if child.poll() is None:
                child.kill()
        for daemon in self.daemons:
            daemon.stop()
        for child in self.children:
            child.wait(timeout=20)


def main() -> int:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda n, _: sys.exit(128 + n))
    options = arguments()
    if not Path("/dev/fuse").exists():
        print("SKIP  writers: /dev/fuse is not there\n0 passed, 0 failed, 1 skipped")
        return 0
    work = Path(os.path.realpath(tempfile.mkdtemp(prefix="deltafs-writers.")))
    os.environ["XDG_CACHE_HOME"] = str(work / "cache")
    print(
        f"{options.writers} writers, {options.commits} commits each, {options.mounts} mounts, seed {options.seed}"
        + (", daemons are killed" if options.kill else ""),
        flush=True,
    )
    started, run = time.monotonic(), Run(options, work)
    try:
        run.make_table()
        for daemon in run.daemons:
            daemon.start()
        run.start_writers()
        run.watch()
        print(f"done after {time.monotonic() - started:.1f} s", flush=True)
        run.check()
    except (OSError, RuntimeError, ValueError, subprocess.SubprocessError) as e:
        run.wrong.append(f"{type(e).__name__}: {e}")
    finally:
        run.stop()
        if not options.keep:
            shutil.rmtree(work, ignore_errors=True)
    for line, times in Counter(run.wrong).items():
        print(f"FAIL  {line}" + (f" ({times} times)" if times > 1 else ""))
    if options.keep:
        print(f"the table and the logs are in {work}")
    print("0 passed, 1 failed, 0 skipped" if run.wrong else "1 passed, 0 failed, 0 skipped")
    return 1 if run.wrong else 0


if __name__ == "__main__":
    sys.exit(main())

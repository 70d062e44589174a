"""The front of scripts/soak: a table, a mount, many readers, one writer, and the accounts after."""

import argparse
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import bench
from mounts import Mount, MountFailed
from soak_table import Board

HERE = Path(__file__).resolve().parent
GAUGES = ["deltafs_inodes", "deltafs_file_handles", "deltafs_dir_handles"]


@dataclass
class Sample:
    """The daemon at one moment."""

    seconds: float
    rss: int
    descriptors: int
    threads: int
    gauges: dict[str, float] = field(default_factory=dict)


def look(mount: Mount, start: float) -> Sample:
    """Takes a sample."""
    status = Path(f"/proc/{mount.pid}/status").read_text()
    number = lambda key: int(status.split(f"{key}:")[1].split()[0])
    metrics = mount.metrics()
    missing = [gauge for gauge in GAUGES if gauge not in metrics]
    if missing:
        raise MountFailed(f"@info/metrics lacks {', '.join(missing)}")
    return Sample(
        time.monotonic() - start,
        number("VmRSS") * 1024,
        len(os.listdir(f"/proc/{mount.pid}/fd")),
        number("Threads"),
        {gauge: metrics[gauge] for gauge in GAUGES},
    )


def descriptors(mount: Mount) -> dict[str, int]:
    """What the daemon's descriptors point at, by kind."""
    kinds: dict[str, int] = {}
    for fd in Path(f"/proc/{mount.pid}/fd").iterdir():
        try:
            target = os.readlink(fd)
        except OSError:
            continue
        if target.endswith("(deleted)"):
            kind = "deleted files"
        elif ".parquet" in target:
            kind = "data files"
        else:
            kind = target.split(":")[0]
        kinds[kind] = kinds.get(kind, 0) + 1
    return kinds


def forget() -> bool:
    """Makes the kernel forget names and inodes; `False` where that is not allowed."""
    try:
        Path("/proc/sys/vm/drop_caches").write_text("2")
    except PermissionError:
        return False
    time.sleep(1)
    return True


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="scripts/soak", description="Many readers, one writer, and no leak."
    )
    parser.add_argument("--seconds", type=float, default=600, help="how long (600)")
    parser.add_argument("--readers", type=int, default=24, help="parallel readers (24)")
    parser.add_argument("--versions", type=int, default=50, help="newest versions they read (50)")
    parser.add_argument("--pause", type=float, default=1.0, help="seconds between commits (1)")
    parser.add_argument("--bin", help="the deltafs to try (default: cargo build --release)")
    parser.add_argument("--mount-argument", action="append", default=[], metavar="ARG")
    parser.add_argument(
        "--kinds",
        choices=["identity", "composed", "all"],
        default="all",
        help="identity files only, composed ones too, or all with deletion vectors (all)",
    )
    parser.add_argument(
        "--growth",
        type=float,
        default=16,
        metavar="MB",
        help="how much more memory the last quarter may need than the second (16), or 15%%",
    )
    parser.add_argument(
        "--descriptors",
        type=int,
        default=64,
        help="descriptors that may stay open when everything is forgotten (64 above the start)",
    )
    return parser.parse_args()


def last_version(work: Path) -> int:
    """The newest version that the writer has committed."""
    return int.from_bytes(Board(work / "board").map[:4], "little")


def start_writer(options: argparse.Namespace, work: Path) -> subprocess.Popen:
    """The writer, once its first versions stand."""
    writer = subprocess.Popen(
        [
            sys.executable,
            str(HERE / "soak_table.py"),
            str(work / "table"),
            str(work / "board"),
            str(work / "manifest"),
            options.kinds,
            str(options.versions + 10),
            str(options.pause),
        ],
        stdout=subprocess.PIPE,
        text=True,
    )
    if writer.stdout.readline() != "made\n":
        raise MountFailed("the writer could not make its table")
    return writer


def start_reader(options: argparse.Namespace, work: Path, number: int) -> subprocess.Popen:
    """One reader."""
    return subprocess.Popen(
        [
            sys.executable,
            "-I",
            "-S",
            str(HERE / "soak_reader.py"),
            str(work / "mnt"),
            str(work / "board"),
            str(work / "manifest"),
            str(options.versions),
            str(number),
            str(work / f"seen-{number}.json"),
        ]
    )


def watch(mount: Mount, seconds: float, children: list[subprocess.Popen]) -> list[Sample]:
    """Samples until the time is over or a child has ended."""
    start, samples = time.monotonic(), []
    print(f"{'seconds':>8} {'RSS MB':>8} {'fds':>6} {'threads':>8} {'inodes':>8} {'handles':>8}")
    while time.monotonic() - start < seconds:
        sample = look(mount, start)
        samples.append(sample)
        g = sample.gauges
        print(
            f"{sample.seconds:8.0f} {sample.rss / 1e6:8.1f} {sample.descriptors:6} "
            f"{sample.threads:8} {g[GAUGES[0]]:8.0f} {g[GAUGES[1]] + g[GAUGES[2]]:8.0f}",
            flush=True,
        )
        if any(child.poll() is not None for child in children):
            break
        time.sleep(min(5.0, seconds / 24))
    return samples


def agree(work: Path, readers: int) -> tuple[dict[str, int], dict[str, str], list[str]]:
    """Totals, the digest of every file, and where two readers saw different things."""
    total: dict[str, int] = {}
    seen: dict[str, dict[str, str]] = {"digests": {}, "listings": {}}
    wrong = []
    for number in range(readers):
        path = work / f"seen-{number}.json"
        if not path.exists():
            continue
        report = json.loads(path.read_text())
        for key, value in report["count"].items():
            total[key] = total.get(key, 0) + value
        for kind, known in seen.items():
            for name, digest in report[kind].items():
                if known.setdefault(name, digest) != digest:
                    wrong.append(f"two readers disagree about {kind} of {name}")
    return total, seen["digests"], wrong


def remount(options: argparse.Namespace, binary: str, work: Path, digests: dict) -> list[str]:
    """A new daemon must show the same content under the same names."""

    wrong, checked = [], 0
    with Mount(
        binary, work / "table", work / "mnt", options.mount_argument, work / "cache"
    ) as mount:
        newest = last_version(work)
        for version in range(max(0, newest - options.versions + 1), newest + 1, 7):
            done = subprocess.run(
                [
                    "sh",
                    "-c",
                    'cd "$1" && exec b2sum -l 128 -- *.parquet',
                    "sh",
                    str(mount.path / f"@v{version}"),
                ],
                timeout=300,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            if done.returncode != 0:
                first = done.stderr.split("\n", 1)[0]
                wrong.append(f"after a remount @v{version} cannot be read: {first}")
                continue
            for line in done.stdout.splitlines():
                digest, name = line.split()
                checked += 1
                if digests.get(name, digest) != digest:
                    wrong.append(f"after a remount {name} has other content")
    print(f"after a remount: {checked} files read again")
    return wrong


def verdict(
    options: argparse.Namespace, first: Sample, samples: list[Sample], last: Sample, forgotten: bool
) -> list[str]:
    """What leaks."""
    wrong = []
    for gauge in GAUGES:
        if gauge == "deltafs_inodes" and not forgotten:
            print("inodes not judged: only root can make the kernel forget")
        elif last.gauges[gauge] > first.gauges[gauge]:
            wrong.append(
                f"{gauge} is {last.gauges[gauge]:.0f}, {first.gauges[gauge]:.0f} at the start"
            )
    if last.descriptors > first.descriptors + options.descriptors:
        wrong.append(f"{last.descriptors} open descriptors, {first.descriptors} at the start")
    quarter = max(1, len(samples) // 4)
    early = statistics.median(sample.rss for sample in samples[quarter : 2 * quarter] or samples)
    late = statistics.median(sample.rss for sample in samples[-quarter:])
    allowed = max(options.growth * 1e6, 0.15 * early)
    print(
        f"RSS: second quarter {early / 1e6:.1f} MB, last quarter {late / 1e6:.1f} MB, "
        f"after forgetting {last.rss / 1e6:.1f} MB"
    )
    if late - early > allowed:
        wrong.append(
            f"resident memory grew from {early / 1e6:.1f} to {late / 1e6:.1f} MB "
            f"(allowed: {allowed / 1e6:.1f} MB more)"
        )
    return wrong


def stop(children: list[subprocess.Popen]) -> list[str]:
    """Ends children; whoever does not end by itself, or ended badly, is reported."""
    wrong = []
    for child in children:
        if child.poll() is None:
            child.send_signal(signal.SIGTERM)
    for child in children:
        name = "writer" if "soak_table.py" in " ".join(child.args) else "reader"
        try:
            status = child.wait(timeout=60)
            if status not in ((0,) if name == "reader" else (0, -signal.SIGTERM)):
                wrong.append(f"a {name} ended with status {status}")
        except subprocess.TimeoutExpired:
            child.kill()
            wrong.append(f"a {name} hangs")
    return wrong


def soak(options: argparse.Namespace, binary: str, work: Path) -> list[str]:
    """Runs it all; returns everything that went wrong."""
    wrong: list[str] = []
    children = [start_writer(options, work)]
    try:
        with Mount(
            binary, work / "table", work / "mnt", options.mount_argument, work / "cache"
        ) as mount:
            if mount.pid is None:
                raise MountFailed("cannot find the daemon's process")
            forget()
            first = look(mount, time.monotonic())
            children += [start_reader(options, work, n) for n in range(options.readers)]
            samples = watch(mount, options.seconds, children)
            wrong += stop(children)
            total, digests, disagreements = agree(work, options.readers)
            wrong += disagreements
            forgotten = False
            # The kernel tells the daemon in its own time.
            for _ in range(20):
                forgotten = forget()
                last = look(mount, time.monotonic())
                if all(last.gauges[g] <= first.gauges[g] for g in GAUGES):
                    break
            print(f"{last_version(work) + 1} versions, {len(digests)} different files; {total}")
            print(f"at the start: {first.gauges}, {first.descriptors} descriptors")
            print(
                f"at the end:   {last.gauges}, {last.descriptors} descriptors: {descriptors(mount)}"
            )
            wrong += verdict(options, first, samples, last, forgotten)
            problem = mount.unmount()
            if problem:
                wrong.append(problem)
        if not wrong:
            wrong += remount(options, binary, work, digests)
    finally:
        stop(children)
    return wrong


def main() -> int:
    """Signals end the run as an exception, so that the mount and the children are taken down."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda n, _: sys.exit(128 + n))
    options = arguments()
    binary = options.bin or bench.build()
    print(f"{bench.version_of(binary)}, {options.readers} readers, {options.seconds:.0f} s")
    work = Path(tempfile.mkdtemp(prefix="deltafs-soak."))
    try:
        wrong = soak(options, binary, work)
    except (MountFailed, OSError, subprocess.SubprocessError) as error:
        wrong = [str(error)]
    finally:
        shutil.rmtree(work, ignore_errors=True)
    for line, times in Counter(wrong).items():
        print(f"FAILED: {line}" + (f" ({times} times)" if times > 1 else ""))
    print("soak: failed" if wrong else "soak: passed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

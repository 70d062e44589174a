"""Taking times fairly, and saying what they came to."""

import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

PROBE = Path(__file__).with_name("probe.py")


class Failed(Exception):
    """A benchmark could not be taken, or one of its answers was wrong."""


@dataclass
class Row:
    """One line of the report: `mount` and `native` are samples in seconds, or in `unit`."""

    what: str
    state: str
    mount: list[float] = field(default_factory=list)
    native: list[float] = field(default_factory=list)
    peer: str = "native"
    unit: str = "s"
    # At most this many times the peer (1.1), at most this much (0.010 s), or at least this much
    # (200 MB/s).
    ratio_limit: float | None = None
    limit: float | None = None
    floor: float | None = None

    @property
    def ratio(self) -> float | None:
        """Median over median: below 1 the mount is the faster, or the smaller."""
        if not self.mount or not self.native:
            return None
        return statistics.median(self.mount) / statistics.median(self.native)

    @property
    def met(self) -> bool | None:
        """Whether the target is met; `None` where there is no target, or no figure."""
        if not self.mount:
            return None
        if self.ratio_limit is not None and self.ratio is not None:
            # As precise as it is printed.
            return round(self.ratio, 2) <= self.ratio_limit
        if self.limit is not None:
            return statistics.median(self.mount) <= self.limit
        if self.floor is not None:
            return statistics.median(self.mount) >= self.floor
        return None


@dataclass
class Context:
    """What every benchmark is given."""

    binary: str | None
    dir: Path
    rounds: int
    scale: float
    mount_arguments: list[str]
    root: bool = field(default_factory=lambda: os.geteuid() == 0)

    @property
    def mountpoint(self) -> Path:
        """Where tables are mounted."""
        return self.dir / "mnt"

    def scaled(self, number: int, least: int = 1) -> int:
        """`number` of the real benchmark, for this run."""
        return max(least, round(number * self.scale))


def probe(function: str, timeout: float = 300, **arguments):
    """Calls a function of probe.py in a process of its own."""
    try:
        done = subprocess.run(
            [sys.executable, "-I", "-S", str(PROBE), function],
            input=json.dumps(arguments),
            timeout=timeout,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
    except subprocess.TimeoutExpired as late:
        raise Failed(f"{function} did not end in {timeout} s") from late
    if done.returncode != 0:
        raise Failed(f"{function}: {done.stderr.strip()}")
    return json.loads(done.stdout)


def timed(command: list[str], timeout: float = 300) -> dict:
    """Runs a command to its end, see `probe.run`; a command that fails is no measurement."""
    result = probe("run", timeout=timeout + 30, command=command, limit=timeout)
    if result["exit"] != 0:
        raise Failed(f"{' '.join(command)}: exit {result['exit']}: {result['said']}")
    return result


def interleave(
    rounds: int,
    sides: dict[str, Callable[[], float]],
    before: Callable[[], None] = lambda: None,
) -> dict[str, list[float]]:
    """Samples of every side, taken in turn, the order turned round each time, so that a machine
    that grows slower or faster is no side's advantage. `before` precedes every single sample."""
    samples: dict[str, list[float]] = {name: [] for name in sides}
    for number in range(rounds):
        names = list(sides) if number % 2 == 0 else list(reversed(sides))
        for name in names:
            before()
            samples[name].append(sides[name]())
    return samples


def forget_names() -> None:
    """Makes the kernel forget names and inodes that nobody holds. Needs root."""
    Path("/proc/sys/vm/drop_caches").write_text("2")
    # A FUSE daemon is told of every inode that was forgotten; it shall be done with that.
    time.sleep(1.0)


def forget_all(*programs: Callable[[], object]) -> None:
    """Makes the kernel forget all names, inodes and content of every file system; `programs` are
    then called, to bring what will be timed back into memory. Needs root."""
    subprocess.run(["sync"], timeout=300, check=True)
    Path("/proc/sys/vm/drop_caches").write_text("3")
    # A FUSE daemon is told of every inode that was forgotten; it shall be done with that.
    time.sleep(1.0)
    for program in programs:
        program()


def remember_content(*folders: Path) -> None:
    """Reads every file below native directories, so that the page cache holds them."""
    buffer = bytearray(1 << 20)
    for folder in folders:
        for path in folder.rglob("*"):
            if path.is_file():
                with open(path, "rb", buffering=0) as source:
                    while source.readinto(buffer):
                        pass


def memory_rows(memory: dict[str, list[float]], what: str, state: str) -> list[Row]:
    """The rows of what `Mount.memory` said of a daemon, or of several in the same state."""
    return [
        Row(f"{what}: daemon, {label}", state, mount=memory[key], unit="MB")
        for key, label in (("VmHWM", "peak memory"), ("VmRSS", "resident memory"))
        if memory.get(key)
    ]


def forget_content(*paths: Path) -> None:
    """Makes the kernel drop what it has cached of files, or of all files of directories: only of
    these, so that the programs of both sides stay in memory."""
    subprocess.run(["sync"], timeout=300, check=True)
    probe("evict", paths=[str(path) for path in paths])


def amount(value: float, unit: str) -> str:
    """A figure for people."""
    if unit in ("MB", "MB/s"):
        return f"{value:.0f} {unit}"
    per = unit.removeprefix("s")
    if value >= 1:
        return f"{value:.2f} s{per}"
    if value >= 0.001:
        return f"{value * 1e3:.3g} ms{per}"
    return f"{value * 1e6:.3g} us{per}"


def spread(samples: list[float], unit: str) -> str:
    """Median, and how far the samples lie apart."""
    if not samples:
        return "-"
    middle = amount(statistics.median(samples), unit)
    if len(samples) < 2:
        return middle
    return f"{middle} ({amount(min(samples), unit)} - {amount(max(samples), unit)})"


def target(row: Row) -> str:
    """The target and whether it is met."""
    if row.ratio_limit is not None:
        text = f"<= {row.ratio_limit:.2f}x"
    elif row.limit is not None:
        text = f"<= {amount(row.limit, row.unit)}"
    elif row.floor is not None:
        text = f">= {amount(row.floor, row.unit)}"
    else:
        return ""
    return text + {True: " met", False: " MISSED", None: ""}[row.met]


def table(rows: list[Row]) -> str:
    """The rows as a Markdown table."""
    head = [
        "what",
        "state",
        "peer",
        "peer: median (min - max)",
        "deltafs: median (min - max)",
        "n",
        "ratio",
        "target",
    ]
    lines = [
        [
            row.what,
            row.state,
            row.peer if row.native else "-",
            spread(row.native, row.unit),
            spread(row.mount, row.unit),
            str(max(len(row.native), len(row.mount))),
            "-" if row.ratio is None else f"{row.ratio:.2f}",
            target(row),
        ]
        for row in rows
    ]
    widths = [max(len(line[i]) for line in [head, *lines]) for i in range(len(head))]
    render = lambda line: "| " + " | ".join(c.ljust(w) for c, w in zip(line, widths)) + " |"
    return "\n".join(
        [render(head), "|" + "|".join("-" * (w + 2) for w in widths) + "|", *map(render, lines)]
    )


def describe_machine(where: Path) -> str:
    """What the figures depend on, in one line."""
    kernel = os.uname()
    kind = subprocess.run(
        ["findmnt", "-n", "-o", "FSTYPE", "-T", str(where)],
        timeout=30,
        stdout=subprocess.PIPE,
        text=True,
    ).stdout.strip()
    load = os.getloadavg()[0]
    return (
        f"Linux {kernel.release.split('-')[0]} {kernel.machine}, {os.cpu_count()} CPUs, "
        f"{kind} at the working directory, load average {load:.1f} at the start"
    )


def needs(*programs: str) -> None:
    """Fails with a clear word where a program is missing."""
    for program in programs:
        if shutil.which(program) is None:
            raise Failed(f"{program} is not installed")

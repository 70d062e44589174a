"""Reading one large Parquet file, through the mount and directly."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import makers
from measure import Context, Failed, Row, forget_content, interleave, probe
from mounts import Mount

# (pattern, request size): reads of 64 KiB and more have a target.
SIZES = {"4K": 4 << 10, "64K": 64 << 10, "1M": 1 << 20}
PATTERNS = {"sequential": "read", "random": "randread"}
TARGET = 1.10


def run(context: Context) -> Iterator[Row]:
    """Throughput is taken as seconds per GiB, so that a ratio above 1 is a slower mount."""
    table = makers.table(context.dir, makers.one_file, megabytes=context.scaled(1024, 64))
    name = next(path.name for path in table.iterdir() if path.suffix == ".parquet")
    native = table / name
    if context.binary is None:
        yield from rows(context, {"native": native})
        return
    with Mount(context.binary, table, context.mountpoint, context.mount_arguments):
        through = context.mountpoint / "@latest" / name
        if not through.exists() or through.stat().st_size != native.stat().st_size:
            raise Failed(f"{through} is not {native} byte for byte: this needs an identity file")
        same = subprocess.run(["cmp", str(native), str(through)], timeout=300)
        if same.returncode != 0:
            raise Failed(f"{through} differs from {native}")
        yield from rows(context, {"native": native, "mount": through})


def rows(context: Context, files: dict[str, Path]) -> Iterator[Row]:
    """All patterns and sizes, warm, then cold, then through mmap."""
    engine = "psync" if shutil.which("fio") else "preadv"
    for pattern in PATTERNS:
        for label, size in SIZES.items():
            yield take(context, files, pattern, label, size, engine, cold=False)
    if shutil.which("fio"):
        for pattern in PATTERNS:
            yield take(context, files, pattern, "64K", SIZES["64K"], "mmap", cold=False)
    for pattern in PATTERNS:
        for label, size in SIZES.items():
            yield take(context, files, pattern, label, size, engine, cold=True)


def take(
    context: Context,
    files: dict[str, Path],
    pattern: str,
    label: str,
    size: int,
    engine: str,
    cold: bool,
) -> Row:
    """One row."""
    total = next(iter(files.values())).stat().st_size
    # Small random reads of a cold disk are slow: fewer of them.
    budget = total if not cold else min(total, total if pattern == "sequential" else 4096 * size)
    budget = max(size, min(budget, total) // size * size)

    def sample(path: Path) -> float:
        if engine == "preadv":
            return plain(path, pattern, size, budget)
        return fio(path, pattern, size, engine, budget, cold)

    if cold:
        before = lambda: forget_content(*files.values())
    else:
        before = lambda: None
        for path in files.values():
            probe("sequential", path=str(path), size=1 << 20)
    rounds = context.rounds if not cold else max(3, context.rounds // 2)
    taken = interleave(
        rounds, {side: lambda p=path: sample(p) for side, path in files.items()}, before
    )
    judged = size >= 64 << 10
    what = f"{pattern} {label}" + (" mmap" if engine == "mmap" else "")
    return Row(
        what,
        "cold" if cold else "warm",
        mount=taken.get("mount", []),
        native=taken["native"],
        unit="s/GiB",
        ratio_limit=TARGET if judged else None,
    )


def fio(path: Path, pattern: str, size: int, engine: str, budget: int, cold: bool) -> float:
    """Seconds per GiB as fio sees them: for a fixed time when warm, for a fixed amount when cold."""
    command = [
        "fio",
        "--name=read",
        f"--filename={path}",
        "--readonly",
        f"--rw={PATTERNS[pattern]}",
        f"--bs={size}",
        f"--ioengine={engine}",
        "--iodepth=1",
        "--numjobs=1",
        "--thread",
        "--invalidate=0",
        "--fadvise_hint=0",
        "--randseed=7",
        "--norandommap",
        "--output-format=json",
    ]
    command += [f"--io_size={budget}"] if cold else ["--time_based", "--runtime=1"]
    try:
        done = subprocess.run(
            command, timeout=300, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
    except subprocess.TimeoutExpired as late:
        raise Failed(f"fio on {path} did not end in 300 s") from late
    if done.returncode != 0:
        raise Failed(f"{' '.join(command)}: {done.stderr.strip() or done.stdout.strip()[-500:]}")
    read = json.loads(done.stdout[done.stdout.index("{") :])["jobs"][0]["read"]
    if read["io_bytes"] == 0:
        raise Failed(f"fio read nothing of {path}")
    return (1 << 30) / read["bw_bytes"]


def plain(path: Path, pattern: str, size: int, budget: int) -> float:
    """Seconds per GiB without fio."""
    if pattern == "sequential":
        return probe("sequential", path=str(path), size=size) * (1 << 30) / os.stat(path).st_size
    count = max(1, budget // size)
    seconds = probe("scattered", path=str(path), size=size, count=count, seed=7)
    return seconds * (1 << 30) / (count * size)

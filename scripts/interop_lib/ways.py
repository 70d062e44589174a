"""The ways in which people bring files into a staging directory, and have it committed.

A copy is `copy(directory, source, rows)`: it makes `directory`; `source` holds Parquet files; `rows` are the same rows in
memory, for those who write Parquet themselves. A trigger is `trigger(directory, marker)`: it returns `Answer`, the errno
that it was told.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

TIMEOUT = 60


@dataclass(frozen=True)
class Answer:
    """What a trigger was told: 0 for success, else an errno; `said` is what a command printed."""

    errno: int
    said: str = ""

    def __str__(self) -> str:
        name = errno.errorcode.get(self.errno, str(self.errno)) if self.errno else "success"
        return f"{name} ({self.said})" if self.said else name


def script(text: str, *arguments: object) -> str:
    """Runs a shell script and returns what it printed. Raises `CalledProcessError`, `TimeoutExpired`."""
    done = subprocess.run(
        ["bash", "-euc", text, "script", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        env={**os.environ, "LC_ALL": "C"},
        check=False,
    )
    if done.returncode != 0:
        raise subprocess.CalledProcessError(done.returncode, text, done.stdout, done.stderr.strip()[-500:])
    return done.stdout + done.stderr


# ---- files into the directory ----------------------------------------------------------------------------------------


def cp(directory: Path, source: Path, rows: pa.Table) -> None:
    script('mkdir "$1"; cp -r "$2"/. "$1"/', directory, source)


def move(directory: Path, source: Path, rows: pa.Table) -> None:
    """`mv` from another file system: it copies with times, owner and mode, then removes."""
    copy = source.with_name(f"{source.name}.moved")
    shutil.copytree(source, copy)
    script('mkdir "$1"; mv "$2"/* "$1"/', directory, copy)


def rsync(directory: Path, source: Path, rows: pa.Table) -> None:
    """Writes `.NAME.XXXXXX` and renames it; the second time nothing is left to be done."""
    script('rsync -a "$2"/ "$1"/; rsync -a --itemize-changes "$2"/ "$1"/', directory, source)


def tar(directory: Path, source: Path, rows: pa.Table) -> None:
    script('mkdir "$1"; tar -C "$2" -cf - . | tar -C "$1" -xf -', directory, source)


def dd(directory: Path, source: Path, rows: pa.Table) -> None:
    """In small blocks out of order, through holes."""
    text = """
        cd "$2"; find . -type d -exec mkdir -p "$1/{}" \\;
        find . -type f | while read -r f; do
          dd if="$f" of="$1/$f" bs=512 skip=1 seek=1 status=none
          dd if="$f" of="$1/$f" bs=512 count=1 conv=notrunc status=none
        done"""
    script(text, directory, source)


def pyarrow_file(directory: Path, source: Path, rows: pa.Table) -> None:
    directory.mkdir()
    pq.write_table(rows, directory / "x.parquet")


def pyarrow_dataset(directory: Path, source: Path, rows: pa.Table) -> None:
    ds.write_dataset(rows, directory, format="parquet", existing_data_behavior="overwrite_or_ignore")


def pandas(directory: Path, source: Path, rows: pa.Table) -> None:
    directory.mkdir()
    rows.to_pandas(types_mapper=_pandas_type).to_parquet(directory / "x.parquet", index=False)


def _pandas_type(t: pa.DataType) -> object:
    import pandas as pd

    return pd.ArrowDtype(t)


def polars(directory: Path, source: Path, rows: pa.Table) -> None:
    import polars as pl

    directory.mkdir()
    pl.from_arrow(rows).write_parquet(directory / "x.parquet")


def duckdb_copy(directory: Path, source: Path, rows: pa.Table) -> None:
    import duckdb

    directory.mkdir()
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.register("r", rows)
        connection.execute(f"COPY r TO '{directory}/x.parquet'")


def duckdb_partitions(columns: list[str], *, written: bool = False) -> Copy:
    """`COPY ... (PARTITION_BY ...)`, with the partition columns in the files too when `written`."""

    def copy(directory: Path, source: Path, rows: pa.Table) -> None:
        import duckdb

        names = ", ".join('"' + c.replace('"', '""') + '"' for c in columns)
        with duckdb.connect() as connection:
            connection.execute("SET TimeZone = 'UTC'")
            connection.register("r", rows)
            options = f"FORMAT parquet, PARTITION_BY ({names}), WRITE_PARTITION_COLUMNS {str(written).lower()}"
            directory.mkdir()
            connection.execute(f"COPY r TO '{directory}' ({options}, OVERWRITE_OR_IGNORE)")

    return copy


def pyarrow_partitions(columns: list[str]) -> Copy:
    def copy(directory: Path, source: Path, rows: pa.Table) -> None:
        partitioning = ds.partitioning(pa.schema([rows.schema.field(c) for c in columns]), flavor="hive")
        ds.write_dataset(
            rows, directory, format="parquet", partitioning=partitioning, existing_data_behavior="overwrite_or_ignore"
        )

    return copy


def pandas_partitions(columns: list[str]) -> Copy:
    def copy(directory: Path, source: Path, rows: pa.Table) -> None:
        directory.mkdir()
        rows.to_pandas(types_mapper=_pandas_type).to_parquet(directory, index=False, partition_cols=columns)

    return copy


def polars_partitions(columns: list[str]) -> Copy:
    def copy(directory: Path, source: Path, rows: pa.Table) -> None:
        import polars as pl

        directory.mkdir()
        pl.from_arrow(rows).write_parquet(directory, partition_by=columns)

    return copy


def spark_like(directory: Path, source: Path, rows: pa.Table) -> None:
    """What Spark's committer does: tasks below `_temporary`, renamed when the job is done, `_SUCCESS`, `.crc`."""
    text = """
        mkdir -p "$1/_temporary/0/_temporary/attempt_1" "$1/_temporary/0/task_1"
        cp -r "$2"/. "$1/_temporary/0/_temporary/attempt_1/"
        cd "$1/_temporary/0"; rmdir task_1; mv _temporary/attempt_1 task_1
        for f in task_1/*; do mv "$f" "$1/"; done
        cd "$1"; rm -r _temporary; touch _SUCCESS
        for f in *.parquet; do echo crc > ".$f.crc"; done"""
    directory.mkdir()
    script(text, directory, source)


Copy = Callable[[Path, Path, pa.Table], None]

# What takes files as they are, whatever is in them.
COPIES: dict[str, Copy] = {"cp": cp, "mv": move, "tar": tar, "dd": dd, "rsync": rsync, "_temporary": spark_like}

# What writes rows. Each has types that it cannot write, or writes as another one.
WRITERS: dict[str, Copy] = {
    "pyarrow": pyarrow_file,
    "pyarrow.dataset": pyarrow_dataset,
    "pandas": pandas,
    "polars": polars,
    "duckdb COPY": duckdb_copy,
}


# ---- the marker ------------------------------------------------------------------------------------------------------

Trigger = Callable[[Path, str], Answer]


def fsync(directory: Path, marker: str) -> Answer:
    return _sync(directory / ".commit", marker, os.fsync)


def fsync_again(directory: Path) -> Answer:
    """fsync of the marker as it is, by a descriptor that can only read."""
    return _sync_only(directory / ".commit", os.fsync)


def fdatasync(directory: Path, marker: str) -> Answer:
    return _sync(directory / ".commit", marker, os.fdatasync)


def _sync(path: Path, marker: str, sync: Callable[[int], None]) -> Answer:
    """Writes the marker, and syncs it by another descriptor that can only read."""
    path.write_text(marker)
    return _sync_only(path, sync)


def _sync_only(path: Path, sync: Callable[[int], None]) -> Answer:
    fd = os.open(path, os.O_RDONLY)
    try:
        sync(fd)
    except OSError as e:
        return Answer(e.errno or errno.EIO)
    finally:
        os.close(fd)
    return Answer(0)


def synchronous_write(directory: Path, marker: str) -> Answer:
    """One write by a descriptor with O_SYNC. An empty marker needs a blank for there to be a write."""
    fd = os.open(directory / ".commit", os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_SYNC)
    try:
        os.write(fd, marker.encode() or b"\n")
    except OSError as e:
        return Answer(e.errno or errno.EIO)
    finally:
        os.close(fd)
    return Answer(0)


def sync_command(*options: str) -> Trigger:
    def trigger(directory: Path, marker: str) -> Answer:
        text = 'm=$1; shift; printf %s "$m" > "${!#}"; sync "$@"'
        return _command(text, marker, *options, directory / ".commit")

    return trigger


def dd_fsync(directory: Path, marker: str) -> Answer:
    text = 'printf %s "$1" | dd of="$2" conv=fsync status=none'
    return _command(text, marker, directory / ".commit")


def rename(directory: Path, marker: str) -> Answer:
    text = 'printf %s "$1" > "$2/commit.tmp"; mv "$2/commit.tmp" "$2/.commit"'
    return _command(text, marker, directory)


def _command(text: str, *arguments: object) -> Answer:
    """Runs a script whose last command says what fsync answered, as strerror has it."""
    try:
        script(text, *arguments)
    except subprocess.CalledProcessError as e:
        return Answer(_errno_of(e.stderr), e.stderr)
    return Answer(0)


def _errno_of(message: str) -> int:
    last = message.strip().splitlines()[-1] if message.strip() else ""
    if last.startswith("mv: ") and "to a subdirectory of itself" in last:
        return errno.EINVAL  # what mv makes of it
    for number in errno.errorcode:
        if last.endswith(os.strerror(number)):
            return number
    return errno.EIO


def commit_command(binary: Path) -> Trigger:
    """`deltafs commit DIR`, whose options are those of the marker. Its message names the errno's reason."""

    def trigger(directory: Path, marker: str) -> Answer:
        arguments = []
        for key, value in json.loads(marker or "{}").items():
            if key == "mode":
                arguments += ["--mode", value]
                continue
            values = value if isinstance(value, list) else [value]
            for v in values:
                arguments += ["--option", f"{key}={str(v).lower() if isinstance(v, bool) else v}"]
        done = subprocess.run(
            [str(binary), "commit", str(directory), *arguments],
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
            check=False,
        )
        if done.returncode == 0:
            return Answer(0)
        status = json.loads((directory / ".status").read_text())
        number = status.get("error", {}).get("errno", errno.EIO)
        expected = 3 if number in (errno.ESTALE, errno.EAGAIN) else 1
        if done.returncode != expected:
            return Answer(errno.EIO, f"exit code {done.returncode}, expected {expected}: {done.stderr.strip()}")
        return Answer(number, done.stderr.strip())

    return trigger


def triggers(binary: Path) -> dict[str, Trigger]:
    """Every way to commit that works with the programs of this machine."""
    found: dict[str, Trigger] = {
        "os.fsync": fsync,
        "os.fdatasync": fdatasync,
        "O_SYNC": synchronous_write,
        "dd conv=fsync": dd_fsync,
        "mv": rename,
        "deltafs commit": commit_command(binary),
    }
    if "GNU" in script("sync --version"):
        found |= {"sync": sync_command(), "sync -d": sync_command("-d")}
    return found


def missing() -> list[str]:
    """Programs that are not on this machine, with what that leaves out."""
    out = []
    if shutil.which("rsync") is None:
        out.append("rsync: is not installed, so nothing is staged by it")
    if "GNU" not in script("sync --version"):
        out.append("sync: is not GNU's, and ignores its operand, so `deltafs commit` takes its place")
    return out

"""Every kind of failure: the errno that fsync gives, what `.status` says of it, that nothing is lost, and that a mended
batch is committed after it. The errnos are those of the table of errors in docs/ERRORS.md.
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
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from make_tables_lib.checkpoints import FIELDS

from . import ways
from .lab import Lab
from .staged import Staged
from .writes_rows import rows, schema

_KINDS = {"id": "long", "s": "string", "x": "double", "p": "integer"}


@dataclass(frozen=True)
class Failure:
    """What is done to a staging directory with one good file `x.parquet`, and what has to come of its fsync."""

    what: str
    spoil: Callable[[Path], object]
    errno: int
    name: str | None = None
    file: str | None = None
    column: str | None = None
    marker: str = ""


def _write(name: str, content: bytes) -> Callable[[Path], object]:
    return lambda d: (d / name).write_bytes(content)


def _table(name: str, columns: dict[str, Any]) -> Callable[[Path], object]:
    def spoil(directory: Path) -> None:
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table(columns), path)

    return spoil


def _nothing(directory: Path) -> None:
    """The good file is all there is."""


def _cut(directory: Path) -> None:
    """F27: the last 100 bytes are lost, as after ENOSPC."""
    path = directory / "x.parquet"
    os.truncate(path, path.stat().st_size - 100)


_ID = {"id": pa.array([1], pa.int64())}
_ROW = {**_ID, "p": pa.array([1], pa.int32())}

_INVALID = errno.EINVAL

FAILURES = [
    Failure("F27 zero bytes", _write("y.parquet", b""), _INVALID, file="y.parquet"),
    Failure("F27 text", _write("y.parquet", b"id,s\n1,a\n" * 20), _INVALID, file="y.parquet"),
    Failure("F27 wrong magic", _write("y.parquet", b"PAR1" + b"\0" * 100 + b"PARE"), _INVALID, file="y.parquet"),
    Failure("F27 cut off", _cut, _INVALID, file="x.parquet"),
    Failure("another file", _write("notes.txt", b"x"), _INVALID, "UnexpectedFile", "notes.txt"),
    Failure("a file below a directory", _table("sub/y.parquet", _ROW), _INVALID, "UnexpectedFile", "sub/y.parquet"),
    Failure("a directory of no partition column", _table("z=1/y.parquet", _ROW), _INVALID, file="z=1/y.parquet"),
    Failure("a directory of no value", _table("p=x/y.parquet", _ID), _INVALID, file="p=x/y.parquet", column="p"),
    Failure("two directories", _table("p=1/p=1/y.parquet", _ID), _INVALID, file="p=1/p=1/y.parquet", column="p"),
    Failure("F34 no partition value", _table("y.parquet", _ID), _INVALID, file="y.parquet", column="p"),
    Failure("directory and file disagree", _table("p=2/y.parquet", _ROW), _INVALID, file="p=2/y.parquet", column="p"),
    Failure("an unknown column", _table("y.parquet", {**_ROW, "z": [1]}), _INVALID, file="y.parquet", column="z"),
    Failure("another type", _table("y.parquet", {**_ROW, "s": [1]}), _INVALID, file="y.parquet", column="s"),
    Failure(
        "a number that does not fit",
        _table("y.parquet", {"id": pa.array([2**64 - 1], pa.uint64()), "p": pa.array([1], pa.int32())}),
        _INVALID,
        file="y.parquet",
        column="id",
    ),
    Failure(
        "a column that Spark reads as a wider type",
        _table("y.parquet", {"id": [1], "p": pa.array([1], pa.uint32())}),
        _INVALID,
        file="y.parquet",
        column="p",
    ),
    Failure("one name twice", _table("y.parquet", {**_ROW, "ID": [1]}), _INVALID, file="y.parquet"),
    Failure("a marker that is no JSON", _nothing, _INVALID, "InvalidMarker", marker="append"),
    Failure("a marker cut off", _nothing, _INVALID, "InvalidMarker", marker='{"mode": "append"'),
    Failure("an unknown option", _nothing, _INVALID, "InvalidMarker", marker='{"mod": "append"}'),
    Failure("an unknown mode", _nothing, _INVALID, "InvalidMarker", marker='{"mode": "replace"}'),
    Failure("an option that needs another", _nothing, _INVALID, "InvalidMarker", marker='{"txnAppId": "a"}'),
    Failure("a predicate not understood", _nothing, _INVALID, marker='{"mode": "overwrite", "replaceWhere": "p ="}'),
    Failure("a version of the future", _nothing, _INVALID, "InvalidOption", marker='{"readVersion": 99}'),
    Failure("a file that is not listed", _nothing, errno.ENOENT, "FileNotFound", marker='{"remove": ["no.parquet"]}'),
    Failure("nothing staged", lambda d: (d / "x.parquet").unlink(), _INVALID, "NothingStaged"),
]


def failures(lab: Lab) -> None:
    """Each failure by os.fsync; then the batch is mended, and the same directory commits."""
    table = lab.create(schema(_KINDS), partition_by=["p"])
    with lab.staged("failures", table) as t:
        t.begin()
        good = rows(0, 50, {**_KINDS, "p": "integer"}).set_column(3, "p", pa.array([1] * 50, pa.int32()))
        t.append(good)
        for failure in FAILURES:
            _check(lab, t, failure, good)
        lab.check(t)


def _check(lab: Lab, t: Staged, failure: Failure, good: pa.Table) -> None:
    check, what, before = lab.report.check, f"{t.name}: {failure.what}", t.latest()
    files = sorted(os.listdir(t.table))
    directory = t.stage(good)
    failure.spoil(directory)
    answer = ways.fsync(directory, failure.marker)
    status = t.status(directory)
    error = status.get("error") or {}
    check(
        answer.errno == failure.errno,
        what,
        f"fsync answers {answer}, expected {errno.errorcode[failure.errno]}; {status}",
    )
    check(status["state"] == "failed" and error.get("errno") == failure.errno, what, f".status is {status}")
    for key in ("name", "file", "column"):
        wanted, have = getattr(failure, key), error.get(key)
        check(wanted is None or have == wanted, what, f".status has {key} {have!r}, expected {wanted!r}: {error}")
    message = error.get("message") or ""
    check(failure.file is None or failure.file in message, what, f"the message does not name the file: {message!r}")
    check(t.latest() == before and sorted(os.listdir(t.table)) == files, what, "something is left in the table")
    # Mended, it goes through: the same directory, its good file untouched unless it was the one to be spoilt.
    for name in os.listdir(directory):
        path = directory / name
        if name not in ("x.parquet", ".status"):
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    if failure.file == "x.parquet" or not (directory / "x.parquet").exists():
        pq.write_table(good, directory / "x.parquet")
    again = ways.fsync(directory, "")
    status = t.status(directory)
    if check(again.errno == 0 and status["state"] == "committed", what, f"mended, fsync answers {again}: {status}"):
        t.grew(status["version"], good)
    shutil.rmtree(directory)


def triggers(lab: Lab) -> None:
    """Each way to commit tells of a failure: the errno, or what strerror makes of it, or an exit code."""
    table = lab.create(schema(_KINDS), partition_by=["p"])
    with lab.staged("failing triggers", table) as t:
        t.begin()
        for name, trigger in ways.triggers(lab.deltafs.binary).items():
            what = f"{t.name}: {name}"
            directory = t.stage(None)
            (directory / "notes.txt").write_text("x")
            answer = trigger(directory, "")
            lab.report.check(
                answer.errno == errno.EINVAL, what, f"told {answer}, expected EINVAL: {t.status(directory)}"
            )
            lab.report.check(t.latest() == 0, what, f"made version {t.latest()}")
            left = sorted(os.listdir(directory))
            lab.report.check("notes.txt" in left, what, f"the staged file is gone: {left}")
            shutil.rmtree(directory)


def not_triggers(lab: Lab) -> None:
    """What never commits: close, flush, fsync of other files and of directories, `sync -f`, and a plain `echo > .commit`."""
    table = lab.create(schema(_KINDS))
    with lab.staged("no triggers", table) as t:
        t.begin()
        directory = t.stage(rows(0, 3, _KINDS))
        with open(directory / "y.parquet", "wb") as f:
            f.write((directory / "x.parquet").read_bytes())
            f.flush()
            os.fsync(f.fileno())
        fd = os.open(directory, os.O_RDONLY)
        os.fsync(fd)
        os.close(fd)
        ways.script('echo > "$1/.commit"; touch "$1/.commit"; cat "$1/.commit" "$1/.status" > /dev/null', directory)
        ways.script(
            'mkdir "$1/_sub"; touch "$1/_sub/.commit"; mv "$1/.commit" "$1/.other"; mv "$1/.other" "$1/_x"', directory
        )
        lab.report.check(t.latest() == 0, t.name, f"something made version {t.latest()}")
        state = t.status(directory)["state"]
        lab.report.check(state == "open", t.name, f"the state is {state}")


def unwritable(lab: Lab) -> None:
    """F11 and tables with features that are not enforced: EOPNOTSUPP, the feature named; they can still be read."""
    iceberg = {"delta.enableIcebergCompatV1": "true"}
    for feature, config in (("catalogManaged", {}), ("fooBar", {}), ("icebergCompatV1", iceberg)):
        made = lab.handmade()
        made.commit(made.protocol(writer_only=[feature]), made.metadata(FIELDS, configuration=config))
        with lab.staged(f"unwritable: {feature}", made.root) as t:
            t.begin()
            directory = t.mountpoint / "@staging" / "b1"
            try:
                directory.mkdir()
                pq.write_table(rows(0, 2, {"id": "long"}), directory / "x.parquet")
                answer = ways.fsync(directory, "")
                status = t.status(directory)
                said = (status.get("error") or {}).get("message", "")
                lab.report.check(feature in said, t.name, f"does not name the feature: {status}")
            except OSError as e:
                answer = ways.Answer(e.errno or 0, str(e))
            lab.report.check(answer.errno == errno.EOPNOTSUPP, t.name, f"{answer}, expected EOPNOTSUPP")
            lab.report.check(t.latest() == 0, t.name, f"made version {t.latest()}")


def read_only(lab: Lab) -> None:
    """A read-only mount has no @staging; under versions everything is EROFS on a writable one."""
    table = lab.create(schema(_KINDS))
    with lab.staged("read-only", table, "--read-only") as t:
        shown = os.listdir(t.mountpoint)
        lab.report.check("@staging" not in shown, t.name, f"lists {shown}")
        _refused(lab, t.name, errno.EROFS, lambda: (t.mountpoint / "@staging" / "b1").mkdir(), also=errno.ENOENT)
    with lab.staged("under versions", table) as t:
        t.begin()
        t.append(rows(0, 3, _KINDS))
        version = t.mountpoint / "@v1"
        name = os.listdir(version)[0]
        for what, do in (
            ("create", lambda: (version / "y.parquet").write_bytes(b"")),
            ("mkdir", lambda: (version / "sub").mkdir()),
            ("write", lambda: os.open(version / name, os.O_WRONLY)),
            ("unlink", lambda: (version / name).unlink()),
            ("rename", lambda: (version / name).rename(version / "z.parquet")),
            ("chmod", lambda: (version / name).chmod(0o777)),
            ("rmdir", lambda: version.rmdir()),
            ("mkdir at the root", lambda: (t.mountpoint / "sub").mkdir()),
        ):
            _refused(lab, f"{t.name}: {what}", errno.EROFS, do)


def _refused(lab: Lab, what: str, number: int, do: Callable[[], object], also: int = 0) -> None:
    try:
        do()
        lab.report.fail(what, "succeeds")
    except OSError as e:
        lab.report.check(e.errno in (number, also), what, f"{e}, expected {errno.errorcode[number]}")


def exit_codes(lab: Lab) -> None:
    """`deltafs commit`: 0 committed, 1 failed, 2 wrong usage, 3 conflict; with --json, `.status` on standard output."""
    table = lab.create(schema(_KINDS))

    def commit(directory: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [str(lab.deltafs.binary), "commit", str(directory), *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)

    with lab.staged("exit codes", table) as t:
        t.begin()
        directory = t.stage(rows(0, 3, _KINDS))
        stale = t.stage(rows(10, 3, _KINDS))
        for arguments in (["--option", "mod=append"], ["--mode", "replace"], ["--option", "mode"]):
            done = commit(directory, *arguments)
            lab.report.check(done.returncode == 2, t.name, f"{arguments}: exit code {done.returncode}: {done.stderr}")
        done = commit(directory, "--json", "--option", "userMetadata=hi there")
        status = json.loads(done.stdout or "{}")
        lab.report.check(done.returncode == 0 and status.get("version") == 1, t.name, f"{done}")
        done = commit(directory)
        lab.report.check(done.returncode == 0 and "version 1" in done.stdout, t.name, f"again: {done}")
        overwriting = t.stage(rows(20, 3, _KINDS))
        done = commit(overwriting, "--mode", "overwrite")
        lab.report.check(done.returncode == 0 and "version 2" in done.stdout, t.name, f"overwrite: {done}")
        done = commit(stale, "--mode", "overwrite", "--json")
        status = json.loads(done.stdout or "{}")
        name = (status.get("error") or {}).get("name", "")
        good = done.returncode == 3 and name.startswith("Concurrent") and name in done.stderr
        lab.report.check(good, t.name, f"a conflict: {done}")
        (stale / "notes.txt").write_text("x")
        done = commit(stale, "--mode", "append")
        lab.report.check(done.returncode == 1 and "notes.txt" in done.stderr, t.name, f"a failure: {done}")
        done = commit(t.mountpoint / "@staging" / "nothing")
        lab.report.check(done.returncode == 1 and "nothing" in done.stderr, t.name, f"no such directory: {done}")
        done = commit(t.table)
        lab.report.check(done.returncode == 1, t.name, f"a directory that is no transaction: {done}")
        lab.report.check(t.latest() == 2, t.name, f"made version {t.latest()}")


def full_disk(lab: Lab) -> None:
    """G23: a staging directory on another, small disk: ENOSPC at the write, the table untouched, and room again after rm."""
    table = lab.create(schema(_KINDS))
    small = lab.place()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(small)], capture_output=True, check=False
    )
    if done.returncode != 0:
        lab.report.skip("writes/full disk", f"no tmpfs can be mounted: {done.stderr.decode().strip()}")
        return
    try:
        with lab.staged("full disk", table, "--staging-dir", str(small)) as t:
            t.begin()
            t.append(rows(0, 20, _KINDS))
            directory = t.stage(rows(100, 20, _KINDS))
            _refused(lab, t.name, errno.ENOSPC, lambda: (directory / "y.parquet").write_bytes(b"x" * (5 << 20)))
            lab.report.check(t.latest() == 1, t.name, f"made version {t.latest()}")
            (directory / "y.parquet").unlink()
            answer = ways.fsync(directory, "")
            if lab.report.check(answer.errno == 0, t.name, f"without the large file: {answer}: {t.status(directory)}"):
                t.grew(2, rows(100, 20, _KINDS))
            lab.report.check(not (table / "_deltafs").exists(), t.name, "something was staged in the table")
            lab.check(t)
    finally:
        subprocess.run(["umount", "-l", str(small)], check=False, timeout=20)


def table_changes(lab: Lab) -> None:
    """The log is damaged, gone, or another table's when a batch is committed: an errno each, and it commits once mended."""
    table = lab.create(schema(_KINDS))
    other = lab.create(schema(_KINDS))
    log, aside = table / "_delta_log", table.with_name("aside")
    with lab.staged("table changes", table) as t:
        t.begin()
        t.append(rows(0, 20, _KINDS))
        directory = t.stage(rows(100, 20, _KINDS))

        def fails(what: str, number: int, marker: str = "") -> None:
            answer, status = ways.fsync(directory, marker), t.status(directory)
            told = status.get("error") or {}
            good = answer.errno == number == told.get("errno") and status["state"] == "failed"
            lab.report.check(good, f"{t.name}: {what}", f"{answer}, expected {errno.errorcode[number]}: {status}")

        (log / f"{2:020}.json").write_text("no JSON\n")
        fails("a commit file that is damaged", errno.EUCLEAN)
        (log / f"{2:020}.json").write_text("")
        fails("a commit file that is empty", errno.EUCLEAN)
        (log / f"{2:020}.json").unlink()
        log.rename(aside)
        fails("no log", errno.ENOENT)
        shutil.copytree(other / "_delta_log", log)
        fails("the log of another table", errno.ESTALE)
        shutil.rmtree(log)
        aside.rename(log)
        (log / f"{1:020}.json").rename(aside)
        fails("a log that lacks what was read", errno.EINVAL, '{"mode": "overwrite"}')
        aside.rename(log / f"{1:020}.json")
        answer = ways.fsync(directory, "")
        if lab.report.check(answer.errno == 0, t.name, f"mended: {answer}: {t.status(directory)}"):
            t.grew(t.latest(), rows(100, 20, _KINDS))
        lab.check(t)


CASES = {
    "failures": failures,
    "failing triggers": triggers,
    "no triggers": not_triggers,
    "unwritable": unwritable,
    "read-only": read_only,
    "exit codes": exit_codes,
    "full disk": full_disk,
    "table changes": table_changes,
}

"""A table that is mounted and written to: batches are staged, and what each version has to hold is remembered."""

from __future__ import annotations

import errno
import itertools
import json
import os
import shutil
import threading
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from . import ways
from .oracles import Refused
from .peers import Peer, questions
from .product import Deltafs, clear
from .replay import Log
from .report import Report, shorten
from .rows import arrow_type, as_delta, describe, row_differences

# A mount that holds a table up for longer is aborted, which makes whatever waits for it fail.
_PATIENCE = 120


class Wrong(Exception):
    """A table cannot be gone on with; the message says what was found and what was expected."""


class Staged:
    """`with Staged(...) as t:` mounts `table`; `t.check(peers)` compares every version with what was staged.

    `states` holds the rows of each version that this object knows. Failures go to `report`; `Wrong` is raised where going
    on would only repeat them.
    """

    def __init__(self, name: str, table: Path, deltafs: Deltafs, report: Report, scratch: Path, *options: str):
        self.name, self.table = f"writes/{name}", table
        self.mountpoint = scratch / "mnt"
        self.states: dict[int, pa.Table] = {}
        self.triggers = itertools.cycle(ways.triggers(deltafs.binary).items())
        self._deltafs, self._report, self._scratch, self._options = deltafs, report, scratch, options
        self._numbers = itertools.count(1)
        self._stack = ExitStack()

    def __enter__(self) -> Staged:
        self.daemon = self._stack.enter_context(
            self._deltafs.mount(self.table, self.mountpoint, self._scratch / "mount.log", *self._options)
        )
        timer = threading.Timer(_PATIENCE, lambda: clear(self.mountpoint, self.daemon))
        timer.daemon = True
        timer.start()
        self._stack.callback(timer.cancel)
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    # ---- versions --------------------------------------------------------------------------------------------------

    def latest(self) -> int:
        return Log(self.table).latest()

    def schema(self, version: int) -> dict[str, Any]:
        """The columns that readers see, void ones left out."""
        fields = (Log(self.table).snapshot(version).schema or {"fields": []})["fields"]
        return {"type": "struct", "fields": [f for f in fields if f["type"] != "void"]}

    def begin(self, rows: pa.Table | None = None) -> None:
        """Takes the newest version as it is: with these rows, or with none."""
        version = self.latest()
        empty = pa.table({}) if rows is None else rows
        self.states[version] = self.shaped(empty, self.schema(version))

    def now(self) -> pa.Table:
        """The rows of the newest version that is known."""
        return self.states[max(self.states)]

    def became(self, version: int, rows: pa.Table) -> None:
        """A version, by whoever made it, holds these rows."""
        self.states[version] = self.shaped(rows, self.schema(version))

    def grew(self, version: int, rows: pa.Table) -> None:
        """A version holds these rows besides those of the one before it."""
        before = self.states[version - 1]
        schema = self.schema(version)
        self.states[version] = pa.concat_tables([self.shaped(before, schema), self.shaped(rows, schema)])

    def shaped(self, rows: pa.Table, schema: dict[str, Any]) -> pa.Table:
        """The rows with the columns of a schema, null where they lack one."""
        for f in schema["fields"]:
            if f["name"] not in rows.column_names:
                nulls = pa.nulls(rows.num_rows, arrow_type(f["type"]))
                rows = rows.append_column(f["name"], nulls)
        return as_delta(schema, rows.select([f["name"] for f in schema["fields"]]))

    # ---- staging ---------------------------------------------------------------------------------------------------

    def append(
        self,
        rows: pa.Table,
        copy: ways.Copy = ways.cp,
        *,
        files: dict[str, pa.Table] | None = None,
        trigger: ways.Trigger | None = None,
        **options: Any,
    ) -> int:
        """Stages and commits rows by an append. `files` says how they are spread over files, one by default."""
        version = self.commit(rows, copy, files=files, trigger=trigger, options=options)
        self.grew(version, rows)
        return version

    def overwrite(
        self, rows: pa.Table, copy: ways.Copy = ways.cp, *, keeps: pa.Table | None = None, **options: Any
    ) -> int:
        """Stages and commits rows in place of all others, but for those that it `keeps`."""
        version = self.commit(rows, copy, options={"mode": "overwrite", **options})
        schema = self.schema(version)
        kept = [] if keeps is None else [self.shaped(keeps, schema)]
        self.states[version] = pa.concat_tables([*kept, self.shaped(rows, schema)])
        return version

    def commit(
        self,
        rows: pa.Table | None,
        copy: ways.Copy = ways.cp,
        *,
        files: dict[str, pa.Table] | None = None,
        trigger: ways.Trigger | None = None,
        options: dict[str, Any] | None = None,
        last: int | None = None,
    ) -> int:
        """Stages rows, commits, checks all that holds after it, and returns the version: one above `last`.

        Raises `Wrong` where nothing was committed.
        """
        directory = self.stage(rows, copy, files=files)
        last = self.latest() if last is None else last
        name, by = ("given", trigger) if trigger else next(self.triggers)
        what = f"{self.name}@v{last + 1} by {name}"
        answer = by(directory, json.dumps(options) if options else "")
        status = self.status(directory)
        if answer.errno or status.get("state") != "committed":
            reason = status.get("error", {}).get("message") or status
            raise Wrong(f"{what}: not committed: {answer}: {reason}")
        version = status["version"]
        if not self._report.check(version == last + 1, what, f"version {version} was committed, expected {last + 1}"):
            raise Wrong(f"{what}: cannot go on from another version")
        self._check_committed(directory, version, what)
        shutil.rmtree(directory)
        return version

    def stage(
        self, rows: pa.Table | None, copy: ways.Copy = ways.cp, *, files: dict[str, pa.Table] | None = None
    ) -> Path:
        """A new staging directory with these rows in it, or with nothing."""
        number = next(self._numbers)
        directory = self.mountpoint / "@staging" / f"b{number}"
        source = self._scratch / f"source-{number}"
        source.mkdir()
        if rows is None:
            directory.mkdir()
            return directory
        for path, content in (files or {"x.parquet": rows}).items():
            file = source / path
            file.parent.mkdir(parents=True, exist_ok=True)
            pq.write_table(content, file)
        copy(directory, source, rows)
        shutil.rmtree(source)
        return directory

    def status(self, directory: Path) -> dict[str, Any]:
        return json.loads((directory / ".status").read_text())

    def _check_committed(self, directory: Path, version: int, what: str) -> None:
        """What DESIGN promises of the moment in which fsync has returned."""
        check = self._report.check
        shown = sorted(os.listdir(self.mountpoint / f"@v{version}"))
        newest = sorted(os.listdir(self.mountpoint / "@latest"))
        check(shown == newest, what, f"@latest lists {shorten(newest)}, @v{version} {shorten(shown)}")
        again = ways.fsync_again(directory)
        check(again.errno == 0, what, f"a second fsync answers {again}")
        check(self.latest() == version, what, f"a second fsync made version {self.latest()}")
        try:
            (directory / "more.parquet").write_bytes(b"")
            check(False, what, "a file can be made in a transaction that was committed")
        except OSError as e:
            check(e.errno == errno.EROFS, what, f"a file is refused with {e}, expected EROFS")

    # ---- what readers see ------------------------------------------------------------------------------------------

    def check(self, peers: list[Peer], skip: dict[str, str] | None = None, *, filters: bool = True) -> int:
        """Every peer reads every version right, and loses nothing to data skipping in the newest one.

        `skip` names peers that cannot read the table, with an expression for their refusal, or with `!` and the reason why
        what they read is wrong. Returns the number of reads.
        """
        skip, reads = skip or {}, 0
        newest = max(self.states)
        for version, wanted in sorted(self.states.items()):
            schema = self.schema(version)
            for peer in peers:
                what = f"{self.name}@v{version}: {peer.name}"
                reads += self._check_peer(peer, version, schema, wanted, what, skip.get(peer.name))
            reads += self._check_mount(version, schema, wanted)
        asked = questions(self.states[newest])
        for peer in peers if filters else []:
            if peer.name not in skip:
                reads += self._check_questions(peer, newest, asked)
        return reads

    def _check_peer(
        self, peer: Peer, version: int, schema: dict[str, Any], wanted: pa.Table, what: str, excuse: str | None
    ) -> int:
        if excuse is not None or not peer.can_read(self.table, version):
            return 0
        try:
            got = peer.rows(self.table, version)
        except Refused as e:
            self._report.fail(what, f"refused: {e}")
            return 1
        problems = _types(schema, got.schema)
        if peer.rounds:
            wanted, got = _rounded(wanted), _rounded(got)
        problems = problems or row_differences(schema, wanted, got)
        self._report.check(not problems, what, "; ".join(problems)[:1500])
        return 1

    def _check_mount(self, version: int, schema: dict[str, Any], wanted: pa.Table) -> int:
        directory = self.mountpoint / f"@v{version}"
        files = sorted(directory.iterdir())
        what = f"{self.name}@v{version}: mount"
        if not files:
            self._report.check(wanted.num_rows == 0, what, f"no files, expected {wanted.num_rows} rows")
            return 1
        got = pa.concat_tables([pq.read_table(f, partitioning=None) for f in files], promote_options="permissive")
        problems = _types(schema, got.schema) or row_differences(schema, wanted, got)
        self._report.check(not problems, what, "; ".join(problems)[:1500])
        return 1

    def _check_questions(self, peer: Peer, version: int, asked: list[Any]) -> int:
        what = f"{self.name}@v{version}: filters of {peer.name}"
        try:
            counts = peer.counts(self.table, version, asked)
        except Refused as e:
            self._report.fail(what, f"refused: {e}")
            return 1
        wrong = [f"{q} keeps {n} rows, expected {q.kept}" for q, n in zip(asked, counts, strict=True) if n != q.kept]
        self._report.check(not wrong, what, shorten(wrong, 5))
        return len(asked)


def _rounded(rows: pa.Table) -> pa.Table:
    """Doubles and decimals at the top, to 14 digits."""
    for i, f in enumerate(rows.schema):
        texts = [None if v is None else f"{v:.13e}" for v in rows.column(i).to_pylist()] if _is_rounded(f.type) else []
        if pa.types.is_float64(f.type):
            rows = rows.set_column(i, f.name, pa.array([None if t is None else float(t) for t in texts], f.type))
        elif pa.types.is_decimal(f.type):
            rows = rows.set_column(i, f.name, pa.array(texts, pa.string()))
    return rows


def _is_rounded(t: pa.DataType) -> bool:
    return pa.types.is_float64(t) or pa.types.is_decimal(t)


def _types(schema: dict[str, Any], got: pa.Schema) -> list[str]:
    """As `rows.type_differences`, whatever the order of columns: readers put partition columns last."""
    wanted = {f["name"]: describe(arrow_type(f["type"]), maps=False) for f in schema["fields"]}
    have = {f.name: describe(f.type, maps=False) for f in got if f.name in wanted or not pa.types.is_null(f.type)}
    if sorted(wanted) != sorted(have):
        return [f"columns {list(have)}, expected {list(wanted)}"]
    return [f"column {n!r} is {have[n]}, expected {t}" for n, t in wanted.items() if have[n] != t]

"""What the cases of `writes` work with: a place for tables, the program under test, and the peers that read after it."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from make_tables_lib.handmade import Action, Handmade

from .peers import Peer, Sail
from .product import Deltafs
from .replay import Log
from .report import Report
from .staged import Staged


class Lab:
    """Makes tables below `work`, each in a directory of its own."""

    def __init__(self, deltafs: Deltafs, report: Report, peers: list[Peer], work: Path):
        self.deltafs, self.report, self.peers, self.work = deltafs, report, peers, work
        self.reads = 0

    @property
    def sail(self) -> Sail | None:
        """Sail, where it takes part."""
        return next((p for p in self.peers if isinstance(p, Sail)), None)

    def place(self) -> Path:
        """A new directory."""
        return Path(os.path.realpath(tempfile.mkdtemp(prefix="w-", dir=self.work)))

    def create(
        self,
        columns: dict[str, Any] | pa.Table,
        *,
        partition_by: Iterable[str] = (),
        properties: dict[str, str] | None = None,
    ) -> Path:
        """A table made by `deltafs create`: from a schema as the log has it, or like a Parquet file with these rows."""
        place = self.place()
        arguments = ["create", str(place / "table")]
        if isinstance(columns, pa.Table):
            pq.write_table(columns, place / "like.parquet")
            arguments += ["--from", str(place / "like.parquet")]
        else:
            (place / "schema.json").write_text(json.dumps(columns))
            arguments += ["--schema", str(place / "schema.json")]
        if names := ",".join(partition_by):
            arguments += ["--partition-by", names]
        for key, value in (properties or {}).items():
            arguments += ["--property", f"{key}={value}"]
        self.deltafs.run(*arguments)
        return place / "table"

    def handmade(self) -> Handmade:
        """A table that is written by hand, without a version yet."""
        return Handmade(self.place() / "table")

    def staged(self, name: str, table: Path, *options: str) -> Staged:
        """The table, to be mounted."""
        return Staged(name, table, self.deltafs, self.report, self.place(), *options)

    def check(self, t: Staged, skip: dict[str, str] | None = None) -> None:
        """Every version that `t` knows, by every peer."""
        self.reads += t.check(self.peers, skip)


def actions(table: Path, version: int, kind: str) -> list[Action]:
    """The actions of one kind in a commit file."""
    return [body for k, body in Log(table).actions(version) if k == kind]


def run_in(directory: Path, text: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """A shell script, whatever comes of it."""
    command = ["bash", "-uc", text, "script", *map(str, arguments)]
    return subprocess.run(command, cwd=directory, capture_output=True, text=True, timeout=60, check=False)

"""The tables that are compared: where they lie, and which of them must be refused.

Two sources: a corpus of tables written by Spark (a directory outside the repository, which may be absent), and the
tables that `make_tables.py` makes. Both are used as copies in a temporary directory, because commit files get
modification times there: git and cp keep none, and time travel depends on them.
"""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from make_tables_lib.handmade import expectations

# 2024-01-15T00:00:00Z. Commit N is written N hours later, except the fourth, whose file time runs backwards, as file
# times do after a copy or a clock step; "adjusted" commit times must still increase.
FIRST_COMMIT_MS = 1_705_276_800_000
HOUR_MS = 3_600_000
BACKWARDS = 3

# Tables of the corpus that no reader may present, with what the reason has to speak of (a regular expression).
REFUSED = {
    "deltalog-invalid-protocol-version": r"(?i)reader.*\b99\b|\b99\b.*reader",
    "deltalog-state-reconstruction-from-checkpoint-missing-metadata": r"(?i)meta ?data",
    "deltalog-state-reconstruction-without-protocol": r"(?i)protocol",
    "versions-not-contiguous": r"(?i)gap|missing|contiguous|\bversion 1\b",
    # Its log never had a metaData action.
    "data-reader-absolute-paths-escaped-chars": r"(?i)meta ?data",
}
REFUSED_PREFIXES = ("deltalog-invalid", "deltalog-state-reconstruction", "versions-not-contiguous")

# Old test logs whose metaData action lacks the required `schemaString`: Delta on Spark lists their files, delta-kernel
# refuses them. Either is right, a third answer is not.
NO_SCHEMA = {"update-deleted-directory": r"(?i)schema"}


@dataclass(frozen=True)
class Case:
    """One table. `refused` is the expression its refusal has to match; `may_refuse` one for a refusal that is also
    right. With `kernel_accepts`, delta-kernel is known to open a table that we refuse. `expected_rows` are Parquet files
    of the newest version, `stated_rows` the directory of `VERSION.arrow` files that a recipe wrote."""

    name: str
    path: Path
    refused: str | None = None
    may_refuse: str | None = None
    kernel_accepts: bool = False
    expected_rows: Path | None = None
    stated_rows: Path | None = None

    def states(self, version: int) -> Path | None:
        """The file with the rows that the recipe states for a version, if it does."""
        if self.stated_rows is None:
            return None
        path = self.stated_rows / f"{version}.arrow"
        return path if path.is_file() else None


def corpus(source: Path, copies: Path) -> list[Case]:
    """The tables of the corpus, copied under `copies`."""
    cases = []
    for group in ("golden", "other"):
        for entry in sorted((source / group).iterdir()) if (source / group).is_dir() else []:
            table = entry / "delta" if (entry / "delta").is_dir() else entry
            copy = copies / entry.name
            shutil.copytree(table, copy)
            _make_writable(copy)
            set_commit_times(copy)
            refused = REFUSED.get(entry.name)
            if refused is None and entry.name.startswith(REFUSED_PREFIXES):
                refused = r"\w{3}"
            expected = entry / "expected"
            rows = expected if expected.is_dir() else None
            cases.append(Case(entry.name, copy, refused, NO_SCHEMA.get(entry.name), expected_rows=rows))
    return cases


def made(directory: Path) -> list[Case]:
    """The tables that `make_tables.py` put under `directory`, by its manifest."""
    cases = []
    for entry in json.loads((directory / "tables.json").read_text()):
        table = directory / entry["name"]
        if not entry["keeps_times"]:
            set_commit_times(table)
        stated = expectations(table)
        cases.append(
            Case(
                f"made/{entry['name']}",
                table,
                entry["refused"],
                kernel_accepts=entry["kernel_accepts"],
                stated_rows=stated if stated.is_dir() else None,
            )
        )
    return cases


def set_commit_times(table: Path) -> None:
    """Gives every commit file the modification time that the checks of time travel count on."""
    for file in sorted((table / "_delta_log").glob("*.json")):
        stem = file.name.removesuffix(".json")
        if len(stem) == 20 and stem.isdigit():
            version = int(stem)
            hours = version - 2 if version == BACKWARDS else version
            ns = (FIRST_COMMIT_MS + hours * HOUR_MS) * 1_000_000
            os.utime(file, ns=(ns, ns))


def _make_writable(tree: Path) -> None:
    for root, dirs, files in os.walk(tree):
        for name in [".", *dirs, *files]:
            path = os.path.join(root, name)
            os.chmod(path, os.stat(path).st_mode | 0o200)

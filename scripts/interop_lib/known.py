"""Bugs of deltafs that checks show and that are not mended yet. A bug that no longer shows has to leave the list."""

from __future__ import annotations

import fnmatch
import re
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Known:
    """`table` is the pattern of the tables that show the bug, `failure` an expression that the failure matches."""

    table: str
    failure: str
    bug: str
    seen: list[str] = field(default_factory=list)

    def shows(self, what: str, why: str) -> bool:
        """Whether a failed check is this bug. `what` begins with the name of the table."""
        table = re.split(r"@v|/@|: ", what)[0]
        return fnmatch.fnmatchcase(table, self.table) and bool(re.search(self.failure, f"{what}: {why}"))

    def concerns(self, tables: list[str]) -> bool:
        """Whether one of the tables can show the bug."""
        return any(fnmatch.fnmatchcase(t, self.table) for t in tables)


KNOWN: list[Known] = []

"""Counting of checks, and what the person at the terminal sees of them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field

from .known import KNOWN

_SHOWN = 30


@dataclass
class Report:
    """Every check ends in exactly one of `ok`, `fail` and `skip`. Failures are printed when they happen."""

    passed: int = 0
    failed: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)

    def ok(self, count: int = 1) -> None:
        self.passed += count

    def fail(self, what: str, why: str) -> None:
        """A failure, unless it is a known bug, which counts as skipped."""
        if known := next((k for k in KNOWN if k.shows(what, why)), None):
            known.seen.append(what)
            self.skip(what, f"known bug: {known.bug}")
            return
        line = f"{what}: {why}"
        self.failed.append(line)
        print(f"FAIL  {line}", flush=True)

    def expect_known(self, tables: Sequence[str]) -> None:
        """Fails for each known bug that none of these tables, all checked, has shown."""
        for known in KNOWN:
            if known.concerns(list(tables)) and not known.seen:
                self.fail(
                    known.table, f"no longer shows that {known.bug}: take it off the list in interop_lib/known.py"
                )

    def skip(self, what: str, why: str) -> None:
        line = f"{what}: {why}"
        self.skipped.append(line)
        print(f"SKIP  {line}", flush=True)

    def check(self, good: bool, what: str, why: str) -> bool:
        """Counts a pass when `good`, else a failure that says `why`."""
        if good:
            self.ok()
        else:
            self.fail(what, why)
        return good

    def summary(self) -> int:
        """Prints the totals, alone on the last line, and returns the exit code."""
        if self.failed:
            shown = self.failed[:_SHOWN]
            rest = [f"  and {len(self.failed) - _SHOWN} more, above"] if len(self.failed) > _SHOWN else []
            print(f"\n{len(self.failed)} failures:", *(f"  {f}" for f in shown), *rest, sep="\n")
        print(f"{self.passed} passed, {len(self.failed)} failed, {len(self.skipped)} skipped")
        sys.stdout.flush()
        return 1 if self.failed else 0


def table(headers: list[str], rows: list[list[object]]) -> None:
    """Prints rows under headers in columns as wide as needed; numbers stand to the right."""
    cells = [[str(c) for c in row] for row in rows]
    widths = [max(len(h), *(len(r[i]) for r in cells)) if cells else len(h) for i, h in enumerate(headers)]
    numeric = [bool(rows) and all(isinstance(r[i], (int, float)) for r in rows) for i in range(len(headers))]

    def line(values: list[str]) -> str:
        return "  ".join(v.rjust(w) if n else v.ljust(w) for v, w, n in zip(values, widths, numeric)).rstrip()

    print(line(headers))
    print("  ".join("-" * w for w in widths))
    for row in cells:
        print(line(row))


def shorten(items: Sequence[object], limit: int = 3) -> str:
    """The first few of a list as text, with the number of the rest."""
    text = ", ".join(str(i) for i in items[:limit])
    return text if len(items) <= limit else f"{text} and {len(items) - limit} more"

"""What a mount shows to plain system calls: its tree, the names of its versions, the bytes of its files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from .golden import iso
from .product import Deltafs, Failed, clear
from .replay import Log, decode_path
from .report import Report, shorten
from .tables import Case
from .truth import Version

_PROBE_TIMEOUT = 60
# How many files a child decodes within that time.
_FILES_AT_ONCE = 20


class MountTrouble(Exception):
    """The mount did not answer in time and was aborted, or answered with an error where it should not."""


class Probe:
    """Looks at one mount through children (`interop_lib.probe`), so that a hang ends in `MountTrouble`."""

    def __init__(self, mountpoint: Path, daemon: subprocess.Popen[bytes]):
        self._mountpoint, self._daemon = mountpoint, daemon

    def __call__(self, function: str, *arguments: object) -> Any:
        command = [sys.executable, "-m", "interop_lib.probe", function]
        child = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        try:
            out, err = child.communicate(json.dumps([self._mountpoint.as_posix(), *arguments]), timeout=_PROBE_TIMEOUT)
        except subprocess.TimeoutExpired:
            clear(self._mountpoint, self._daemon)  # before the kill: a process inside a request cannot die
            child.kill()
            raise MountTrouble(f"{function} took more than {_PROBE_TIMEOUT} s") from None
        if child.returncode != 0:
            raise MountTrouble(f"{function} failed: {err.strip().splitlines()[-1:]}")
        return json.loads(out)


def check_refused(case: Case, deltafs: Deltafs, report: Report, mountpoint: Path, log: Path) -> None:
    """A table that must be refused does not mount, or mounts and then does not show its newest version."""
    what = f"{case.name}: mount"
    try:
        with deltafs.mount(case.path, mountpoint, log, "--read-only") as daemon:
            shown = Probe(mountpoint, daemon)("try_listing", "@latest")
            report.check(
                shown is None, what, f"shows a newest version that must be refused, with {shorten(shown or [])}"
            )
    except Failed as e:
        report.check(e.code == 1, what, f"exit code {e.code}, expected 1: {e.stderr.strip()[-300:]}")
    except MountTrouble as e:
        report.fail(what, str(e))


def check_tree(case: Case, versions: dict[int, Version], probe: Probe, report: Report) -> None:
    """The root lists the versions that can be rebuilt, and each shows the files that `deltafs files` names."""
    root = probe("listing", "")
    wanted = [f"@v{v}" for v in versions]
    missing = [n for n in ["@latest", *wanted] if n not in root]
    report.check(not missing, f"{case.name}: ls", f"the root lacks {shorten(missing)}; it has {shorten(root, 8)}")
    extra = [n for n in root if n.startswith("@v") and n not in wanted]
    report.check(not extra, f"{case.name}: ls", f"the root lists versions that cannot be rebuilt: {shorten(extra)}")
    newest = f"@v{max(versions)}"
    trees = probe("trees", "@latest", *wanted)
    for version, entry in versions.items():
        names = {f["name"] for f in entry.listed}
        # Whether a file without live rows stands in a directory makes no difference to the rows.
        optional = {f["name"] for f in entry.listed if without_rows(f)}
        shown = set(trees[f"@v{version}"])
        text = f"lacks {shorten(sorted(names - optional - shown))}, has besides {shorten(sorted(shown - names))}"
        report.check(names - optional <= shown <= names, f"{case.name}@v{version}: ls", text)
    report.check(sorted(trees["@latest"]) == sorted(trees[newest]), f"{case.name}@latest: ls", f"differs from {newest}")


def check_names(case: Case, versions: dict[int, Version], probe: Probe, report: Report) -> None:
    """Other spellings of a version and times are links to it; what does not exist does not."""
    newest = max(versions)
    wanted: dict[str, str | None] = {
        f"@v0{newest}": f"@v{newest}",
        f"@V{newest}": f"@v{newest}",
        f"@v{newest + 1}": None,
    }
    times = {v: t for v, t in Log(case.path).timestamps().items() if v in versions}
    for version, time in times.items():
        wanted[f"@{iso(time)}"] = f"@v{version}"
        wanted[f"@{iso(time).replace(':', '-')}"] = f"@v{version}"
    if times:
        wanted[f"@{iso(min(times.values()) - 1)}"] = None
        wanted["@2999-01-01"] = None
    targets = probe("links", *wanted)
    wrong = [f"{n} leads to {targets[n]}, expected {w or 'ENOENT'}" for n, w in wanted.items() if targets[n] != w]
    report.ok(len(wanted) - len(wrong))
    if wrong:
        report.fail(f"{case.name}: names of versions", shorten(wrong))


def check_bytes(case: Case, versions: dict[int, Version], probe: Probe, report: Report, *, raw: bool = False) -> None:
    """Identity files are the data files byte for byte; what is not presentable, or is gone, does not open."""
    pairs, closed = [], []
    for version, entry in versions.items():
        for f in entry.listed:
            if without_rows(f) and not raw:
                continue
            data = os.path.join(case.path, decode_path(f["path"]) if f["path"].startswith("file:") else f["path"])
            shown = f"@v{version}/{f['name']}"
            if f["reason"] is not None or not os.path.exists(data):
                closed.append(shown)
            elif raw or f["class"] == "identity":
                pairs.append([shown, data, f["size"]])
    view = "raw bytes" if raw else "bytes"
    if pairs:
        wrong = probe("compare", pairs)
        report.check(not wrong, f"{case.name}: {view}", shorten(wrong))
    if closed:
        opened = probe("openable", closed)
        text = f"opens although it cannot be presented or is gone: {shorten(opened)}"
        report.check(not opened, f"{case.name}: refusal", text)


def check_strictly(case: Case, versions: dict[int, Version], probe: Probe, report: Report, layout: str) -> None:
    """All that a file says of itself is what it holds; each file once, since a name has one content for ever."""
    files: dict[str, list[Any]] = {}
    for version, entry in versions.items():
        for f in entry.listed:
            data = os.path.join(case.path, decode_path(f["path"]) if f["path"].startswith("file:") else f["path"])
            if f["reason"] is None and not without_rows(f) and os.path.exists(data):
                files.setdefault(f["name"], [f"@v{version}/{f['name']}", f["class"] != "identity"])
    left = list(files.values())
    while left:
        some, left = left[:_FILES_AT_ONCE], left[_FILES_AT_ONCE:]
        wrong = probe("strict", some)
        report.ok(len(some))
        if wrong:
            report.fail(f"{case.name}: files ({layout})", shorten(wrong))


def without_rows(f: dict[str, Any]) -> bool:
    """Whether every row of a listed file is deleted, or it never had one."""
    dv = f["deletionVector"] or {}
    return f["numRecords"] is not None and (dv.get("cardinality") or 0) >= f["numRecords"]

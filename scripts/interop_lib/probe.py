"""Child process that looks at a mount with plain system calls: `python -m interop_lib.probe FUNCTION`.

Arguments come as a JSON list on stdin, the mount point first; one JSON value goes to stdout. A process of its own,
because a system call on a dead mount cannot be interrupted.
"""

from __future__ import annotations

import filecmp
import json
import os
import sys
from typing import Any


def listing(root: str, directory: str) -> list[str]:
    return os.listdir(os.path.join(root, directory))


def try_listing(root: str, directory: str) -> list[str] | None:
    """The names in a directory, None when it does not exist or cannot be listed."""
    try:
        return listing(root, directory)
    except OSError:
        return None


def trees(root: str, *directories: str) -> dict[str, list[str]]:
    """Every file below each directory, by its path from there."""
    out: dict[str, list[str]] = {}
    for directory in directories:
        top = os.path.join(root, directory)
        out[directory] = [
            os.path.relpath(os.path.join(where, name), top)
            for where, _, names in os.walk(top, onerror=_raise)
            for name in names
        ]
    return out


def _raise(error: OSError) -> None:
    raise error


def links(root: str, *names: str) -> dict[str, str | None]:
    """Where each symbolic link leads; None for a name that does not exist, `(directory)` for one that is no link."""
    out: dict[str, str | None] = {}
    for name in names:
        path = os.path.join(root, name)
        if not os.path.lexists(path):
            out[name] = None
        else:
            out[name] = os.readlink(path) if os.path.islink(path) else "(directory)"
    return out


def compare(root: str, pairs: list[tuple[str, str, int]]) -> list[str]:
    """What is wrong with each (shown name, data file, size): another size or other bytes."""
    out = []
    for shown, data, size in pairs:
        mounted = os.path.join(root, shown)
        try:
            if os.stat(mounted).st_size != size:
                out.append(f"{shown} has {os.stat(mounted).st_size} bytes, the log says {size}")
            elif not filecmp.cmp(mounted, data, shallow=False):
                out.append(f"{shown} is not {data} byte for byte")
        except OSError as e:
            out.append(f"{shown}: {e.strerror}")
    return out


def strict(root: str, files: list[tuple[str, bool]]) -> list[str]:
    """What is wrong with each (shown name, whether it was put together) by all that it says of itself."""
    from .strict import check

    return [
        f"{shown}: {text}" for shown, made in files for text in check(os.path.join(root, shown), presented=made)[:5]
    ]


def openable(root: str, names: list[str]) -> list[str]:
    """Those of the names that can be opened and read from."""
    out = []
    for name in names:
        try:
            with open(os.path.join(root, name), "rb") as f:
                f.read(1)
        except OSError:
            continue
        out.append(name)
    return out


def main() -> None:
    functions: dict[str, Any] = {f.__name__: f for f in (listing, try_listing, trees, links, compare, strict, openable)}
    print(json.dumps(functions[sys.argv[1]](*json.load(sys.stdin))))


if __name__ == "__main__":
    main()

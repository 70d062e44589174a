#!/usr/bin/env python3
"""Makes Delta tables that between them use every part of a log that deltafs reads.

    scripts/make_tables.py DIR [PATTERN]

DIR must not exist. Each table becomes a directory of it; `DIR/tables.json` lists them with what is expected of each.
Some are written by delta-rs; those that delta-rs cannot write are written by hand, from PROTOCOL.md, as Parquet
files and commit files. Needs the packages of scripts/requirements.txt.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from make_tables_lib import registry  # noqa: E402


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path, metavar="DIR")
    parser.add_argument("pattern", nargs="?", default="*", metavar="PATTERN")
    args = parser.parse_args()
    try:
        args.directory.mkdir(parents=True)
    except FileExistsError:
        print(f"error: {args.directory} exists already; name a directory that does not", file=sys.stderr)
        return 2
    directory = Path(os.path.realpath(args.directory))
    made = []
    for recipe in registry.recipes():
        if fnmatch.fnmatch(recipe.name, args.pattern):
            recipe.make(directory / recipe.name)
            made.append(recipe.manifest())
    (directory / "tables.json").write_text(json.dumps(made, indent=1) + "\n")
    print(f"{len(made)} tables in {directory}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Makes src/parquet/calendar/zones.txt: how instants before 1900 move out of the old calendar of Spark.

    scripts/old_zones.py SPARK_JARS > src/parquet/calendar/zones.txt

SPARK_JARS is the directory `jars` of a Spark. One of these says for each time zone from which instant on what has to be
added, in seconds. All zones share the steps of the calendar itself, moved by the offset that Java takes for all time
before 1900; a line of zones.txt has what is left: `OFFSET FIRST [FROM=DIFFERENCE]... | NAMES`.
"""

from __future__ import annotations

import json
import sys
import zipfile
from collections import defaultdict
from pathlib import Path

_RESOURCE = "julian-gregorian-rebase-micros.json"
# 1900-01-01T00:00:00Z, from which on nothing is added anywhere.
_SAME = -2_208_988_800
# Java's names of three letters, by java.time.ZoneId.SHORT_IDS.
_SHORT = """
ACT=Australia/Darwin AET=Australia/Sydney AGT=America/Argentina/Buenos_Aires ART=Africa/Cairo AST=America/Anchorage
BET=America/Sao_Paulo BST=Asia/Dhaka CAT=Africa/Harare CNT=America/St_Johns CST=America/Chicago CTT=Asia/Shanghai
EAT=Africa/Addis_Ababa ECT=Europe/Paris IET=America/Indiana/Indianapolis IST=Asia/Kolkata JST=Asia/Tokyo
MIT=Pacific/Apia NET=Asia/Yerevan NST=Pacific/Auckland PLT=Asia/Karachi PNT=America/Phoenix PRT=America/Puerto_Rico
PST=America/Los_Angeles SST=Pacific/Guadalcanal VST=Asia/Ho_Chi_Minh
"""
# What the table lacks, by Java itself: offset, and what local mean time was behind it.
_MORE = {"EST": (-18_000, 0), "MST": (-25_200, 0), "HST": (-36_000, 0), "America/Ciudad_Juarez": (-25_200, 356)}


def main() -> int:
    records = _records(Path(sys.argv[1]))
    zones = {r["tz"]: list(zip(r["switches"], r["diffs"], strict=True)) for r in records}
    common = zones["UTC"]
    lines: dict[str, list[str]] = defaultdict(list)
    for name, steps in zones.items():
        offset, first = common[0][0] - steps[0][0], steps[0][1] - common[0][1]
        for (at, difference), (utc_at, utc_difference) in zip(steps, common):
            assert (at, difference) == (utc_at - offset, utc_difference + first), f"{name} has steps of its own"
        rest = [f"{at}={difference}" for at, difference in steps[len(common) :] if at != _SAME]
        assert steps[-1][1] == 0 and steps[-1][0] <= _SAME, f"{name} differs after 1900"
        lines[" ".join([str(offset), str(first), *rest])].append(name)
    for name, (offset, first) in _MORE.items():
        lines[f"{offset} {first}"].append(name)
    for pair in _SHORT.split():
        short, name = pair.split("=")
        next(names for names in lines.values() if name in names).append(short)
    for what, names in sorted(lines.items(), key=lambda item: item[1][0]):
        print(f"{what} | {' '.join(names)}")
    return 0


def _records(jars: Path) -> list[dict]:
    for jar in sorted(jars.glob("spark-*.jar")):
        with zipfile.ZipFile(jar) as archive:
            if _RESOURCE in archive.namelist():
                return json.loads(archive.read(_RESOURCE))
    raise SystemExit(f"error: no spark-*.jar in {jars} has {_RESOURCE}: name the directory `jars` of a Spark")


if __name__ == "__main__":
    sys.exit(main())

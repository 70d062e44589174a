"""Dates and times in the calendar that Spark used before 3.0, as Spark writes them today when it is told to.

Spark writes files in the old calendar in several time zones, which it notes in them. They become a Delta table, and
what the mount shows of them has to be what Spark reads from the files themselves.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from make_tables_lib.handmade import Handmade, field

from .children import JobFailed, ask
from .environments import SPARK
from .mounted import MountTrouble
from .product import Deltafs, Failed
from .readers import unmount
from .report import Report
from .rows import row_differences
from .tables import Case

NAME = "calendars of Spark"
# Zones whose local mean time and standard offset differ by minutes, by an hour, by a day, and several times; offsets
# that java.util.TimeZone knows and that it does not.
_ZONES = [
    "UTC",
    "America/Los_Angeles",
    "Europe/Amsterdam",
    "Asia/Kolkata",
    "Asia/Shanghai",
    "Asia/Manila",
    "Africa/Monrovia",
    "America/Juneau",
    "Pacific/Apia",
    "Australia/Broken_Hill",
    "PST",
    "EST",
    "America/Ciudad_Juarez",
    "GMT+5:30",
    "+05:30",
    "UTC+8",
]
_KINDS = ["TIMESTAMP_MICROS", "TIMESTAMP_MILLIS", "INT96"]
_LEGACY = {
    "spark.sql.parquet.datetimeRebaseModeInWrite": "LEGACY",
    "spark.sql.parquet.int96RebaseModeInWrite": "LEGACY",
}
_FIELDS = [field("n", "long"), field("zone", "string"), field("at", "timestamp"), field("day", "date")]
# Around these instants a zone or the calendar changes its difference to today's: 0001, 0100, 0200, 0500, 1400, 1500,
# 1582, 1845, 1883, 1892, 1900. Before the year 1 of the zone Spark asks Java, whose answers depend on its age.
_CENTRES = [
    -62_135_337_600,
    -59_006_448_000,
    -55_850_688_000,
    -46_383_408_000,
    -17_981_568_000,
    -14_825_808_000,
    -12_219_292_800,
    -3_944_620_800,
    -2_717_640_000,
    -2_450_995_200,
    -2_208_988_800,
]
_STEP = 7_193  # seconds: no divisor of an hour


def run(deltafs: Deltafs, report: Report, scratch: Path) -> int:
    """Makes the table, and compares. Returns the number of comparisons."""
    try:
        return _run(deltafs, report, scratch)
    except (JobFailed, Failed, MountTrouble, OSError, subprocess.SubprocessError) as e:
        report.fail(NAME, f"{type(e).__name__}: {e}")
        return 0


def _run(deltafs: Deltafs, report: Report, scratch: Path) -> int:
    source = scratch / "source"
    source.mkdir()
    moments = sorted((s + i * _STEP) * 1_000_000 + 123_456 for s in _CENTRES for i in range(-11, 200))
    pq.write_table(pa.table({"n": pa.array(moments, pa.int64())}), source / "x.parquet")
    table = Handmade(scratch / "table")
    table.commit(table.protocol(), table.metadata(_FIELDS))
    adds, shown = [], []
    for i, zone in enumerate(_ZONES):
        for kind in _KINDS if i < 3 else _KINDS[:1]:
            directory = table.root / f"{i}-{kind}"
            settings = _LEGACY | {
                "spark.sql.parquet.outputTimestampType": kind,
                "spark.sql.session.timeZone": zone,
            }
            day = "date_from_unix_date(cast(floor(n / 86400000000) as int)) day"
            select = ["n", f"'{zone}' zone", "timestamp_micros(n) at", day]
            ask(
                SPARK,
                "write",
                scratch,
                source=str(source),
                path=str(directory),
                files=1,
                settings=settings,
                select=select,
            )
            (file,) = directory.glob("*.parquet")
            add = {"path": f"{directory.name}/{file.name}", "partitionValues": {}, "size": file.stat().st_size}
            adds.append({"add": add | {"modificationTime": 1, "dataChange": True}})
            shown.append((zone, kind, file, ask(SPARK, "read", scratch, path=str(file))))
    table.commit(*adds)
    return _compare(Case(NAME, table.root), shown, deltafs, report, scratch)


def _compare(
    case: Case, shown: list[tuple[str, str, Path, pa.Table]], deltafs: Deltafs, report: Report, scratch: Path
) -> int:
    schema = {"type": "struct", "fields": _FIELDS}
    mountpoint, log = scratch / "mnt", scratch / "mount.log"
    with deltafs.mount(case.path, mountpoint, log, "--read-only") as daemon:
        files = {f["path"]: f["name"] for f in deltafs.files(f"{case.path}@v1")}
        for zone, kind, file, wanted in shown:
            name = files[str(file.relative_to(case.path))]
            what = f"{NAME}: {zone}, {kind}"
            written, read = wanted["n"].to_pylist(), wanted["at"].cast(pa.int64()).to_pylist()
            moved = sum(abs(a - b) >= 1_000 for a, b in zip(written, read, strict=True))
            report.check(moved < len(wanted) / 2, what, f"Spark itself shows {moved} other times than it wrote")
            got = ds.dataset(mountpoint / "@v1" / name, format="parquet").to_table()
            report.check(not (wrong := row_differences(schema, wanted, got)), what, "; ".join(wrong)[:600])
        wanted = pa.concat_tables([w for _, _, _, w in shown])
        got = ask(SPARK, "read", scratch, path=str(mountpoint / "@latest"))
        report.check(not (wrong := row_differences(schema, wanted, got)), f"{NAME}: all", "; ".join(wrong)[:600])
        unmount(case, deltafs, report, mountpoint, daemon, log)
    return len(shown) + 1

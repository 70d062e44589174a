"""Overwrites of every kind, compaction, rewrites, schema changes, and batches that are numbered."""

from __future__ import annotations

import json
import shutil

import pyarrow as pa
import pyarrow.compute as pc

from . import ways
from .lab import Lab, actions
from .writes_features import refused
from .writes_rows import rows, schema

_KINDS = {"id": "long", "s": "string", "x": "double"}


def overwrites(lab: Lab) -> None:
    """The whole table, the partitions that `replaceWhere` tells, the partitions of the staged rows."""
    table = lab.create(schema({**_KINDS, "day": "date", "n": "integer"}), partition_by=["day", "n"])

    def batch(first: int, days: list[int | None], n: int | None = 1) -> pa.Table:
        part = rows(first, len(days), _KINDS)
        part = part.append_column("day", pa.array(days, pa.int32()).cast(pa.date32()))
        return part.append_column("n", pa.array([n] * len(days), pa.int32()))

    with lab.staged("overwrites", table) as t:
        t.begin()
        t.append(batch(0, [19000, 19001, 19001, None]))
        t.append(batch(10, [19000, 19002], 2))
        left = t.now().filter(pc.or_kleene(pc.not_equal(_days(t.now()), 19001), pc.is_null(t.now()["day"])))
        t.overwrite(batch(20, [19001, 19001, 19001]), keeps=left, replaceWhere="day = '2022-01-09'")
        one = t.now().filter(pc.fill_null(pc.not_equal(t.now()["n"], 2), True))
        t.overwrite(batch(30, [19000], 2), keeps=one, replaceWhere="n = 2 AND day >= DATE'2000-01-01'")
        # Only the partitions of the staged rows: (19000, 1) and (null, 1).
        keep = [
            not (r["n"] == 1 and (r["day"] is None or r["day"].toordinal() == _EPOCH + 19000))
            for r in t.now().to_pylist()
        ]
        t.overwrite(batch(40, [19000, None]), keeps=t.now().filter(pa.array(keep)), partitionOverwriteMode="dynamic")
        bad = refused(lab, t, "replaceWhere", batch(50, [19001]), 22, mode="overwrite", replaceWhere="n = 2")
        lab.report.check("n = 2" in bad["error"]["message"], t.name, f"the message does not tell: {bad}")
        refused(
            lab, t, "replaceWhere of a data column", batch(50, [19001]), 22, mode="overwrite", replaceWhere="id = 2"
        )
        t.overwrite(batch(60, [None, 19005]))
        t.overwrite(batch(70, []).slice(0, 0))
        lab.check(t)


_EPOCH = 719163  # of 1970-01-01, as Python counts days


def _days(table: pa.Table) -> pa.ChunkedArray:
    return table["day"].cast(pa.int32())


def rewrites(lab: Lab) -> None:
    """Compaction (`dataChange` false), a rewrite of some files, the removal of some; by the names that `ls` shows."""
    table = lab.create(schema(_KINDS))
    with lab.staged("rewrites", table) as t:
        t.begin()
        for first in (0, 10, 20):
            t.append(rows(first, 4, _KINDS))
        names = sorted(p.name for p in (t.mountpoint / "@latest").iterdir())
        refused(lab, t, "compaction that loses rows", t.now().slice(1), 22, remove=names, dataChange=False)
        refused(lab, t, "remove of what is not there", t.now(), 2, remove=["nothing.parquet"])
        version = t.commit(t.now(), options={"remove": names, "dataChange": False})
        t.became(version, t.now())
        for kind in ("add", "remove"):
            changes = {a["dataChange"] for a in actions(table, version, kind)}
            lab.report.check(changes == {False}, t.name, f"{kind} of a compaction with dataChange {changes}")
        for first in (30, 40):
            t.append(rows(first, 4, _KINDS))
        last = actions(table, t.latest(), "add")[0]["path"]
        version = t.commit(rows(50, 2, _KINDS), options={"remove": [last]})
        kept = t.now().filter(pc.less(t.now()["id"], 40))
        t.became(version, pa.concat_tables([kept, rows(50, 2, _KINDS)]))
        last = actions(table, version, "add")[0]["path"]
        version = t.commit(None, options={"remove": [last]})
        t.became(version, kept)
        lab.check(t)


def schemas(lab: Lab) -> None:
    """F8, F17: columns that only the files have, by `mergeSchema`; another schema, by `overwriteSchema`."""
    table = lab.create(schema(_KINDS))
    with lab.staged("schemas", table) as t:
        t.begin()
        t.append(rows(0, 4, _KINDS))
        more = {**_KINDS, "day": "date", "new": "integer"}
        unknown = refused(lab, t, "unknown column", rows(10, 4, more), 22, "x.parquet")
        lab.report.check("mergeSchema" in unknown["error"]["message"], t.name, f"no word of mergeSchema: {unknown}")
        version = t.append(rows(10, 4, more), mergeSchema=True)
        lab.report.check(len(actions(table, version, "metaData")) == 1, t.name, "mergeSchema brings no metaData")
        version = t.append(rows(20, 4, more), mergeSchema="true")
        lab.report.check(
            not actions(table, version, "metaData"), t.name, "F8: an append without a new column has metaData"
        )
        t.append(rows(30, 4, _KINDS))
        other = {"id": "string", "z": "timestamp"}
        refused(lab, t, "another type", rows(0, 3, {**_KINDS, "x": "string"}), 22, "x.parquet", "x", mode="overwrite")
        text = pa.table({"id": ["a", None], "z": pa.array([1, 2], pa.timestamp("us", "UTC"))})
        t.overwrite(text, overwriteSchema=True)
        t.append(text.slice(0, 1))
        lab.report.check(
            [f["name"] for f in t.schema(t.latest())["fields"]] == list(other), t.name, "the schema stayed"
        )
        lab.check(t)


def numbered(lab: Lab) -> None:
    """F9: a batch of one `txnAppId` and `txnVersion` is applied once, whoever brings it again and however late."""
    table = lab.create(schema(_KINDS))
    with lab.staged("numbered", table) as t:
        t.begin()
        t.append(rows(0, 3, _KINDS), txnAppId="app", txnVersion=5)
        t.append(rows(10, 3, _KINDS), txnAppId="other", txnVersion=1)
        for number, why in ((5, "the same"), (4, "an older one"), (5, "the same, again")):
            directory = t.stage(rows(20, 3, _KINDS))
            answer = ways.fsync(directory, json.dumps({"txnAppId": "app", "txnVersion": number}))
            status = t.status(directory)
            good = answer.errno == 0 and status["state"] == "committed" and status.get("alreadyApplied") is True
            lab.report.check(good, f"{t.name}: {why}", f"{answer}: {status}")
            if number == 5:
                lab.report.check(
                    status.get("version") == 1, f"{t.name}: {why}", f"version {status.get('version')}, expected 1"
                )
            lab.report.check(t.latest() == 2, f"{t.name}: {why}", f"made version {t.latest()}")
            shutil.rmtree(directory)
        t.append(rows(30, 3, _KINDS), txnAppId="app", txnVersion=6)
        lab.check(t)


CASES = {"overwrites": overwrites, "rewrites": rewrites, "schemas": schemas, "numbered": numbered}

"""The made tables. Each maker is a function of an empty directory and its parameters; the same
parameters always make the same table, which is kept and used again."""

import array
import json
import os
import random
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import deltalog as log

sys.path.append(str(Path(__file__).resolve().parents[1]))
from make_tables_lib import deletion_vectors  # noqa: E402

# Raised when a maker changes, so that tables of an older script are made anew.
GENERATION = 1


def table(where: Path, maker: Callable, name: str | None = None, **parameters) -> Path:
    """The table that `maker` makes, made now unless it is there already."""
    name = name or maker.__name__
    # A link would be listed as one.
    path = (where / name).resolve()
    stamp = where / f"{name}.made.json"
    wanted = {"generation": GENERATION, "maker": maker.__name__, **parameters}
    try:
        if json.loads(stamp.read_text()) == wanted and path.is_dir():
            return path
    except (OSError, ValueError):
        pass
    stamp.unlink(missing_ok=True)
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir(parents=True)
    print(f"bench: making {name} {parameters}", file=sys.stderr, flush=True)
    start = time.monotonic()
    maker(path, **parameters)
    stamp.write_text(json.dumps(wanted))
    print(f"bench: made {name} in {time.monotonic() - start:.1f} s", file=sys.stderr, flush=True)
    return path


def new_log(table: Path) -> Path:
    """An empty `_delta_log`."""
    path = table / "_delta_log"
    path.mkdir()
    return path


def first_actions(metadata: dict, version: int = 0) -> list[tuple[str, dict]]:
    """What opens a log."""
    return [
        ("commitInfo", log.commit_info(version)),
        ("protocol", log.protocol()),
        ("metaData", metadata),
    ]


def records(count: int) -> str:
    """Statistics that say no more than the number of rows."""
    return f'{{"numRecords":{count}}}'


def random_longs(count: int, rng: random.Random) -> pa.Array:
    """Longs that no codec makes smaller."""
    return pa.Array.from_buffers(pa.int64(), count, [None, pa.py_buffer(rng.randbytes(8 * count))])


LONGS = [f"c{i}" for i in range(8)]


def longs_file(path: Path, megabytes: int) -> int:
    """A Parquet file of the given size, uncompressed and without dictionaries; its rows."""
    rng = random.Random(1)
    rows_in_group = (64 << 20) // (8 * len(LONGS))
    schema = pa.schema([(column, pa.int64()) for column in LONGS])
    groups = max(1, megabytes // 64)
    with pq.ParquetWriter(
        path, schema, compression="none", use_dictionary=False, store_schema=False
    ) as writer:
        for _ in range(groups):
            arrays = [random_longs(rows_in_group, rng) for _ in LONGS]
            writer.write_table(pa.table(arrays, schema=schema), row_group_size=rows_in_group)
    return groups * rows_in_group


def one_file(table: Path, megabytes: int) -> None:
    """One `longs_file`."""
    name = next(log.part_names(1))
    rows = longs_file(table / name, megabytes)
    metadata = log.metadata([log.field(column, "long") for column in LONGS])
    adds = [("add", log.add(name, (table / name).stat().st_size, 0, records(rows)))]
    log.write_commit(new_log(table), 0, first_actions(metadata) + adds)


def one_composed(table: Path, megabytes: int) -> None:
    """One `longs_file` in a table with a partition column, which it lacks."""
    name = next(log.part_names(1))
    rows = longs_file(table / name, megabytes)
    columns = [log.field(column, "long") for column in LONGS] + [log.field("region", "string")]
    size = (table / name).stat().st_size
    adds = [("add", log.add(name, size, 0, records(rows), {"region": "EU"}))]
    metadata = log.metadata(columns, ["region"])
    log.write_commit(new_log(table), 0, first_actions(metadata) + adds)


REGIONS = ["APAC", "EU", "LATAM", "US"]
SALES = [
    log.field("id", "long"),
    log.field("amount", "double"),
    log.field("customer", "string"),
    log.field("sold", "timestamp"),
    log.field("day", "date"),
    log.field("quantity", "integer"),
]
SALES_ARROW = pa.schema(
    [
        ("id", pa.int64()),
        ("amount", pa.float64()),
        ("customer", pa.string()),
        ("sold", pa.timestamp("us", tz="UTC")),
        ("day", pa.date32()),
        ("quantity", pa.int32()),
    ]
)


def sales(number: int, rows: int) -> pa.Table:
    """Rows of file `number` of the sales tables."""
    rng = random.Random(number)
    # 40 random bits: numbers that Arrow divides exactly.
    noise = lambda: pc.shift_right(pc.bit_wise_and(random_longs(rows, rng), (1 << 62) - 1), 22)
    modulo = lambda values, n: pc.subtract(values, pc.multiply(pc.divide(values, n), n))
    customers = pc.binary_join_element_wise(
        "customer", pc.cast(modulo(noise(), 100_000), pa.string()), "-"
    )
    micros = pc.add(modulo(noise(), 86_400_000_000), 1_672_531_200_000_000 + number * 10**9)
    return pa.table(
        [
            pa.array(range(number * rows, (number + 1) * rows), pa.int64()),
            pc.divide(pc.cast(noise(), pa.float64()), 100.0),
            customers,
            pc.cast(micros, pa.timestamp("us", tz="UTC")),
            pc.cast(pa.array([19_358 + number % 365] * rows, pa.int32()), pa.date32()),
            pc.cast(modulo(noise(), 1_000), pa.int32()),
        ],
        schema=SALES_ARROW,
    )


def many_files(table: Path, files: int, rows: int) -> None:
    """A table of `files` Parquet files of about 358 KB each (with 11,000 rows)."""
    names = log.part_names(2)
    actions = first_actions(log.metadata(SALES))
    for number in range(files):
        path = next(names)
        pq.write_table(sales(number, rows), table / path, compression="snappy", store_schema=False)
        size = (table / path).stat().st_size
        actions.append(("add", log.add(path, size, 0, records(rows))))
    log.write_commit(new_log(table), 0, actions)


# How many values the partition columns of `composed_files` have.
REGION_COUNT, DAY_COUNT = 10, 100
# Its columns as the table has them. The files of such a table hold `customer` instead of `client`,
# and neither `region` nor `day`.
RENAMED = {"client": "customer"}
ORDERS = [
    log.field("id", "long"),
    log.field("amount", "double"),
    log.field("client", "string"),
    log.field("sold", "timestamp"),
    log.field("quantity", "integer"),
    log.field("region", "string"),
    log.field("day", "date"),
]


def day_of(number: int) -> str:
    """A day, as a partition value."""
    return str(pa.scalar(19_358 + number, pa.int32()).cast(pa.date32()).as_py())


def composed_files(where: Path, files: int, rows: int) -> None:
    """`table`, the files of `many_files` in a table with two partition columns and a renamed one,
    and `plain`: for each of its files one with all columns under the table's names."""
    table, plain = where / "table", where / "plain"
    table.mkdir()
    plain.mkdir()
    names = log.part_names(6)
    columns = [log.mapped(i + 1, c, RENAMED.get(c["name"])) for i, c in enumerate(ORDERS)]
    configuration = {
        "delta.columnMapping.mode": "name",
        "delta.columnMapping.maxColumnId": str(len(columns)),
    }
    actions = [
        ("commitInfo", log.commit_info(0)),
        ("protocol", log.protocol(2, 5)),
        ("metaData", log.metadata(columns, ["region", "day"], 0, configuration)),
    ]
    for number in range(files):
        region = f"region-{number % REGION_COUNT}"
        day = day_of(number // REGION_COUNT % DAY_COUNT)
        name = next(names)
        path = f"region={region}/day={day}/{name}"
        (table / path).parent.mkdir(parents=True, exist_ok=True)
        stored = sales(number, rows).drop_columns(["day"])
        pq.write_table(stored, table / path, compression="snappy", store_schema=False)
        size = (table / path).stat().st_size
        values = {"region": region, "day": day}
        actions.append(("add", log.add(path, size, 0, records(rows), values)))
        shown = stored.rename_columns(
            [{p: l for l, p in RENAMED.items()}.get(c, c) for c in stored.column_names]
        )
        shown = shown.append_column("region", pa.repeat(region, rows))
        shown = shown.append_column("day", pa.repeat(day, rows).cast(pa.date32()))
        pq.write_table(shown, plain / name, compression="snappy", store_schema=False)
    log.write_commit(new_log(table), 0, actions)


def small_composed(table: Path, files: int) -> None:
    """A table of very small Parquet files in its root, with a partition column that they lack."""
    names = log.part_names(7)
    metadata = log.metadata([log.field("id", "long"), log.field("day", "date")], ["day"])
    actions = first_actions(metadata)
    seconds = log.EPOCH_MS // 1000
    for number in range(files):
        name = next(names)
        data = pa.table({"id": pa.array([number], pa.int64())})
        pq.write_table(data, table / name, compression="none", store_schema=False)
        os.utime(table / name, (seconds, seconds))
        size = (table / name).stat().st_size
        values = {"day": day_of(number % DAY_COUNT)}
        actions.append(("add", log.add(name, size, 0, records(1), values)))
    log.write_commit(new_log(table), 0, actions)


# The versions of `deleted_rows` that have a deletion vector, and which rows it deletes.
VECTORS = {
    1: ("0.1% of rows, random", lambda rng, rows, group: rng.sample(range(rows), rows // 1000)),
    2: (
        "10 rows in each row group",
        lambda rng, rows, group: [
            start + row
            for start in range(0, rows, group)
            for row in rng.sample(range(min(group, rows - start)), 10)
        ],
    ),
    3: ("20% of rows, random", lambda rng, rows, group: rng.sample(range(rows), rows // 5)),
}
ROW_GROUPS = 8
LEDGER = [
    log.field("id", "long"),
    log.field("account", "long"),
    log.field("quantity", "integer"),
    log.field("amount", "double"),
    log.field("rate", "double"),
    log.field("customer", "string"),
    log.field("city", "string"),
    log.field("booked", "timestamp"),
    log.field("price", "decimal(12,2)"),
    log.field("total", "decimal(20,2)"),
    log.field("region", "string"),
]


def ledger(first: int, rows: int, rng: random.Random) -> pa.Table:
    """Rows of ten columns, two of them with nulls; about 64 bytes a row with Snappy."""
    noise = lambda: pc.shift_right(pc.bit_wise_and(random_longs(rows, rng), (1 << 62) - 1), 22)
    modulo = lambda values, n: pc.subtract(values, pc.multiply(pc.divide(values, n), n))
    one_in = lambda n: pc.equal(modulo(noise(), n), 0)
    text = lambda prefix, n: pc.binary_join_element_wise(
        prefix, pc.cast(modulo(noise(), n), pa.string()), "-"
    )
    micros = pc.add(modulo(noise(), 86_400_000_000), 1_672_531_200_000_000)
    missing = lambda values, n: pc.if_else(one_in(n), pa.scalar(None, values.type), values)
    columns = {
        "id": pa.array(range(first, first + rows), pa.int64()),
        "account": noise(),
        "quantity": pc.cast(modulo(noise(), 1_000), pa.int32()),
        "amount": pc.divide(pc.cast(noise(), pa.float64()), 100.0),
        "rate": missing(pc.divide(pc.cast(modulo(noise(), 10**9), pa.float64()), 1e9), 10),
        "customer": text("customer", 1_000_000),
        "city": missing(text("city", 1_000), 20),
        "booked": pc.cast(micros, pa.timestamp("us", tz="UTC")),
        "price": decimals(modulo(noise(), 10**9), pa.decimal128(12, 2)),
        "total": decimals(noise(), pa.decimal128(20, 2)),
    }
    return pa.table(columns)


def decimals(unscaled: pa.Array, kind: pa.Decimal128Type) -> pa.Array:
    """Decimals of these unscaled values, none of which is negative."""
    # The low half of each 128-bit number, and a high half of zeros.
    low = memoryview(unscaled.buffers()[1]).cast("q")[unscaled.offset :][: len(unscaled)]
    wide = array.array("q", bytes(16 * len(unscaled)))
    wide[::2] = array.array("q", low)
    return pa.Array.from_buffers(kind, len(unscaled), [None, pa.py_buffer(wide)])


def deleted_rows(table: Path, rows: int) -> None:
    """One data file, about 128 MiB with 2,000,000 rows, in a table with a partition column. In
    version 0 it is live without a deletion vector, in those of `VECTORS` with one."""
    rng = random.Random(8)
    name = next(log.part_names(8))
    group = -(-rows // ROW_GROUPS)
    writer = None
    for first in range(0, rows, group):
        data = ledger(first, min(group, rows - first), rng)
        # As Spark does: decimals of up to 18 digits as integers.
        writer = writer or pq.ParquetWriter(
            table / name,
            data.schema,
            compression="snappy",
            store_schema=False,
            store_decimal_as_integer=True,
        )
        writer.write_table(data, row_group_size=group)
    writer.close()
    size, values = (table / name).stat().st_size, {"region": "EU"}
    metadata = log.metadata(LEDGER, ["region"], 0, {"delta.enableDeletionVectors": "true"})
    where = new_log(table)
    file = log.add(name, size, 0, records(rows), values)
    actions = [
        ("commitInfo", log.commit_info(0)),
        ("protocol", log.protocol(3, 7, ["deletionVectors"])),
        ("metaData", metadata),
        ("add", file),
    ]
    log.write_commit(where, 0, actions)
    vector = {}
    for version, (_, choose) in VECTORS.items():
        old = log.remove(name, size, version, values) | vector
        holder = deletion_vectors.File(table, f"00000000-0000-4000-8000-{version:012}")
        vector = {"deletionVector": holder.add(choose(rng, rows, group))}
        actions = [
            ("commitInfo", log.commit_info(version, "DELETE")),
            ("remove", old),
            # With a deletion vector the statistics are bounds.
            ("add", file | {"stats": records(rows)[:-1] + ',"tightBounds":false}'} | vector),
        ]
        log.write_commit(where, version, actions)


def small_files(table: Path, files: int) -> None:
    """A table of very small Parquet files, every one of them there, for listings."""
    data = pa.table({"id": pa.array([1], pa.int64())})
    sink = pa.BufferOutputStream()
    pq.write_table(data, sink, compression="none", store_schema=False)
    content = sink.getvalue().to_pybytes()
    names, adds = log.part_names(3), log.Adds()
    seconds = log.EPOCH_MS // 1000
    for _ in range(files):
        name = next(names)
        with open(table / name, "wb", buffering=0) as out:
            out.write(content)
        os.utime(table / name, (seconds, seconds))
        adds.append(name, len(content), log.EPOCH_MS, records(1))
    metadata = log.metadata([log.field("id", "long")])
    where = new_log(table)
    log.write_commit(
        where,
        0,
        first_actions(metadata)
        + [("add", log.add(path, len(content), 0, records(1))) for path in adds.paths],
    )
    log.write_checkpoint(where, 0, [("protocol", log.protocol()), ("metaData", metadata)], adds)


# The checkpoint of a million-file table, and how the commits behind it look.
CHECKPOINT_VERSION = 1000
ADDED, REMOVED = 10, 3

EVENTS = [
    log.field("id", "long"),
    log.field("at", "timestamp"),
    log.field("name", "string"),
    log.field("amount", "double"),
    log.field("flag", "integer"),
]


def event_stats(number: int, rng: random.Random) -> str:
    """Statistics of five columns, as Spark writes them."""
    low = number * 10_000
    day, second = 1 + number % 28, rng.randrange(86_400)
    clock = f"{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}"
    return (
        f'{{"numRecords":10000,"minValues":{{"id":{low},"at":"2023-01-{day:02}T00:00:00.000Z",'
        f'"name":"customer-{rng.randrange(10**6):06}","amount":{rng.randrange(10**4) / 100},'
        f'"flag":0}},"maxValues":{{"id":{low + 9_999},"at":"2023-01-{day:02}T{clock}.000Z",'
        f'"name":"customer-{rng.randrange(10**6):06}","amount":{rng.randrange(10**8) / 100},'
        f'"flag":9}},"nullCount":{{"id":0,"at":0,"name":{rng.randrange(100)},"amount":0,"flag":0}}}}'
    )


def million(table: Path, files: int, commits: int, partitioned: bool) -> None:
    """A log with one checkpoint of `files` adds and `commits` commits behind it; the data files
    are not there. The newest version has `live_files(files, commits)` files."""
    rng = random.Random(4)
    names = log.part_names(4)
    columns, keys = list(EVENTS), []
    if partitioned:
        keys = ["day", "region"]
        columns += [log.field("day", "date"), log.field("region", "string")]
    metadata = log.metadata(columns, keys, CHECKPOINT_VERSION)

    def place(number: int) -> tuple[str, dict]:
        """Path and partition values of a file."""
        if not partitioned:
            return next(names), {}
        values = {
            "day": f"2023-{1 + number % 12:02}-{1 + number // 12 % 28:02}",
            "region": REGIONS[number % len(REGIONS)],
        }
        return "/".join([f"{k}={v}" for k, v in values.items()] + [next(names)]), values

    def new_file(number: int, version: int) -> tuple[str, dict]:
        """The add of a file."""
        path, values = place(number)
        return "add", log.add(
            path, rng.randrange(10**6, 10**8), version, event_stats(number, rng), values
        )

    where, adds = new_log(table), log.Adds()
    for number in range(files):
        path, values = place(number)
        moment = log.EPOCH_MS + 1000 * (number * CHECKPOINT_VERSION // files)
        size = rng.randrange(10**6, 10**8)
        adds.append(path, size, moment, event_stats(number, rng), values.items())
    tombstones = []
    for number in range(files // 500):
        path, values = place(number)
        tombstones.append(("remove", log.remove(path, 10**6, CHECKPOINT_VERSION - 1, values)))
    log.write_checkpoint(
        where,
        CHECKPOINT_VERSION,
        [("protocol", log.protocol()), ("metaData", metadata), *tombstones],
        adds,
    )
    # The commit of the checkpoint: its last file.
    values = dict(adds.partitions[-1])
    log.write_commit(
        where,
        CHECKPOINT_VERSION,
        [
            ("commitInfo", log.commit_info(CHECKPOINT_VERSION)),
            (
                "add",
                log.add(adds.paths[-1], adds.sizes[-1], CHECKPOINT_VERSION, adds.stats[-1], values)
                | {"modificationTime": adds.times[-1]},
            ),
        ],
    )
    for commit in range(commits):
        version = CHECKPOINT_VERSION + 1 + commit
        actions = [("commitInfo", log.commit_info(version))]
        actions += [new_file(files + commit * ADDED + i, version) for i in range(ADDED)]
        for i in range(REMOVED):
            victim = (commit * REMOVED + i) * 7
            values = dict(adds.partitions[victim])
            actions.append(
                ("remove", log.remove(adds.paths[victim], adds.sizes[victim], version, values))
            )
        log.write_commit(where, version, actions)


def live_files(files: int, commits: int) -> int:
    """How many files the newest version of `million` has."""
    return files + commits * (ADDED - REMOVED)


def many_versions(table: Path, versions: int, interval: int) -> None:
    """A table of `versions` versions, a checkpoint every `interval` of them: every commit adds a
    file and removes the one that is ten commits old."""
    where, names, live = new_log(table), log.part_names(5), []
    metadata = log.metadata([log.field("id", "long")])
    for version in range(versions):
        path = next(names)
        actions = [
            ("commitInfo", log.commit_info(version)),
            ("add", log.add(path, 700, version, records(1))),
        ]
        if version == 0:
            actions = first_actions(metadata) + actions[1:]
        live.append((path, version))
        if len(live) > 10:
            actions.append(("remove", log.remove(live.pop(0)[0], 700, version)))
        log.write_commit(where, version, actions)
        if version and version % interval == 0:
            adds = log.Adds()
            for path, at in live:
                adds.append(path, 700, log.EPOCH_MS + 1000 * at, records(1))
            log.write_checkpoint(
                where, version, [("protocol", log.protocol()), ("metaData", metadata)], adds
            )

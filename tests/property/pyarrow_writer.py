"""Writes Parquet files anew with pyarrow, for tests/tables/other_writer.rs."""

import random
import sys

import pyarrow as pa
import pyarrow.parquet as pq


def has_type(kind, wanted):
    if wanted(kind):
        return True
    if pa.types.is_map(kind):
        return has_type(kind.key_type, wanted) or has_type(kind.item_type, wanted)
    return any(has_type(kind.field(i).type, wanted) for i in range(kind.num_fields))


def wall_clock(kind):
    return pa.types.is_timestamp(kind) and kind.tz is None


def nanoseconds(kind):
    return pa.types.is_timestamp(kind) and kind.unit == "ns"


def rewrite(path, seed):
    dice = random.Random(seed)
    table = pq.read_table(path)
    # INT96 has no form for times without a zone.
    int96 = not any(has_type(field.type, wall_clock) for field in table.schema)
    # Older versions have no form for them.
    nanos = any(has_type(field.type, nanoseconds) for field in table.schema)
    pq.write_table(
        table,
        path,
        row_group_size=dice.choice([1000, 100, 37, 8]),
        version="2.6" if nanos else dice.choice(["1.0", "2.4", "2.6"]),
        data_page_version=dice.choice(["1.0", "2.0"]),
        use_dictionary=dice.choice([True, False]),
        compression=dice.choice(["none", "snappy", "gzip", "brotli", "lz4", "zstd"]),
        data_page_size=dice.choice([None, 64, 1024]),
        dictionary_pagesize_limit=dice.choice([None, 64]),
        write_batch_size=dice.choice([None, 5]),
        write_statistics=dice.choice([True, False]),
        use_compliant_nested_type=dice.choice([True, False]),
        store_schema=dice.choice([True, False]),
        write_page_index=dice.choice([True, False]),
        write_page_checksum=dice.choice([True, False]),
        store_decimal_as_integer=dice.choice([True, False]),
        use_deprecated_int96_timestamps=int96 and dice.choice([True, False]),
    )


for line in sys.stdin:
    path, seed = line.rsplit(maxsplit=1)
    rewrite(path, int(seed))
    print("done", flush=True)

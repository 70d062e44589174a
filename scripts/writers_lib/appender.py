"""delta-rs, appending to the same table: `python -m writers_lib.appender TABLE COUNT ROWS PAUSE`.

Its batches are numbered by a transaction identifier, so that it can tell whether a commit that failed was made.
"""

from __future__ import annotations

import sys
import time

from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake

from .table import APPENDER, batch


def main() -> int:
    table, count, rows, pause = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
    for number in range(count):
        for _ in range(100):
            last = DeltaTable(table).transaction_version("delta-rs")
            if last is not None and last >= number:
                break
            properties = CommitProperties(app_transactions=[Transaction("delta-rs", number)], max_commit_retries=200)
            try:
                write_deltalake(table, batch(APPENDER, number, rows), mode="append", commit_properties=properties)
                break
            except Exception as e:
                print(f"delta-rs: batch {number}: {' '.join(str(e).split())[:300]}", file=sys.stderr)
                time.sleep(0.1)
        else:
            return 1
        time.sleep(pause)
    return 0


if __name__ == "__main__":
    sys.exit(main())

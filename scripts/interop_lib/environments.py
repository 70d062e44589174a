"""Which readers take part in a run, and in which Python environment each of them lives.

Three sets: `TODAY` shares the environment of the oracles and is what CI runs; `MORE` holds readers whose own
requirements contradict it; `OLD` holds releases of 2024, which people still run.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Environment:
    """Readers by their names in `worker`, and the interpreter that has them.

    `prefix` tells their labels from those of the same readers elsewhere. `hive` names those that read partition values
    from directory names as text, `bounds` those that are asked for what statistics can answer.
    """

    python: Path
    flat: tuple[str, ...]
    hive: tuple[str, ...]
    bounds: tuple[str, ...]
    prefix: str = ""

    def label(self, reader: str) -> str:
        return self.prefix + reader


TODAY = Environment(
    Path(sys.executable),
    (
        "pyarrow.dataset",
        "pyarrow.parquet",
        "pandas",
        "polars dir",
        "polars glob",
        "duckdb",
        "datafusion",
        "clickhouse",
    ),
    ("pyarrow.dataset", "polars dir", "duckdb", "datafusion"),
    ("pyarrow.dataset", "polars glob", "duckdb", "datafusion"),
)
MORE = Environment(ROOT / ".venv-more" / "bin" / "python", ("fastparquet", "daft"), (), ())
OLD = Environment(
    ROOT / ".venv-old" / "bin" / "python",
    ("pyarrow.dataset", "pyarrow.parquet", "pandas", "polars glob", "duckdb"),
    (),
    ("pyarrow.dataset", "polars glob", "duckdb"),
    "old ",
)

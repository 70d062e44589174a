"""Which readers take part in a run, and in which Python environment each of them lives.

Five sets: `TODAY` shares the environment of the oracles and is what CI runs; `MORE` holds readers whose own
requirements contradict it; `OLD` holds releases of 2024, which people still run; `SPARK` is a download of 400 MB, and
needs Java. `NODE`, which goes with `MORE`, is a reader in JavaScript.
"""

from __future__ import annotations

import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Environment:
    """Readers by their names in `worker`, and the interpreter that has them.

    `prefix` tells their labels from those of the same readers elsewhere. `hive` names those that read partition values
    from directory names as text, `bounds` those that are asked for what statistics can answer. With `lasts`, one
    process does all that is asked, because it takes long to start. `patience` is how long one batch of reads may take,
    in seconds; `variables` are those of the environment; `needs` is a program that has to be there besides.
    """

    python: Path
    flat: tuple[str, ...]
    hive: tuple[str, ...]
    bounds: tuple[str, ...]
    prefix: str = ""
    lasts: bool = False
    patience: float = 180
    variables: tuple[tuple[str, str], ...] = ()
    needs: str = ""

    def missing(self) -> str:
        """What of it is not there; empty where nothing is missing."""
        if not self.python.exists():
            return f"{self.python} is not there: scripts/interop could not install it"
        if self.needs and shutil.which(self.needs) is None:
            return f"{self.needs} is not there"
        return ""

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
NODE = Environment(ROOT / ".venv-node" / "bin" / "python", ("hyparquet",), (), ())
OLD = Environment(
    ROOT / ".venv-old" / "bin" / "python",
    ("pyarrow.dataset", "pyarrow.parquet", "pandas", "polars glob", "duckdb"),
    (),
    ("pyarrow.dataset", "polars glob", "duckdb"),
    "old ",
)
SPARK = Environment(
    ROOT / ".venv-spark" / "bin" / "python",
    ("spark", "spark rows", "spark v2"),
    ("spark", "spark rows"),
    ("spark", "spark rows", "spark v2"),
    lasts=True,
    patience=600,
    # The zone of the Java machine counts where Spark's own does not.
    variables=(("TZ", "UTC"),),
    needs="java",
)

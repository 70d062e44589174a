"""The reading itself: jobs that children (`worker`) do on a mount, and the comparison of what they read.

A child is killed when it takes too long, so a mount that hangs fails one table and no more. What a reader gets wrong
by a fault of its own (`faults`) is compared with what the same reader makes of a plain Parquet file of the same rows.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from . import bounds, faults
from .children import child_of, done_with
from .environments import Environment
from .mounted import MountTrouble
from .product import clear
from .report import Report
from .rows import as_delta, row_differences, same_answer, type_differences, with_partition_values
from .tables import Case
from .truth import Version


@dataclass
class Job:
    """One read: by which reader, of which directory of the mount, and what it has to give.

    With `partitions`, these columns stand in directory names; with `literals`, the questions of `bounds` are asked.
    """

    environment: Environment
    reader: str
    directory: str
    version: Version
    rows: pa.Table
    partitions: Iterable[str] = ()
    literals: pa.Table | None = None

    @property
    def label(self) -> str:
        return self.environment.label(self.reader)


def check_rows(
    case: Case, jobs: list[Job], report: Report, mountpoint: Path, out: Path, daemon: subprocess.Popen[bytes]
) -> int:
    """Runs the jobs and compares what they read. Returns their number."""
    if not jobs:
        return 0
    out.mkdir()
    answers = _read(jobs, [f"{mountpoint}/{j.directory}" for j in jobs], out, lambda: clear(mountpoint, daemon))
    doubtful: list[tuple[Job, Answer, str, list[str]]] = []
    for job, answer in zip(jobs, answers, strict=True):
        what = f"{case.name}/{job.directory} by {job.label}"
        what += " (hive)" if job.partitions else " (bounds)" if job.literals is not None else ""
        wrong = answer if isinstance(answer, str) else "; ".join(_differences(job, answer))
        if not wrong:
            report.ok()
        elif known := faults.of_types(job.label, job.version.schema, answer):
            doubtful.append((job, answer, what, known))
        else:
            report.fail(what, wrong[:600])
    _check_against_plain_files(case, doubtful, report, out)
    return len(jobs)


Answer = pa.Table | str


def _read(jobs: Sequence[Job], paths: Sequence[str], out: Path, give_up: Callable[[], None]) -> list[Answer]:
    """What each job read of its path, or why it could not. `give_up` ends a mount that hangs."""
    answers: dict[int, Answer] = {}
    for number, environment in enumerate(dict.fromkeys(j.environment for j in jobs)):
        mine = [i for i, j in enumerate(jobs) if j.environment == environment]
        home = out / str(number)
        home.mkdir()
        lines = {}
        for i in mine:
            job = jobs[i]
            line: dict[str, Any] = {"id": i, "out": str(home), "reader": job.reader, "path": paths[i]}
            line["partitions"] = list(job.partitions)
            if job.literals is not None:
                line["literals"] = str(home / f"{i}.literals")
                _store(job.literals, home / f"{i}.literals")
            lines[i] = json.dumps(line)
        left = mine
        # A reader may take its process down: the others still get their turn, in a new one.
        while left:
            child = child_of(environment)
            try:
                whole = child.do([lines[i] for i in left], environment.patience)
            except TimeoutError:
                give_up()
                done_with(environment, child, broken=True)
                job = jobs[next((i for i in left if not _answered(home, i)), left[-1])]
                raise MountTrouble(f"{job.label} hung on {job.directory} for {environment.patience:.0f} s") from None
            left = [i for i in left if not _answered(home, i)]
            if left:
                (home / f"{left.pop(0)}.error").write_text(child.ending())
            done_with(environment, child, broken=not whole)
        for i in mine:
            if (error := home / f"{i}.error").exists():
                answers[i] = error.read_text()[:400]
            else:
                with pa.memory_map(str(home / f"{i}.arrow")) as source:
                    answers[i] = pa.ipc.open_file(source).read_all()
    return [answers[i] for i in range(len(jobs))]


def _answered(home: Path, i: int) -> bool:
    """Whether a job is done. A table counts once it is whole: a process that dies leaves its file without the end."""
    if (home / f"{i}.error").exists():
        return True
    answer = home / f"{i}.arrow"
    return answer.exists() and answer.read_bytes()[-6:] == b"ARROW1"


def _store(table: pa.Table, path: Path) -> None:
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)


def _differences(job: Job, got: pa.Table) -> list[str]:
    schema = job.version.schema
    if job.literals is not None:
        return bounds.differences(job.literals, bounds.expected(job.rows, job.literals), got)
    maps = not job.reader.startswith("polars")  # polars has no map type
    if job.partitions:
        # The columns in the files come in the table's order, those of directories anywhere, as text.
        inside = {"type": "struct", "fields": [f for f in schema["fields"] if f["name"] not in job.partitions]}
        extra = set(got.column_names) ^ {f["name"] for f in schema["fields"]}
        if extra:
            return [f"the columns {sorted(extra)} are on one side only"]
        differences = type_differences(
            inside, got.select([n for n in got.column_names if n not in job.partitions]).schema, maps=maps
        )
        try:
            got = with_partition_values(schema, got, job.partitions)
        except ValueError as e:
            return [f"a partition column has a value of another type: {e}"]
    else:
        differences = type_differences(schema, got.schema, maps=maps)
    # Rows can be compared only under the right names and types.
    return differences or row_differences(schema, job.rows, got)


# ---- faults of readers -----------------------------------------------------------------------------------------------


def _check_against_plain_files(
    case: Case, doubtful: list[tuple[Job, Answer, str, list[faults.Fault]]], report: Report, out: Path
) -> None:
    """Each wrong answer has to be what the reader makes of a plain file of the same rows, and wrong nowhere else.

    Where the reader does not answer at all, it may fail on one of the table's own data files likewise.
    """
    jobs, paths = [], []
    for i, (job, answer, _, known) in enumerate(doubtful):
        for k, write in enumerate(faults.writings(known)):
            home = out / f"plain-{i}-{k}"
            home.mkdir()
            write(as_delta(job.version.schema, job.rows), home)
            jobs.append(job)
            paths.append(str(home))
        for k, file in enumerate(job.version.snapshot.files.values() if isinstance(answer, str) else ()):
            home = out / f"own-{i}-{k}"
            home.mkdir()
            (home / "own.parquet").symlink_to(case.path / file.path)
            jobs.append(job)
            paths.append(str(home))
    if not jobs:
        return
    (out / "plain").mkdir()
    plain = iter(_read(jobs, paths, out / "plain", lambda: None))
    for job, answer, what, known in doubtful:
        own = len(job.version.snapshot.files) if isinstance(answer, str) else 0
        same = [next(plain) for _ in range(len(faults.writings(known)) + own)]
        if wrong := _beyond_faults(job, answer, known):
            report.fail(what, "; ".join(wrong)[:600])
        elif not any(same_answer(answer, p) for p in same):
            text = answer if isinstance(answer, str) else "; ".join(_differences(job, answer))
            report.fail(
                what, f"{text[:400]}; and on a plain file of the same rows the answer is another one: {same[0]}"[:800]
            )
        else:
            report.ok()
            for fault in known:
                fault.seen.append(what)


def _beyond_faults(job: Job, answer: Answer, known: list[faults.Fault]) -> list[str]:
    """How the columns that no fault touches differ from the right ones."""
    if isinstance(answer, str) or job.literals is not None:
        return []
    fields = [f for f in job.version.schema["fields"] if not any(k.hits(f["type"]) for k in known)]
    names = [f["name"] for f in fields if f["name"] in answer.column_names]
    rest: dict[str, Any] = {"type": "struct", "fields": fields}
    differences = type_differences(rest, answer.select(names).schema, maps=not job.reader.startswith("polars"))
    return differences or row_differences(rest, job.rows, answer)


def check_specimens(environments: Sequence[Environment], report: Report, out: Path) -> None:
    """Every listed fault shows on its own plain file; one that does not is gone and has to leave the list."""
    out.mkdir()
    jobs, paths, found = [], [], []
    for number, fault in enumerate(faults.FAULTS):
        for environment in environments:
            for reader in environment.hive if fault.directories else environment.flat:
                if not fault.of(environment.label(reader)):
                    continue
                home = out / f"fault-{number}"
                specimen = fault.specimen(home)
                jobs.append(Job(environment, reader, home.name, specimen.version, specimen.rows, specimen.partitions))
                paths.append(str(home))
                found.append(fault)
    for job, fault, answer in zip(jobs, found, _read(jobs, paths, out, lambda: None), strict=True):
        shows = isinstance(answer, str) or bool(_differences(job, answer))
        report.check(
            shows,
            f"fault of {job.label}",
            f"a plain file no longer shows that {fault.reason}: take it off the list in interop_lib/faults.py",
        )

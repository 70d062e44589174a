"""Children that do jobs (`worker`), one for each Python environment: started anew for each batch, or lasting."""

from __future__ import annotations

import atexit
import json
import os
import select
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from .environments import ROOT, Environment

_SHOWN = 300


class Child:
    """One worker. `do` hands it jobs; after it has hung or died it does no more."""

    def __init__(self, environment: Environment):
        self._errors = tempfile.TemporaryFile()
        self._process = subprocess.Popen(
            [str(environment.python), "-m", "interop_lib.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env={**os.environ, "PYTHONPATH": str(ROOT / "scripts"), **dict(environment.variables)},
        )

    def do(self, jobs: Sequence[str], patience: float) -> bool:
        """Does jobs, one JSON text each, one after another. False when the process ended before the last.

        Raises `TimeoutError` when they are not done after `patience` seconds.
        """
        deadline = time.monotonic() + patience
        assert self._process.stdin and self._process.stdout
        for job in jobs:
            try:
                self._process.stdin.write(job.encode() + b"\n")
                self._process.stdin.flush()
            except BrokenPipeError:
                return False
            ready, _, _ = select.select([self._process.stdout], [], [], max(deadline - time.monotonic(), 0))
            if not ready:
                raise TimeoutError(f"not done after {patience:.0f} s")
            if not self._process.stdout.readline():
                return False
        return True

    def ending(self) -> str:
        """How the process ended, with the last that it said."""
        code = self._process.wait(timeout=20)
        self._errors.seek(0)
        said = self._errors.read().decode(errors="replace").strip()[-_SHOWN:]
        return f"the reading process ended with {code}: {said}"

    def kill(self) -> None:
        self._process.kill()

    def close(self) -> None:
        """Lets the process end; kills it when it does not."""
        assert self._process.stdin
        try:
            self._process.stdin.close()
            self._process.wait(timeout=20)
        except (BrokenPipeError, subprocess.TimeoutExpired):
            self._process.kill()
        self._errors.close()


_lasting: dict[Environment, Child] = {}


def child_of(environment: Environment) -> Child:
    """A child for a batch of jobs: the one that is there, where the environment's lasts, else a new one."""
    if environment.lasts and (child := _lasting.get(environment)):
        return child
    child = Child(environment)
    if environment.lasts:
        _lasting[environment] = child
    return child


def done_with(environment: Environment, child: Child, *, broken: bool = False) -> None:
    """Ends a child after its batch, unless it lasts and is not broken."""
    if broken:
        _lasting.pop(environment, None)
        child.kill()
    if broken or not environment.lasts:
        child.close()


@atexit.register
def close_all() -> None:
    """Ends the children that last."""
    while _lasting:
        _lasting.popitem()[1].close()


class JobFailed(Exception):
    """A child did not do what it was asked; the message is its reason."""


def ask(environment: Environment, do: str, scratch: Path, **arguments: Any) -> pa.Table:
    """The answer to one job of `spark_jobs`. Raises `JobFailed`, also where it takes too long."""
    out = Path(tempfile.mkdtemp(prefix="ask-", dir=scratch))
    child = child_of(environment)
    try:
        whole = child.do(
            [json.dumps({"id": 0, "out": str(out), "do": do, "arguments": arguments})], environment.patience
        )
    except TimeoutError as e:
        done_with(environment, child, broken=True)
        raise JobFailed(str(e)) from None
    ending = "" if whole else child.ending()
    done_with(environment, child, broken=not whole)
    if ending or (out / "0.error").exists():
        raise JobFailed(ending or (out / "0.error").read_text())
    with pa.memory_map(str(out / "0.arrow")) as source:
        return pa.ipc.open_file(source).read_all()

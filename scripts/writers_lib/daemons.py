"""The mounts of one table, and what ends them."""

from __future__ import annotations

import random
import signal
import subprocess
import time
from pathlib import Path

from interop_lib.product import clear, device

_MOUNTED_WITHIN = 30


class Daemon:
    """One mount: started, killed, started again at the same mountpoint."""

    def __init__(self, binary: Path, table: Path, mountpoint: Path):
        self.binary, self.table, self.mountpoint = binary, table, mountpoint
        self.log = mountpoint.with_suffix(".log")
        self.child: subprocess.Popen[bytes] | None = None
        mountpoint.mkdir()

    def start(self) -> None:
        """Mounts. Raises `RuntimeError` with the log of a daemon that does not."""
        with open(self.log, "ab") as out:
            self.child = subprocess.Popen(
                [str(self.binary), "mount", str(self.table), str(self.mountpoint), "-f"],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
            )
        until = time.monotonic() + _MOUNTED_WITHIN
        while device(self.mountpoint) is None:
            if self.child.poll() is not None or time.monotonic() > until:
                said = self.log.read_text(errors="replace")[-800:]
                raise RuntimeError(f"{self.mountpoint} does not mount (exit code {self.child.poll()}): {said}")
            time.sleep(0.01)

    def end(self, number: signal.Signals) -> str | None:
        """Ends the daemon by a signal, and what is left of the mount. Says what was wrong with it, if anything."""
        self.child.send_signal(number)
        wrong = None
        try:
            code = self.child.wait(timeout=20)
            if number == signal.SIGTERM and code != 0:
                wrong = f"a daemon ended by SIGTERM exited with {code}: {self.log.read_text(errors='replace')[-400:]}"
        except subprocess.TimeoutExpired:
            wrong = f"a daemon runs 20 s after {number.name}"
        clear(self.mountpoint, self.child)
        return wrong

    def stop(self) -> None:
        if self.child is not None:
            clear(self.mountpoint, self.child)


class Reaper:
    """Ends daemons at random, and starts them again."""

    def __init__(self, daemons: list[Daemon], seed: int, pause: float):
        self.daemons, self.dice, self.pause = daemons, random.Random(seed), pause
        self.killed, self.ended = 0, 0
        self._next = time.monotonic() + pause

    def turn(self) -> str | None:
        """Does what is due. Says what was wrong, if anything."""
        if time.monotonic() < self._next:
            return None
        daemon = self.dice.choice(self.daemons)
        if self.dice.random() < 0.8:
            self.killed += 1
            wrong = daemon.end(signal.SIGKILL)
        else:
            self.ended += 1
            wrong = daemon.end(signal.SIGTERM)
        time.sleep(self.dice.random() * 0.2)
        daemon.start()
        self._next = time.monotonic() + self.pause * (0.3 + self.dice.random())
        return wrong

"""One writer: commits its batches one after the other, as a shell script would, and does not give up.

    python -I -S writer.py JOB.json

The job says the number of the writer, the mountpoints, the Parquet file of each batch, whether batches are numbered by
`txnAppId`, and where the answers go. Whenever a call fails, the writer waits, looks for its transaction in `@staging` of
every mount (a daemon that starts takes over what a killed one has left), and goes on from what `.status` says. Batches
that are numbered may be staged anew instead, which must not commit them twice.
"""

from __future__ import annotations

import filecmp
import json
import os
import random
import shutil
import sys
import time

PATIENCE = 30


class Lost(Exception):
    """What was promised does not hold."""


class Writer:
    def __init__(self, job: dict):
        self.number, self.mounts = job["writer"], job["mounts"]
        self.app, self.files, self.deadline = job["app"], job["files"], job["deadline"]
        self.think = job["think"]
        self.dice = random.Random(job["seed"] * 1000 + self.number)

    def commit(self, batch: int) -> dict:
        """Commits one batch and returns its answer."""
        name, attempts, troubles = f"w{self.number}-b{batch}", 0, []
        names, anew = [name], True
        while time.time() < self.deadline:
            attempts += 1
            try:
                directory = None if anew else self.find(names)
                if directory is None:
                    directory = os.path.join(self.home(attempts), "@staging", names[-1])
                    os.mkdir(directory)
                    self.pause()
                answer = self.go_on(directory, batch)
                return {"batch": batch, "attempts": attempts, "names": names, "troubles": troubles, **answer}
            except FileExistsError:
                anew = False  # made by a call whose answer was lost
            except OSError as e:
                troubles.append(f"{e.strerror}: {os.path.basename(str(e.filename or ''))}")
                time.sleep(0.05 + self.dice.random() * 0.2)
                anew = self.app is not None and self.dice.random() < 0.5
                if anew:
                    names.append(f"{name}-again{attempts}")
        raise Lost(f"batch {batch}: no answer in time, after {attempts} attempts: {troubles[-5:]}")

    def pause(self) -> None:
        """Takes a moment, so that a daemon may be killed between any two steps."""
        if self.think:
            time.sleep(self.dice.random() * self.think)

    def home(self, attempts: int) -> str:
        """The mount that the next transaction is made in."""
        return self.mounts[(self.number + attempts - 1) % len(self.mounts)]

    def find(self, names: list[str]) -> str | None:
        """The newest transaction of these names, in whichever mount has it; None when it was never made.

        Who was told that it had been made, or cannot know, looks until all mounts answer.
        """
        until = time.time() + PATIENCE
        while True:
            missing = False
            for mount in self.mounts:
                staging = os.path.join(mount, "@staging")
                try:
                    there = os.listdir(staging)
                except OSError:
                    missing = True
                    continue
                for name in reversed(names):
                    # The daemon that takes a transaction over appends ~2 where the name is taken.
                    found = [n for n in there if n == name or n.startswith(f"{name}~")]
                    if found:
                        return os.path.join(staging, found[0])
            if not missing or time.time() > until:
                return None
            time.sleep(0.05)

    def go_on(self, directory: str, batch: int) -> dict:
        """From whatever state the transaction is in to its answer."""
        status = self.status(directory)
        if status["state"] == "committed":
            return self.answer(directory, status)
        staged = os.path.join(directory, "batch.parquet")
        if not os.path.exists(staged) or not filecmp.cmp(staged, self.files[batch], shallow=False):
            shutil.copyfile(self.files[batch], staged)
        self.pause()
        marker = {"userMetadata": f"{self.number} {batch}"}
        if self.app:
            marker |= {"txnAppId": self.app, "txnVersion": batch}
        path = os.path.join(directory, ".commit")
        with open(path, "w") as f:
            f.write(json.dumps(marker))
            f.flush()
            self.pause()
            os.fsync(f.fileno())
        self.pause()
        status = self.status(directory)
        if status["state"] != "committed":
            raise Lost(f"fsync answered 0 for {directory}, and .status is {status}")
        return self.answer(directory, status)

    def status(self, directory: str) -> dict:
        with open(os.path.join(directory, ".status")) as f:
            return json.load(f)

    def answer(self, directory: str, status: dict) -> dict:
        """The answer; the directory goes, if it can."""
        try:
            shutil.rmtree(directory)
        except OSError:
            pass  # the daemon has gone; the transaction is removed some days later
        return {"version": status["version"], "already": status.get("alreadyApplied", False)}


def main() -> int:
    with open(sys.argv[1]) as f:
        job = json.load(f)
    writer = Writer(job)
    with open(job["answers"], "w") as out:
        for batch in range(len(writer.files)):
            try:
                answer = writer.commit(batch)
            except Lost as e:
                answer = {"batch": batch, "lost": str(e)}
            out.write(json.dumps(answer) + "\n")
            out.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())

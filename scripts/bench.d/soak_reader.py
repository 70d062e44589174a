"""One reader of the soak: lists versions, opens, reads and closes files, and checks all of it.

`python -I -S soak_reader.py MOUNTPOINT BOARD MANIFEST WINDOW SEED OUT`, until SIGTERM; then writes
what it has seen to OUT as JSON. Any surprise ends it with status 1 and one line on stderr.
"""

import hashlib
import json
import mmap
import os
import random
import signal
import struct
import sys

MOUNTPOINT, BOARD, MANIFEST, WINDOW, SEED, OUT = sys.argv[1:]
FILES_AT_ONCE = 4


class Surprise(Exception):
    """The mount said something that it must not say."""


class Reader:
    """What a reader knows, and what it has seen."""

    def __init__(self):
        self.rng = random.Random(int(SEED))
        fd = os.open(BOARD, os.O_RDONLY)
        self.board = mmap.mmap(fd, 0, prot=mmap.PROT_READ)
        self.native: dict[str, str] = {}
        self.manifest = open(MANIFEST)
        self.digests: dict[str, str] = {}
        self.listings: dict[str, str] = {}
        self.count = {"listings": 0, "files": 0, "bytes": 0, "latest": 0}
        self.stop = False
        signal.signal(signal.SIGTERM, self.end)

    def end(self, *_) -> None:
        """Ends the loop at its next turn."""
        self.stop = True

    def newest(self) -> int:
        """The newest version that is surely committed."""
        return struct.unpack_from("<I", self.board, 0)[0]

    def expected(self, version: int) -> int:
        """How many files a version has."""
        return struct.unpack_from("<I", self.board, 4 * (1 + version))[0]

    def run(self) -> None:
        """List, open, read, close."""
        while not self.stop:
            chance = self.rng.random()
            if chance < 0.15:
                self.read_latest()
            elif chance < 0.20:
                self.read_info()
            else:
                newest = self.newest()
                self.read_version(self.rng.randint(max(0, newest - int(WINDOW) + 1), newest))

    def names(self, path: str) -> list[str]:
        """A listing."""
        self.count["listings"] += 1
        names = sorted(os.listdir(path))
        if any(not name.endswith(".parquet") for name in names):
            raise Surprise(f"{path} lists a name that does not end in .parquet: {names}")
        if len(set(names)) != len(names):
            raise Surprise(f"{path} lists a name twice")
        return names

    def read_version(self, version: int) -> None:
        """A version always has the same names."""
        path = f"{MOUNTPOINT}/@v{version}"
        names = self.names(path)
        if len(names) != self.expected(version):
            raise Surprise(f"{path} lists {len(names)} files, there are {self.expected(version)}")
        listing = hashlib.blake2b("\n".join(names).encode(), digest_size=16).hexdigest()
        if self.listings.setdefault(str(version), listing) != listing:
            raise Surprise(f"{path} lists other names than before")
        for name in self.rng.sample(names, min(FILES_AT_ONCE, len(names))):
            self.read_file(path, name)

    def read_latest(self) -> None:
        """@latest is as new as any commit made before; its names live on when the table moves."""
        self.count["latest"] += 1
        path = f"{MOUNTPOINT}/@latest"
        before = self.newest()
        names = self.names(path)
        after = self.newest()
        counts = {self.expected(version) for version in range(before, after + 2)}
        if len(names) not in counts:
            raise Surprise(
                f"{path} lists {len(names)} files; versions {before} to {after + 1} have {counts}"
            )
        for name in self.rng.sample(names, min(FILES_AT_ONCE, len(names))):
            self.read_file(path, name)

    def read_info(self) -> None:
        """@info/latest is as new as @latest."""
        before = self.newest()
        with open(f"{MOUNTPOINT}/@info/latest") as text:
            said = text.read()
        version = int("".join(c for c in said.split()[0] if c.isdigit()))
        if version < before:
            raise Surprise(f"@info/latest says {said!r}, version {before} was there")

    def read_file(self, folder: str, name: str) -> None:
        """One file: from end to end, then one piece out of the middle."""
        path = f"{folder}/{name}"
        fd = os.open(path, os.O_RDONLY)
        try:
            size = os.fstat(fd).st_size
            step = self.rng.choice([4096, 65536, 1 << 20])
            parts, offset = [], 0
            while part := os.pread(fd, step, offset):
                parts.append(part)
                offset += len(part)
            content = b"".join(parts)
            if len(content) != size:
                raise Surprise(f"{path} has {len(content)} bytes, stat says {size}")
            start = self.rng.randrange(size)
            length = self.rng.randint(1, 10_000)
            if os.pread(fd, length, start) != content[start : start + length]:
                raise Surprise(f"{path} reads differently at {start}+{length}")
        finally:
            os.close(fd)
        if content[:4] != b"PAR1" or content[-4:] != b"PAR1":
            raise Surprise(f"{path} does not begin and end as Parquet")
        digest = hashlib.blake2b(content, digest_size=16).hexdigest()
        if self.digests.setdefault(name, digest) != digest:
            raise Surprise(f"{path} has other content than before")
        if "~" not in name and self.source(name) != digest:
            raise Surprise(f"{path} is not the data file of that name")
        self.count["files"] += 1
        self.count["bytes"] += size

    def source(self, name: str) -> str | None:
        """The digest of a data file, from the writer's manifest."""
        if name not in self.native:
            for line in self.manifest:
                known, digest = line.split()
                self.native[known] = digest
        return self.native.get(name)


def main() -> int:
    """See the module."""
    reader = Reader()
    try:
        reader.run()
    except (Surprise, OSError, ValueError, IndexError) as error:
        print(f"reader {SEED}: {type(error).__name__}: {error}", file=sys.stderr)
        return 1
    with open(OUT, "w") as out:
        json.dump(
            {"count": reader.count, "digests": reader.digests, "listings": reader.listings}, out
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())

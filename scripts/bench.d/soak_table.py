"""The table of the soak: files of every class, and a writer that goes on committing to it.

Version 0 has identity files. With "composed" there is one more column from version ADD_COLUMN on,
which old files lack, so that they are composed. With "all" some files get deletion vectors as well,
and are rewritten.
"""

import hashlib
import json
import mmap
import os
import random
import struct
import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import deltalog as log

# A commit adds CHANGED files, removes as many, and gives VECTORS files a new deletion vector: the
# table stays as large as it is, so that what grows in the daemon is a leak.
FIRST_FILES, CHANGED, VECTORS = 120, 4, 1
ROWS = 2_000
ADD_COLUMN = 10
OLD = [log.field("id", "long"), log.field("text", "string"), log.field("amount", "double")]
NEW = [*OLD, log.field("note", "string")]

# What the readers are told: the newest version, then the number of files of every version.
MOST_VERSIONS = 1 << 16
BOARD_BYTES = 4 * (1 + MOST_VERSIONS)


class Board:
    """A little shared memory: written by the writer before and after each commit."""

    def __init__(self, path: Path):
        fd = os.open(path, os.O_RDWR | os.O_CREAT)
        os.ftruncate(fd, BOARD_BYTES)
        self.map = mmap.mmap(fd, BOARD_BYTES)
        os.close(fd)

    def expect(self, version: int, files: int) -> None:
        """Says how many files a version has; before it is committed."""
        struct.pack_into("<I", self.map, 4 * (1 + version), files)

    def committed(self, version: int) -> None:
        """Says that a version is there."""
        struct.pack_into("<I", self.map, 0, version)


def vector(rows: list[int]) -> dict:
    """An inline deletion vector: PROTOCOL.md, Deletion Vector Format."""
    # One 32-bit bitmap, one array container; all rows below 65,536.
    bitmap = struct.pack("<IIHHI", 12346, 1, 0, len(rows) - 1, 16)
    bitmap += struct.pack(f"<{len(rows)}H", *rows)
    data = struct.pack("<IQI", 1681511377, 1, 0) + bitmap
    return {
        "storageType": "i",
        "pathOrInlineDv": z85(data),
        "sizeInBytes": len(data),
        "cardinality": len(rows),
    }


Z85 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"


def z85(data: bytes) -> str:
    """ZeroMQ's base 85, the input filled up with zeros."""
    out = []
    for (word,) in struct.iter_unpack(">I", data + b"\0" * (-len(data) % 4)):
        out += [Z85[word // 85**power % 85] for power in (4, 3, 2, 1, 0)]
    return "".join(out)


class Writer:
    """Makes the table and commits to it."""

    def __init__(self, table: Path, board: Board, manifest: Path, kinds: str, seed: int = 11):
        self.table, self.board, self.manifest = table, board, manifest
        self.vectors = kinds == "all"
        self.add_column = ADD_COLUMN if kinds in ("composed", "all") else MOST_VERSIONS
        self.rng = random.Random(seed)
        self.names = log.part_names(seed)
        self.live: list[dict] = []
        self.version = -1

    def new_file(self, version: int) -> dict:
        """Writes a data file and returns its `add`."""
        name = next(self.names)
        rows = range(version * 10**6, version * 10**6 + ROWS)
        columns = {
            "id": pa.array(rows, pa.int64()),
            "text": pa.array([f"{self.rng.getrandbits(64):x}" for _ in rows]),
            "amount": pa.array([self.rng.random() for _ in rows], pa.float64()),
        }
        if version >= self.add_column:
            columns["note"] = pa.array([f"v{version}"] * ROWS)
        path = self.table / name
        pq.write_table(pa.table(columns), path, compression="snappy", store_schema=False)
        digest = hashlib.blake2b(path.read_bytes(), digest_size=16).hexdigest()
        with open(self.manifest, "a") as out:
            out.write(f"{name} {digest}\n")
        stats = json.dumps({"numRecords": ROWS, "tightBounds": True}, separators=(",", ":"))
        return log.add(name, path.stat().st_size, version, stats)

    def metadata(self, version: int) -> dict:
        """The schema of a version."""
        return log.metadata(OLD if version < self.add_column else NEW)

    def commit(self) -> None:
        """One more version, by rename, as object stores and HDFS see it: all or nothing."""
        version = self.version + 1
        actions = [("commitInfo", log.commit_info(version))]
        if version == 0:
            features = ["deletionVectors"] if self.vectors else []
            protocol = log.protocol(3, 7, features) if features else log.protocol()
            actions.append(("protocol", protocol))
        if version in (0, self.add_column):
            actions.append(("metaData", self.metadata(version)))
        if version > 0:
            # A removal names the deletion vector too: a logical file is both.
            vectors = VECTORS if self.vectors else 0
            victims = self.rng.sample(range(len(self.live)), CHANGED + vectors)
            chosen = [self.live[number] for number in victims]
            for number in sorted(victims, reverse=True):
                del self.live[number]
            for file in chosen:
                gone = log.remove(file["path"], file["size"], version)
                if "deletionVector" in file:
                    gone["deletionVector"] = file["deletionVector"]
                actions.append(("remove", gone))
            for file in chosen[:vectors]:
                rows = sorted(self.rng.sample(range(ROWS), 1 + self.rng.randrange(200)))
                changed = file | {"deletionVector": vector(rows)}
                changed["stats"] = json.dumps({"numRecords": ROWS, "tightBounds": False})
                self.live.append(changed)
                actions.append(("add", changed))
        added = [self.new_file(version) for _ in range(FIRST_FILES if version == 0 else CHANGED)]
        self.live += added
        actions += [("add", file) for file in added]
        self.board.expect(version, len(self.live))
        final = log.commit_path(self.table / "_delta_log", version)
        temporary = final.with_suffix(".tmp")
        temporary.write_text(log.commit_text(actions))
        os.rename(temporary, final)
        self.version = version
        self.board.committed(version)

    def checkpoint(self) -> None:
        """A checkpoint of the newest version."""
        features = ["deletionVectors"] if self.vectors else []
        actions = [
            ("protocol", log.protocol(3, 7, features) if features else log.protocol()),
            ("metaData", self.metadata(self.version)),
            *(("add", file) for file in self.live),
        ]
        log.write_checkpoint(self.table / "_delta_log", self.version, actions, log.Adds())


def main() -> None:
    """`soak_table.py TABLE BOARD MANIFEST KINDS FIRST PAUSE`: makes FIRST versions, says so, and
    then commits every PAUSE seconds until its input ends."""
    table, board, manifest, kinds, first, pause = sys.argv[1:]
    (Path(table) / "_delta_log").mkdir(parents=True)
    writer = Writer(Path(table), Board(Path(board)), Path(manifest), kinds)
    for _ in range(int(first)):
        writer.commit()
    print("made", flush=True)
    while os.getppid() != 1 and writer.version + 1 < MOST_VERSIONS:
        time.sleep(float(pause))
        writer.commit()
        if writer.version % 25 == 0:
            writer.checkpoint()


if __name__ == "__main__":
    main()

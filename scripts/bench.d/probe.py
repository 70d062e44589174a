"""What is timed, in a process of its own that can be killed: a call on a mount may never return.

Run as `python -I -S probe.py FUNCTION`, the arguments as a JSON object on stdin; prints one JSON
value. Imports little, so that it starts fast and stays small: the peak memory of a child counts
from the size of the process that started it.
"""

import json
import os
import resource
import sys
import time


def run(command: list, limit: float) -> dict:
    """Runs `command` with its output thrown away: wall and CPU seconds, peak memory in bytes.
    Killed after `limit` seconds."""
    import signal

    said = os.memfd_create("stderr")
    start = time.perf_counter()
    pid = os.posix_spawnp(
        command[0],
        command,
        os.environ,
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0),
            (os.POSIX_SPAWN_DUP2, said, 2),
        ],
    )
    signal.signal(signal.SIGALRM, lambda *_: os.kill(pid, signal.SIGKILL))
    signal.setitimer(signal.ITIMER_REAL, limit)
    _, status, usage = os.wait4(pid, 0)
    wall = time.perf_counter() - start
    signal.setitimer(signal.ITIMER_REAL, 0)
    return {
        "exit": os.waitstatus_to_exitcode(status),
        "said": os.pread(said, 500, 0).decode(errors="replace").strip(),
        "wall": wall,
        "cpu": usage.ru_utime + usage.ru_stime,
        "peak": usage.ru_maxrss * 1024,
    }


def open_directories(paths: list) -> list:
    """For each path in turn: seconds from before `stat` to behind the first rows of its listing."""
    out = []
    for path in paths:
        start = time.perf_counter()
        os.stat(path)
        with os.scandir(path) as rows:
            next(rows, None)
        out.append(time.perf_counter() - start)
    return out


def first_names(path: str, count: int) -> list:
    """The names of the first rows of a listing."""
    with os.scandir(path) as rows:
        return [row.name for row, _ in zip(rows, range(count), strict=False)]


def stat(paths: list) -> list:
    """For each path in turn: seconds that `stat` takes."""
    out = []
    for path in paths:
        start = time.perf_counter()
        os.stat(path)
        out.append(time.perf_counter() - start)
    return out


def size(path: str) -> int:
    """The size that a file says it has."""
    return os.stat(path).st_size


def miss(paths: list) -> list:
    """For each path in turn, none of which exists: seconds that `stat` takes to say so."""
    out = []
    for path in paths:
        start = time.perf_counter()
        try:
            os.stat(path)
        except FileNotFoundError:
            out.append(time.perf_counter() - start)
        else:
            raise FileExistsError(path)
    return out


def readlink(paths: list) -> list:
    """For each path in turn: [seconds that `readlink` takes, target]."""
    out = []
    for path in paths:
        start = time.perf_counter()
        target = os.readlink(path)
        out.append([time.perf_counter() - start, target])
    return out


def follow(log: str, latest: str, commits: list, pause: float) -> list:
    """Commits, and looks for each commit: for every [version, text] writes the commit file by
    rename, waits `pause` seconds, then takes the seconds of
    [open `latest` and read the first rows, the same and ask which version it shows]."""
    out = []
    for version, text in commits:
        final = os.path.join(log, f"{version:020}.json")
        with open(final + ".tmp", "w") as sink:
            sink.write(text)
            sink.flush()
            os.fsync(sink.fileno())
        os.rename(final + ".tmp", final)
        time.sleep(pause)
        start = time.perf_counter()
        with os.scandir(latest) as rows:
            next(rows, None)
        opened = time.perf_counter() - start
        shown = int(os.getxattr(latest, "user.delta.version"))
        out.append([opened, time.perf_counter() - start])
        if shown != version:
            raise RuntimeError(f"{latest} shows version {shown}, {version} was committed before")
    return out


def evict(paths: list) -> None:
    """Makes the kernel drop the cached content of files, and of all files of directories."""
    for path in paths:
        if os.path.isdir(path):
            evict([row.path for row in os.scandir(path)])
        else:
            fd = os.open(path, os.O_RDONLY)
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(fd)


def sequential(path: str, size: int) -> float:
    """Seconds to read the whole file once in requests of `size` bytes."""
    fd = os.open(path, os.O_RDONLY)
    buffer = bytearray(size)
    start = time.perf_counter()
    offset = 0
    while got := os.preadv(fd, [buffer], offset):
        offset += got
    return time.perf_counter() - start


def scattered(path: str, size: int, count: int, seed: int) -> float:
    """Seconds for `count` reads of `size` bytes at offsets that only `seed` decides."""
    import random

    fd = os.open(path, os.O_RDONLY)
    blocks = os.fstat(fd).st_size // size
    choose = random.Random(seed)
    offsets = [choose.randrange(blocks) * size for _ in range(count)]
    buffer = bytearray(size)
    start = time.perf_counter()
    for offset in offsets:
        os.preadv(fd, [buffer], offset)
    return time.perf_counter() - start


FUNCTIONS = {
    f.__name__: f
    for f in (
        run,
        open_directories,
        first_names,
        stat,
        size,
        miss,
        readlink,
        follow,
        evict,
        sequential,
        scattered,
    )
}

if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    json.dump(FUNCTIONS[sys.argv[1]](**json.loads(sys.stdin.read())), sys.stdout)

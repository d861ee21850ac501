"""What stands beside berth in the table: task-spooler, and the bare SQLite that berth's journal is written with."""
import contextlib
import os
import shutil
import sqlite3
import statistics
import subprocess
import tempfile
import time


def spawn(argv, env, folder=None):
    """Start a program that may print what it likes; its pid. The cheapest way there is from here."""
    actions = [(os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0), (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0)]
    return os.posix_spawn(argv[0], argv, env, file_actions=actions)


def wait(pid, argv):
    if code := os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]):
        raise AssertionError(f"{' '.join(argv)} ended with {code}")


def time_each(argv, env, n):
    """Seconds of each of n runs, one after the other."""
    spans = []
    for _ in range(n):
        begin = time.monotonic()
        wait(spawn(argv, env), argv)
        spans.append(time.monotonic() - begin)
    return spans


def time_crowd(argv, env, n, at_once):
    """Seconds for n runs, so many at once."""
    begin = time.monotonic()
    alive = set()
    for _ in range(n):
        if len(alive) == at_once:
            alive.remove(os.wait()[0])
        alive.add(spawn(argv, env))
    for pid in alive:
        wait(pid, argv)
    return time.monotonic() - begin


class Spooler:
    """A task-spooler server of its own. None of this when it is not installed: see is_here()."""

    def __init__(self):
        self.program = shutil.which("tsp")
        self.folder = tempfile.mkdtemp(prefix="berth-bench-tsp-")
        self.env = {"PATH": os.environ["PATH"], "TS_SOCKET": os.path.join(self.folder, "socket"), "TMPDIR": self.folder}

    @staticmethod
    def is_here():
        return shutil.which("tsp") is not None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()
        shutil.rmtree(self.folder, ignore_errors=True)

    def call(self, *argv):
        return subprocess.run([self.program, *argv], env=self.env, stdin=subprocess.DEVNULL, text=True, check=False,
                              capture_output=True).stdout

    def end(self):
        """The server and what runs in it."""
        if " running " in self.call("-l"):
            self.call("-k")
        self.call("-K")

    def block(self):
        """A fresh server with one slot, and something in it: what comes now waits, up to a thousand in all."""
        self.end()
        self.call("-S", "1")
        self.call("sleep", "1000")

    def argv(self, *command):
        return [self.program, *command]

    def run_all(self, n, slots):
        """Seconds from the first submission of `true` until all n have ended."""
        self.call("-S", str(slots))
        self.call("-C")
        begin = time.monotonic()
        time_each(self.argv("true"), self.env, n)
        while (listed := self.call("-l")).count("finished") < n:
            if time.monotonic() - begin > 60:
                raise AssertionError(f"task-spooler does not end its jobs:\n{listed[-2000:]}")
            time.sleep(0.002)
        return time.monotonic() - begin


def sqlite_rate(n, batch):
    """Rows per second into a table like the journal, WAL and synchronous=FULL, so many to a transaction."""
    folder = tempfile.mkdtemp(prefix="berth-bench-sqlite-")
    body, seal = "x" * 300, b"s" * 32
    with contextlib.closing(sqlite3.connect(os.path.join(folder, "raw.db"), isolation_level=None)) as db:
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("PRAGMA synchronous=FULL")
        db.execute("CREATE TABLE journal(seq INTEGER PRIMARY KEY, at_ms INTEGER, kind TEXT, body TEXT, seal BLOB)")
        begin = time.monotonic()
        for first in range(0, n, batch):
            db.execute("BEGIN IMMEDIATE")
            db.executemany("INSERT INTO journal VALUES(?, ?, ?, ?, ?)",
                           ((seq, seq, "JOB_SUBMITTED", body, seal) for seq in range(first, first + batch)))
            db.execute("COMMIT")
        span = time.monotonic() - begin
    shutil.rmtree(folder)
    return n / span


def percentile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]


def median(values):
    return statistics.median(values)

#!/usr/bin/env python3
"""How fast, how small: the real programs, beside task-spooler and bare SQLite where they are, in one run.

    speed.py BUILD STAMP [--rounds N] [FIGURE...]

Prints one line per figure as it is measured: the median of the rounds with their range, what stands beside it, and the
ratio of the two. Rounds of both alternate, since a machine's speed drifts. FIGURE: names of figures, all without.
"""
import argparse
import collections
import contextlib
import json
import os
import re
import sys
import tempfile
import time

sys.path[:0] = [os.path.join(os.path.dirname(os.path.abspath(__file__)), "../e2e")]

import rivals  # noqa: E402
from rivals import median, percentile  # noqa: E402
from subject import Subject, cpu_s, memory_mib  # noqa: E402

NOT_HERE = "not here"
FIGURES = {}


def figure(function):
    FIGURES[function.__name__] = function
    return function


def number(value):
    if value is None:
        return NOT_HERE
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def row(what, unit, values, beside="", others=()):
    """One line. others: the same of something else, whose name is beside."""
    mine = median(values)
    spread = f"({number(min(values))}..{number(max(values))})" if len(values) > 1 else ""
    line = f"{what:<50} {number(mine):>7} {unit:<7} {spread:<17}"
    if beside and not others:
        line += f" {beside}: {NOT_HERE}"
    elif beside:
        line += f" {beside} {number(median(others))}, ratio {mine / median(others):.2f}"
    print(line.rstrip(), flush=True)


def spooler_or_none(stack):
    return stack.enter_context(rivals.Spooler()) if rivals.Spooler.is_here() else None


@figure
def submit(at, rounds):
    """Durable submissions by one CLI process each; nothing starts meanwhile."""
    n, mine, theirs = 100, collections.defaultdict(list), collections.defaultdict(list)
    with contextlib.ExitStack() as stack:
        berth = stack.enter_context(at())
        tsp = spooler_or_none(stack)
        berth.start()
        berth.block()
        argv, env = berth.argv("submit", "--parsable", "-G", "1", "--", "true"), berth.environment()
        for _ in range(rounds):
            before = berth.fsyncs()
            spans = rivals.time_each(argv, env, n)
            mine["fsyncs"].append((berth.fsyncs() - before) / n)
            mine["rate"].append(n / sum(spans))
            mine["p50"].append(median(spans) * 1000)
            before = berth.fsyncs()
            mine["crowd"].append(n / rivals.time_crowd(argv, env, n, 8))
            mine["shared"].append((berth.fsyncs() - before) / n)
            if tsp:
                tsp.block()
                spans = rivals.time_each(tsp.argv("true"), tsp.env, n)
                theirs["rate"].append(n / sum(spans))
                theirs["p50"].append(median(spans) * 1000)
                theirs["crowd"].append(n / rivals.time_crowd(tsp.argv("true"), tsp.env, n, 8))
    row("submit, one CLI process each", "jobs/s", mine["rate"], "tsp", theirs["rate"])
    row("  p50 of one", "ms", mine["p50"], "tsp", theirs["p50"])
    row("  fsyncs of each", "", mine["fsyncs"])
    row("submit, 8 CLI processes at once", "jobs/s", mine["crowd"], "tsp", theirs["crowd"])
    row("  fsyncs of each", "", mine["shared"])


def post_many(berth, body, times, jobs):
    before, begin = berth.fsyncs(), time.monotonic()
    for _ in range(times):
        berth.post("/api/v1/jobs", body)
    span = time.monotonic() - begin
    return times * jobs / span, (berth.fsyncs() - before) / times


@figure
def api(at, rounds):
    """Posts over one connection; nothing starts meanwhile."""
    mine, theirs = collections.defaultdict(list), collections.defaultdict(list)
    with at() as berth:
        berth.start()
        berth.block()
        one, many = berth.bytes_of("true", gpus=1), berth.bytes_of("true", gpus=1, n=100)
        for _ in range(rounds):
            for name, body, times, jobs in (("one", one, 200, 1), ("many", many, 20, 100)):
                rate, fsyncs = post_many(berth, body, times, jobs)
                mine[name].append(rate)
                mine[name + " fsyncs"].append(fsyncs)
            theirs["one"].append(rivals.sqlite_rate(200, 1))
            theirs["many"].append(rivals.sqlite_rate(2000, 100))
    row("API, one job a post", "jobs/s", mine["one"], "raw SQLite", theirs["one"])
    row("  fsyncs of a post", "", mine["one fsyncs"])
    row("API, 100 jobs a post", "jobs/s", mine["many"], "raw SQLite", theirs["many"])
    row("  fsyncs of a post", "", mine["many fsyncs"])


@figure
def true(at, rounds):
    """`true`, from the first submission until the last end is durable; 8 slots are 8 cards."""
    n, mine, theirs = 200, collections.defaultdict(list), []
    with contextlib.ExitStack() as stack:
        berth = stack.enter_context(at())
        tsp = spooler_or_none(stack)
        berth.start()
        done = 0
        for _ in range(rounds):
            for gpus in (1, 0):
                body = berth.bytes_of("true", gpus=gpus, n=100)
                before, begin = berth.fsyncs(), time.monotonic()
                for _ in range(n // 100):
                    berth.post("/api/v1/jobs", body)
                done += n
                berth.until_completed(done)
                mine[gpus].append(n / (time.monotonic() - begin))
                mine[gpus, "fsyncs"].append((berth.fsyncs() - before) / n)
            argv = berth.argv("submit", "--parsable", "-G", "1", "--output", "/dev/null", "--", "true")
            begin = time.monotonic()
            rivals.time_each(argv, berth.environment(), n)
            done += n
            berth.until_completed(done)
            mine["cli"].append(n / (time.monotonic() - begin))
            if tsp:
                theirs.append(n / tsp.run_all(n, 8))
    row("`true` end to end, 8 cards, one CLI process each", "jobs/s", mine["cli"], "tsp, 8 slots", theirs)
    row("`true` end to end, 8 cards, arrays", "jobs/s", mine[1], "tsp, 8 slots", theirs)
    row("  fsyncs of the store, each", "", mine[1, "fsyncs"])
    row("`true` end to end, no cards, arrays", "jobs/s", mine[0], "tsp, 8 slots", theirs)
    row("  fsyncs of the store, each", "", mine[0, "fsyncs"])


class Gong:
    """A FIFO that jobs write the time of their start into."""

    def __init__(self, stamp):
        self.folder = tempfile.mkdtemp(prefix="berth-bench-")
        self.path = os.path.join(self.folder, "fifo")
        os.mkfifo(self.path)
        self.fd = os.open(self.path, os.O_RDWR | os.O_CLOEXEC)
        self.argv = [stamp, self.path]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.fd)
        os.unlink(self.path)
        os.rmdir(self.folder)

    def read_ms(self):
        return int(os.read(self.fd, 64)) / 1e6


@figure
def start(at, rounds):
    """From the acknowledgement of a submission (or from the client's start) to the command's first deed, nothing else running."""
    n, ack, api_begin, cli, theirs = 40, [], [], [], []
    with contextlib.ExitStack() as stack:
        berth = stack.enter_context(at())
        tsp = spooler_or_none(stack)
        gong = stack.enter_context(Gong(at.stamp))
        berth.start()
        done, body = 0, berth.bytes_of(*gong.argv, gpus=1)
        argv = berth.argv("submit", "--parsable", "-G", "1", "--output", "/dev/null", "--", *gong.argv)

        def rest():
            berth.until_completed(done)
            time.sleep(0.03)

        for _ in range(n * rounds // 2):
            begin = time.monotonic() * 1000
            berth.post("/api/v1/jobs", body)
            acknowledged = time.monotonic() * 1000
            runs, done = gong.read_ms(), done + 1
            api_begin.append(runs - begin)
            ack.append(runs - acknowledged)
            rest()
            begin = time.monotonic() * 1000
            rivals.wait(rivals.spawn(argv, berth.environment()), argv)
            cli.append(gong.read_ms() - begin)
            done += 1
            rest()
            if tsp:
                begin = time.monotonic() * 1000
                rivals.wait(rivals.spawn(tsp.argv(*gong.argv), tsp.env), ["tsp"])
                theirs.append(gong.read_ms() - begin)
                time.sleep(0.03)
    for share in (0.5, 0.95):
        name = f"p{share * 100:.0f}"
        row(f"start, acknowledged -> runs, {name}", "ms", [percentile(ack, share)])
        row(f"start, post begun -> runs, {name}", "ms", [percentile(api_begin, share)])
        row(f"start, CLI begun -> runs, {name}", "ms", [percentile(cli, share)], "tsp", [percentile(theirs, share)] if theirs else [])


@figure
def fsyncs(at, rounds):
    """Which file is flushed how often in the life of one job, as strace sees it."""
    del rounds
    if not any(os.access(os.path.join(folder, "strace"), os.X_OK) for folder in os.environ["PATH"].split(":")):
        print(f"fsyncs in the life of one job: strace is {NOT_HERE}")
        return
    with at() as berth, Gong(at.stamp) as gong:
        log = os.path.join(berth.folder, "strace")
        berth.start(wrap=("strace", "-f", "-y", "-e", "trace=fsync,fdatasync", "-o", log))
        for _ in range(2):  # the first finds the log of the store as it was left at start
            time.sleep(0.5)
            seen = os.path.getsize(log)
            berth.post("/api/v1/jobs", berth.bytes_of(*gong.argv, gpus=1))
            gong.read_ms()
            time.sleep(0.02)
            running = os.path.getsize(log)
            time.sleep(0.5)
        with open(log, encoding="utf-8") as file:
            file.seek(seen)
            text, rest = file.read(running - seen), file.read()
        for what, part in (("until it runs (and is so recorded)", text), ("afterwards", rest)):
            names = re.findall(r"sync\(\d+<([^>]*)>", part)
            count = collections.Counter(re.sub(r"\d+\.\d+\.|\.berth-.*", "ATTEMPT.", os.path.relpath(name, berth.state)) for name in names)
            print(f"fsyncs of one job, {what}: " + ", ".join(f"{n} {name}" for name, n in count.most_common()), flush=True)


def fill(berth, n, kib=0):
    """Queue n jobs behind a blocker, each with an environment of its own when kib is not 0; seconds it took."""
    begin = time.monotonic()
    for first in range(0, n, 1000):
        jobs = [berth.job_json("true", gpus=1, env=["PATH=/usr/bin:/bin"] + ([f"JOB={i}", "PAD=" + "x" * (kib * 1024 - 50)] if kib else []))
                for i in range(first, first + 1000)]
        berth.post("/api/v1/jobs", json.dumps(jobs).encode())
    return time.monotonic() - begin


@figure
def queue(at, rounds):
    """10,000 queued: how long the list takes."""
    with at() as berth:
        berth.start()
        berth.block()
        fill(berth, 10000)
        for words in (("queue", "--json"), ("queue",)):
            argv = berth.argv(*words)
            row(f"10,000 queued: `{' '.join(words)}`", "ms",
                [span * 1000 for span in rivals.time_each(argv, berth.environment(), 2 * rounds + 1)])
        spans = []
        for _ in range(2 * rounds + 1):
            begin = time.monotonic()
            berth.request("GET", "/healthz")
            spans.append((time.monotonic() - begin) * 1000)
        row("10,000 queued: one GET /healthz beside it", "ms", spans)


@figure
def many(at, rounds):
    """100,000 queued, each with 2 KB of environment of its own: memory, restart."""
    del rounds
    with at() as berth:
        berth.start()
        berth.block()
        empty = memory_mib(berth.process.pid)
        span = fill(berth, 100000, kib=2)
        row("100,000 queued: submitted in arrays of 1,000", "jobs/s", [100000 / span])
        row("100,000 queued: memory of berthd (empty: " + number(empty) + ")", "MiB", [memory_mib(berth.process.pid)])
        row("  at its peak", "MiB", [memory_mib(berth.process.pid, "VmHWM")])
        spans = collections.defaultdict(list)
        for end in ("SIGKILL", "SIGTERM"):
            for _ in range(3):
                berth.kill() if end == "SIGKILL" else berth.stop()
                begin = time.monotonic()
                berth.start()
                spans[end].append(time.monotonic() - begin)
            row(f"100,000 queued: restart after {end}", "s", spans[end])
        row("  memory of berthd then", "MiB", [memory_mib(berth.process.pid)])
        size = sum(os.path.getsize(os.path.join(berth.state, name)) for name in os.listdir(berth.state) if name.startswith("berth.db"))
        row("  database", "MiB", [size / 2**20])


@figure
def idle(at, rounds):
    """Eight cards at 1 Hz, nothing else."""
    del rounds
    with at() as berth:
        berth.start()
        time.sleep(2)
        family = berth.family()
        before, begin = {name: cpu_s(pid) for name, pid in family.items()}, time.monotonic()
        time.sleep(15)
        span = time.monotonic() - begin
        for name, pid in family.items():
            row(f"idle, 8 cards at 1 Hz: {name}", "% CPU", [(cpu_s(pid) - before[name]) / span * 100])
            row("  memory", "MiB", [memory_mib(pid)])
        row("  CPU of all", "% CPU", [sum(cpu_s(pid) - before[name] for name, pid in family.items()) / span * 100])
        row("  memory of all", "MiB", [sum(memory_mib(pid) for pid in family.values())])


@figure
def cli(at, rounds):
    """What a command line costs by itself."""
    with at() as berth:
        berth.start()
        spans = collections.defaultdict(list)
        for _ in range(rounds):
            for name, argv in (("true", ["/bin/true"]), ("version", berth.argv("--version")), ("queue", berth.argv("queue"))):
                spans[name].append(median(rivals.time_each(argv, berth.environment(), 40)) * 1000)
        row("command line: `berth --version`", "ms", spans["version"], "/bin/true", spans["true"])
        row("command line: `berth queue`, empty", "ms", spans["queue"], "/bin/true", spans["true"])


class Place:
    """Makes the berths that are measured."""

    def __init__(self, build, stamp):
        self.build, self.stamp = build, os.path.abspath(stamp)

    def __call__(self):
        return Subject(self.build)


def machine():
    with open("/proc/meminfo", encoding="ascii") as file:
        gib = int(file.readline().split()[1]) / 2**20
    with open("/proc/self/mounts", encoding="utf-8") as file:
        mounts = [line.split()[1:3] for line in file]
    kind = max((at, kind) for at, kind in mounts if os.path.join(tempfile.gettempdir(), "").startswith(os.path.join(at, "")))[1]
    return (f"{os.cpu_count()} cores, {gib:.0f} GiB, {kind}, Linux {os.uname().release.split('-')[0]}, "
            f"load {os.getloadavg()[0]:.2f}, nice {os.getpriority(os.PRIO_PROCESS, 0)}")


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("build")
    options.add_argument("stamp")
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("figures", nargs="*", metavar="FIGURE", help=" ".join(FIGURES))
    asked = options.parse_intermixed_args()
    for name in asked.figures:
        if name not in FIGURES:
            options.error(f"no figure is called {name}; there are: {' '.join(FIGURES)}")
    print(f"{machine()}; median of {asked.rounds} rounds (least..most)")
    place = Place(asked.build, asked.stamp)
    for name in asked.figures or FIGURES:
        FIGURES[name](place, asked.rounds)


if __name__ == "__main__":
    main()

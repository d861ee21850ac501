"""Kills berth-exec, its shims, and what becomes a job's command, at every k-th system call of theirs; or lets those calls fail.

kill_parts.py BUILD TRACEJOB NTHCALL [--step N] [--jobs 12] [--workers 2] [--who exec,shim,leader,shim/EMFILE,…]

In each life of 12 jobs one berth-exec, or every other shim, is killed at its k-th call, or that fails (nthcall.c). k grows by the step
until lives are over before their k-th call. Every life is judged by the checker: what runs, runs once, and a code is known or said
to be unknown.
"""
import argparse
import concurrent.futures
import platform
import shutil
import sys
import tempfile
import time

from libexec import WatchedLife

STRIDES = {"exec": 8, "shim": 3, "leader": 2}  # a share of a long life takes longer steps
ERRORS = ("EMFILE", "ENOSPC", "EIO", "EINTR", "ENOMEM", "EAGAIN")
IN_A_ROW = 3  # lives without a kill that end the sweep


def one(args, who, k):
    """One life: (k, number of kills, seconds, faults)."""
    folder = tempfile.mkdtemp(prefix="berth-parts-")
    begin = time.monotonic()
    try:
        life = WatchedLife(args.build, args.tracejob, args.nthcall, folder, args.jobs, k, who)
        faults = life.run()
        return k, life.n_hit(), time.monotonic() - begin, faults
    except Exception as error:  # a life that cannot be lived to its end is a fault too
        return k, 0, time.monotonic() - begin, [f"broken: {type(error).__name__}: {error}"]
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def sweep(args, who, step, pool):
    lives = kills = in_a_row = slowest = 0
    broken = []
    k = 1
    while in_a_row < IN_A_ROW and len(broken) <= 20:
        batch = [k + i * step for i in range(args.workers * 2)]
        k = batch[-1] + step
        for at, killed, seconds, faults in pool.map(lambda at: one(args, who, at), batch):
            lives += 1
            kills += killed
            slowest = max(slowest, seconds)
            broken += [f"{who}, call {at}: {fault}" for fault in faults]
            in_a_row = 0 if killed else in_a_row + 1
    print(f"{who}: {lives} lives, {kills} hits, up to system call {k - step}, slowest {slowest:.1f} s, {len(broken)} broken promises",
          flush=True)
    if not kills:
        broken.append(f"{who}: nothing was hit")
    return broken


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("tracejob")
    parser.add_argument("nthcall")
    parser.add_argument("--step", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=12)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--who", default="exec,shim,leader")
    parser.add_argument("--errors", action="store_true", help="instead of killing, every error at every step of exec and shim")
    args = parser.parse_args()
    if args.errors:
        args.who = ",".join(f"{who}/{error}" for who in ("exec", "shim", "leader") for error in ERRORS)
    if "/" in args.who and platform.machine() != "x86_64":
        print("skipped: made for x86-64")
        return 77

    broken = []
    with concurrent.futures.ThreadPoolExecutor(args.workers) as pool:
        for who in args.who.split(","):
            step = args.step * STRIDES.get(who, 1) if args.step > 1 else 1
            broken += sweep(args, who, step, pool)
    print("\n".join(broken[:40]))
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())

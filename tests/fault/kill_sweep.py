"""Kills the daemon at every k-th system call of a 12-job life.

kill_sweep.py BUILD TRACEJOB [--step 7] [--first 1] [--jobs 12] [--workers 2]

strace counts the calls of each thread of the daemon (-f; -b execve lets exec'd children go) and kills it at call k. k grows by the
step until eight lives in a row are over before their k-th call. Every life is judged by the checker.
"""
import argparse
import concurrent.futures
import shutil
import sys
import tempfile

from life import Life


def one(build, tracejob, jobs, k):
    """One life with the daemon killed at its k-th call: (k, was it killed, faults)."""
    folder = tempfile.mkdtemp(prefix="berth-sweep-")
    try:
        life = Life(build, tracejob, folder, jobs, seed=k)
        faults = life.run(wrap=("strace", "-f", "-b", "execve", "-qq", "-o", "/dev/null", "-e", f"inject=all:signal=SIGKILL:when={k}"))
        return k, life.kills["berthd"] > 0, faults
    except Exception as error:  # a life that cannot be lived to its end is a fault too
        return k, True, [f"broken: {type(error).__name__}: {error}"]
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("tracejob")
    parser.add_argument("--step", type=int, default=7)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=12)
    parser.add_argument("--workers", type=int, default=2)
    args = parser.parse_args()
    if not shutil.which("strace"):
        print("skipped: strace is not installed")
        return 77

    lives = kills = in_a_row = 0
    broken = []
    k = args.first
    with concurrent.futures.ThreadPoolExecutor(args.workers) as pool:
        while in_a_row < 8 and len(broken) <= 20:
            batch = [k + i * args.step for i in range(args.workers * 4)]
            k = batch[-1] + args.step
            for at, was_killed, faults in pool.map(lambda at: one(args.build, args.tracejob, args.jobs, at), batch):
                lives += 1
                kills += was_killed
                broken += [f"call {at}: {fault}" for fault in faults]
                in_a_row = 0 if was_killed else in_a_row + 1
    print("\n".join(broken[:40]))
    print(f"{lives} lives, {kills} kills, up to system call {k - args.step}, {len(broken)} broken promises")
    return 1 if broken or kills < 20 else 0


if __name__ == "__main__":
    sys.exit(main())

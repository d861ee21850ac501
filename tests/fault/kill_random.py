"""Kills daemon, berth-exec and shims at random over many jobs.

kill_random.py BUILD TRACEJOB [--jobs 60] [--seeds 1-3] [--pause-ms 35]

Every pause one of them gets SIGKILL: the daemon in 6 of 10 cases, a shim in 3, berth-exec in 1. The seed fixes jobs and order of
victims (not the scheduling of the machine).
"""
import argparse
import os
import shutil
import signal
import sys
import tempfile

from life import Life


def torment(life, pause_s):
    while not life.over.wait(life.random.uniform(0.5, 1.5) * pause_s):
        victim = life.random.choice(["berthd"] * 6 + ["shim"] * 3 + ["berth-exec"])
        pids = life.daemon.pids(victim)
        if not pids:
            continue
        if victim != "berthd":
            life.watchers_killed = True
        try:
            os.kill(life.random.choice(pids), signal.SIGKILL)
            life.kills[victim] += 1
        except ProcessLookupError:
            pass


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("tracejob")
    parser.add_argument("--jobs", type=int, default=60)
    parser.add_argument("--seeds", default="1-3")
    parser.add_argument("--pause-ms", type=int, default=35)
    args = parser.parse_args()

    first, _, last = args.seeds.partition("-")
    broken = []
    for seed in range(int(first), int(last or first) + 1):
        folder = tempfile.mkdtemp(prefix="berth-random-")
        try:
            life = Life(args.build, args.tracejob, folder, args.jobs, seed, job_ms=(5, 200))
            faults = life.run(torment=lambda life: torment(life, args.pause_ms / 1000))
            unknown = sum(1 for words in faults if words.startswith("unknown"))
            print(f"seed {seed}: {len(life.acked)} jobs, kills {life.kills}, {len(faults)} broken promises, {unknown} unknown codes")
            broken += [f"seed {seed}: {fault}" for fault in faults]
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    print("\n".join(broken[:40]))
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())

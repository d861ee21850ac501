"""Stops daemon, berth-exec and shims with SIGSTOP for a while, again and again, and lets them go on.

pause_parts.py BUILD TRACEJOB [--jobs 40] [--seeds 1-2] [--pause-ms 300] [--together]

One part at a time, or several at once (--together), stands still for up to twice the pause. Nothing dies of it: every job runs
once, every exit code is known, and no card is given twice.
"""
import argparse
import os
import shutil
import signal
import sys
import tempfile

from life import Life

PARTS = ("berthd", "berth-exec", "shim")


def send(pids, sig):
    for pid in pids:
        try:
            os.kill(pid, sig)
        except ProcessLookupError:
            pass


def torment(life, pause_s, together):
    while not life.over.wait(life.random.uniform(0.01, 0.1)):
        kinds = life.random.sample(PARTS, life.random.randint(1, 3) if together else 1)
        pids = [pid for kind in kinds for pid in life.daemon.pids(kind)]
        if not together:
            pids = life.random.sample(pids, min(len(pids), 2))
        send(pids, signal.SIGSTOP)
        life.over.wait(life.random.uniform(0.2, 2) * pause_s)
        send(pids, signal.SIGCONT)
        life.pauses += len(pids)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("tracejob")
    parser.add_argument("--jobs", type=int, default=40)
    parser.add_argument("--seeds", default="1-2")
    parser.add_argument("--pause-ms", type=int, default=300)
    parser.add_argument("--together", action="store_true")
    args = parser.parse_args()

    first, _, last = args.seeds.partition("-")
    broken = []
    for seed in range(int(first), int(last or first) + 1):
        folder = tempfile.mkdtemp(prefix="berth-pause-")
        try:
            life = Life(args.build, args.tracejob, folder, args.jobs, seed, job_ms=(5, 400))
            life.pauses = 0
            faults = life.run(torment=lambda life: torment(life, args.pause_ms / 1000, args.together))
            print(f"seed {seed}: {len(life.acked)} jobs, {life.pauses} pauses, {len(faults)} broken promises", flush=True)
            broken += [f"seed {seed}: {fault}" for fault in faults]
            if life.pauses == 0:
                broken.append(f"seed {seed}: nothing was stopped")
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    print("\n".join(broken[:40]))
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())

"""Lets system calls of the daemon fail, one at a time, in 12-job lives.

fail_calls.py BUILD TRACEJOB [--share 1] [--times 1] [--jobs 12] [--workers 2] [--keep FOLDER]

For each call, each error it can give, and a spread of k: the k-th such call of each thread (and with --times the ones behind it) fails
with that error (strace). The daemon may end over it, and is started again as a service manager would do; the promises hold all the
same, and every exit code is known, since no watcher was killed. --share N takes every N-th case.
"""
import argparse
import concurrent.futures
import os
import shutil
import sys
import tempfile
import time

from libexec import QUICK_BACKOFF
from life import Life

CASES = {
    "openat": ["ENOSPC", "EIO", "EMFILE", "ENOMEM", "EINTR"],
    "write": ["ENOSPC", "EIO", "EINTR"],
    "pwrite64": ["ENOSPC", "EIO", "EINTR"],
    "pread64": ["EIO", "EINTR"],
    "fsync,fdatasync": ["EIO", "ENOSPC", "EINTR"],
    "ftruncate,fallocate": ["ENOSPC", "EIO"],
    "rename,renameat,renameat2,unlink,unlinkat": ["EIO", "ENOSPC"],
    "fcntl": ["EINTR", "ENOLCK", "EMFILE"],
    "memfd_create": ["EMFILE", "ENOMEM"],
    "socket,socketpair,pipe2": ["EMFILE", "ENOMEM"],
    "connect": ["EAGAIN", "ECONNREFUSED", "EINTR"],
    "accept4": ["EMFILE", "EAGAIN", "ENOMEM", "EINTR"],
    "sendmsg,sendto": ["EAGAIN", "EPIPE", "ENOMEM"],
    "recvmsg,recvfrom": ["EAGAIN", "ECONNRESET", "ENOMEM"],
    "read": ["EIO", "EINTR", "EAGAIN"],
    "epoll_wait,epoll_ctl": ["EINTR", "ENOMEM"],
    "mmap,brk": ["ENOMEM"],
    "vfork,clone,clone3": ["EAGAIN", "ENOMEM"],
    "wait4,waitid": ["EINTR"],
    "newfstatat,statx,fstat": ["EIO", "ENOMEM"],
}
SPREAD = (1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144)


class PatientLife(Life):
    """As Life; an answer that something went wrong, or that no card was found (yet), is no acknowledgement: it is asked again."""

    def request(self, method, path, body=None, headers=None):
        for _ in range(100):
            status, answer = super().request(method, path, body, headers)
            if status != 500 and "NoNode" not in str(answer):
                break
            time.sleep(0.05)
        return status, answer


def cases():
    return [(calls, error, k) for calls, errors in CASES.items() for error in errors for k in SPREAD]


def one(args, calls, error, k):
    """One life: (how many calls failed, did the daemon end, faults)."""
    folder = tempfile.mkdtemp(prefix="berth-fail-")
    trace = os.path.join(folder, "strace")
    life = None
    try:
        life = PatientLife(args.build, args.tracejob, folder, args.jobs, seed=k)
        life.daemon.configure(QUICK_BACKOFF)
        faults = life.run(wrap=("strace", "-f", "-b", "execve", "-qq", "-o", trace, "-e", f"trace={calls}",
                                "-e", f"inject={calls}:error={error}:when={k}..{k + args.times - 1}"))
    except Exception as fault:  # a life that cannot be lived to its end is a fault too
        faults = [f"broken: {type(fault).__name__}: {fault}"]
    failed = 0
    if os.path.exists(trace):
        with open(trace, encoding="utf-8", errors="replace") as file:
            failed = sum(line.endswith("(INJECTED)\n") for line in file)
    if faults and args.keep:
        shutil.move(folder, os.path.join(args.keep, f"{calls}-{error}-{k}"))
    shutil.rmtree(folder, ignore_errors=True)
    return failed, bool(life and life.kills["berthd"]), faults


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("tracejob")
    parser.add_argument("--share", type=int, default=1)
    parser.add_argument("--times", type=int, default=1)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=12)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--keep", help="a folder for the state directories of lives that broke a promise")
    args = parser.parse_args()
    if not shutil.which("strace"):
        print("skipped: strace is not installed")
        return 77

    broken = []
    lives = calls_failed = ends = 0
    chosen = cases()[args.first::args.share]
    with concurrent.futures.ThreadPoolExecutor(args.workers) as pool:
        for case, (failed, has_ended, faults) in zip(chosen, pool.map(lambda case: one(args, *case), chosen)):
            lives += 1
            calls_failed += failed
            ends += has_ended
            broken += [f"{case[0]} {case[1]} at {case[2]}: {fault}" for fault in faults]
    print("\n".join(broken[:40]))
    print(f"{lives} lives, {calls_failed} calls failed, the daemon ended over {ends}, {len(broken)} broken promises")
    return 1 if broken or calls_failed < lives / 3 else 0


if __name__ == "__main__":
    sys.exit(main())

"""A berth whose berth-exec starts under nthcall: a folder for BERTH_LIBEXEC, and a life that uses it.

who: "exec", "shim" or "leader", with "/ERROR" for a call that fails; see nthcall.c.
"""
import os
import shlex

import checker
from harness import program
from life import Life

# Quick back-off, so that an attempt that could not be started is soon tried again.
QUICK_BACKOFF = "listen: none\nbackoff: {first: 1s, max: 1s}\n"


def make(folder, build, nthcall, n, who):
    """The folder: berth-probe as it is; the first berth-exec runs under nthcall, later ones as they are."""
    libexec = os.path.join(folder, "libexec")
    os.makedirs(libexec)
    os.symlink(program(build, "berth-probe"), os.path.join(libexec, "berth-probe"))
    real = shlex.quote(program(build, "berth-exec"))
    path = os.path.join(libexec, "berth-exec")
    with open(path, "w", encoding="ascii") as file:
        file.write(f"#!/bin/sh\nmkdir {shlex.quote(folder)}/wrapped 2>/dev/null || exec {real} \"$@\"\n"
                   f"exec {shlex.quote(nthcall)} {n} {who} {shlex.quote(folder)}/killed {real} \"$@\"\n")
    os.chmod(path, 0o755)
    return libexec


class WatchedLife(Life):
    """As Life; its part `who` is killed at its n-th system call, or that call fails."""

    def __init__(self, build, tracejob, nthcall, folder, jobs, n, who):
        super().__init__(build, tracejob, folder, jobs, seed=n)
        self.daemon.configure(QUICK_BACKOFF)
        self.killed = os.path.join(folder, "killed")
        libexec = make(folder, build, nthcall, n, who)
        plain = self.daemon.environment
        self.daemon.environment = lambda: {**plain(), "BERTH_LIBEXEC": libexec}
        self.watchers_killed = True
        self.who = who

    def run(self, wrap=(), torment=None):
        faults = super().run(wrap, torment)
        return [fault for fault in faults if not self.is_true(fault)]

    def is_true(self, fault):
        """A command that never ran has no code of its own: killed on its way there, or it could not be started."""
        words = fault.split()
        started = {line[1] for line in checker.read_trace(self.trace) if line[0] == "start"}
        truths = ("berth says None (signal None, FAILED", "'code': 'ExecFailed'") if "/" in self.who else ("berth says None (signal 9, FAILED",)
        return words[:2] == ["invented:", "job"] and words[2] not in started and any(truth in fault for truth in truths)

    def n_hit(self):
        """How many were killed, or met with a failure."""
        try:
            with open(self.killed, encoding="ascii") as file:
                return len(file.readlines())
        except FileNotFoundError:
            return 0

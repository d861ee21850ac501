"""A berth whose berth-exec starts under nthcall: a folder for BERTH_LIBEXEC, and a life that uses it."""
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
    """As Life; its part `who` is killed at its n-th system call."""

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
        return faults if self.who != "leader" else [fault for fault in faults if not self.is_true(fault)]

    def is_true(self, fault):
        """SIGKILL is what a command ended with that was killed on its way there, if it never ran."""
        words = fault.split()
        started = {line[1] for line in checker.read_trace(self.trace) if line[0] == "start"}
        return words[:2] == ["invented:", "job"] and words[2] not in started and "berth says None (signal 9, FAILED" in fault

    def n_killed(self):
        """How many were killed so far."""
        try:
            with open(self.killed, encoding="ascii") as file:
                return len(file.readlines())
        except FileNotFoundError:
            return 0

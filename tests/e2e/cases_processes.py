"""Processes: all of a job end with it, no other is touched, arguments and exit codes arrive as they were, no end is missed."""
import ctypes
import json
import os
import signal
import struct
import subprocess
import sys

import case
from case import DONE, Case
from harness import is_dead

# Leaves the job's process group and session in every way that a shell knows, and one that it does not.
FUGITIVES = """
import os, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN if sys.argv[1] == "stay" else signal.SIG_DFL)
pids = []
def note():
    with open("pids", "a") as file:
        file.write("%d\\n" % os.getpid())
def sleep():
    note()
    os.execvp("sleep", ["sleep", "999"])
for way in ("plain", "setsid", "double", "nohup"):
    if os.fork() == 0:
        if way != "plain":
            os.setsid()
        if way == "double" and os.fork():
            os._exit(0)
        if way == "nohup":
            signal.signal(signal.SIGHUP, signal.SIG_IGN)
            for fd in range(3):
                os.dup2(os.open("/dev/null", os.O_RDWR), fd)
        os.environ.clear()
        sleep()
while len(open("pids").read().split() if os.path.exists("pids") else ()) < 4:
    time.sleep(0.02)
open("ready", "w").write("ready")
time.sleep(999 if sys.argv[1] == "stay" else 0)
"""
CLONE3, CLONE_ARGS = 435, struct.Struct("=11Q")


def run_as_pid(pid, argv):
    """A child with this very pid, as if numbers had come round; None where that is not allowed."""
    wanted = (ctypes.c_int * 1)(pid)
    args = ctypes.create_string_buffer(CLONE_ARGS.pack(0, 0, 0, 0, signal.SIGCHLD, 0, 0, 0, ctypes.addressof(wanted), 1, 0))
    made = ctypes.CDLL(None, use_errno=True).syscall(CLONE3, args, len(args.raw) - 1)
    if made == 0:
        os.execvp(argv[0], argv)
    return made if made > 0 else None


class Processes(Case):
    def start_fugitives(self, mode):
        job = self.submit("--grace", "1s", "--", sys.executable, "-c", FUGITIVES, mode)
        self.until_file("ready")
        return job, [int(pid) for pid in self.read("pids").split()]

    def check_none_is_left(self, pids):
        self.assertEqual(len(pids), 4)
        self.assertEqual([pid for pid in pids if not is_dead(pid)], [])
        self.assertEqual(len(self.free()), 8)

    def check_fugitives(self):
        job, pids = self.start_fugitives("stay")
        self.assertEqual([pid for pid in pids if is_dead(pid)], [])
        self.run_ok("cancel", str(job))
        self.assertEqual(self.ended(job)["state"], "CANCELLED")
        self.check_none_is_left(pids)
        os.unlink(self.path("pids"))
        os.unlink(self.path("ready"))
        job, pids = self.start_fugitives("leave")
        self.assertEqual(self.ended(job)["state"], "COMPLETED")
        self.check_none_is_left(pids)

    def test_E1_what_left_the_process_group_ends_with_the_job(self):
        """Elsewhere processes that had called setsid, or forked twice, outlived a cancel and kept the card."""
        self.start()
        self.check_fugitives()

    def test_E1_the_same_without_control_groups(self):
        """Elsewhere the same on machines where the scheduler may make no control group."""
        hide = 'for at in $(grep cgroup /proc/mounts | cut -d" " -f2); do mount -o remount,bind,ro "$at" || exit; done; exec "$@"'
        if subprocess.run(["unshare", "-m", "sh", "-c", hide, "sh", "true"], stderr=subprocess.DEVNULL, check=False).returncode != 0:
            self.skipTest("may not make a mount namespace here")
        self.start(None, wrap=("unshare", "-m", "sh", "-c", hide, "sh"))
        self.berth.until(lambda: self.berth.get("/api/v1/status")["exec"] == "ok", "berth-exec says how it holds processes")
        self.assertIn("sub-reaper", self.berth.get("/api/v1/status")["containment"])
        self.check_fugitives()

    def test_E2_a_cancel_is_not_over_before_the_processes_are(self):
        """Elsewhere a cancel reported success although the process ignored its SIGTERM, and the card was given away."""
        self.start()
        job = self.submit("-G", "8", "--grace", "2s", "--", "sh", "-c", "trap '' TERM; echo $$ > pid; while :; do sleep 0.1; done")
        pid = int(self.until_file("pid"))
        behind = self.submit("-G", "8", "--", "sh", "-c", f"kill -0 {pid} || echo alone > alone")
        self.run_ok("cancel", str(job))
        while not is_dead(pid):
            states = self.berth.job(job)["state"], self.berth.job(behind)["state"], self.free()
            if not is_dead(pid):
                self.assertIn(states, (("RUNNING", "PENDING", []), ("STOPPING", "PENDING", [])))
        self.assertEqual(self.ended(job)["state"], "CANCELLED")
        self.assertEqual(self.ended(behind)["state"], "COMPLETED")
        self.assertEqual(self.read("alone"), "alone\n")

    def test_E2_a_process_that_got_the_number_of_a_dead_one_is_not_touched(self):
        """Elsewhere a kill went to a stranger who had got the pid of a job's process after that had died."""
        self.start()
        job = self.submit("--grace", "1s", "--", "sleep", "600")
        pids = [self.running(job)["pid"], *self.berth.pids("shim")]
        for pid in (self.berth.process.pid, *self.berth.pids("berth-exec"), *pids):
            os.kill(pid, signal.SIGKILL)
        self.berth.process.wait()
        self.berth.until(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in pids), "their numbers are free")
        strangers = [run_as_pid(pid, ["sleep", "600"]) for pid in pids]
        for pid in filter(None, strangers):
            self.addCleanup(os.waitpid, pid, 0)
            self.addCleanup(os.kill, pid, signal.SIGKILL)
        if strangers != pids:
            self.skipTest("may not choose the pid of a process here")
        self.start()
        self.run_ok("cancel", str(job))
        ended = self.ended(job)
        self.assertEqual((ended["exit_code"], ended["signal"]), (None, None), "nobody saw how it ended")
        self.assertEqual(len(self.free()), 8)
        self.assertEqual([pid for pid in strangers if is_dead(pid)], [])

    def test_E6_arguments_arrive_as_they_were(self):
        """Elsewhere arguments were joined by blanks and read by another shell on the way."""
        self.start()
        argv = ["", " ", "a b", "it's", 'say "no"', "$(touch pwned)", "`touch pwned`", "$HOME", ">pwned", "; touch pwned", "a\nb", "-n", "--",
                "--gpus", "*", "\\", "\t", "%s%n", "训练", "🙂", "#", "~", "!!", "a=b", "x" * 50000]
        show = [sys.executable, "-c", "import json, sys; print(json.dumps(sys.argv[1:]))"]
        done = self.run_ok("run", "-G", "0", "--", *show, *argv)
        self.assertEqual(json.loads(done.stdout), argv)
        job = self.submit("-o", "out", "--", *show, *argv)
        self.ended(job)
        self.assertEqual(json.loads(self.read("out")), argv)
        with open(self.path("script.sh"), "w", encoding="utf-8") as script:
            script.write('#!/bin/sh\n#BERTH -G 0 -o script-out\nexec "$@"\n')
        self.ended(self.submit("script.sh", *show, *argv))
        self.assertEqual(json.loads(self.read("script-out")), argv)
        self.assertFalse(os.path.exists(self.path("pwned")))

    def test_E10_exit_codes_and_signals_are_told_apart(self):
        """Elsewhere a death by signal was shown as exit code -1."""
        self.start()
        ends = {"exit 0": (0, None), "exit 1": (1, None), "exit 126": (126, None), "exit 127": (127, None), "exit 255": (255, None),
                "exit 137": (137, None), "kill -9 $$": (None, 9), "kill -SEGV $$": (None, 11), "kill -TERM $$": (None, 15)}
        jobs = {end: self.berth.submit("sh", "-c", end, gpus=0) for end in ends}
        for end, job in jobs.items():
            ended = self.ended(job)
            code, sig = ends[end]
            self.assertEqual((ended["exit_code"], ended["signal"]), (code, sig), end)
            self.assertEqual(ended["state"], "COMPLETED" if code == 0 else "FAILED", end)
            self.assertEqual(ended["reason"]["code"], "None" if code == 0 else "RaisedSignal" if sig else "NonZeroExitCode", end)
            self.assertEqual(self.berth.run("wait", str(job)).returncode, 128 + sig if sig else code, end)
        done = self.berth.run("run", "-G", "0", "--", "no-such-program")
        self.assertEqual(done.returncode, 127)
        self.assertIn("no-such-program", done.stderr + done.stdout)

    def test_E12_a_job_is_never_out_of_sight(self):
        """Elsewhere a job had left the queue and not reached the history, and whoever polled took it for lost, or for done."""
        self.start("retention: 1s\n")
        jobs = [self.berth.submit("true", gpus=0)]
        seen = {}
        while len(jobs) < 60 or not all(job in seen for job in jobs):
            listed = {job["id"]: job["state"] for job in self.berth.get("/api/v1/jobs")["jobs"]}
            listed.update({job["id"]: job["state"] for job in self.berth.get("/api/v1/history?limit=1000")["jobs"]})
            for job in jobs:
                self.assertIn(job, listed)
                if job in seen:
                    self.assertEqual(listed[job], seen[job], "an end is for good")
                if listed[job] in DONE:
                    seen[job] = listed[job]
            self.assertIn(self.berth.job(jobs[-1])["state"], (*DONE, "PENDING", "RUNNING", "STOPPING"))
            if len(jobs) < 60:
                jobs.append(self.berth.submit("true", gpus=0))
        self.berth.until(lambda: not self.berth.get("/api/v1/jobs")["jobs"], "the queue has forgotten them")
        self.assertEqual([self.berth.job(job)["state"] for job in jobs], ["COMPLETED"] * 60)
        self.assertEqual(self.berth.run("wait", *map(str, jobs)).returncode, 0)

    def test_E12_submit_wait_returns_the_exit_code(self):
        """Elsewhere a build that waited for its job was told that it was done before it had begun."""
        self.start("retention: 1s\n")
        waiting = {code: self.berth.popen("submit", "--wait", "--", "sh", "-c", f"sleep 0.{code}; exit {code}", stdout=subprocess.DEVNULL,
                                          stderr=subprocess.DEVNULL) for code in range(6)}
        for code, client in waiting.items():
            with client:
                self.assertEqual(client.wait(30), code)

    def test_E15_no_end_is_missed_in_a_crowd(self):
        """Elsewhere many ends at once came as one SIGCHLD, and some jobs were never seen to end."""
        self.start()
        spec = {"argv": ["/bin/true"], "cwd": self.berth.folder, "env": [], "output": "/dev/null"}
        status, answer = self.berth.request("POST", "/api/v1/jobs", [{"gpus": i % 2, "spec": spec} for i in range(200)])
        self.assertEqual(status, 201)
        jobs = [job["id"] for job in answer["jobs"]]
        self.assertEqual(len(set(jobs)), 200)
        self.berth.until(lambda: self.berth.get("/api/v1/status")["jobs"]["COMPLETED"] == 200, "all are completed", seconds=120)
        self.assertEqual({(job["exit_code"], job["attempt"]) for job in self.berth.get("/api/v1/jobs")["jobs"]}, {(0, 1)})
        self.berth.until(lambda: not self.berth.pids("shim") and not os.listdir(self.path("state/attempts")), "nothing is left of them")
        self.assertEqual(len(self.free()), 8)


if __name__ == "__main__":
    case.main()

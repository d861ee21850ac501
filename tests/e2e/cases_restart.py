"""Crash and restart: jobs are found again, what is damaged is named and never skipped, nobody's death takes the daemon along."""
import contextlib
import os
import random
import signal
import sqlite3
import subprocess
import time

import case
from case import Case
from harness import read_proc

VANISHED = 200


def start_time(pid):
    """When the kernel started it: with the pid, who it is."""
    return int(read_proc(pid, "stat").rpartition(b")")[2].split()[19])


class Restart(Case):
    said = 0  # so much of the daemon's log was written before a start that must fail

    def check_adopted(self, victims):
        """Kill so many kinds of processes with three jobs running; all is as before when the daemon is back."""
        self.start()
        jobs = {self.submit("-G", "2", "--", "sh", "-c", f"until [ -e go ]; do sleep 0.05; done; exit {code}"): code for code in (0, 3, 9)}
        before = {job: self.running(job) for job in jobs}
        born = {shown["pid"]: start_time(shown["pid"]) for shown in before.values()}
        pids = [pid for kind in victims for pid in self.berth.pids(kind)]
        self.berth.kill()
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        self.start()
        for job, shown in before.items():
            now = self.berth.job(job)
            for name in ("state", "pid", "devices", "attempt", "restarts", "start_time"):
                self.assertEqual(now[name], shown[name], name)
        self.assertEqual({pid: start_time(pid) for pid in born}, born)
        self.assertEqual(len(self.free()), 2)
        self.assertEqual(sorted(job for gpu in self.berth.gpus() for job in gpu["jobs"]), sorted([*jobs, *jobs]))
        with open(self.path("go"), "w", encoding="ascii"):
            pass
        self.assertEqual({job: self.ended(job)["exit_code"] for job in jobs}, jobs)
        self.assertEqual(len(self.free()), 8)

    def test_D1_running_jobs_are_adopted(self):
        """Elsewhere a restart of the agent orphaned its jobs, and they were shown as running for hours after their end."""
        self.check_adopted(())

    def test_D1_running_jobs_are_adopted_by_a_new_exec_as_well(self):
        """Elsewhere the process that had started the jobs was needed to learn how they ended."""
        self.check_adopted(("berth-exec",))

    # --- what is damaged -----------------------------------------------------------------------------------------------------

    def fill(self):
        """Some state, whole, with nobody about; the ids of its jobs."""
        self.start()
        self.berth.submit("sleep", "600", gpus=8)
        jobs = [self.berth.submit("true", gpus=1, name=f"needle{i}") for i in range(5)]
        return jobs

    def refused(self):
        """A start that must fail; what it says."""
        self.berth.start(wait=False)
        self.assertEqual(self.berth.process.wait(30), 1, self.berth.log_text())
        said = self.berth.log_text()[self.said:]
        self.assertIn(self.path("state"), said)
        return said

    @property
    def database(self):
        return self.path("state/berth.db")

    def journal(self):
        with contextlib.closing(sqlite3.connect(self.database)) as database:
            return database.execute("SELECT count(*) FROM journal").fetchone()[0]

    def test_D2_a_flipped_byte_is_found_and_its_row_named(self):
        """Elsewhere a record that could not be read was skipped at start, and its job with it."""
        self.fill()
        self.assertEqual(self.berth.stop(), 0)
        with open(self.database, "rb") as file:
            whole = file.read()
        self.assertEqual(whole.count(b"needle3"), 1)
        self.said = len(self.berth.log_text())
        with open(self.database, "wb") as file:
            file.write(whole.replace(b"needle3", b"needlE3"))
        said = self.refused()
        self.assertRegex(said, r"berth\.db.*journal.*\b\d+\b")
        self.said += len(said)
        self.refused()  # and not only once
        with open(self.database, "wb") as file:
            file.write(whole)
        self.start()
        self.assertEqual(self.berth.job(5)["name"], "needle3")

    def test_D2_a_shortened_file_is_found(self):
        """Elsewhere a state file that had lost its end was taken for a shorter one."""
        self.fill()
        self.assertEqual(self.berth.stop(), 0)
        self.said = len(self.berth.log_text())
        os.truncate(self.database, os.path.getsize(self.database) // 2)
        self.assertIn("berth.db", self.refused())

    def test_D2_a_removed_row_is_found(self):
        """Elsewhere nobody noticed that records were missing."""
        self.fill()
        self.assertEqual(self.berth.stop(), 0)
        self.said = len(self.berth.log_text())
        with contextlib.closing(sqlite3.connect(self.database)) as database:
            last = database.execute("SELECT max(seq) FROM journal").fetchone()[0]
            database.execute("DELETE FROM journal WHERE seq = ?", (last - 2,))
            database.commit()
        self.assertRegex(self.refused(), rf"journal.*\b({last - 1}|{last - 2})\b")

    def test_D2_a_torn_end_loses_nothing_that_was_acknowledged(self):
        """Elsewhere a write that a crash had cut short made the whole state unreadable."""
        jobs = self.fill()
        self.berth.kill()
        with open(self.database + "-wal", "rb+") as wal:
            frames = wal.read().rstrip(b"\0")
            wal.seek(len(frames))
            wal.write(os.urandom(3000))
        self.start()
        self.assertEqual([self.berth.job(job)["name"] for job in jobs], [f"needle{i}" for i in range(5)])
        self.assertEqual(self.berth.submit("true"), jobs[-1] + 1)

    def test_D2_a_lost_log_is_found(self):
        """Elsewhere the newest writes were gone without a word when their log was."""
        self.fill()
        self.berth.kill()
        self.said = len(self.berth.log_text())
        os.unlink(self.database + "-wal")
        self.assertRegex(self.refused(), r"berth\.db.*journal")

    # --- what is long over -------------------------------------------------------------------------------------------------------

    def test_D5_an_end_is_taken_in_however_long_it_was_waited_for(self):
        """Elsewhere jobs that the controller had forgotten could not be given back by the agent, which kept them for ever."""
        self.start("retention: 1s\n")
        long = self.submit("-G", "1", "--", "sh", "-c", "until [ -e go ]; do sleep 0.05; done; exit 5")
        away = self.submit("-G", "1", "--", "sh", "-c", "until [ -e now ]; do sleep 0.05; done; exit 6")
        self.running(long)
        self.running(away)
        short = [self.berth.submit("true", gpus=1) for _ in range(3)]
        self.berth.until(lambda: {job["id"] for job in self.berth.get("/api/v1/jobs")["jobs"]} == {long, away}, "the short ones are forgotten")
        self.berth.kill()
        with open(self.path("now"), "w", encoding="ascii"):
            pass
        self.berth.until(lambda: len(self.berth.pids("shim")) == 1, "one ends while nobody listens")
        time.sleep(1.5)  # longer than what is over is kept
        self.start("retention: 1s\n")
        self.assertEqual(self.berth.run("wait", str(away)).returncode, 6)
        with open(self.path("go"), "w", encoding="ascii"):
            pass
        self.assertEqual(self.berth.run("wait", str(long)).returncode, 5)
        self.berth.until(lambda: not self.berth.get("/api/v1/jobs")["jobs"], "all are forgotten")
        history = {job["id"]: (job["state"], job["exit_code"]) for job in self.berth.get("/api/v1/history")["jobs"]}
        self.assertEqual(history, {long: ("FAILED", 5), away: ("FAILED", 6), **{job: ("COMPLETED", 0) for job in short}})
        self.berth.until(lambda: not self.berth.pids("shim") and not os.listdir(self.path("state/attempts")), "nothing is left of them")

    # --- clients ----------------------------------------------------------------------------------------------------------------------

    def test_D6_clients_that_are_killed_take_nobody_along(self):
        """Elsewhere the server died with its client, and an empty one with other settings quietly took its place."""
        self.start("defaults: {time: 3h}\n")
        self.run_ok("drain", "7")
        job = self.berth.submit("sh", "-c", "while :; do echo line; sleep 0.01; done", gpus=1, spec={"output": "/dev/null"})
        self.running(job)
        chance = random.Random(6)
        verbs = (["queue", "--watch"], ["logs", "-f", str(job)], ["run", "-G", "0", "--", "sleep", "1"], ["wait", str(job)], ["gpus"],
                 ["submit", "-G", "0", "--hold", "--", "true"])
        clients = []
        for i in range(VANISHED):
            clients.append(self.berth.popen(*verbs[i % len(verbs)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
            if len(clients) == 8 or i == VANISHED - 1:
                time.sleep(chance.uniform(0, 0.03))
                for client in clients:
                    client.kill()
                for client in clients:
                    client.wait()
                clients = []
        self.assertIsNone(self.berth.process.poll())
        self.assertEqual(self.berth.gpus()[7]["state"], "drained")
        self.assertEqual(self.berth.job(self.submit("--hold", "--", "true"))["limit_ms"], 3 * 3600 * 1000)
        self.assertEqual(self.berth.job(job)["state"], "RUNNING")

    def test_D6_no_client_starts_a_server(self):
        """Elsewhere a client that found no server started a new, empty one."""
        self.start()
        self.run_ok("drain", "7")
        job = self.berth.submit("true", hold=True)
        self.berth.kill()
        done = self.berth.run("queue")
        self.assertEqual((done.returncode, done.stdout), (6, ""))
        self.assertIn(self.berth.socket, done.stderr)
        self.assertEqual(self.berth.pids("berthd"), [])
        self.start()
        self.assertEqual((self.berth.gpus()[7]["state"], self.berth.job(job)["state"]), ("drained", "HELD"))

    def test_D9_conflicting_actions_are_refused(self):
        """Elsewhere of several actions in one line only the last was done, without a word."""
        self.start()
        job = self.submit("--hold", "--", "true")
        before = self.berth.job(job)
        for line in (("cancel", str(job), "release", str(job)), ("release", str(job), "--hold"), ("queue", "cancel", str(job)),
                     ("cancel", "--all", str(job)), ("alter", str(job)), ("drain", "1", "undrain", "2"),
                     ("submit", "--dry-run", "--wait", "--", "true"), ("submit", "--parsable", "--json", "--", "true"),
                     ("submit", "-G", "1", "-G", "2", "--", "true"), ("submit",), ("cancel",), ("logs", "1", "2"), ("gpus", "drain", "1")):
            done = self.berth.run(*line)
            self.assertEqual(done.returncode, 2, f"{line}: {done.stdout}{done.stderr}")
            self.assertIn("error", done.stdout + done.stderr, line)
        self.assertEqual(self.berth.job(job), before)
        self.assertEqual(len(self.berth.get("/api/v1/jobs")["jobs"]), 1)
        self.assertEqual(self.free(), list(range(8)))


if __name__ == "__main__":
    case.main()

"""A full disk under the state: nothing is lost, new work is refused with the reason, and it is over when there is room again.

The state directory is a file system of its own, small and in memory; skipped where none can be mounted.
"""
import contextlib
import os
import subprocess

import case
from case import Case

DISK_BYTES = 16 << 20  # the store takes 4 MiB of it beforehand


class Disk(Case):
    def setUp(self):
        super().setUp()
        os.mkdir(self.berth.state, 0o700)
        options = f"size={DISK_BYTES},mode=0700"
        mount = ["mount", "-t", "tmpfs", "-o", options, "berth-test", self.berth.state]
        if subprocess.run(mount, stderr=subprocess.DEVNULL, check=False).returncode != 0:
            self.skipTest("may not mount a file system here")
        # In the other order: end all, unmount, and then, as for every test, remove the folder.
        self.addCleanup(subprocess.run, ["umount", self.berth.state], check=True)
        self.addCleanup(self.berth.close)

    @property
    def ballast(self):
        return self.path("state/ballast")

    def fill(self):
        """Until nothing goes on it any more."""
        with open(self.ballast, "ab", buffering=0) as file:
            for size in (1 << 20, 1 << 12, 1):
                with contextlib.suppress(OSError):
                    while file.write(b"x" * size) == size:
                        pass

    def submit_until_full(self):
        """Use up the room that the store has taken beforehand, at last by small jobs; the first refusal of such a one."""
        self.taken = []
        for size in (100000, 1000):
            while True:
                self.fill()
                spec = {"argv": ["true"], "cwd": "/", "env": ["FILL=" + os.urandom(size).hex()]}
                status, answer = self.berth.request("POST", "/api/v1/jobs", {"hold": True, "spec": spec})
                if status != 201:
                    break
                self.taken.append(answer["jobs"][0]["id"])
        return status, answer["error"]

    def test_A15_an_end_that_cannot_be_written_is_written_later_and_once(self):
        """Elsewhere a job's end was lost when the database could not take it, and history no longer agreed with what was so."""
        self.start()
        jobs = {self.submit("-G", "1", "-o", f"{self.berth.folder}/out", "--", "sh", "-c", f"until [ -e go ]; do sleep 0.05; done; exit {code}"):
                code for code in (0, 4)}
        last = self.submit("-G", "6", "--", "sh", "-c", "until [ -e gone ]; do sleep 0.05; done; echo still here > alive; exit 2")
        for job in (*jobs, last):
            self.running(job)
        status, error = self.submit_until_full()
        self.assertEqual((status, error["code"]), (503, "DiskFull"))
        self.assertTrue(error["help"])

        def refused():
            done = self.berth.run("submit", "--parsable", "--hold", "--", "true")
            if done.returncode == 0:
                self.taken.append(int(done.stdout))
            return done if done.returncode else None

        done = self.berth.until(refused, "the command line is refused as well")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("full", done.stderr)
        self.berth.until(lambda: self.berth.get("/api/v1/status")["disk"] == "full", "the status says so")
        with open(self.path("go"), "w", encoding="ascii"):
            pass
        self.berth.until(lambda: len(self.berth.pids("shim")) <= 3 and len(self.berth.pids("job")) <= 2, "two jobs are over")
        self.assertEqual(self.berth.job(last)["state"], "RUNNING")
        self.assertIsNone(self.berth.process.poll())
        os.unlink(self.ballast)
        for job, code in jobs.items():
            ended = self.ended(job)
            self.assertEqual((ended["state"], ended["exit_code"], ended["attempt"]), ("FAILED" if code else "COMPLETED", code, 1))
        self.berth.until(lambda: self.berth.get("/api/v1/status")["disk"] == "ok", "there is room again")
        with open(self.path("gone"), "w", encoding="ascii"):
            pass
        self.assertEqual(self.ended(last)["exit_code"], 2)
        self.assertEqual(self.read("alive"), "still here\n")
        fresh = self.submit("--", "true")
        self.ended(fresh)
        for _ in range(2):
            ends = [job["id"] for job in self.berth.get("/api/v1/history")["jobs"]]
            self.assertEqual(sorted(ends), sorted([*jobs, last, fresh]))
            self.berth.kill()
            self.start()
        self.assertEqual([self.berth.job(job)["state"] for job in self.taken], ["HELD"] * len(self.taken))

    def test_A15_a_full_disk_over_a_restart(self):
        """Elsewhere a controller that could not write at its start lost what it had known."""
        self.start()
        job = self.submit("-o", f"{self.berth.folder}/out", "--", "sh", "-c", "until [ -e go ]; do sleep 0.05; done; exit 4")
        pid = self.running(job)["pid"]
        self.submit_until_full()
        self.berth.kill()
        self.fill()
        self.start()
        shown = self.berth.job(job)
        self.assertEqual((shown["state"], shown["pid"]), ("RUNNING", pid))
        self.assertEqual([self.berth.job(job)["state"] for job in self.taken], ["HELD"] * len(self.taken))
        os.unlink(self.ballast)
        with open(self.path("go"), "w", encoding="ascii"):
            pass
        ended = self.ended(job)
        self.assertEqual((ended["exit_code"], ended["attempt"]), (4, 1))


if __name__ == "__main__":
    case.main()

"""A job that runs again: one copy at a time, no report of an earlier attempt counts, and none is tried without a pause."""
import errno
import os
import resource
import time

import case
from case import Case

# One copy alone may hold the lock; what is left of an earlier attempt would still have it.
ALONE = "exec 9>>lock; flock -n 9 || exit 77; echo $BERTH_ATTEMPT $BERTH_RESTART_COUNT >> runs; "
STUBBORN_AT_FIRST = ALONE + "if [ $BERTH_ATTEMPT = 1 ]; then trap '' TERM; while :; do sleep 0.1; done; fi; sleep 1.5"
STARVED_S = 5


class Requeue(Case):
    def check_second_run(self, job):
        ended = self.ended(job)
        self.assertEqual((ended["state"], ended["exit_code"], ended["signal"], ended["attempt"], ended["restarts"]),
                         ("COMPLETED", 0, None, 2, 1))
        self.assertEqual(self.read("runs"), "1 0\n2 1\n")
        self.assertEqual(len([row for row in self.berth.get("/api/v1/history")["jobs"] if row["id"] == job]), 1)

    def submit_stubborn(self):
        self.start("backoff: {first: 1s}\n")
        job = self.submit("--grace", "1s", "--", "sh", "-c", STUBBORN_AT_FIRST)
        self.until_file("runs")
        return job

    def test_C2_the_kill_of_the_first_run_does_not_fail_the_second(self):
        """Elsewhere the late report of the first run's SIGKILL was taken for the end of the second."""
        job = self.submit_stubborn()
        self.run_ok("requeue", str(job))
        self.check_second_run(job)

    def test_C2_the_same_after_a_lost_card(self):
        """Elsewhere the same, with the stop asked by the scheduler."""
        job = self.submit_stubborn()
        self.run_ok("admin", "sim", str(self.berth.job(job)["device_indexes"][0]), "lost")
        self.check_second_run(job)

    def test_C2_the_same_while_the_daemon_is_away(self):
        """Elsewhere the report came after a restart, when the first run was forgotten."""
        job = self.submit_stubborn()
        self.run_ok("requeue", str(job))
        self.until_file(f"state/attempts/{job}.1.stop")
        self.berth.kill()
        self.berth.until(lambda: not self.berth.pids("shim"), "the first run was killed by its shim")
        self.start()
        self.check_second_run(job)

    def starve(self):
        """Leave berth-exec two file descriptors, too few to launch anything; returns what gives them back."""
        pid = self.berth.pids("berth-exec")[0]
        taken = {int(name) for name in os.listdir(f"/proc/{pid}/fd")}
        spare = [fd for fd in range(len(taken) + 2) if fd not in taken][:2]
        limit = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (spare[-1] + 1, limit[1]))
        return lambda: resource.prlimit(pid, resource.RLIMIT_NOFILE, limit)

    def test_C4_refused_launches_pause_longer_and_longer(self):
        """Elsewhere refused launches were tried four times a second, used up the requeues of the job and held up all others."""
        self.start("backoff: {first: 1s, max: 4s}\n")
        before = self.berth.submit("sleep", "600")
        self.running(before)
        feed = self.starve()
        job = self.berth.submit("true", requeue=1)
        failures = set()
        end = time.monotonic() + STARVED_S
        while time.monotonic() < end:
            shown = self.berth.job(job)
            self.assertIn(shown["state"], ("PENDING", "STOPPING"))  # the latter as it comes back from a refusal
            if shown["reason"]["code"] == "BackOff":
                failures.add(shown["reason"]["params"]["failures"])
                self.assertEqual(shown["devices"], [])
            time.sleep(0.05)
        self.assertIn(1, failures)
        self.assertIn(max(failures), (2, 3), "launched at 0, 1, 3, 7 s")
        why = {reason["code"]: reason["params"] for reason in self.berth.get(f"/api/v1/jobs/{job}/why")["reasons"]}
        self.assertEqual(why["JobLaunchFailure"], {"errno": errno.EMFILE})
        checks = {check["name"]: check for check in self.berth.get("/api/v1/doctor")["checks"]}
        self.assertEqual(checks["launches"]["result"], "warn")
        self.assertIn(os.strerror(errno.EMFILE), checks["launches"]["text"])
        feed()
        behind = self.berth.submit("true")
        self.assertEqual(self.ended(behind)["state"], "COMPLETED", "one that was not refused does not wait for one that was")
        ended = self.ended(job)
        self.assertEqual((ended["state"], ended["exit_code"]), ("COMPLETED", 0))
        self.assertEqual(self.berth.job(before)["state"], "RUNNING")

    def test_C4_a_job_whose_output_cannot_be_written_ends_and_holds_up_nobody(self):
        """Elsewhere a job that could never start came to the front of the queue again and again."""
        self.start()
        self.berth.submit("sleep", "600", gpus=7)
        bad = self.submit("-p", "P0", "--requeue", "3", "-o", "/proc/none/out", "--", "true")
        good = [self.submit("--", "true") for _ in range(3)]
        for job in good:
            self.assertEqual(self.ended(job)["state"], "COMPLETED")
        ended = self.ended(bad)
        self.assertEqual((ended["state"], ended["reason"]["code"], ended["attempt"]), ("FAILED", "OutputFailed", 1))
        self.assertEqual(len(self.free()), 1)


if __name__ == "__main__":
    case.main()

"""Time limits: read as written, never silently none or zero, kept by the job's own shim, and told as what they are."""
import datetime
import json

import case
from case import Case
from harness import is_dead

MINUTE_MS = 60 * 1000
HOUR_MS = 60 * MINUTE_MS
DAY_MS = 24 * HOUR_MS
EARLY_S = 0.5  # the daemon hears of a start a little after the shim, whose time counts
LATE_S = 20  # an end later than this after its time is a fault; what a crowded machine adds is far less
WRITTEN = (("30", 30 * MINUTE_MS), ("30:00", 30 * MINUTE_MS), ("1:30", 90 * 1000), ("0:30", 30 * 1000), ("2-12", 60 * HOUR_MS),
           ("1-00:00", DAY_MS), ("1-0:0:1", DAY_MS + 1000), ("24:00:00", DAY_MS), ("1h", HOUR_MS), ("2h30m", 150 * MINUTE_MS),
           ("90s", 90 * 1000), ("1d", DAY_MS), ("UNLIMITED", None), ("unlimited", None))
REFUSED = ("0", "0:00", "0-0", "-1", "", " ", "1:60", "1:2:3:4", "99999999999", "2-", "-2-12", "1.5h", "h", "1h-", "2-24", "infinite",
           "18446744073709551615", "30m1h", "1 2")


class Time(Case):
    def limit(self, *argv, **options):
        return self.berth.job(self.submit(*argv, "--hold", "--", "true", **options))["limit_ms"]

    def test_B1_limits_are_read_as_written_or_refused(self):
        """Elsewhere 30:00 was read as thirty hours, and 2-12 as no limit at all."""
        self.start()
        for text, limit_ms in WRITTEN:
            self.assertEqual(self.limit("-t", text), limit_ms, text)
        jobs = len(self.berth.get("/api/v1/jobs")["jobs"])
        for text in REFUSED:
            done = self.berth.run("submit", f"--time={text}", "--", "true")
            self.assertEqual((done.returncode, done.stdout), (2, ""), text)
            self.assertTrue(done.stderr, text)
        self.assertEqual(len(self.berth.get("/api/v1/jobs")["jobs"]), jobs)

    def test_B1_limits_are_read_alike_wherever_they_are_written(self):
        """Elsewhere one verb read a limit as another did not."""
        self.start()
        for name, text in (("good.sh", "2-12"), ("bad.sh", "1:60")):
            with open(self.path(name), "w", encoding="utf-8") as script:
                script.write(f"#!/bin/sh\n#BERTH -t {text}\ntrue\n")
        job = self.submit("--hold", "good.sh")
        self.assertEqual(self.berth.job(job)["limit_ms"], 60 * HOUR_MS)
        bad = self.berth.run("submit", "--hold", "bad.sh")
        self.assertEqual(bad.returncode, 2)
        self.assertIn("bad.sh line 2", bad.stderr)
        self.assertEqual(self.limit(env={"BERTH_SUBMIT_TIME": "30:00"}), 30 * MINUTE_MS)
        self.assertEqual(self.berth.run("submit", "--", "true", env={"BERTH_SUBMIT_TIME": "1:60"}).returncode, 2)
        self.run_ok("alter", "-t", "1-00:00", str(job))
        self.assertEqual(self.berth.job(job)["limit_ms"], DAY_MS)
        for text in ("0", "1:60"):
            self.assertEqual(self.berth.run("alter", "-t", text, str(job)).returncode, 2)
        self.assertEqual(self.berth.job(job)["limit_ms"], DAY_MS)
        for limit in (0, -1, 1.5, "30", 1e30):
            spec = {"argv": ["true"], "cwd": "/", "env": []}
            self.assertEqual(self.berth.request("POST", "/api/v1/jobs", {"limit_ms": limit, "spec": spec})[0], 400, limit)

    def test_B3_no_default_is_zero(self):
        """Elsewhere a default of 0 made jobs of no length, killed as they started."""
        self.berth.configure("defaults: {time: 0}\n")
        self.berth.start(wait=False)
        self.assertEqual(self.berth.process.wait(30), 2)
        self.assertIn(f"{self.berth.config}:1:18: error: ", self.berth.log_text())
        self.start("defaults: {gpus: 1}\n")
        job = self.ended(self.berth.submit("sleep", "0.2"))
        self.assertEqual((job["state"], job["limit_ms"]), ("COMPLETED", DAY_MS))

    def test_B5_a_job_that_its_limit_ended_is_TIMEOUT_however_it_exits(self):
        """Elsewhere a job that obeyed the limit's SIGTERM was FAILED, or COMPLETED, and only stubborn ones TIMEOUT."""
        self.start()
        ways = {"exit 0": (0, None), "exit 7": (7, None), "": (None, 9)}
        jobs = {}
        for way in ways:
            script = f"trap '{way}' TERM; echo 1 > $BERTH_PROGRESS_FILE; while :; do sleep 0.05; done"
            jobs[way] = self.submit("-t", "1s", "--grace", "1s", "-G", "1", "--", "sh", "-c", script)
        for way, job in jobs.items():
            ended = self.ended(job)
            self.assertEqual((ended["state"], ended["reason"]["code"]), ("TIMEOUT", "TimeLimit"), way)
            self.assertEqual((ended["exit_code"], ended["signal"]), ways[way], way)
        self.assertEqual(self.berth.run("wait", str(jobs["exit 0"])).returncode, 124)

    def check_seconds(self, job, seconds):
        """It ran for so long."""
        shown = json.loads(self.run_ok("show", "--json", str(job)).stdout)["job"]
        start, end = (datetime.datetime.fromisoformat(shown[name]) for name in ("start_time", "end_time"))
        self.assertGreaterEqual((end - start).total_seconds(), seconds - EARLY_S)
        self.assertLess((end - start).total_seconds(), seconds + LATE_S)

    def test_B6_a_hung_job_ends_at_its_limit(self):
        """Elsewhere a hung job held its slot for a whole weekend."""
        self.start()
        done = self.berth.run("run", "-G", "8", "-t", "0:02", "--grace", "1s", "--", "sleep", "infinity")
        self.assertEqual(done.returncode, 124, done.stderr)
        self.check_seconds(1, 2)
        self.assertEqual(len(self.free()), 8)

    def test_B6_a_limit_holds_while_the_daemon_is_away(self):
        """Elsewhere nobody watched the limit while the scheduler was down."""
        self.start()
        job = self.submit("-t", "0:02", "--grace", "1s", "--", "sleep", "infinity")
        self.running(job)
        self.berth.kill()
        self.berth.until(lambda: not self.berth.pids("job") and not self.berth.pids("shim"), "the job is gone")
        self.start()
        self.assertEqual(self.ended(job)["state"], "TIMEOUT")
        self.check_seconds(job, 2)

    def test_B7_a_job_that_ignores_all_requests_is_killed_after_its_grace(self):
        """Elsewhere the limit sent one SIGINT, looked every five seconds, and left a job that ignored it."""
        self.start()
        job = self.submit("-t", "1s", "--grace", "1s", "--", "sh", "-c",
                          "trap '' INT TERM HUP QUIT USR1; (while :; do sleep 0.1; done) & echo $! > child; while :; do sleep 0.1; done")
        child = int(self.until_file("child"))
        ended = self.ended(job)
        self.assertEqual((ended["state"], ended["signal"]), ("TIMEOUT", 9))
        self.assertTrue(is_dead(child), "its children are gone as well")
        self.check_seconds(job, 2)


if __name__ == "__main__":
    case.main()

"""The first session of a user, and what must hold in it."""
import json
import sys
import unittest

from harness import Daemon

BUILD = None
DONE = ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "OUT_OF_MEMORY", "NODE_FAIL")


class FirstLight(unittest.TestCase):
    def setUp(self):
        self.berth = Daemon(BUILD)
        self.addCleanup(self.berth.close)
        self.berth.start()

    def json(self, *argv):
        done = self.berth.run(*argv, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def submit(self, *argv):
        done = self.berth.run("submit", "--parsable", *argv)
        self.assertEqual(done.returncode, 0, done.stderr)
        return int(done.stdout)

    def free_cards(self):
        return sum(1 for gpu in self.berth.gpus() if not gpu["jobs"])

    # --- the README's session --------------------------------------------------------------------------------------------

    def test_run_on_two_cards_passes_the_exit_code_on(self):
        done = self.berth.run("run", "-G", "2", "--", "sh", "-c", "echo cards $CUDA_VISIBLE_DEVICES; exit 3")
        self.assertEqual(done.returncode, 3, done.stderr)
        line = next(line for line in done.stdout.splitlines() if line.startswith("cards "))
        cards = line.split()[1].split(",")
        self.assertEqual(len(set(cards)), 2, line)
        self.assertLessEqual(set(cards), {gpu["uuid"] for gpu in self.berth.gpus()})

    def test_run_passes_a_signal_on(self):
        self.assertEqual(self.berth.run("run", "--", "sh", "-c", "kill -9 $$").returncode, 137)
        self.assertEqual(self.berth.run("run", "-G", "0", "--", "true").returncode, 0)

    def test_queue_and_why(self):
        holder = self.submit("-G", "8", "-J", "holder", "--", "sleep", "60")
        self.berth.until_state(holder, "RUNNING")
        waiting = self.submit("-G", "4", "-J", "waiting", "--", "true")
        jobs = {job["id"]: job for job in self.json("queue")["jobs"]}
        self.assertEqual(jobs[holder]["state"], "RUNNING")
        self.assertEqual(sorted(jobs[holder]["device_indexes"]), list(range(8)))
        self.assertEqual(jobs[waiting]["state"], "PENDING")
        self.assertEqual(jobs[waiting]["reason"]["code"], "Resources")
        table = self.berth.run("queue")
        self.assertEqual(table.returncode, 0)
        self.assertIn("waiting", table.stdout)

        why = self.json("why", str(waiting))
        self.assertEqual(why["reasons"][0]["code"], "Resources")
        self.assertEqual(why["reasons"][0]["params"]["asked"], 4)
        self.assertTrue(why["reasons"][0]["text"])
        self.assertIn("4", self.berth.run("why", str(waiting)).stdout)

    def test_a_request_that_can_never_be_met_is_refused(self):
        done = self.berth.run("submit", "-G", "9", "--", "true")
        self.assertEqual(done.returncode, 5)
        self.assertIn("8", done.stderr)

    def test_logs_follow_to_the_end(self):
        job = self.submit("--", "sh", "-c", "for i in 1 2 3 4 5; do echo line $i; sleep 0.2; done")
        done = self.berth.run("logs", "-f", str(job))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.splitlines(), [f"line {i}" for i in range(1, 6)])
        self.assertEqual(self.berth.run("logs", str(job)).stdout, done.stdout)

    def test_cancel_frees_the_cards(self):
        job = self.submit("-G", "3", "--", "sleep", "600")
        self.berth.until_state(job, "RUNNING")
        self.assertEqual(self.free_cards(), 5)
        self.assertEqual(self.berth.run("cancel", str(job)).returncode, 0)
        self.berth.until_state(job, "CANCELLED")
        self.assertEqual(self.free_cards(), 8)
        self.assertEqual(self.berth.run("cancel", str(job)).returncode, 0)  # of a finished job: no error
        self.assertEqual(self.berth.run("cancel", "999").returncode, 3)

    def test_drain_and_undrain(self):
        self.assertEqual(self.berth.run("drain", "3").returncode, 0)
        self.assertEqual(self.berth.gpus()[3]["state"], "drained")
        job = self.submit("-G", "8", "--", "true")
        self.assertEqual(self.berth.job(job)["state"], "PENDING")
        self.assertEqual(self.berth.run("undrain", "3").returncode, 0)
        self.berth.until_state(job, "COMPLETED")

    # --- nothing is lost -----------------------------------------------------------------------------------------------------

    def test_jobs_outlive_the_daemon(self):
        jobs = [self.submit("--", "sh", "-c", f"sleep 3; exit {code}") for code in (0, 7, 9)]
        before = {job: self.berth.until_state(job, "RUNNING") for job in jobs}
        self.berth.kill()
        self.berth.start()
        for job in jobs:
            now = self.berth.job(job)
            self.assertEqual((now["state"], now["pid"], now["devices"], now["attempt"]),
                             ("RUNNING", before[job]["pid"], before[job]["devices"], 1))
        self.assertEqual(self.free_cards(), 5)
        codes = [self.berth.until_state(job, *DONE)["exit_code"] for job in jobs]
        self.assertEqual(codes, [0, 7, 9])

    def test_jobs_that_end_while_the_daemon_is_away(self):
        job = self.submit("--", "sh", "-c", "sleep 0.5; exit 4")
        self.berth.until_state(job, "RUNNING")
        self.assertEqual(self.berth.stop(), 0)
        self.berth.until(lambda: not self.berth.pids("shim"), "the shim ends by itself")
        self.berth.start()
        ended = self.berth.until_state(job, *DONE)
        self.assertEqual((ended["state"], ended["exit_code"], ended["attempt"]), ("FAILED", 4, 1))
        self.assertEqual(self.submit("--", "true"), job + 1)

    def test_an_acknowledged_job_is_there_after_a_kill(self):
        self.submit("-G", "8", "--", "sleep", "60")
        jobs = [self.submit("--hold", "--", "true") for _ in range(5)]
        self.berth.kill()
        self.berth.start()
        self.assertEqual([self.berth.job(job)["state"] for job in jobs], ["HELD"] * 5)

    def test_a_lost_card_sends_its_job_elsewhere(self):
        job = self.submit("--", "sh", "-c", "sleep 5")
        card = self.berth.until_state(job, "RUNNING")["device_indexes"][0]
        self.assertEqual(self.berth.run("admin", "sim", str(card), "lost").returncode, 0)
        self.berth.until(lambda: self.berth.gpus()[card]["state"] == "lost", "the card is lost")

        def moved():
            now = self.berth.job(job)
            return now if now["state"] == "RUNNING" and now["attempt"] == 2 else None

        now = self.berth.until(moved, "the job runs again")
        self.assertNotEqual(now["device_indexes"], [card])
        self.assertEqual(now["restarts"], 1)
        self.assertEqual(self.berth.run("admin", "sim", str(card), "recover").returncode, 0)
        self.berth.until(lambda: self.berth.gpus()[card]["state"] == "free", "the card is back")
        self.assertEqual(self.berth.until_state(job, *DONE)["state"], "COMPLETED")

    def test_simulated_cards_follow_their_jobs(self):
        job = self.submit("--", "sleep", "30")
        card = self.berth.until_state(job, "RUNNING")["device_indexes"][0]
        self.berth.until(lambda: (self.berth.gpus()[card]["util_permille"] or 0) > 500, "the card is busy")
        self.assertGreater(self.berth.gpus()[card]["mem_used_bytes"], 1 << 30)
        self.berth.run("cancel", str(job))
        self.berth.until(lambda: self.berth.gpus()[card]["util_permille"] == 0, "the card is idle")


def main():
    global BUILD
    BUILD = sys.argv.pop(1)
    unittest.main(verbosity=2)


if __name__ == "__main__":
    main()

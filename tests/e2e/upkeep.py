"""The daemon as its keeper meets it: start, stop, configuration, doctor, health."""
import contextlib
import http.client
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time
import unittest

from harness import Daemon, program

BUILD = None


class Upkeep(unittest.TestCase):
    def setUp(self):
        self.berth = Daemon(BUILD)
        self.addCleanup(self.berth.close)

    def berthd(self, *options):
        return subprocess.run([program(BUILD, "berthd"), *options], capture_output=True, text=True, timeout=30, check=False,
                              env=self.berth.environment(), cwd=self.berth.folder)

    def config_value(self, key):
        for row in self.berth.get("/api/v1/config")["values"]:
            if row["key"] == key:
                return row["value"], row["origin"]
        raise KeyError(key)

    # --- options and configuration ------------------------------------------------------------------------------------------

    def test_wrong_usage_ends_with_2_and_says_what_to_write(self):
        for options, words in (
            (["--stat", "x"], "did you mean --state?"),
            (["--system"], "later version"),
            (["--observe"], "later version"),
            (["--sim-speed", "5"], "later version"),
            (["--devices", "nvml"], "later version"),
            (["--devices", "sim:8xNOSUCH"], "NOSUCH"),
            (["--listen", "0.0.0.0:80"], "loopback"),
            (["--config", "absent.yaml"], "absent.yaml: error"),
        ):
            done = self.berthd(*options)
            self.assertEqual(done.returncode, 2, options)
            self.assertIn(words, done.stderr)
            self.assertFalse(os.path.exists(os.path.join(self.berth.folder, ".local")), "a refused start makes nothing")
        self.assertEqual(self.berthd("--help").returncode, 0)
        self.assertRegex(self.berthd("--version").stdout, r"^berthd \d+\.\d+\.\d+\n$")

    def test_check_config(self):
        self.berth.configure("defaults: {time: 8h}\n")
        done = self.berthd("--check-config", self.berth.config)
        self.assertEqual((done.returncode, done.stdout), (0, f"{self.berth.config}: ok\n"))
        self.berth.configure("limits:\n  max_tme: 1h\ndefaults: {time: 0}\ndevices: sim:2xNOSUCH\n")
        done = self.berthd("--check-config", self.berth.config)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn(f"{self.berth.config}:2:3: error: unknown key", done.stderr)
        self.assertIn(f"{self.berth.config}:3:18: error: ", done.stderr)
        self.berth.configure("devices: sim:2xNOSUCH\n")
        self.assertIn(f"{self.berth.config}:1:10: error: ", self.berthd("--check-config", self.berth.config).stderr)

    def test_a_site_of_its_own(self):
        self.berth.configure("defaults: {gpus: 2, time: 90m, grace: 5s, requeue: 1}\nlimits: {max_time: 2h}\ncards: [0-3]\n")
        self.berth.start()
        self.assertEqual(self.config_value("limits.max_time"), ("2:00:00", f"{self.berth.config}:2"))
        self.assertEqual(self.config_value("listen"), ("none", "command line"))
        self.assertEqual(self.config_value("retention")[1], "default")
        job = self.berth.job(self.berth.submit("sleep", "60"))
        self.assertEqual((job["gpus"], job["limit_ms"], job["grace_ms"], job["requeue"]), (2, 5400000, 5000, 1))
        self.assertEqual(self.berth.request("POST", "/api/v1/jobs", {"limit_ms": 7200001, "spec": {"argv": ["true"], "cwd": "/", "env": []}})[0], 422)
        # cards that are left out are shown, drained, and never given
        gpus = self.berth.gpus()
        self.assertEqual([gpu["state"] == "drained" for gpu in gpus], [False] * 4 + [True] * 4)
        self.assertEqual(gpus[7]["drain"]["by"], "configuration")
        job = self.berth.submit("true", gpus=1, gpu_index=[7])
        self.berth.request("POST", "/api/v1/gpus/7/undrain", {})
        self.berth.until(lambda: self.berth.gpus()[7]["state"] == "drained", "the card is out of service again")
        self.assertNotEqual(self.berth.job(job)["state"], "COMPLETED")

    def test_hup_takes_a_good_configuration_and_refuses_a_bad_one(self):
        self.berth.configure("retention: 2h\n")
        self.berth.start()
        self.berth.configure("retntion: 3h\n")
        self.berth.process.send_signal(signal.SIGHUP)
        self.berth.until(lambda: "the old one stays" in self.berth.log_text(), "the bad file is refused")
        self.assertIn(f"{self.berth.config}:1:1: error: unknown key", self.berth.log_text())
        self.assertEqual(self.config_value("retention")[0], "2:00:00")
        self.berth.configure("retention: 3h\ndefaults: {time: 1h}\ncards: [0]\n")
        self.berth.process.send_signal(signal.SIGHUP)
        self.berth.until(lambda: self.config_value("retention")[0] == "3:00:00", "the good file is taken")
        self.assertIn("cards has changed", self.berth.log_text())
        self.assertEqual(self.berth.job(self.berth.submit("true"))["limit_ms"], 3600000)

    # --- start and stop -------------------------------------------------------------------------------------------------------

    def test_one_daemon_for_a_state_directory(self):
        self.berth.start()
        second = self.berthd("--state", self.berth.state, "--socket", self.berth.socket + "2", "--listen", "none")
        self.assertEqual(second.returncode, 1)
        self.assertIn(str(self.berth.process.pid), second.stderr)
        self.assertTrue(self.berth.answers())
        other = self.berthd("--state", self.berth.state + "2", "--socket", self.berth.socket, "--listen", "none")
        self.assertEqual(other.returncode, 1)
        self.assertIn(self.berth.socket, other.stderr)
        self.assertTrue(self.berth.answers())

    def test_stops_when_asked(self):
        for sig in (signal.SIGTERM, signal.SIGINT):
            self.berth.start()
            self.assertEqual(self.berth.stop(sig), 0)
            self.assertFalse(os.path.exists(self.berth.socket))

    def test_clients_that_vanish_leave_it_alone(self):
        self.berth.configure("defaults: {time: 3h}\n")
        self.berth.start()
        requests = (b"GET /api/v1/jobs HTTP/1.1\r\nHost: x\r\n\r\n", b"GET /api/v1/events HTTP/1.1\r\nHost: x\r\n\r\n",
                    b"POST /api/v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Length: 100000\r\n\r\n{", b"GET /api/v1/jo", b"\0\xff\r\n\r\n", b"")
        for i in range(240):
            with socket.socket(socket.AF_UNIX) as client:
                client.connect(self.berth.socket)
                client.sendall(requests[i % len(requests)])
                if i % 12 == 0:
                    client.recv(1)
                client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.assertIsNone(self.berth.process.poll())
        self.assertEqual(self.berth.job(self.berth.submit("true"))["limit_ms"], 3 * 3600 * 1000)

    def test_a_service_manager_is_told(self):
        path = os.path.join(self.berth.folder, "notify")
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as told:
            told.bind(path)
            told.settimeout(20)
            self.berth.start(env={"NOTIFY_SOCKET": path, "WATCHDOG_USEC": "400000"})
            words = told.recv(4096).decode()
            while "READY=1" not in words or "WATCHDOG=1" not in words:
                words += told.recv(4096).decode()
            self.assertEqual(self.berth.stop(), 0)
            while "STOPPING=1" not in words:
                words += told.recv(4096).decode()

    def test_under_the_journal_lines_have_a_priority_and_no_time(self):
        read, write = os.pipe()
        st = os.fstat(write)
        with subprocess.Popen(self.berth.command(), stdin=subprocess.DEVNULL, stdout=write, stderr=write, cwd=self.berth.folder,
                              env={**self.berth.environment(), "JOURNAL_STREAM": f"{st.st_dev}:{st.st_ino}"}) as self.berth.process:
            os.close(write)
            with open(read, encoding="utf-8") as lines:
                self.assertRegex(lines.readline(), r"^<6>berthd ")
                self.berth.until(self.berth.answers, "the daemon answers")
                self.assertEqual(self.berth.stop(), 0)

    def test_state_is_private(self):
        self.berth.start()
        self.assertEqual(os.stat(self.berth.state).st_mode & 0o777, 0o700)
        self.assertEqual(os.stat(self.berth.socket).st_mode & 0o177, 0)
        self.assertEqual(self.berth.stop(), 0)
        os.chmod(self.berth.state, 0o755)
        done = self.berthd("--state", self.berth.state, "--socket", self.berth.socket)
        self.assertEqual(done.returncode, 1)
        self.assertIn(self.berth.state, done.stderr)

    def test_the_demonstration(self):
        self.berth.start("--demo", "--listen", "127.0.0.1:0")
        self.berth.until(lambda: "berth help" in self.berth.log_text(), "the welcome is printed")
        welcome = self.berth.log_text()
        self.assertIn("8 x A100-80GB, SIMULATED", welcome)
        self.assertIn(self.berth.state, welcome)
        host, port, path = re.search(r"http://([0-9.]+):(\d+)(/login\?once=\w+)", welcome).groups()

        def sign_in():
            with contextlib.closing(http.client.HTTPConnection(host, int(port), timeout=20)) as browser:
                browser.request("GET", path)
                reply = browser.getresponse()
                return reply.status, reply.getheader("Set-Cookie")

        status, cookie = sign_in()
        self.assertLess(status, 400)
        with contextlib.closing(http.client.HTTPConnection(host, int(port), timeout=20)) as browser:
            browser.request("GET", "/api/v1/jobs", headers={"Cookie": cookie.split(";")[0]})
            self.assertEqual(browser.getresponse().status, 200)
        self.assertGreaterEqual(sign_in()[0], 400)  # the link is good once
        jobs = self.berth.get("/api/v1/jobs")["jobs"]
        self.assertEqual(sorted({job["name"].split("-")[0] for job in jobs}), ["evaluate", "finetune", "serve", "train"])
        train = next(job["id"] for job in jobs if job["name"] == "train")
        self.berth.until(lambda: (self.berth.job(train)["progress"] or {}).get("done"), "the training gets on")
        self.assertEqual(self.berth.stop(signal.SIGINT), 0)
        self.assertIn("The daemon ends; ", self.berth.log_text())
        self.berth.start("--demo")  # the queue is not empty: nothing is submitted twice
        self.berth.until(lambda: self.berth.log_text().count("berth help") == 2, "the second welcome is printed")
        self.assertEqual(len(self.berth.get("/api/v1/jobs")["jobs"]), len(jobs))

    def test_jobs_inherit_the_umask_and_nothing_else_does(self):
        before = os.umask(0o002)
        try:
            self.berth.start()
        finally:
            os.umask(before)
        self.assertEqual(self.berth.run("run", "--", "sh", "-c", "umask").stdout, "0002\n")
        for folder, _, names in os.walk(self.berth.state):
            for name in names:
                self.assertEqual(os.stat(os.path.join(folder, name)).st_mode & 0o077, 0, name)
        self.assertEqual(os.stat(self.berth.socket).st_mode & 0o077, 0)

    @unittest.skipUnless(shutil.which("strace"), "strace is not installed")
    def test_a_disk_that_fails_ends_the_daemon_and_loses_nothing(self):
        self.berth.start(wrap=("strace", "-f", "-b", "execve", "-qq", "-o", "/dev/null",
                               "-e", "inject=fdatasync:error=EIO:when=30+"))
        acked = []
        for _ in range(60):
            try:
                status, answer = self.berth.request("POST", "/api/v1/jobs", {"hold": True, "spec": {"argv": ["true"], "cwd": "/", "env": []}})
            except (OSError, http.client.HTTPException):
                break
            if status == 201:
                acked.append(answer["jobs"][0]["id"])
        self.assertEqual(self.berth.process.wait(30), 1, self.berth.log_text())
        self.assertIn("error: the store failed", self.berth.log_text())
        self.assertTrue(acked)
        self.berth.start()
        self.assertEqual([self.berth.job(job)["state"] for job in acked], ["HELD"] * len(acked))

    def test_a_driver_that_hangs_stops_nobody(self):
        self.berth.start()
        self.assertEqual(self.berth.request("POST", "/api/v1/admin/sim", {"gpu": "7", "inject": "hang 600"})[0], 200)
        begun = time.monotonic()
        while time.monotonic() < begun + 8:
            before = time.monotonic()
            job = self.berth.submit("true", gpu_index=[0])
            self.berth.get("/api/v1/jobs")
            self.assertEqual(self.berth.request("POST", f"/api/v1/jobs/{job}/cancel", {})[0], 200)
            self.assertLess(time.monotonic() - before, 1)
            time.sleep(0.2)
        self.assertIn("the probe of the cards does not answer", self.berth.log_text())
        self.berth.until(lambda: self.berth.gpus()[7]["state"] == "lost", "the card that hangs is lost", 60)
        self.assertEqual([gpu["state"] for gpu in self.berth.gpus()[:7]], ["free"] * 7)

    # --- what it says of itself ---------------------------------------------------------------------------------------------------

    def test_simulated_cards_are_called_so(self):
        self.berth.devices = "auto"
        self.berth.start()
        status = self.berth.get("/api/v1/status")
        self.assertEqual((status["devices"], status["is_simulated"]), ("sim:8xA100-80GB", True))
        self.assertRegex(self.berth.log_text(), r"8 cards, simulated: sim:8xA100-80GB")

    def test_doctor_and_health(self):
        self.berth.start()
        self.berth.until(lambda: self.berth.get("/api/v1/status")["exec"] == "ok", "berth-exec is there")
        checks = {check["name"]: check for check in self.berth.get("/api/v1/doctor")["checks"]}
        for name in ("state", "disk", "processes", "exec", "probe", "cards", "devices", "clock", "socket", "page", "attempts",
                     "launches"):
            self.assertIn(name, checks)
            self.assertTrue(checks[name]["text"])
            if checks[name]["result"] != "ok":
                self.assertTrue(checks[name]["fix"], name)
        self.assertEqual(checks["exec"]["result"], "ok")
        self.assertEqual(checks["devices"]["result"], "warn")
        self.assertEqual(self.berth.request("GET", "/healthz")[0], 200)
        status, metrics = self.berth.request("GET", "/metrics")
        self.assertEqual(status, 200)
        self.assertTrue(re.search(rb"^berth_", metrics, re.M))

    def test_every_event_is_a_line(self):
        self.berth.start()
        job = self.berth.submit("sh", "-c", "exit 5", name="x y")
        self.berth.until_state(job, "FAILED")
        lines = self.berth.log_text().splitlines()
        self.assertTrue(any(re.search(rf"job {job} .*submitted", line) for line in lines))
        self.assertTrue(any(re.search(rf"job {job}: FAILED", line) for line in lines))
        for line in lines:
            self.assertRegex(line, r"^\d{4}-\d\d-\d\dT")


def main():
    global BUILD
    BUILD = sys.argv.pop(1)
    unittest.main(verbosity=2)


if __name__ == "__main__":
    main()

"""A berth under torment: submits jobs, kills what it is told to, brings the daemon back, waits for the end, judges.

Jobs are tracejobs with 0 to 3 cards and different exit codes. Submissions carry a key and are tried again until they are
acknowledged, as the command line does it. The daemon is started again whenever it is dead, as a service manager would.
"""
import http.client
import json
import os
import random
import threading
import time

import checker
from harness import Daemon

DEADLINE_S = 60


class Life:
    """One state directory, from first start to verdict."""

    def __init__(self, build, tracejob, folder, jobs, seed, job_ms=(5, 60)):
        self.random = random.Random(seed)
        self.daemon = Daemon(build, folder)
        self.tracejob = tracejob
        self.trace = os.path.join(folder, "trace")
        self.locks = os.path.join(folder, "locks")
        os.makedirs(self.locks, exist_ok=True)
        self.jobs = jobs
        self.job_ms = job_ms
        self.acked = []
        self.wrap = ()
        self.watchers_killed = False
        self.kills = {"berthd": 0, "berth-exec": 0, "shim": 0}
        self.over = threading.Event()

    def keep_alive(self):
        """Start the daemon when it is dead; the first start is wrapped (strace), later ones are plain."""
        while not self.over.is_set():
            process = self.daemon.process
            if process is None or process.poll() is not None:
                if process is not None and self.wrap:
                    self.wrap = ()
                    self.kills["berthd"] += 1
                self.daemon.start(wrap=self.wrap, wait=False)
            time.sleep(0.005)

    def request(self, method, path, body=None, headers=None):
        """As Daemon.request, tried again while the daemon is away or says 503."""
        end = time.monotonic() + DEADLINE_S
        while time.monotonic() < end:
            try:
                status, answer = self.daemon.request(method, path, body, headers)
                if status != 503:
                    return status, answer
            except (OSError, ValueError, http.client.HTTPException):
                pass
            time.sleep(0.01)
        raise TimeoutError(f"{method} {path}: no answer for {DEADLINE_S} s")

    def submit(self, number):
        code = self.random.choice((0, 0, 1, 3, 7, 42, 255))
        gpus = self.random.choice((0, 1, 1, 1, 2, 3))
        ms = self.random.randint(*self.job_ms)
        body = {"name": f"trace-{number}", "gpus": gpus, "limit_ms": 60000,
                "spec": {"argv": [self.tracejob, self.trace, self.locks, str(ms), str(code)], "cwd": self.daemon.folder,
                         "env": ["PATH=/usr/bin:/bin"], "output": "/dev/null"}}
        status, answer = self.request("POST", "/api/v1/jobs", body, {"Idempotency-Key": f"life-{number}"})
        if status not in (200, 201):  # 200: the answer to an earlier try got lost
            raise AssertionError(f"submit was answered {status}: {json.dumps(answer)}")
        self.acked.append((answer["jobs"][0]["id"], code))

    def shows(self):
        """{id: job} of all acknowledged jobs as the API shows them now; unknown ones are left out."""
        jobs = {}
        for job, _ in self.acked:
            status, answer = self.request("GET", f"/api/v1/jobs/{job}")
            if status == 200:
                jobs[job] = answer["job"]
        return jobs

    def wait_all(self):
        end = time.monotonic() + DEADLINE_S
        while time.monotonic() < end:
            status, answer = self.request("GET", "/api/v1/jobs?active=1")
            if status == 200 and not answer["jobs"]:
                return
            time.sleep(0.02)

    def run(self, wrap=(), torment=None):
        """Returns the list of faults. torment(life): called in a thread of its own until life.over."""
        self.wrap = wrap
        threads = [threading.Thread(target=self.keep_alive, daemon=True)]
        if torment:
            threads.append(threading.Thread(target=torment, args=(self,), daemon=True))
        for thread in threads:
            thread.start()
        try:
            for number in range(self.jobs):
                self.submit(number)
            self.wait_all()
            jobs = self.shows()
        finally:
            self.over.set()
            for thread in threads:
                thread.join()
            self.daemon.close()
        return checker.judge(self.acked, jobs, checker.read_trace(self.trace), checker.read_journal(self.daemon.state),
                             self.watchers_killed)

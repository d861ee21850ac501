"""A berth to be measured: the daemon of the whole-program tests with a connection that stays open, and counters."""
import json
import os
import re
import time

from harness import Daemon, UnixConnection, all_pids, program, read_proc


class Subject(Daemon):
    """Daemon with what the figures need."""

    def __init__(self, build, **options):
        super().__init__(build, **options)
        self.connection = None

    def post(self, path, body):
        """POST over the open connection; the answer's bytes. It must be 2xx."""
        if self.connection is None:
            self.connection = UnixConnection(self.socket, 120)
        self.connection.request("POST", path, body, {"Content-Type": "application/json"})
        reply = self.connection.getresponse()
        data = reply.read()
        if reply.status // 100 != 2:
            raise AssertionError(f"POST {path}: {reply.status} {data[:500]}")
        return data

    def job_json(self, *argv, env=("PATH=/usr/bin:/bin",), **fields):
        return {"gpus": 0, "spec": {"argv": list(argv), "cwd": self.folder, "env": list(env), "output": "/dev/null"}, **fields}

    def bytes_of(self, *argv, n=None, **fields):
        """The body for one job, or for an array of n."""
        job = self.job_json(*argv, **fields)
        return json.dumps(job if n is None else [job] * n).encode()

    def block(self):
        """All cards taken: what asks for one waits."""
        job = self.submit("sleep", "1000", gpus=8)
        self.until_state(job, "RUNNING")

    def argv(self, *words):
        return [program(self.build, "berth"), *words]

    def metric(self, name):
        return float(re.search(rf"^{re.escape(name)} (\S+)$", self.request("GET", "/metrics")[1].decode(), re.M)[1])

    def fsyncs(self):
        return self.metric("berth_store_fsyncs_total")

    def completed(self):
        return self.metric('berth_jobs_ended_total{state="completed"}')

    def until_completed(self, n):
        """Until so many have ended since the daemon's start. Looks seldom, so as not to be what is measured."""
        end = time.monotonic() + 120
        while self.completed() < n:
            if time.monotonic() > end:
                raise AssertionError(f"{self.completed()} of {n} jobs ended:\n{self.log_text()[-2000:]}")
            time.sleep(0.01)

    def family(self):
        """{program: pid} of the daemon, berth-exec and the probe."""
        found = {"berthd": self.process.pid, "berth-exec": self.pids("berth-exec")[0]}
        for pid in all_pids():
            if read_proc(pid, "comm").strip() == b"berth-probe" and parent(pid) == self.process.pid:
                found["berth-probe"] = pid
        return found


def parent(pid):
    return int(read_proc(pid, "stat").rpartition(b")")[2].split()[1])


def cpu_s(pid):
    """CPU time of all threads of a process, to the nanosecond."""
    threads = os.listdir(f"/proc/{pid}/task")
    return sum(int(read_proc(pid, f"task/{thread}/schedstat").split()[0]) for thread in threads) / 1e9


def memory_mib(pid, what="VmRSS"):
    return int(re.search(rf"^{what}:\s+(\d+) kB", read_proc(pid, "status").decode(), re.M)[1]) / 1024

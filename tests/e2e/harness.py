"""A berth of its own for one test: a daemon in a temporary directory, its command line, its HTTP API, its processes.

    with Daemon(build) as berth:
        berth.start()
        done = berth.run("run", "-G", "2", "--", "sh", "-c", "echo $CUDA_VISIBLE_DEVICES")
        status, answer = berth.request("GET", "/api/v1/jobs")
        berth.kill()                    # SIGKILL; start() again finds everything
        berth.until(lambda: ..., "what is waited for")

BUILD is a Meson build directory, or one with the programs in it. Nothing outlives close(): the daemon, berth-exec, shims
and jobs are found by the state directory and killed by pid.
"""
import contextlib
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time

ROOMS = {"berth": "cli", "berthd": "daemon", "berth-exec": "exec", "berth-probe": "probe"}
DEADLINE_S = 30
GROUPS = "cgroup v2 at "


def program(build, name):
    """The path of a program of berth."""
    for path in (os.path.join(build, name), os.path.join(build, "src", ROOMS[name], name)):
        if os.access(path, os.X_OK):
            return os.path.abspath(path)
    raise FileNotFoundError(f"{name} is not in {build}")


class UnixConnection(http.client.HTTPConnection):
    """HTTP over a unix socket."""

    def __init__(self, path, timeout):
        super().__init__("berth", timeout=timeout)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


def read_proc(pid, name):
    """Contents of /proc/PID/NAME, empty when the process is gone."""
    try:
        with open(f"/proc/{pid}/{name}", "rb") as file:
            return file.read()
    except OSError:
        return b""


def all_pids():
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def is_dead(pid):
    """Gone, or a zombie."""
    stat = read_proc(pid, "stat").rpartition(b")")[2].split()
    return not stat or stat[0] in (b"Z", b"X")


def parent_of(pid):
    stat = read_proc(pid, "stat").rpartition(b")")[2].split()
    return int(stat[1]) if len(stat) > 1 else 0


def empty_group(group):
    """Kill what is in a control group or below it, and remove it. False: something is left."""
    for folder, _, _ in os.walk(group, topdown=False):
        with contextlib.suppress(OSError):
            with open(os.path.join(folder, "cgroup.procs"), encoding="ascii") as file:
                for pid in file.read().split():
                    os.kill(int(pid), signal.SIGKILL)
        with contextlib.suppress(OSError):
            os.rmdir(folder)
    return not os.path.exists(group)


class Daemon:
    """folder: an existing directory that stays; None: a fresh one that is removed by close()."""

    def __init__(self, build, folder=None, devices="sim:8xA100-80GB", config=None):
        self.build = build
        self.is_own_folder = folder is None
        self.folder = os.path.realpath(folder or tempfile.mkdtemp(prefix="berth-e2e-"))
        self.state = os.path.join(self.folder, "state")
        self.socket = os.path.join(self.folder, "berth.sock")
        self.log = os.path.join(self.folder, "berthd.log")
        self.config = os.path.join(self.folder, "berth.yaml")
        self.devices = devices
        self.process = None
        self.group = None  # that this berth made for its jobs
        if config is not None:
            self.configure(config)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    # --- the daemon -------------------------------------------------------------------------------------------------

    def configure(self, text):
        with open(self.config, "w", encoding="utf-8") as file:
            file.write(text)

    def command(self, *options):
        command = [program(self.build, "berthd"), "--state", self.state, "--socket", self.socket, "--devices", self.devices]
        if os.path.exists(self.config):
            command += ["--config", self.config]
        if not any(option.startswith("--listen") for option in options):
            command += ["--listen", "none"]
        return command + list(options)

    def environment(self):
        """What berth is started with: nothing of the test's own surroundings but PATH."""
        return {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "HOME": self.folder, "BERTH_SOCKET": self.socket, "LC_ALL": "C.UTF-8",
                **{name: value for name, value in os.environ.items() if name.endswith("SAN_OPTIONS")}}

    def start(self, *options, wrap=(), wait=True, env=None):
        """Start the daemon; wrap: words before its command line (strace). wait: until it answers. env: added to its own."""
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen([*wrap, *self.command(*options)], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            env={**self.environment(), **(env or {})}, cwd=self.folder)
        if wait:
            self.until(self.answers, "the daemon answers")

    def answers(self):
        if self.process.poll() is not None:
            raise AssertionError(f"berthd ended with {self.process.returncode}:\n{self.log_text()}")
        try:
            return self.request("GET", "/api/v1/status")[0] == 200
        except (OSError, http.client.HTTPException):
            return False

    def note_group(self):
        """Remember, while the daemon can be asked, which control group is to be removed at the end."""
        with contextlib.suppress(OSError, http.client.HTTPException):
            containment = not self.group and self.request("GET", "/api/v1/status", timeout=2)[1]["containment"]
            if containment and containment.startswith(GROUPS):
                self.group = containment.removeprefix(GROUPS)

    def stop(self, sig=signal.SIGTERM):
        """Ask it to end; its exit code."""
        self.note_group()
        self.process.send_signal(sig)
        return self.process.wait(DEADLINE_S)

    def kill(self):
        self.note_group()
        self.process.kill()
        self.process.wait(DEADLINE_S)

    def log_text(self):
        with open(self.log, encoding="utf-8", errors="replace") as file:
            return file.read()

    # --- talking to it -----------------------------------------------------------------------------------------------

    def request(self, method, path, body=None, headers=None, timeout=DEADLINE_S):
        """(status, JSON or bytes)."""
        connection = UnixConnection(self.socket, timeout)
        headers = dict(headers or {})
        if body is not None and not isinstance(body, (str, bytes)):
            body = json.dumps(body)
            headers.setdefault("Content-Type", "application/json")
        with contextlib.closing(connection):
            connection.request(method, path, body, headers)
            reply = connection.getresponse()
            data = reply.read()
            is_json = (reply.getheader("Content-Type") or "").startswith("application/json")
            return reply.status, json.loads(data) if is_json else data

    def get(self, path):
        """The JSON of a GET that must be answered 200."""
        status, answer = self.request("GET", path)
        if status != 200:
            raise AssertionError(f"GET {path}: {status} {answer}")
        return answer

    def job(self, job):
        return self.get(f"/api/v1/jobs/{job}")["job"]

    def gpus(self):
        return self.get("/api/v1/gpus")["gpus"]

    def submit(self, *argv, **fields):
        """Post one job; its id. spec={...} is added to the specification."""
        spec = {"argv": list(argv), "cwd": self.folder, "env": ["PATH=/usr/bin:/bin"], **fields.pop("spec", {})}
        status, answer = self.request("POST", "/api/v1/jobs", {"spec": spec, **fields})
        if status != 201:
            raise AssertionError(f"submit was answered {status}: {answer}")
        return answer["jobs"][0]["id"]

    def popen(self, *argv, **options):
        """The command line, running."""
        return subprocess.Popen([program(self.build, "berth"), *argv], stdin=subprocess.DEVNULL, text=True,
                                env={**self.environment(), **options.pop("env", {})}, cwd=options.pop("cwd", self.folder), **options)

    def run(self, *argv, **options):
        """The command line, to its end."""
        with self.popen(*argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options) as process:
            try:
                out, err = process.communicate(timeout=DEADLINE_S)
            except subprocess.TimeoutExpired:
                process.kill()
                out, err = process.communicate()
                raise AssertionError(f"berth {' '.join(argv)} did not end:\n{out}\n{err}\n{self.log_text()}") from None
            return subprocess.CompletedProcess(argv, process.returncode, out, err)

    # --- waiting ------------------------------------------------------------------------------------------------------

    def until(self, is_so, what, seconds=DEADLINE_S):
        """Ask again and again until it is so; what it returned."""
        end = time.monotonic() + seconds
        while True:
            found = is_so()
            if found:
                return found
            if time.monotonic() > end:
                raise AssertionError(f"waited {seconds} s in vain until {what}; the daemon's log:\n{self.log_text()}")
            time.sleep(0.02)

    def until_state(self, job, *states):
        """The job, as soon as it is in one of the states."""

        def look():
            shown = self.job(job)
            return shown if shown["state"] in states else None

        return self.until(look, f"job {job} is {' or '.join(states)}")

    # --- processes ------------------------------------------------------------------------------------------------------

    def owns(self, pid):
        """Has this process files of our directory open, or one of its paths on its command line?"""
        if any(word.startswith(os.fsencode(self.folder) + b"/") for word in read_proc(pid, "cmdline").split(b"\0")):
            return True
        try:
            for fd in os.listdir(f"/proc/{pid}/fd"):
                with contextlib.suppress(OSError):
                    if (os.readlink(f"/proc/{pid}/fd/{fd}") + "/").startswith(self.folder + "/"):
                        return True
        except OSError:
            pass
        return False

    def pids(self, kind):
        """kind: "berthd", "berth-exec", "shim", or "job" for the processes of jobs."""
        found = []
        for pid in all_pids():
            if pid == os.getpid() or is_dead(pid):
                continue
            if kind == "job":
                if os.fsencode(f"BERTH_SOCKET={self.socket}") in (environ := read_proc(pid, "environ").split(b"\0")) and any(
                        word.startswith(b"BERTH_JOB_ID=") for word in environ):
                    found.append(pid)
                continue
            argv = read_proc(pid, "cmdline").split(b"\0")
            name = os.path.basename(argv[0]).decode(errors="replace")
            if name == "berth-exec" and b"--shim" in argv:
                name = "shim"
            if name == kind and self.owns(pid):
                found.append(pid)
        # A shim's child on its way to the command still looks like the shim itself.
        return [pid for pid in found if parent_of(pid) not in found] if kind == "shim" else found

    def close(self):
        """End everything that belongs to this berth, then remove the directory if it is ours."""
        if self.process and self.process.poll() is None:
            self.kill()
        end = time.monotonic() + DEADLINE_S
        while time.monotonic() < end:
            left = [pid for kind in ("berthd", "berth-exec", "shim", "job") for pid in self.pids(kind)]
            if not left:
                break
            for pid in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.02)
        while self.group and not empty_group(self.group) and time.monotonic() < end:
            time.sleep(0.02)
        self.group = None  # another berth may have one of this name from now on
        if self.is_own_folder:
            shutil.rmtree(self.folder, ignore_errors=True)

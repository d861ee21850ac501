#!/usr/bin/env python3
"""The example programs, given as arguments: each is run whole, and stopped and resumed, and must end with the same result."""
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAMS = {os.path.basename(path): os.path.abspath(path) for path in sys.argv[1:]}
PATIENCE_S = 60
TRIES = 5


def environment(directory, **more):
    """As berth gives it to a job, with its files in a directory."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("BERTH_", "CUDA_"))}
    files = {f"BERTH_{name.upper()}_FILE": os.path.join(directory, name) for name in ("progress", "done", "stop")}
    return {**clean, **files, "CUDA_VISIBLE_DEVICES": "SIM-one,SIM-two", "BERTH_JOB_ID": "12", **more}


def start(name, directory):
    return subprocess.Popen([PROGRAMS[name], "--seconds", "1", "--checkpoint", directory], stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment(directory))


def finish(process):
    output, _ = process.communicate(timeout=PATIENCE_S)
    return process.returncode, output


def result_of(output):
    return re.search(r"^result: .*$", output, re.MULTILINE).group(0)


def wait_for_progress(process, directory):
    """Wait until it works; a step or more is behind it then."""
    path = os.path.join(directory, "progress")
    until = time.monotonic() + PATIENCE_S
    while not os.path.exists(path) and process.poll() is None and time.monotonic() < until:
        time.sleep(0.005)


class Example(unittest.TestCase):
    def run_whole(self, name):
        with tempfile.TemporaryDirectory(prefix="berth-example-") as directory:
            code, output = finish(start(name, directory))
            self.assertEqual(code, 0, output)
            self.assertIn("cards: SIM-one,SIM-two", output)
            self.assertTrue(os.path.exists(os.path.join(directory, "done")))
            with open(os.path.join(directory, "progress"), encoding="utf-8") as progress:
                self.assertRegex(progress.read(), r"^(\d+)/\1 .+\n$")
            self.assertEqual(sorted(os.listdir(directory)), ["done", "progress"])
            return result_of(output)

    def stop(self, name, directory, ask):
        """Start it, let it work, ask it to stop; its output."""
        process = start(name, directory)
        wait_for_progress(process, directory)
        time.sleep(0.1)
        ask(process)
        code, output = finish(process)
        self.assertEqual(code, 0, output)
        return output

    def run_in_parts(self, name, ask):
        """Stopped once in the middle. A loaded machine may let it end before it is asked: then once more."""
        for _ in range(TRIES):
            with tempfile.TemporaryDirectory(prefix="berth-example-") as directory:
                output = self.stop(name, directory, ask)
                stopped = re.search(r"asked to stop at step (\d+)", output)
                if not stopped or stopped.group(1) == "0":
                    continue
                self.assertFalse(os.path.exists(os.path.join(directory, "done")))
                stop_file = os.path.join(directory, "stop")
                if os.path.exists(stop_file):
                    os.unlink(stop_file)
                code, output = finish(start(name, directory))
                self.assertEqual(code, 0, output)
                self.assertIn(f"resuming at step {stopped.group(1)}\n", output)
                self.assertEqual(sorted(os.listdir(directory)), ["done", "progress"])
                return result_of(output)
        self.fail(f"{name} was never stopped in the middle")

    def check(self, name):
        whole = self.run_whole(name)
        with self.subTest("SIGTERM"):
            self.assertEqual(self.run_in_parts(name, lambda process: process.send_signal(signal.SIGTERM)), whole)
        with self.subTest("stop file"):
            self.assertEqual(self.run_in_parts(name, touch_stop_file), whole)

    def test_evaluate(self):
        self.check("evaluate")

    def test_finetune(self):
        self.check("finetune")

    def test_serve(self):
        self.check("serve")

    def test_train(self):
        self.check("train")

    def test_wrong_command_line(self):
        for name, path in PROGRAMS.items():
            done = subprocess.run([path, "--seconds", "soon"], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 2)
            self.assertIn(f"usage: {name}", done.stderr)

    def submit(self, directory, path):
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "submit.sh")
        return subprocess.run(["/bin/sh", script, os.path.join(directory, "work")], capture_output=True, text=True, check=False,
                              env={**environment(directory), "PATH": path})

    def test_submit_script(self):
        """With a berth that notes what it is called with, beside the programs."""
        with tempfile.TemporaryDirectory(prefix="berth-example-") as directory:
            berth = os.path.join(directory, "berth")
            with open(berth, "w", encoding="utf-8") as file:
                file.write(f'#!/bin/sh\necho "$PWD $*" >>{directory}/calls\n')
            os.chmod(berth, 0o755)
            done = self.submit(directory, "/usr/bin:/bin")
            self.assertEqual(done.returncode, 1)
            self.assertIn("berth is not in PATH", done.stderr)
            done = self.submit(directory, f"{directory}:/usr/bin:/bin")
            self.assertEqual(done.returncode, 1)
            self.assertIn("make build", done.stderr)
            os.symlink(os.path.dirname(PROGRAMS["train"]), os.path.join(directory, "examples"))
            done = self.submit(directory, f"{directory}:/usr/bin:/bin")
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
            with open(os.path.join(directory, "calls"), encoding="utf-8") as calls:
                lines = calls.read().splitlines()
            self.assertEqual([re.search(r"-J (\S+) -t \d+m -G (\d)", line).groups() for line in lines],
                             [("finetune", "1"), ("serve", "1"), ("train", "4")] + [(f"evaluate-{i}", "1") for i in range(1, 7)])
            for line in lines:
                self.assertTrue(line.startswith(os.path.join(directory, "work") + " submit "), line)
                program = re.search(r" -- (\S+) ", line).group(1)
                self.assertTrue(os.access(program, os.X_OK), program)

    def test_nothing_is_left_when_killed(self):
        for name in ("train", "serve"):
            with tempfile.TemporaryDirectory(prefix="berth-example-") as directory:
                process = start(name, directory)
                wait_for_progress(process, directory)
                children = children_of(process.pid)
                self.assertTrue(children)
                process.kill()
                finish(process)
                until = time.monotonic() + PATIENCE_S
                while any(is_alive(pid) for pid in children) and time.monotonic() < until:
                    time.sleep(0.01)
                self.assertFalse([pid for pid in children if is_alive(pid)])


def touch_stop_file(process):
    with open(f"/proc/{process.pid}/environ", encoding="utf-8") as environ:
        path = re.search(r"BERTH_STOP_FILE=([^\0]*)", environ.read()).group(1)
    with open(path, "w", encoding="utf-8"):
        pass


def children_of(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="utf-8") as children:
        return [int(word) for word in children.read().split()]


def is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as stat:
            return stat.read().rsplit(") ", 1)[1][0] != "Z"
    except FileNotFoundError:
        return False


if __name__ == "__main__":
    if not PROGRAMS:
        sys.exit(f"usage: {sys.argv[0]} PROGRAM...")
    unittest.main(argv=sys.argv[:1])

"""What the fault cases have in common: a berth of its own for each, and words for what they do again and again.

The cases are faults that users of comparable systems met; each test is named after its case and says in one line what went
wrong elsewhere. A file of them ends with

    if __name__ == "__main__":
        case.main()
"""
import os
import sys
import unittest

from harness import Daemon

DONE = ("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "OUT_OF_MEMORY", "NODE_FAIL")


class Case(unittest.TestCase):
    BUILD = None

    def setUp(self):
        self.berth = Daemon(self.BUILD)
        self.addCleanup(self.berth.close)

    def start(self, config=None, *options, **how):
        if config is not None:
            self.berth.configure(config)
        self.berth.start(*options, **how)

    def run_ok(self, *argv, **options):
        done = self.berth.run(*argv, **options)
        self.assertEqual(done.returncode, 0, f"berth {' '.join(argv)}: {done.stderr}")
        return done

    def submit(self, *argv, **options):
        """By the command line, as a user does; the id."""
        return int(self.run_ok("submit", "--parsable", *argv, **options).stdout)

    def running(self, job):
        return self.berth.until_state(job, "RUNNING")

    def ended(self, job):
        return self.berth.until_state(job, *DONE)

    def free(self):
        """Indexes of the cards that a job could have now."""
        return [gpu["index"] for gpu in self.berth.gpus() if gpu["state"] == "free" and not gpu["jobs"]]

    def path(self, name):
        """Of a file in the folder in which the jobs of this test run."""
        return os.path.join(self.berth.folder, name)

    def read(self, name):
        with open(self.path(name), encoding="utf-8") as file:
            return file.read()

    def until_file(self, name):
        """The file's content, as soon as there is some."""
        return self.berth.until(lambda: os.path.exists(self.path(name)) and self.read(name), f"{name} is written")


def main():
    Case.BUILD = sys.argv.pop(1)
    unittest.main(verbosity=2)

#!/usr/bin/env python3
"""make test: every suite on the ordinary build, unit tests and laws again under the sanitizers, and a clang build.

The last line is `N passed, N failed`; the exit status is 0 only when nothing failed and something passed.
"""
import json
import os
import shutil
import subprocess
import sys
from collections import Counter

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.path.join(ROOT, "build")
PASSED = ("OK", "EXPECTEDFAIL")


class Tally:
    def __init__(self):
        self.passed = 0
        self.failed = []
        self.skipped = []

    def add(self, name, result):
        if result in PASSED:
            self.passed += 1
        elif result == "SKIP":
            self.skipped.append(name)
        else:
            self.failed.append(f"{name} ({result.lower()})")


def say(text):
    print(f"\n== {text}", flush=True)


def build(name, env=None, *options):
    """Set up (once) and build one tree; its directory, or None when that failed."""
    tree = os.path.join(BUILD, name)
    if not os.path.exists(os.path.join(tree, "build.ninja")):
        setup = ["meson", "setup", *options, tree, ROOT]
        if subprocess.run(setup, env={**os.environ, **(env or {})}, stdout=subprocess.DEVNULL).returncode != 0:
            return None
    return tree if subprocess.run(["ninja", "--quiet", "-C", tree]).returncode == 0 else None


def run_suites(tally, tree, label, suites, env=None, multiplier=1):
    """Run suites of a built tree and take the results from Meson's own log."""
    log = os.path.join(tree, "meson-logs", "testlog.json")
    if os.path.exists(log):
        os.unlink(log)
    command = ["meson", "test", "-C", tree, "--no-rebuild", "--print-errorlogs", "--timeout-multiplier", str(multiplier)]
    for suite in suites:
        command += ["--suite", suite]
    status = subprocess.run(command, env={**os.environ, **(env or {})}).returncode
    failed_before = len(tally.failed)
    try:
        with open(log, encoding="utf-8") as lines:
            for line in lines:
                row = json.loads(line)
                tally.add(label + row["name"].split(" / ")[-1], row["result"])
    except FileNotFoundError:
        pass
    if status != 0 and len(tally.failed) == failed_before:
        tally.add(f"{label}meson test", f"exit {status}")


def run_sanitizers(tally):
    say("the same under the address and undefined-behaviour sanitizers: unit, law")
    tree = build("asan", None, "-Db_sanitize=address,undefined", "-Db_lundef=false")
    tally.add("sanitizer build", "OK" if tree else "FAIL")
    if tree:
        env = {"ASAN_OPTIONS": "detect_leaks=1:detect_stack_use_after_return=1", "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1"}
        run_suites(tally, tree, "sanitized ", ["unit", "law"], env, multiplier=4)


def run_clang(tally):
    say("clang builds it too, without a warning")
    if not shutil.which("clang"):
        print("clang is not here; apt-get install clang adds this check")
        tally.add("clang build", "SKIP")
        return
    tally.add("clang build", "OK" if build("clang", {"CC": "clang"}) else "FAIL")


def report(tally):
    say("summary")
    for name, times in Counter(tally.skipped).items():
        print(f"skipped: {name}" + (f" ({times} times)" if times > 1 else ""))
    for name in tally.failed:
        print(f"FAILED: {name}")
    print(f"{tally.passed} passed, {len(tally.failed)} failed", flush=True)
    return 0 if tally.passed and not tally.failed else 1


def main():
    tally = Tally()
    say("unit, law, fault, e2e, check")
    tree = build("meson")
    if tree:
        run_suites(tally, tree, "", ["unit", "law", "fault", "e2e", "check"])
        run_sanitizers(tally)
        run_clang(tally)
    else:
        tally.add("build", "FAIL")
    return report(tally)


if __name__ == "__main__":
    sys.exit(main())

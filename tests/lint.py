#!/usr/bin/env python3
"""make lint: clang-tidy with the tree's .clang-tidy, then gcc -fanalyzer. lint.py [FILE.c...]; no file = all of src/."""
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TREE = os.path.join(ROOT, "build", "meson")
CLANG_TREE = os.path.join(ROOT, "build", "clang")
# What the analysers say wrongly of this tree. Leaks: clang does not see the cleanup attribute, gcc 12 loses sight of pointers kept in
# arrays (it names them <unknown>). Null and uninitialised values: gcc looks at one file at a time, so it does not know that a function
# in another file which left its output untouched has returned an error. The sanitizers watch these at run time.
NOISE = re.compile(r"Potential (memory )?leak|leak of ‘<unknown>’|use of uninitialized value|dereference of NULL|use of NULL ‘")


def commands(tree):
    """{source: command} of what a build tree compiles under src/, unit tests aside."""
    with open(os.path.join(tree, "compile_commands.json"), encoding="utf-8") as file:
        rows = json.load(file)
    found = {}
    for row in rows:
        path = os.path.normpath(os.path.join(row["directory"], row["file"]))
        if path.startswith(os.path.join(ROOT, "src")) and not path.endswith("_test.c"):
            found[path] = row["command"]
    return found


def keep(text, mark):
    """The diagnostics of a run, each from its first line (which mark finds) to the next, without noise; "" when none is left."""
    notes = re.split(rf"^(?=\S+:\d+:\d+: {mark}: )", text, flags=re.M)
    return "".join(n for n in notes if re.match(rf"\S+:\d+:\d+: {mark}: ", n) and not NOISE.search(n.split("\n")[0]))


def tidy(path):
    command = ["clang-tidy", "-p", CLANG_TREE, "--quiet", path]
    run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return keep(run.stdout, "(?:error|warning)")


def analyse(path, command):
    """The compile command again, nothing written, gcc's analyser on."""
    words = [w for w in shlex.split(command) if w not in ("-MD", "-Werror")]
    for option in ("-o", "-MF", "-MQ"):
        if option in words:
            del words[words.index(option) : words.index(option) + 2]
    words += ["-fdiagnostics-color=never", "-fanalyzer", "-o", os.devnull]
    run = subprocess.run(words, cwd=TREE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    return keep(run.stderr, "(?:error|warning)")


def show(name, results):
    noted = 0
    for path, text in results:
        if text:
            noted += 1
            print(f"== {name}: {os.path.relpath(path, ROOT)}\n{text}")
    return noted


def main():
    if not (shutil.which("clang-tidy") and shutil.which("clang")):
        print("lint needs clang and clang-tidy: apt-get install --no-install-recommends clang clang-tidy")
        return 1
    if not os.path.exists(os.path.join(CLANG_TREE, "build.ninja")):
        subprocess.run(["meson", "setup", CLANG_TREE, ROOT], env={**os.environ, "CC": "clang"}, check=True, stdout=subprocess.DEVNULL)
    wanted = {os.path.abspath(p) for p in sys.argv[1:]}
    gcc = {p: c for p, c in commands(TREE).items() if not wanted or p in wanted}
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        noted = show("clang-tidy", zip(gcc, pool.map(tidy, gcc)))
        noted += show("gcc -fanalyzer", zip(gcc, pool.map(analyse, gcc, gcc.values())))
    print(f"{len(gcc)} files, {noted} notes")
    return 1 if noted or not gcc else 0


if __name__ == "__main__":
    sys.exit(main())

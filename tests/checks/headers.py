#!/usr/bin/env python3
"""Every header can be included first and alone. headers.py COMPILER [ARGUMENT...]"""
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from tree import ROOT, finish, source_files


def main():
    headers = source_files(".h")
    compiler = sys.argv[1:] + ["-std=gnu17", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter", "-fsyntax-only", "-I", "src", "-x", "c", "-"]

    def compile_alone(path):
        inside = os.path.relpath(path, "src")
        # Twice, so that a missing guard shows as well.
        source = f'#include "{inside}"\n#include "{inside}"\nint berth_nothing;\n'
        return subprocess.run(compiler, cwd=ROOT, input=source, capture_output=True, text=True)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        runs = pool.map(compile_alone, headers)
        problems = [f"{path}: {run.stderr.strip()}" for path, run in zip(headers, runs) if run.returncode]
    return finish(problems, f"{len(headers)} headers")


if __name__ == "__main__":
    sys.exit(main())

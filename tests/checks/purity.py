#!/usr/bin/env python3
"""The core archive needs nothing of the outside world: no clock, file, socket, environment, thread, randomness, float.

purity.py BUILD_DIR CORE_ARCHIVE BASE_ARCHIVE
"""
import json
import os
import re
import subprocess
import sys

from tree import finish

ALLOWED = {
    # memory and bytes
    "malloc", "calloc", "realloc", "reallocarray", "free",
    "memcpy", "memmove", "memset", "memcmp", "memchr", "strlen", "strnlen", "strcmp", "strncmp", "strcasecmp", "strchr", "strrchr",
    "bsearch", "qsort",
    # what the compiler adds
    "__assert_fail", "__stack_chk_fail", "__memcpy_chk", "__memmove_chk", "__memset_chk", "_GLOBAL_OFFSET_TABLE_",
}


def objects(archive):
    """{object: (defined, undefined)} of an archive."""
    out = subprocess.run(["nm", "-A", "-P", "-g", archive], capture_output=True, text=True, check=True).stdout
    found = {}
    for line in out.splitlines():
        match = re.match(r".*[\[:]([^\[\]:]+\.o)\]?:\s*(\S+)\s+(\w)", line)
        if match:
            name, symbol, kind = os.path.basename(match.group(1)), match.group(2), match.group(3)
            found.setdefault(name, (set(), set()))[1 if kind in "Uw" else 0].add(symbol)
    return found


def pull(core, base):
    """The symbols that core and the objects of base it draws in leave open, and the names of these objects."""
    defined = set().union(*(d for d, _ in core.values()))
    wanted = set().union(*(u for _, u in core.values())) - defined
    drawn = set()
    while True:
        more = {name for name, (d, _) in base.items() if name not in drawn and d & wanted}
        if not more:
            return wanted, sorted(drawn)
        for name in more:
            defined |= base[name][0]
            wanted |= base[name][1]
        wanted -= defined
        drawn |= more


def compiled_with_float(build):
    """Sources of the core compiled without -mgeneral-regs-only, on a gcc for x86; elsewhere the symbol list has to do."""
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        commands = json.load(file)
    core = [c for c in commands if re.search(r"src/core/(?!.*_test\.c)[\w/]+\.c$", c["file"])]
    if os.uname().machine != "x86_64" or not core or "clang" in core[0]["command"].split()[0]:
        return []
    return [c["file"] for c in core if "-mgeneral-regs-only" not in c["command"]]


def main():
    build, core_archive, base_archive = sys.argv[1:]
    core = objects(core_archive)
    if not core:
        print(f"{core_archive} holds no object that nm can read")
        return 1
    if any("__asan_" in s or "__ubsan_" in s or "__gcov" in s for _, undefined in core.values() for s in undefined):
        print("sanitizer and coverage builds call their own run-time: not judged")
        return 77
    wanted, drawn = pull(core, objects(base_archive))
    problems = [f"the core needs {symbol}" for symbol in sorted(wanted - ALLOWED)]
    problems += [f"{file}: compiled without -mgeneral-regs-only" for file in compiled_with_float(build)]
    return finish(problems, f"{len(core)} objects, of base {', '.join(drawn) or 'none'}; outside: {' '.join(sorted(wanted))}")


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""No room uses one below it, no headers include each other; units (x.c with x.h) that use each other are named."""
import os
import re
import sys

from tree import ROOT, finish, is_test, read, source_files

ROOMS = ["base", "core", "device", "host", "store", "telemetry", "engine", "api", "daemon", "exec", "probe", "cli"]
# The programs that stay small use few rooms; the core is pure. Everything else may use all rooms above it.
ONLY = {
    "core": ["base"],
    "daemon": ROOMS[: ROOMS.index("daemon")],
    "exec": ["base", "host"],
    "probe": ["base", "device"],
    "cli": ["base"],
}
CORE_MAY_USE = ["base/arena.h", "base/cleanup.h", "base/hash.h"]
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)


def room_of(path):
    return path.split("/")[0]


def allowed(room):
    return ONLY.get(room, ROOMS[: ROOMS.index(room)]) + [room]


def unit_of(inside):
    """x.h and x.c are one unit. A room's own header (core/core.h) is not one with core.c: all files of the room stand behind it."""
    stem, suffix = os.path.splitext(inside)
    folder, name = os.path.split(stem)
    return inside if suffix == ".h" and name == os.path.basename(folder) else stem


def check_include(path, target):
    """What is wrong with this include of a file of src/; None = nothing."""
    inside = os.path.relpath(path, "src")
    room = room_of(inside)
    if target.startswith(".") or "/" not in target:
        return f'{path}: write "{target}" from src/ on, as "room/file.h"'
    if not os.path.exists(os.path.join(ROOT, "src", target)):
        return f"{path}: there is no src/{target}"
    if room not in ROOMS or room_of(target) not in ROOMS:
        return f"{path}: {room} or {room_of(target)} is no room; add it to the list of layers first"
    if room_of(target) not in allowed(room):
        return f"{path}: {room} may not use {room_of(target)} ({target})"
    if room == "core" and room_of(target) == "base" and target not in CORE_MAY_USE and not is_test(path):
        return f"{path}: the core may use only {', '.join(CORE_MAY_USE)} of base, not {target}"
    return None


def find_cycle(graph):
    """The names along one cycle of the graph, or None."""
    state = {}
    trail = []

    def visit(name):
        state[name] = "open"
        trail.append(name)
        for following in sorted(graph.get(name, ())):
            if state.get(following) == "open":
                return trail[trail.index(following) :] + [following]
            if following not in state:
                cycle = visit(following)
                if cycle:
                    return cycle
        trail.pop()
        state[name] = "done"
        return None

    for name in sorted(graph):
        if name not in state:
            cycle = visit(name)
            if cycle:
                return cycle
    return None


def main():
    problems = []
    headers = {}
    units = {}
    edges = 0
    for path in source_files(".c", ".h"):
        inside = os.path.relpath(path, "src")
        for target in INCLUDE.findall(read(path)):
            problem = check_include(path, target)
            if problem:
                problems.append(problem)
                continue
            edges += 1
            if path.endswith(".h"):
                headers.setdefault(inside, set()).add(target)
            if not is_test(path) and unit_of(target) != unit_of(inside):
                units.setdefault(unit_of(inside), set()).add(unit_of(target))
    cycle = find_cycle(headers)
    if cycle:
        problems.append("headers include each other: " + " -> ".join(cycle))
    cycle = find_cycle(units)
    if cycle:
        print("note: units use each other: " + " -> ".join(cycle))
    return finish(problems, f"{edges} includes, {len(units)} units, {len(ROOMS)} rooms")


if __name__ == "__main__":
    sys.exit(main())

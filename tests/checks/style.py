#!/usr/bin/env python3
"""The marks of the house style: lengths, forbidden calls, headers that are manuals, no hidden state."""
import os
import re
import statistics
import sys

from tree import blank, finish, functions, is_test, read, source_files

LINE_WIDTH = 120
TAB = 8
FILE_LINES_MAX = 900
FUNCTION_LINES_MAX = 100
FUNCTION_MEDIAN_MAX = 18
FUNCTION_LONG = 50
FUNCTION_LONG_SHARE_MAX = 0.03
FILE_MEDIAN_MAX = 300
HEADER_COMMENT_SHARE_MIN = 0.5
FORBIDDEN = re.compile(r"\b(strcpy|strcat|sprintf|vsprintf|atoi|atol|atoll|atof|strtok|gets|system|alloca|tmpnam|mktemp)\s*\(")
# Spelled in two halves, so that this file does not find itself.
UNFINISHED = re.compile(r"\b(TO" r"DO|FIX" r"ME|X" r"XX|HA" r"CK)\b")
MUTABLE = re.compile(r"^(?:static\s+|_Thread_local\s+|__thread\s+)*(?!.*\b(?:typedef|extern|return|const)\b)[A-Za-z_][\w \t*]*\b\w+(?:\[[^\]]*\])*\s*(?:=[^=].*|;)$")


def width(line):
    return len(line.expandtabs(TAB))


def check_lines(path, text):
    problems = []
    lines = text.split("\n")
    if len(lines) > FILE_LINES_MAX:
        problems.append(f"{path}: {len(lines)} lines, more than {FILE_LINES_MAX}")
    for number, line in enumerate(lines, 1):
        if width(line) > LINE_WIDTH:
            problems.append(f"{path}:{number}: {width(line)} columns wide, more than {LINE_WIDTH}")
        if line != line.rstrip():
            problems.append(f"{path}:{number}: blanks at the end of the line")
        if UNFINISHED.search(line):
            problems.append(f"{path}:{number}: unfinished business")
    if not text.endswith("\n") or text.endswith("\n\n"):
        problems.append(f"{path}: must end with one newline")
    return problems


def check_calls(path, text):
    code = blank(text)
    return [f"{path}:{code.count(chr(10), 0, m.start()) + 1}: {m.group(1)} is not used here" for m in FORBIDDEN.finditer(code)]


def check_guard(path, text):
    inside = os.path.relpath(path, "src")
    guard = "BERTH_" + re.sub(r"\W", "_", inside).upper()
    if f"#ifndef {guard}\n#define {guard}\n" not in text:
        return [f"{path}: its include guard should be {guard}"]
    return []


def check_state(path, text):
    """Variables at file level that can change: only a program's main file may have them."""
    code = blank(text)
    if is_test(path) or path.endswith(".h") or re.search(r"^int main\(", code, re.M):
        return []
    depth = 0
    problems = []
    for number, line in enumerate(code.split("\n"), 1):
        if depth == 0 and not line.startswith(("\t", " ", "#", "}")) and "(" not in line.split("=")[0] and MUTABLE.match(line) and not re.match(r"(struct|union|enum) \w+;$", line):
            problems.append(f"{path}:{number}: state at file level: {line.strip()}")
        depth += line.count("{") - line.count("}")
    return problems


def check_functions(path, found):
    problems = []
    for name, line, length, body in found:
        if length > FUNCTION_LINES_MAX:
            problems.append(f"{path}:{line}: {name} has {length} lines, more than {FUNCTION_LINES_MAX}")
        if "BERTH_AUTO_" in body and re.search(r"\bgoto\b", body):
            problems.append(f"{path}:{line}: {name} has both a goto and a scoped variable")
    return problems


def comment_share(text):
    """Which part of a header's characters, blanks and guards left out, stands in comments."""
    text = re.sub(r"^#(ifndef BERTH_\w+|define BERTH_\w+_H|endif.*)$", "", text, flags=re.M)
    ink = len(re.sub(r"\s", "", text))
    code = len(re.sub(r"\s", "", blank(text, strings=False)))
    return (ink - code) / ink


def check_tree(texts, lengths):
    """Marks that hold for the tree as a whole, and what is printed of it."""
    problems = []
    shares = [comment_share(text) for path, text in texts.items() if path.endswith(".h")]
    sizes = [t.count("\n") for p, t in texts.items() if p.endswith(".c")]
    tests = sum(t.count("\n") for p, t in texts.items() if is_test(p))
    code = sum(t.count("\n") for p, t in texts.items() if p.endswith(".c") and not is_test(p))
    long = [n for n in lengths if n > FUNCTION_LONG]
    share = statistics.mean(shares)
    if statistics.median(lengths) > FUNCTION_MEDIAN_MAX:
        problems.append(f"the median function has {statistics.median(lengths)} lines, more than {FUNCTION_MEDIAN_MAX}")
    if len(long) > FUNCTION_LONG_SHARE_MAX * len(lengths):
        problems.append(f"{len(long)} of {len(lengths)} functions have more than {FUNCTION_LONG} lines")
    if statistics.median(sizes) > FILE_MEDIAN_MAX:
        problems.append(f"the median file has {statistics.median(sizes)} lines, more than {FILE_MEDIAN_MAX}")
    if share < HEADER_COMMENT_SHARE_MIN:
        problems.append(f"headers are {share:.0%} comment on average, less than {HEADER_COMMENT_SHARE_MIN:.0%}")
    summary = (
        f"{len(lengths)} functions: median {statistics.median(lengths):g} lines, {len(long)} over {FUNCTION_LONG}, "
        f"longest {max(lengths)}; files: median {statistics.median(sizes):g} lines, longest {max(sizes)}; "
        f"headers {share:.0%} comment; {code} lines of code, {tests} of unit tests beside them"
    )
    return problems, summary


def main():
    problems = []
    texts = {path: read(path) for path in source_files(".c", ".h")}
    measured = []
    for path, text in texts.items():
        found = functions(text)
        problems += check_lines(path, text) + check_calls(path, text) + check_state(path, text) + check_functions(path, found)
        if path.endswith(".h"):
            problems += check_guard(path, text)
        if not is_test(path):
            measured += [(length, path, name) for name, _, length, _ in found]
    more, summary = check_tree(texts, [m[0] for m in measured])
    for length, path, name in sorted(measured, reverse=True)[:10]:
        print(f"{length:5} {path}: {name}")
    return finish(problems + more, summary)


if __name__ == "__main__":
    sys.exit(main())

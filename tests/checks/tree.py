"""What the checks share: the tree's files and how C is read."""
import os
import re
import subprocess

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SRC = os.path.join(ROOT, "src")


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def source_files(*suffixes):
    """Files under src/ as paths from the root, sorted."""
    found = []
    for folder, _, names in os.walk(SRC):
        found += [os.path.relpath(os.path.join(folder, n), ROOT) for n in names if n.endswith(suffixes)]
    return sorted(found)


def is_test(path):
    return os.path.splitext(path)[0].endswith("_test")


def tracked_files():
    """What a clone would hold; where git cannot say, everything but build output."""
    git = subprocess.run(["git", "-C", ROOT, "-c", f"safe.directory={ROOT}", "ls-files", "-z"], capture_output=True)
    if git.returncode == 0 and git.stdout:
        return sorted(p for p in git.stdout.decode().split("\0") if p and os.path.isfile(os.path.join(ROOT, p)))
    found = []
    for folder, folders, names in os.walk(ROOT):
        folders[:] = [f for f in folders if f not in (".git", "build", "__pycache__")]
        found += [os.path.relpath(os.path.join(folder, n), ROOT) for n in names]
    return sorted(found)


TOKEN = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)


def blank(text, comments=True, strings=True):
    """The text with comments and the inside of strings blanked out, every line where it was."""

    def hide(match):
        token = match.group(0)
        is_comment = token[0] == "/"
        if not (comments if is_comment else strings):
            return token
        hidden = re.sub(r"[^\n]", " ", token)
        return hidden if is_comment else token[0] + hidden[1:-1] + token[-1]

    return TOKEN.sub(hide, text)


FUNCTION = re.compile(r"^(?:[A-Za-z_][\w \t*,()\[\]]*?)\b([A-Za-z_]\w*)\s*\((?:[^;{}]|\n)*?\)\s*(?:__attribute__\s*\(\(.*?\)\)\s*)?\n\{", re.M)


def functions(text):
    """(name, first line, number of lines from { to }, body) of each function whose brace stands in column 0."""
    code = blank(text)
    found = []
    for match in FUNCTION.finditer(code):
        begin = match.end() - 1
        end = code.find("\n}", begin)
        if end < 0:
            continue
        first = code.count("\n", 0, begin) + 1
        found.append((match.group(1), first, code.count("\n", begin, end + 2) + 1, code[begin : end + 2]))
    return found


def finish(problems, summary):
    """Print the outcome; the exit status of the check."""
    for problem in problems:
        print(problem)
    print(summary if not problems else f"{len(problems)} problem(s). {summary}")
    return 1 if problems else 0

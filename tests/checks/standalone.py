#!/usr/bin/env python3
"""The tree stands by itself: no path of a working machine, no registry host; its documents name what exists."""
import os
import re
import sys
import urllib.parse

from tree import ROOT, finish, read, tracked_files

BINARY = (".png", ".jpg", ".gif", ".ico", ".woff2", ".db", ".gz")
# Written in parts, so that this file does not find itself.
OUTSIDE = re.compile(
    r"\.\./" r"shared\b|/wo" r"rk/(?:main|shared|\.library)|/tmp/(?:br" r"ief|build-)|/ro" r"ot/|/ho" r"me/(?!lin\b|USER\b)\w+/"
)
HOSTS = ["registry.npmjs" ".org", "registry.yarnpkg" ".com", "pypi" ".org", "files.pythonhosted" ".org", "crates" ".io", "proxy.golang" ".org",
         "rubygems" ".org", "repo.maven" ".apache.org", "deb.debian" ".org", "ghcr" ".io", "quay" ".io", "docker" ".io"]
COMMANDS = ("make run", "make test")
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")


def check_text(path, text):
    problems = []
    for number, line in enumerate(text.split("\n"), 1):
        if OUTSIDE.search(line):
            problems.append(f"{path}:{number}: a path of somebody's machine: {line.strip()[:100]}")
        problems += [f"{path}:{number}: names a registry host, {host}" for host in HOSTS if host in line]
    return problems


def anchor(title):
    """What a page on the usual forges makes of a heading."""
    return re.sub(r"[^\w\- ]", "", title.strip().lower()).replace(" ", "-")


def check_links(path, text):
    """Links of a document that lead to no file of the tree or to no heading of a document."""
    problems = []
    text = re.sub(r"^```.*?^```", "", text, flags=re.S | re.M)
    for target in LINK.findall(text):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, fragment = urllib.parse.unquote(target).partition("#")
        to = os.path.normpath(os.path.join(os.path.dirname(path), name)) if name else path
        if not os.path.exists(os.path.join(ROOT, to)):
            problems.append(f"{path}: there is no {to}")
        elif fragment and to.endswith(".md"):
            titles = re.findall(r"^#+ (.*)$", read(to), re.M)
            if fragment not in [anchor(t) for t in titles]:
                problems.append(f"{path}: {to} has no heading for #{fragment}")
    return problems


def main():
    problems = []
    files = tracked_files()
    for path in files:
        if path.endswith(BINARY):
            continue
        try:
            text = read(path)
        except UnicodeDecodeError:
            problems.append(f"{path}: is not UTF-8")
            continue
        problems += check_text(path, text)
        if path.endswith(".md"):
            problems += check_links(path, text)
    for readme in ("README.md", "README.zh-CN.md"):
        problems += [f"{readme} does not name `{command}`" for command in COMMANDS if command not in read(readme)]
    return finish(problems, f"{len(files)} files")


if __name__ == "__main__":
    sys.exit(main())

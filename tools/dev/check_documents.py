#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Looks for what documents name and the tree does not have. Part of ./dev lint; run in any folder of the tree.

Links lead to files and, behind `#`, to headings of theirs. Words in backticks that look like a source, script or page
(`engine/src/explain.cc`, `docs/lab/*.md`) are the end of a file's path. Commands of `merlon` are those of
docs/reference/commands.md. Lists that should be whole are: fuzz targets in SECURITY.md, decisions in their index, smoke
tests in their page; every room has its NOTES.md.
Prints a line `page:line: what` for each finding; exit code 1 when there is one.
"""
import fnmatch
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
LINK = re.compile(r"\]\(([^) ]+)\)")
WORD = re.compile(r"`([^`\s]+)`")
PATH = re.compile(r"[\w*./-]+\.(?:h|cc|py|sh|cmake|md)")
COMMAND = re.compile(r"(?:`|^    (?:[$#] )?|\| )merlon ([a-z-]+)(?: ([a-z-]+))?")


def anchors_of(page):
    """Names of a page's headings, as hosts of Markdown make them."""
    headings = re.findall(r"^#+ +(.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", h.strip().lower()).replace(" ", "-") for h in headings}


def wrong_link(page, link):
    """What is wrong with a link of `page`, or nothing."""
    if re.match(r"[a-z]+:", link):
        return None
    name, _, anchor = link.partition("#")
    target = page.parent / name if name else page
    if not target.exists():
        return f"nothing at {link}"
    if anchor and target.suffix == ".md" and anchor not in anchors_of(target):
        return f"no heading for {link}"
    return None


def is_file(word, page, files):
    """A word names a file by the end of its path, or from where its page is; `*` stands for any text."""
    beside = os.path.normpath(os.path.join(os.path.dirname(page), word))
    return beside in files or any(fnmatch.fnmatchcase("/" + f, "*/" + word) for f in files)


def commands():
    """All that may follow `merlon`: "check", "show", "show ports"."""
    page = (ROOT / "docs/reference/commands.md").read_text()
    names = re.findall(r"^## merlon (.+)$", page, re.MULTILINE)
    return set(names) | {name.split()[0] for name in names}


def is_command(first, second, known):
    groups = {name.split()[0] for name in known if " " in name}
    return first in known and (second is None or first not in groups or f"{first} {second}" in known)


def look_through(page, files, known):
    for number, line in enumerate((ROOT / page).read_text().splitlines(), 1):
        for link in LINK.findall(line):
            if wrong := wrong_link(ROOT / page, link):
                yield f"{page}:{number}: {wrong}"
        for word in WORD.findall(line):
            # Absolute paths are those of an installed system.
            if PATH.fullmatch(word) and not word.startswith("/") and not is_file(word, page, files):
                yield f"{page}:{number}: no file is named {word}"
        for first, second in COMMAND.findall(line):
            if not is_command(first, second or None, known):
                yield f"{page}:{number}: no command is named merlon {first} {second}".rstrip()


def missing_in(page, pattern, files, form):
    text = (ROOT / page).read_text()
    for name in sorted({re.match(pattern, f)[1] for f in files if re.match(pattern, f)}):
        if form.format(name) not in text:
            yield f"{page}:1: {name} is missing"


def whole_lists(files):
    yield from missing_in("SECURITY.md", r"tests/fuzz/corpus/(\w+)/", files, "`{}`")
    yield from missing_in("docs/decisions/README.md", r"docs/decisions/(\d{4}-[^/]+\.md)$", files, "({})")
    yield from missing_in("tests/smoke/README.md", r"tests/(?:smoke|e2e)/(test_\w+\.py)$", files, "{}`")
    rooms = [f.removesuffix("CMakeLists.txt") for f in files if re.fullmatch(r"libs/(?:\w+/)+CMakeLists\.txt", f)]
    for room in rooms:
        is_room = re.search(r"^merlon_library\(", (ROOT / room / "CMakeLists.txt").read_text(), re.MULTILINE)
        if is_room and room + "NOTES.md" not in files:
            yield f"{room}CMakeLists.txt:1: a room without NOTES.md"


def main():
    listed = subprocess.run(["git", "-C", ROOT, "ls-files"], check=True, capture_output=True, text=True).stdout
    files = {f for f in listed.splitlines() if (ROOT / f).exists()}
    known = commands()
    findings = [f for page in sorted(files) if page.endswith(".md") for f in look_through(page, files, known)]
    findings += whole_lists(files)
    print("\n".join(findings), end="\n" if findings else "")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())

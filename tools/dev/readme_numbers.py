#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes README's table of figures from docs/benchmarks.json, which `./dev bench --json docs/benchmarks.json` makes.

  readme_numbers.py          rewrites the part of README.md between the two marks
  readme_numbers.py --check  changes nothing; ends with 1 when README differs from what would be written
"""
import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
RESULTS = ROOT / "docs" / "benchmarks.json"
BEGIN = "<!-- numbers: begin; tools/dev/readme_numbers.py writes what is between the marks -->\n"
END = "<!-- numbers: end -->\n"


def number(value):
    """A figure for people: three or four digits, thousands and millions by name."""
    if value is None:
        return ""
    if isinstance(value, dict):
        return ", ".join(f"{name} {number(part)}" for name, part in value.items())
    if not isinstance(value, (int, float)):
        return str(value)
    for factor, unit in ((1e9, " G"), (1e6, " M"), (1e4, " k")):
        if abs(value) >= factor:
            scaled = value / (1e3 if factor == 1e4 else factor)
            return f"{scaled:.3g}{unit}" if scaled < 1000 else f"{scaled:.0f}{unit}"
    return f"{value:.4g}"


def cell(text):
    return str(text).replace("|", "\\|").replace("\n", " ")


def machine_words(machine):
    if isinstance(machine, dict):
        return ", ".join(f"{key}: {value}" for key, value in machine.items())
    return str(machine)


def table(results):
    lines = [
        "| benchmark | figure | spread | limit in the same run | peers in the same run |",
        "| --- | --- | --- | --- | --- |",
    ]
    for r in results:
        spread = r.get("spread")
        spread = f"{100 * spread:.0f} %" if isinstance(spread, (int, float)) else ""
        row = [
            f"`{r['name']}`",
            f"{number(r.get('value'))} {r.get('unit', '')}".strip(),
            spread,
            number(r.get("limit")),
            number(r.get("peers") or None),
        ]
        lines.append("| " + " | ".join(cell(c) for c in row) + " |")
    lines.append("")
    for machine in dict.fromkeys(machine_words(r["machine"]) for r in results if r.get("machine")):
        lines.append(f"Machine: {machine}.")
    commands = list(dict.fromkeys(r["command"] for r in results if r.get("command")))
    if len(commands) == 1:
        lines.append(f"Command: `{commands[0]}`.")
    elif commands:
        lines.append("")
        lines.append("Commands: " + ", ".join(f"`{c}`" for c in commands) + ".")
    lines.append("Spread is (largest − smallest) / median of the runs.")
    return "\n".join(lines) + "\n"


def text():
    if not RESULTS.exists():
        return "Not measured yet: `./dev bench --json docs/benchmarks.json` makes the figures, this table is then filled from it.\n"
    results = json.loads(RESULTS.read_text())
    if not results:
        return "The last `./dev bench` gave no figure.\n"
    return table(results)


def main(arguments):
    if arguments not in ([], ["--check"]):
        print(__doc__, file=sys.stderr)
        return 2
    readme = README.read_text()
    head, begin, rest = readme.partition(BEGIN)
    old, end, tail = rest.partition(END)
    if not begin or not end:
        print("README.md has no marks for the figures", file=sys.stderr)
        return 1
    new = text()
    if new == old:
        return 0
    if arguments == ["--check"]:
        print("README.md differs from docs/benchmarks.json; run tools/dev/readme_numbers.py")
        return 1
    README.write_text(head + begin + new + end + tail)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

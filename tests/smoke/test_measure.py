# SPDX-License-Identifier: Apache-2.0
"""The laboratory for real: a small plan, killed and resumed, two at once, interrupted, and what is left of the host afterwards."""
import json
import os
import pathlib
import signal
import subprocess
import tempfile

from lab import Failure, Skip, _die_with_parent, check, check_equal, check_in, need_root, run, wait_for

PLAN = """
plan: tiny
title: {en: Tiny, ru: Малый}
budget: 20s
rows:
  - {id: cable, suite: rates, device: {driver: "null", topology: direct}, rate: 5k, duration: 300ms}
  - {id: bridge, suite: rates, device: {driver: bridge, topology: path7}, rate: 5k, duration: 300ms, repeats: 3}
  - {id: bridge.most, suite: maximum, device: {driver: bridge, topology: path7}, duration: 300ms}
charts:
  - {id: loss, kind: lines, x: offered_pps, y: loss_ratio, series: device}
checks: [ceiling-above-devices]
"""


class Runs:
    """A folder with the plan, a registry of its own for what runs leave, and the laboratories started there."""

    def __init__(self, context):
        need_root()
        self.program = context.binaries / "merlon-lab"
        if not self.program.exists():
            raise Skip("merlon-lab is not built")
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="merlon-measure-"))
        context.keep_or_remove(self.folder)
        self.plan = self.folder / "tiny.yaml"
        self.plan.write_text(PLAN)
        self.environment = dict(os.environ, MERLON_LAB_RUN_DIR=str(self.folder / "registry"))
        self.started = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.started:
            if process.poll() is None:
                process.kill()
                process.wait()
        self.lab("clean")

    def lab(self, *words, code=0, seconds=60):
        done = run([self.program, *words], seconds=seconds, check_code=False, env=self.environment)
        if code is not None and done.returncode != code:
            raise Failure(f"merlon lab {' '.join(map(str, words))}: exit code {done.returncode}, not {code}\n{done.stdout}{done.stderr}")
        return done.stdout + done.stderr

    def start(self, out, *words):
        log = open(self.folder / f"{out.name}.log", "w")
        process = subprocess.Popen([self.program, "run", self.plan, "--out", out, *words], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                   env=self.environment, preexec_fn=_die_with_parent)
        self.started.append(process)
        return process

    def namespaces(self):
        names = [p.name for p in (self.folder / "registry").glob("*/namespaces/*")] if (self.folder / "registry").exists() else []
        there = {line.split()[0] for line in run(["ip", "netns", "list"]).stdout.splitlines() if line}
        return [n for n in names if n in there]


def trials_in(out):
    path = out / "journal.jsonl"
    return path.read_text().count('"record":"trial"') if path.exists() else 0


def result(out):
    return json.loads((out / "result.json").read_text())


def check_whole(out):
    got = result(out)
    check_equal(got["is_partial"], False, "is_partial")
    check_equal({r["id"]: r["state"] for r in got["rows"]}, {"cable": "done", "bridge": "done", "bridge.most": "done"}, "rows")
    check_equal([c["when"] for c in got["calibrations"]], ["before", "after"], "calibrations")
    for row in got["rows"]:
        check(row["kpis"]["received_pps"] > 0, f"{row['id']} received frames")
    for name in ("report.html", "trials.csv", "summary.txt", "plan.yaml"):
        check((out / name).stat().st_size > 100, f"{name} is there")
    return got


def test_killed_and_resumed(context):
    with Runs(context) as runs:
        out = runs.folder / "killed"
        process = runs.start(out)
        wait_for(lambda: trials_in(out) >= 8 or process.poll() is not None, 30, "eight trials")
        check(process.poll() is None, "the laboratory still runs")
        process.send_signal(signal.SIGKILL)
        process.wait()
        before = trials_in(out)
        check(not (out / "result.json").exists(), "a killed run has no result yet")
        # The report of what there is, without going on.
        runs.lab("report", out)
        check_equal(result(out)["is_partial"], True, "is_partial of the cut run")
        runs.lab("run", "--resume", out, "-q")
        check_equal(runs.namespaces(), [], "namespaces left")
        got = check_whole(out)
        check(len(got["trials"]) > before, "trials were added")
        ids = [t["spec"]["id"] for t in got["trials"]]
        check_equal(len(ids), len(set(ids)), "trials are unique")
        said = runs.lab("run", runs.plan, "--out", out, code=6)
        check_in("--resume", said, "hint for a folder that is taken")


def test_two_at_once_and_interrupted(context):
    with Runs(context) as runs:
        one, two = runs.folder / "one", runs.folder / "two"
        first, second = runs.start(one), runs.start(two)
        wait_for(lambda: trials_in(one) >= 1 and trials_in(two) >= 1, 30, "both measure")
        said = runs.lab("run", "--resume", one, code=6)
        check_in("another laboratory", said, "refusal of a folder in use")
        second.send_signal(signal.SIGINT)
        check_equal(second.wait(timeout=20), 1, "exit code of the interrupted one")
        got = result(two)
        check_equal(got["is_partial"], True, "is_partial")
        check_in("--resume", got["partial_reason"]["en"], "reason")
        check((two / "report.html").exists(), "an interrupted run has its report")
        check_equal(first.wait(timeout=40), 0, "exit code of the other one")
        check_whole(one)
        check_equal(runs.namespaces(), [], "namespaces left")


def test_plans_and_lists(context):
    with Runs(context) as runs:
        said = runs.lab("list", code=0)
        for word in ("quick", "vswitch-openflow", "rfc2544.latency", "bridge", "nftables"):
            check_in(word, said, "list")
        copy = runs.folder / "copy.yaml"
        copy.write_text(runs.lab("show-plan", "quick"))
        check_equal(runs.lab("show-plan", copy), copy.read_text(), "a plan printed twice")
        copy.write_text("plan: x\nrows:\n  - {id: a, suite: rates, rat: 5}\n")
        said = runs.lab("run", copy, code=3)
        check_in("copy.yaml:3:", said, "place of the error")
        runs.lab("run", "quik", code=1)
        runs.lab("run", code=2)
        run([context.binaries / "merlon", "lab", "list", "--lang", "ru"])

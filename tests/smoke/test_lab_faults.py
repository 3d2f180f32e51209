# SPDX-License-Identifier: Apache-2.0
"""The laboratory when things break: devices that die, hang or leave something behind, a full disk, damaged files; and what it answers on its command line."""
import json
import os
import pathlib
import signal
import subprocess

from lab import check, check_equal, check_in, run, wait_for
from test_measure import Runs, result, trials_in

HEAD = "plan: faults\nbudget: {budget}\nrows:\n"
CABLE = '  - {id: cable, suite: rates, device: {driver: "null", topology: direct}, rate: 5k, duration: 300ms}\n'
BRIDGE = "  - {id: bridge, suite: rates, device: {driver: bridge, topology: path7}, rate: 5k, duration: 300ms, repeats: 3}\n"
MERLON = "  - {id: merlon, suite: rates, device: {driver: merlon, mode: wire, topology: path7}, rate: 5k, duration: 1s, repeats: 4}\n"
PAIR = """
  - id: pair
    suite: paired
    device: {driver: bridge, topology: path7}
    against: {title: the same again, driver: bridge, topology: path7}
    duration: 200ms
    parameters: {min_pairs: 6, max_pairs: 6, search_s: 60}
"""
# A bridge by commands of the user's, with a process that outlives its parent and a namespace that nobody was told of.
MESSY = r"""
  - id: messy
    suite: rates
    device:
      driver: external
      topology: path7
      options:
        setup: "ip link add br0 type bridge && ip link set $MERLON_LAB_PORT_0 master br0 && ip link set $MERLON_LAB_PORT_1 master br0 && ip link set br0 up"
        start: "setsid sleep 397 & exec sleep 398"
    rate: 5k
    duration: 300ms
"""


class Faults(Runs):
    def write(self, rows, budget="60s"):
        self.plan.write_text(HEAD.format(budget=budget) + rows)

    def processes(self, name):
        """Ids of the devices' processes of that name that the runs here started."""
        found = []
        for path in (self.folder / "registry").glob("*/processes/*"):
            try:
                if name in path.read_text():
                    found.append(int(path.name))
            except FileNotFoundError:
                pass
        return found

    def signal_device(self, process, out, name, number, trials):
        """Sends the signal to the device's process once `trials` trials are done and one more runs."""
        wait_for(lambda: trials_in(out) >= trials or process.poll() is not None, 40, "trials")
        wait_for(lambda: self.processes(name) or process.poll() is not None, 20, f"{name} to be up")
        check(process.poll() is None, "the laboratory still runs")
        for pid in self.processes(name):
            os.kill(pid, number)


def row(got, name):
    return next(r for r in got["rows"] if r["id"] == name)


# The calibration has six trials and those of a row follow; a second into the fourth the device is still there.
CALIBRATION = 6


def test_device_dies(context):
    with Faults(context) as runs:
        runs.write(MERLON + CABLE)
        out = runs.folder / "dies"
        process = runs.start(out)
        runs.signal_device(process, out, "merlond", signal.SIGKILL, CALIBRATION + 2)
        check_equal(process.wait(timeout=90), 0, "exit code")
        got = result(out)
        check_equal(row(got, "merlon")["state"], "done", "state of the row whose device died once")
        # A machine full of others' work may have starved another trial.
        failed = [t for t in got["trials"] if t["stamp"] == "failed" and t["spec"]["row"] == "merlon"]
        died = [t for t in failed if any("died" in reason for reason in t["stamp_reasons"])]
        check_equal(len(died), 1, f"trials that say that the device died, of {len(failed)} failed ones")
        check_in("started again", (out / "journal.jsonl").read_text(), "journal")
        check_equal(row(got, "cable")["state"], "done", "state of the next row")
        check_equal(runs.namespaces(), [], "namespaces left")
        check_equal(runs.processes("merlond"), [], "processes left")


def test_device_hangs(context):
    """A stopped process passes nothing and answers nothing: the row fails by name, the next one runs, nothing stays."""
    with Faults(context) as runs:
        runs.write(MERLON + CABLE)
        out = runs.folder / "hangs"
        process = runs.start(out)
        stopped = set()

        def stop_all():
            for pid in runs.processes("merlond"):
                if pid not in stopped and trials_in(out) >= CALIBRATION + 2:
                    stopped.add(pid)
                    os.kill(pid, signal.SIGSTOP)
            return process.poll() is not None

        wait_for(stop_all, 150, "the run to end")
        check_equal(process.returncode, 0, "exit code")
        got = result(out)
        check(stopped, "a device was stopped")
        check_equal(row(got, "merlon")["state"], "failed", "state of the row whose device hangs")
        check(row(got, "merlon")["state_reason"]["en"], "it has a reason")
        check_equal(row(got, "cable")["state"], "done", "state of the next row")
        check_equal(runs.namespaces(), [], "namespaces left")
        check(not any(pathlib.Path(f"/proc/{pid}").exists() for pid in stopped), "no stopped device is left")


def sleepers(seconds):
    return subprocess.run(["pgrep", "-fx", f"sleep {seconds}"], capture_output=True, text=True).stdout.split()


def test_device_leaves_something_behind(context):
    """What a device's command put into its namespace goes with it, and with a laboratory that is killed."""
    with Faults(context) as runs:
        runs.write(MESSY + CABLE)
        before = set(sleepers(397))
        out = runs.folder / "messy"
        runs.lab("run", runs.plan, "--out", out, "-q")
        check_equal({r["id"]: r["state"] for r in result(out)["rows"]}, {"messy": "done", "cable": "done"}, "rows")
        check_equal(runs.namespaces(), [], "namespaces left")
        check_equal(set(sleepers(397)) - before, set(), "processes left in a namespace")
        # Killed in the middle: the next command takes it away.
        killed = runs.folder / "killed"
        process = runs.start(killed)
        wait_for(lambda: set(sleepers(397)) - before or process.poll() is not None, 40, "the device to be up")
        process.kill()
        process.wait()
        check(runs.namespaces(), "a killed laboratory leaves its namespaces")
        runs.lab("clean")
        check_equal(runs.namespaces(), [], "namespaces after clean")
        check_equal(set(sleepers(397)) - before, set(), "processes after clean")


def test_full_disk(context):
    """A full disk ends the run with what was measured; with room it goes on from there."""
    with Faults(context) as runs:
        runs.write(CABLE + BRIDGE)
        disk = runs.folder / "disk"
        disk.mkdir()
        run(["mount", "-t", "tmpfs", "-o", "size=96k", "merlon-full", disk])
        try:
            out = disk / "out"
            said = runs.lab("run", runs.plan, "--out", out, "-q", code=1)
            check_in("space", said.lower(), "the message names the cause")
            check_in(str(out), said, "the message names the file")
            kept = trials_in(out)
            check(kept >= 1, "trials were kept")
            check_equal(runs.namespaces(), [], "namespaces left")
            run(["mount", "-o", "remount,size=64m", disk])
            runs.lab("run", "--resume", out, "-q")
            got = result(out)
            check_equal({r["id"]: r["state"] for r in got["rows"]}, {"cable": "done", "bridge": "done"}, "rows")
            check(len(got["trials"]) > kept, "trials were added")
            ids = [t["spec"]["id"] for t in got["trials"]]
            check_equal(len(ids), len(set(ids)), "trials are unique")
        finally:
            run(["umount", disk])


def test_paired_killed_and_resumed(context):
    """A bridge against itself, cut by kill -9 in the middle: trials alternate, and the pairs are those of one run."""
    with Faults(context) as runs:
        runs.write(PAIR, budget="120s")
        out = runs.folder / "pair"
        process = runs.start(out)
        wait_for(lambda: trials_in(out) >= CALIBRATION + 7 or process.poll() is not None, 60, "trials of the pair")
        check(process.poll() is None, "the laboratory still runs")
        process.kill()
        process.wait()
        runs.lab("run", "--resume", out, "-q", seconds=150)
        got = result(out)
        a, b = row(got, "pair"), row(got, "pair.b")
        check_equal((a["state"], b["state"], a["against"]), ("done", "done", "pair.b"), "rows")
        sides = [t["spec"]["row"] for t in sorted(got["trials"], key=lambda t: t["started"])
                 if t["spec"]["row"].startswith("pair") and not t["spec"]["is_warm_up"]]
        check_equal("".join("B" if s.endswith(".b") else "A" for s in sides), "ABBAABBAABBA", "order of the trials")
        outcome = a["paired"][0]
        check_equal(outcome["figure"], "packets_per_cpu_s", "figure")
        check_equal(outcome["pair_count"] + outcome["dropped_count"], 6, "pairs")
        # What it says of the machine is for lab_run_test, on simulated ones.
        check(outcome["verdict"] in ("same", "undecided", "better", "worse"), f"verdict: {outcome['sentence']['en']}")
        check(outcome["sentence"]["ru"], "both languages")
        check_equal(runs.namespaces(), [], "namespaces left")


def test_damaged_and_strange_results(context):
    """compare, report and baseline: two plans, nothing there, another version, damage, nowhere to write."""
    with Faults(context) as runs:
        one, two, other = runs.folder / "one", runs.folder / "two", runs.folder / "other"
        runs.write(CABLE, budget="20s")
        runs.lab("run", runs.plan, "--out", one, "-q")
        runs.lab("run", runs.plan, "--out", two, "-q")
        runs.write(BRIDGE, budget="20s")
        runs.lab("run", runs.plan, "--out", other, "-q")
        page = runs.folder / "compare.html"
        runs.lab("compare", one, two, "--html", page, code=None)
        check_in("<svg", page.read_text(), "page")
        said = runs.lab("compare", one, other, code=5)
        check_in("only in", said.lower(), "rows without a partner are named")
        said = runs.lab("compare", one, runs.folder / "nothing", code=1)
        check_in("nothing", said, "what is missing is named")
        runs.lab("compare", one, code=2)
        check_baselines(runs, one, two)
        check_damage(runs, one, two)


def check_baselines(runs, one, two):
    store = runs.folder / "store"
    said = runs.lab("baseline", "list", "--store", store, code=1)
    check_in("baseline save", said, "hint of an empty store")
    said = runs.lab("baseline", "check", two, "--store", store, code=1)
    check_in("baseline save", said, "hint without a baseline")
    runs.lab("baseline", "save", one, "--store", store)
    check_in("faults", runs.lab("baseline", "list", "--store", store), "list of baselines")
    code = run([runs.program, "baseline", "check", two, "--store", store], check_code=False, env=runs.environment).returncode
    check(code in (0, 1), f"exit code {code} of the check")
    (store / "broken.json").write_text("{")
    check_in("broken.json", runs.lab("baseline", "list", "--store", store, code=1), "damaged baseline")
    nowhere = runs.folder / "file"
    nowhere.write_text("")
    check_in("file", runs.lab("baseline", "save", one, "--store", nowhere / "store", code=1), "store that can't be made")
    check_in("file", runs.lab("run", runs.plan, "--out", nowhere / "out", "-q", code=1), "folder that can't be made")


def check_damage(runs, one, two):
    path = two / "result.json"
    whole = path.read_text()
    old = json.loads(whole)
    for name, text, part in (("cut", whole[:len(whole) // 2], "result.json:"), ("empty", "", "result.json"), ("list", "[1]\n", "result.json"),
                             ("version", json.dumps(dict(old, schema_version=99)), "99"),
                             ("field", whole.replace("\"sending_s\"", "\"sendign_s\"", 1), "sending_s")):
        path.write_text(text)
        said = runs.lab("compare", one, two, code=1)
        check_in(str(path), said, f"file, {name}")
        check_in(part, said, name)
        check_in("merlon lab report", said, f"hint, {name}")
    check_in("merlon lab run", runs.lab("compare", one, runs.folder / "none", code=1), "hint for what is no run")
    # The journal is still whole: the result is made again from it.
    runs.lab("report", two)
    check_equal(json.loads(path.read_text())["rows"], old["rows"], "rows made again from the journal")
    # Results of the format's first minor have no paired rows.
    first = json.loads(whole)
    first["schema_minor"] = 0
    for one_row in first["rows"]:
        for field in ("against", "compared", "paired"):
            one_row.pop(field)
    path.write_text(json.dumps(first))
    runs.lab("compare", one, two, code=None)

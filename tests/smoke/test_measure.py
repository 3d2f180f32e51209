# SPDX-License-Identifier: Apache-2.0
"""The laboratory for real: a small plan, killed and resumed, two at once, interrupted, what is left of the host afterwards; each kind of
port, both address families, and iperf3 as a second opinion."""
import json
import os
import pathlib
import signal
import subprocess
import tempfile

from lab import SERVER4, Failure, Lab, Skip, _die_with_parent, check, check_equal, check_in, need_af_xdp, need_root, need_tools, run, wait_for

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


# How the tester can be joined with a device, each with a device that is good at it.
PORTS = """
plan: ports
title: {en: Ports of the tester, ru: Порты генератора}
budget: 60s
rows:
"""
PORT_ROWS = {
    "native": "driver: bridge, topology: path7",
    "af_packet": "driver: bridge, topology: path7, options: {tester_port: af_packet}",
    "af_xdp": "driver: bridge, topology: path7, options: {tester_port: af_xdp}",
    "tap": "driver: bridge, topology: tap",
    "tap.merlon": "driver: merlon, mode: wire, topology: tap",
    "memif": "driver: testpmd, topology: memif",
    "memif.merlon": "driver: merlon, mode: wire, topology: memif",
    "vhost": "driver: testpmd, topology: vhost",
    "vhost.merlon": "driver: merlon, mode: wire, topology: vhost",
    "vhost.ovs": "driver: ovs-dpdk, topology: vhost, mode: openflow",
    "virtio": "driver: testpmd, topology: virtio",
}
RULED = ("tap.merlon", "memif.merlon", "vhost.merlon", "vhost.ovs")  # these have a rule to drop by


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


def port_row(name):
    traffic = "flows: 50, sizes: \"100,1518\"" + (", drop_share: 0.2" if name in RULED else "")
    return f"  - {{id: {name}, suite: rates, device: {{{PORT_ROWS[name]}}}, traffic: {{{traffic}}}, rate: 200, duration: 1s, repeats: 1}}\n"


def check_carried(got, name, is_ruled):
    """What was offered in a row's trials went through, each frame once, in order, with the right verdict. The 200 frames of a
    trial fit every queue on their way, so it does not matter who is kept from its core for how long."""
    # The laboratory repeats those in which the sender got no time at all.
    trials = [t for t in got["trials"] if t["spec"]["row"] == name and not t["spec"]["is_warm_up"] and t["stamp"] != "failed"]
    check(trials, f"{name} has trials")
    for trial in trials:
        frames = trial["frames"]
        check(frames["offered"] > 5, f"{name}: frames were offered ({trial['stamp_reasons']})")
        check_equal(frames["expected_drops"] > 0, is_ruled, f"{name}: there are frames to drop")
        check_equal(frames["received"], frames["offered"] - frames["expected_drops"], f"{name}: frames received ({trial['loss_sentence_en']})")
        for what in ("lost", "duplicated", "reordered", "corrupted", "false_accepts", "false_denies"):
            check_equal(frames[what], 0, f"{name}: frames {what}")


def run_port(context, name):
    with Runs(context) as runs:
        runs.plan.write_text(PORTS + port_row(name))
        out = runs.folder / "out"
        runs.lab("run", runs.plan, "--out", out, "-q", code=None, seconds=180)
        got = result(out)
        row = next(r for r in got["rows"] if r["id"] == name)
        if row["state"] == "skipped":
            raise Skip(row["state_reason"]["en"])
        check_equal(row["state"], "done", f"{name} ({row['state_reason']['en']})")
        check_carried(got, name, name in RULED)
        check_equal(runs.namespaces(), [], "namespaces left")


def test_port_native(context):
    run_port(context, "native")


def test_port_dpdk_af_packet(context):
    run_port(context, "af_packet")


def test_port_af_xdp(context):
    need_af_xdp()
    run_port(context, "af_xdp")


def test_port_tap(context):
    run_port(context, "tap")


def test_port_tap_merlon(context):
    run_port(context, "tap.merlon")


def test_port_memif(context):
    run_port(context, "memif")


def test_port_memif_merlon(context):
    run_port(context, "memif.merlon")


def test_port_vhost(context):
    run_port(context, "vhost")


def test_port_vhost_merlon(context):
    run_port(context, "vhost.merlon")


def test_port_vhost_open_vswitch(context):
    run_port(context, "vhost.ovs")


def test_port_virtio(context):
    run_port(context, "virtio")


FAMILIES = """
plan: families
title: {en: Families, ru: Семейства адресов}
budget: 60s
rows:
"""
FAMILY_DEVICES = {
    "bridge": "driver: bridge, topology: path7",
    "nft": "driver: nftables, mode: set, topology: path7, rules: 20",
    "nft-routed": "driver: nftables, mode: routed-ct, topology: path7, rules: 20",
    "ovs": "driver: ovs, mode: openflow, topology: path7, rules: 20",
    "merlon": "driver: merlon, mode: wire, topology: path7, rules: 20",
}


def test_ipv6_through_devices(context):
    """IPv6 and mixed load pass every device whole, and their rules drop what they must of both families."""
    with Runs(context) as runs:
        rows = [(f"{device}.mixed", words, "mixed", device != "bridge") for device, words in FAMILY_DEVICES.items()]
        rows.append(("merlon.ipv6", FAMILY_DEVICES["merlon"], "ipv6", True))
        text = FAMILIES
        for name, words, family, is_ruled in rows:
            drops = ", drop_share: 0.2" if is_ruled else ""
            text += (f"  - {{id: {name}, suite: rates, device: {{{words}}}, traffic: {{flows: 50, sizes: \"100,1518\", family: {family}{drops}}}, "
                     "rate: 200, duration: 1s, repeats: 1}\n")
        runs.plan.write_text(text)
        out = runs.folder / "out"
        runs.lab("run", runs.plan, "--out", out, "-q", code=None, seconds=180)
        got = result(out)
        states = {r["id"]: (r["state"], r["state_reason"]["en"]) for r in got["rows"]}
        for name, _, _, is_ruled in rows:
            if states[name][0] == "skipped":
                continue
            check_equal(states[name][0], "done", f"{name} ({states[name][1]})")
            check_carried(got, name, is_ruled)
        check(states["bridge.mixed"][0] == "done" and states["merlon.ipv6"][0] == "done", f"bridge and Merlon are there: {states}")


def narrowed(lab, every):
    """A bridge between client and server that drops every so-manieth UDP frame of the client."""
    run([*lab.inside("f"), "sh", "-c", "ip link add br0 type bridge stp_state 0 mcast_snooping 0; ip link set lan master br0;"
                                       "ip link set wan master br0; ip link set br0 up"])
    rule = f'iifname "lan" meta l4proto udp numgen inc mod {every} {every - 1} drop'
    run([*lab.inside("f"), "nft", "-f", "-"], stdin=None,
        input=f"table bridge narrow {{\n  chain forward {{\n    type filter hook forward priority 0;\n    {rule}\n  }}\n}}\n")


def test_iperf3_sees_the_same_loss(context):
    """The long form, with rate limits, token buckets and TCP, is tests/perf/lab_iperf.py."""
    need_tools("iperf3", "nft")
    program = context.binaries / "lab_rate_bench"
    if not program.exists():
        raise Skip("lab_rate_bench is not built")
    for every in (10, 3):
        with Lab(context, start=False) as lab:
            narrowed(lab, every)
            wait_for(lambda: lab.ping(count=1).returncode == 0, 10, "the bridge passes")
            words = ["--kind", "af_packet", "--a", "eth0", "--b", "eth0", "--ns-a", lab.spaces["c"], "--ns-b", lab.spaces["s"]]
            ours = json.loads(run([program, *words, "--seconds", 1, "--size", 1046, 1000]).stdout)
            check(ours["offered"] > every, f"frames that the laboratory offered: {ours}")
            check_equal(ours["lost"], ours["offered"] // every, "frames that the laboratory lost")
            lab.serve("s", "iperf3", "-s", "-1", tcp=5201)
            # So few and small that all of them fit the server's socket, should it be kept from its core.
            said = lab.run_in("c", "iperf3", "-c", SERVER4, "-u", "-b", 80_000, "-l", 100, "-t", 3, "-J", seconds=30)
            theirs = json.loads(said.stdout)["end"]["sum"]
            # The server's answer to the first datagram, and what is lost at the very end, are nobody's.
            check(abs(theirs["lost_packets"] - theirs["packets"] / every) <= 2, f"iperf3 lost one in {every}: {theirs}")

# SPDX-License-Identifier: Apache-2.0
"""Captures of real clients (tests/data) through the demo's policies, without root."""
import collections
import json
import pathlib
import tempfile

from lab import ROOT, check, check_equal, check_in, need_tools, run

DATA = ROOT / "tests/data"
CLIENTS = ("http", "dns", "ssh", "tls", "iperf3", "ping", "fragments")


class Replay:
    def __init__(self, context, captures, config=ROOT / "examples/demo.yaml", more=()):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="merlon-replay-"))
        context.keep_or_remove(self.folder)
        self.said = run([context.binaries / "merlon", "replay", *(["-c", config] if config else []), "--out", self.folder, "--out-pcap", self.folder / "out.pcap",
                         *more, *[DATA / f"{c}.pcap" for c in captures]]).stdout
        self.text = (self.folder / "eve.json").read_text()
        self.events = [json.loads(line) for line in self.text.splitlines()]
        self.summary = json.loads((self.folder / "summary.json").read_text())

    def verdicts(self):
        """How many sessions each rule decided, by the events."""
        return collections.Counter((e["policy"].get("rule"), e["policy"]["action"]) for e in self.events if e["event_type"] in ("policy", "flow"))


def test_honest_clients_pass(context):
    need_tools("tcpdump")
    # Everything that curl, dig, ssh, openssl, iperf3 and ping said passes, and passes unchanged.
    replay = Replay(context, CLIENTS)
    check_equal({k: v for k, v in replay.summary["drops"].items() if v}, {}, "drops")
    sent = run(["tcpdump", "-nr", replay.folder / "out.pcap"], check_code=False).stdout.splitlines()
    total = sum(len(run(["tcpdump", "-nr", DATA / f"{c}.pcap"]).stdout.splitlines()) for c in CLIENTS)
    # Also the router's error about an address that does not answer: it belongs to the ping that it quotes.
    check_equal(len(sent), total, "packets that left")


def test_each_capture_has_its_verdict(context):
    expected = {"telnet": "policy_deny", "traceroute": "default_deny", "scan": "tcp_flags", "flood": "land_attack"}
    for capture, reason in expected.items():
        replay = Replay(context, [capture])
        check(replay.summary["drops"].get(reason, 0) > 0, f"{capture}: {replay.summary['drops']}")
    telnet = Replay(context, ["telnet"])
    check_equal(telnet.verdicts()[("no-telnet", "drop")], 1, "the telnet session")
    check_in("passwords in clear text", telnet.text, "events")
    # A path's MTU is learnt from ICMP errors; they belong to the session that they quote.
    # The last one in traceroute.pcap quotes a ping of ping.pcap.
    path = Replay(context, ["ping", "traceroute", "path-mtu"], config=None)
    check_equal(path.summary["drops"], {}, "drops where all is permitted")


def test_policies_differ(context):
    day, night = Replay(context, CLIENTS), Replay(context, CLIENTS, config=ROOT / "examples/demo-night.yaml")
    for rule in ("admin-ssh", "speed-tests"):
        check(day.verdicts()[(rule, "permit")] > 0, f"{rule} by day: {day.verdicts()}")
    check_equal(night.verdicts()[("admin-ssh", "permit")], 0, "logins by night")
    check(night.verdicts()[("admin-ssh", "drop")] > 0, f"logins by night: {night.verdicts()}")
    check_equal(day.verdicts()[("web-out", "permit")], night.verdicts()[("web-out", "permit")], "web by day and by night")


def test_same_bytes(context):
    captures = sorted(p.stem for p in DATA.glob("*.pcap"))
    check(len(captures) >= 10, f"captures: {captures}")
    first, second = Replay(context, captures), Replay(context, captures)
    check(first.text == second.text, "two runs write the same events")
    check_equal((first.folder / "out.pcap").read_bytes() == (second.folder / "out.pcap").read_bytes(), True, "two runs send the same frames")
    # More workers: the same verdicts for the same sessions.
    two = Replay(context, captures, more=("--workers", "2"))
    check_equal(two.verdicts(), first.verdicts(), "verdicts of two workers")

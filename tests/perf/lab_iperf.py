#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""iperf3 as a second opinion: one bottleneck whose effect is known beforehand, measured by the laboratory and by iperf3
in turn. Both, and the arithmetic, must agree: rate and loss of UDP frames behind a dropping rule, a packet limit and a
token bucket, goodput of TCP behind the bucket. Needs root, iperf3, nft, tc, ethtool. Exit code 1 when they disagree.

  lab_iperf.py [--bin build/release/bin] [--seconds 2] [--runs 3] [--json FILE] [every-tenth|limit|bucket|goodput]..."""
import argparse
import contextlib
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import time

PAYLOAD = 1000  # bytes of UDP; the frame has 42 more, and 4 of FCS as the laboratory counts
FRAME = PAYLOAD + 42
BUCKET_BURST, BUCKET_QUEUE = 64_000, 64_000  # bytes
SHAPER_BPS = 50_000_000  # of the goodput's bucket


def command(*words, **more):
    return subprocess.run([str(w) for w in words], check=True, capture_output=True, text=True, **more)


class Path:
    """g0 = s0 bridge s1 = k0 in three namespaces; what narrows it is put on the bridge."""

    def __init__(self):
        self.names = {who: f"labiperf-{os.getpid()}-{who}" for who in "gfk"}

    def inside(self, who, *words):
        return ["ip", "netns", "exec", self.names[who], *words]

    def run(self, who, *words, **more):
        return command(*self.inside(who, *words), **more)

    def build(self):
        for name in self.names.values():
            command("ip", "netns", "add", name)
            command("ip", "netns", "exec", name, "sysctl", "-qw", "net.ipv6.conf.default.disable_ipv6=1")
        for near, who, far, address in (("g0", "g", "s0", "192.0.2.1/24"), ("k0", "k", "s1", "192.0.2.2/24")):
            command("ip", "link", "add", near, "netns", self.names[who], "type", "veth", "peer", "name", far, "netns", self.names["f"])
            # Whole segments only: a shaper counts what it gets.
            self.run(who, "ethtool", "-K", near, "tso", "off", "gso", "off", "gro", "off")
            self.run(who, "ip", "link", "set", near, "up")
            self.run(who, "ip", "addr", "add", address, "dev", near)
        self.run("f", "ip", "link", "add", "br0", "type", "bridge", "stp_state", "0", "mcast_snooping", "0")
        for port in ("s0", "s1"):
            self.run("f", "ip", "link", "set", port, "master", "br0", "up")
        self.run("f", "ip", "link", "set", "br0", "up")
        time.sleep(1.2)  # until the kernel has noticed the carriers

    def rule(self, text):
        self.run("f", "nft", "-f", "-", input="table bridge lab {\n  chain forward {\n    type filter hook forward priority 0;\n"
                                             f'    iifname "s0" {text}\n  }}\n}}\n')

    def shape(self, port, rate_bps, burst, queue):
        self.run("f", "tc", "qdisc", "replace", "dev", port, "root", "tbf", "rate", f"{rate_bps}bit", "burst", burst, "limit", queue)

    def widen(self):
        self.run("f", "nft", "flush", "ruleset")
        for port in ("s0", "s1"):
            subprocess.run(self.inside("f", "tc", "qdisc", "del", "dev", port, "root"), capture_output=True)

    def close(self):
        for name in self.names.values():
            subprocess.run(["ip", "netns", "del", name], capture_output=True)


@contextlib.contextmanager
def path():
    p = Path()
    try:
        p.build()
        yield p
    finally:
        p.close()


@contextlib.contextmanager
def server(p):
    child = subprocess.Popen(p.inside("k", "iperf3", "-s", "-1"), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 5
        while ":5201 " not in p.run("k", "ss", "-Hltn").stdout:
            if time.monotonic() > deadline or child.poll() is not None:
                sys.exit("iperf3's server does not listen")
            time.sleep(0.05)
        yield
    finally:
        child.terminate()
        child.wait()


def iperf(p, options, *words):
    with server(p):
        out = p.run("g", "iperf3", "-c", "192.0.2.2", "-J", "-t", options.seconds, *words, timeout=options.seconds + 30).stdout
    return json.loads(out)["end"]


def iperf_udp(p, options, pps):
    end = iperf(p, options, "-u", "-b", pps * PAYLOAD * 8, "-l", PAYLOAD)
    sent, lost = end["sum"]["packets"], end["sum"]["lost_packets"]
    return {"offered_pps": sent / end["sum_sent"]["seconds"], "received_pps": (sent - lost) / end["sum_sent"]["seconds"],
            "loss": lost / sent}


def lab_udp(p, options, pps):
    out = command(options.bin / "lab_rate_bench", "--kind", "af_packet", "--a", "g0", "--b", "k0", "--ns-a", p.names["g"],
                  "--ns-b", p.names["k"], "--seconds", options.seconds, "--size", FRAME + 4, pps,
                  timeout=options.seconds + 30).stdout
    t = json.loads(out)
    return {"offered_pps": t["offered_pps"], "received_pps": t["received_pps"], "loss": t["lost"] / t["offered"]}


def iperf_goodput(p, options):
    return {"goodput_bps": iperf(p, options, "-R", "-O", "1")["sum_received"]["bits_per_second"]}


def lab_goodput(p, options):
    out = command(options.bin / "lab_tcp_tool", "--client", f"af_packet:g0@{p.names['g']}", "--server",
                  f"af_packet:k0@{p.names['k']}", "--rate", 0, "--concurrent", 4, "--transactions", 1000, "--kib", 1024,
                  "--up", 1, "--sustain", options.seconds, "--down", 0.5, "--drain", 1, timeout=options.seconds + 60).stdout
    return {"goodput_bps": json.loads(out)["goodput_bps"]}


# Name, how it is set up, frames per second offered, those that can pass in `seconds`, tolerance of the loss ratio.
def bottlenecks(seconds):
    bucket = 8_000_000 / 8 / FRAME * seconds + (BUCKET_BURST + BUCKET_QUEUE) / FRAME
    return {
        "every-tenth": (lambda p: p.rule("meta l4proto udp numgen inc mod 10 9 drop"), 2000, 0.9 * 2000 * seconds, 0.001),
        "limit": (lambda p: p.rule("meta l4proto udp limit rate over 1000/second burst 20 packets drop"), 2000,
                  1000 * seconds + 20, 0.02),
        "bucket": (lambda p: p.shape("s1", 8_000_000, BUCKET_BURST, BUCKET_QUEUE), 2000, bucket, 0.02),
    }


def measure(options, p, name):
    set_up, pps, passing, tolerance = bottlenecks(options.seconds)[name]
    rows = {"lab": [], "iperf3": []}
    for _ in range(options.runs):
        for who, run in (("lab", lab_udp), ("iperf3", iperf_udp)):
            p.widen()
            set_up(p)  # buckets are full at the start of each
            rows[who].append(run(p, options, pps))
    expected = 1 - passing / (pps * options.seconds)
    print(f"\n{name}: {pps:,} frames of {FRAME} bytes a second for {options.seconds} s, arithmetic says {expected:.2%} lost")
    print("| who | offered pps | received pps | lost, each run | median |\n| --- | --- | --- | --- | --- |")
    medians = {}
    for who, runs in rows.items():
        medians[who] = statistics.median(r["loss"] for r in runs)
        offered, received = (statistics.median(r[f] for r in runs) for f in ("offered_pps", "received_pps"))
        each = ", ".join(f"{r['loss']:.2%}" for r in runs)
        print(f"| {who} | {offered:,.1f} | {received:,.1f} | {each} | {medians[who]:.2%} |")
    agree = abs(medians["lab"] - medians["iperf3"]) <= tolerance and all(abs(m - expected) <= tolerance for m in medians.values())
    return {"expected_loss": expected, "tolerance": tolerance, "runs": rows, "agree": agree}


def measure_goodput(options, p):
    rows = {"lab": [], "iperf3": []}
    for _ in range(options.runs):
        for who, run in (("lab", lab_goodput), ("iperf3", iperf_goodput)):
            p.widen()
            p.shape("s0", SHAPER_BPS, 32_000, 250_000)  # servers send
            rows[who].append(run(p, options)["goodput_bps"])
    # Of 1,514 bytes a full segment carries 1,460; the kernel's has 12 bytes of time stamps.
    limits = {"lab": SHAPER_BPS * 1460 / 1514, "iperf3": SHAPER_BPS * 1448 / 1514}
    print(f"\ngoodput: TCP through {SHAPER_BPS / 1e6:.0f} Mbit/s; the laboratory fetches objects of 1 MiB over HTTP")
    print("| who | Mbit/s, each run | median | of what the bucket carries |\n| --- | --- | --- | --- |")
    shares = {}
    for who, values in rows.items():
        median = statistics.median(values)
        shares[who] = median / limits[who]
        print(f"| {who} | {', '.join(f'{v / 1e6:.2f}' for v in values)} | {median / 1e6:.2f} | {shares[who]:.1%} |")
    return {"limits_bps": limits, "runs": rows, "agree": abs(shares["lab"] - shares["iperf3"]) <= 0.05}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, default=pathlib.Path("build/release/bin"))
    parser.add_argument("--seconds", type=int, default=2)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--json")
    parser.add_argument("names", nargs="*", metavar="every-tenth|limit|bucket|goodput")
    options = parser.parse_args()
    options.bin = options.bin.resolve()
    known = [*bottlenecks(options.seconds), "goodput"]
    if unknown := [n for n in options.names if n not in known]:
        parser.error(f"{unknown[0]} is none of {', '.join(known)}")
    if os.geteuid() != 0:
        sys.exit("network namespaces need root")
    if missing := [t for t in ("iperf3", "nft", "tc", "ethtool") if not shutil.which(t)]:
        sys.exit(f"{missing[0]} is not installed")
    results = {}
    with path() as p:
        for name in options.names or known:
            results[name] = measure_goodput(options, p) if name == "goodput" else measure(options, p, name)
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(results, indent=1) + "\n")
    apart = [name for name, r in results.items() if not r["agree"]]
    print("\n" + (f"apart: {', '.join(apart)}" if apart else "all agree"))
    return 1 if apart else 0


if __name__ == "__main__":
    sys.exit(main())

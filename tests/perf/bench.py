#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""./dev bench: every benchmark beside its limit and its peers, in alternating runs. docs/benchmarks.md explains.

  bench.py --program merlon_perf [--json FILE] [--quick] [NAME...]"""
import argparse
import contextlib
import json
import os
import pathlib
import platform
import statistics
import struct
import subprocess
import sys
import tempfile

from contestants import Absent, Merlon, OpenVSwitch, Testpmd, free_huge_mib, ovs_settings, prefer

ROOT = pathlib.Path(__file__).resolve().parents[2]
HUGE_PAGES = pathlib.Path("/proc/sys/vm/nr_hugepages")


def write_capture(path, flows):
    """One UDP frame of each of the first conversations that Traffic (traffic.cc) would send."""
    with path.open("wb") as out:
        out.write(struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1))
        for n in range(flows):
            m = n * 0x9e3779b1 & 0xffffffff
            header = struct.pack(">BBHHHBBHII", 0x45, 0, 46, 0, 0x4000, 64, 17, 0,
                                 0x0a000000 + (m & 0x3fff), 0xac100000 + (m >> 29))
            checksum = sum(struct.unpack(">10H", header))
            while checksum >> 16:
                checksum = (checksum & 0xffff) + (checksum >> 16)
            header = header[:10] + struct.pack(">H", checksum ^ 0xffff) + header[12:]
            frame = (bytes((2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0)) + header +
                     struct.pack(">HHHH", 1024 + (m >> 14 & 0x7fff), 53, 26, 0) + bytes(18))
            out.write(struct.pack("<IIII", n // 1000000, n % 1000000, len(frame), len(frame)) + frame)


def median_and_spread(values):
    median = statistics.median(values)
    return median, (max(values) - min(values)) / median if median else 0.0


class Bench:
    def __init__(self, arguments):
        self.program = arguments.program
        self.classbench = arguments.classbench
        self.seconds = 0.3 if arguments.quick else 1.0
        self.runs = 2 if arguments.quick else 5
        self.folder = None
        self.results = []
        self.notes = []

    # ---- what comes out

    def add(self, name, unit, values, target=None, **more):
        value, spread = median_and_spread(values)
        result = {"name": name, "unit": unit, "value": round(value, 4), "spread": round(spread, 4),
                  "limit": more.pop("limit", None), "peers": more.pop("peers", {}), "machine": machine(),
                  "command": "./dev bench " + name.split(".")[0], **more}
        if target is not None:
            words, met, factor = target(value)
            result["target"] = words
            result["verdict"] = "met" if met else f"missed, {factor:.2f} of it"
        self.results.append(result)
        print_row(result)

    def note(self, text):
        if text not in self.notes:
            self.notes.append(text)
            print("  " + text)

    def perf(self, *arguments):
        """Runs a command of merlon_perf by itself; its JSON lines."""
        process = subprocess.Popen([self.program, *map(str, arguments)], stdout=subprocess.PIPE, text=True,
                                   start_new_session=True)
        prefer(process)
        text = process.communicate()[0]
        if process.returncode not in (0, 1) or not text:
            raise RuntimeError(f"merlon_perf {arguments[0]} failed")
        return [json.loads(line) for line in text.splitlines()]

    # ---- rates

    @contextlib.contextmanager
    def contestants(self, makers):
        """What can be had of the contestants; the rest is told and left out."""
        with contextlib.ExitStack() as stack:
            made = []
            for make in makers:
                try:
                    made += make(stack)
                except Absent as why:
                    self.note(f"left out: {why}")
            yield made

    def merlon(self, name, *arguments):
        def make(stack):
            contestant = Merlon(self.program, name, arguments)
            stack.callback(contestant.close)
            return [contestant]
        return make

    def testpmd(self, capture, frames):
        def make(stack):
            contestant = Testpmd(capture, frames, self.folder)
            stack.callback(contestant.close)
            return [contestant]
        return make

    def ovs(self, capture):
        def make(stack):
            switch = OpenVSwitch(capture, pathlib.Path(tempfile.mkdtemp(dir=self.folder)))
            stack.callback(switch.close)
            return ovs_settings(switch)
        return make

    def race(self, makers, reading=lambda c, rate: rate):
        """Runs that alternate: {contestant: [rate of each round]}."""
        rates, problems = {}, []
        with self.contestants(makers) as contestants:
            for _ in range(self.runs):
                for c in list(contestants):
                    try:
                        rates.setdefault(c.name, []).append(reading(c, c.measure(self.seconds)))
                    except Absent as why:
                        self.note(f"left out: {why}")
                        contestants.remove(c)
                        rates.pop(c.name, None)
                    last = getattr(c, "last", None)
                    if last and last["dropped"]:
                        problems.append(f"{c.name} dropped {last['dropped']} packets")
        for p in problems:
            self.note("invalid: " + p)
        return rates

    def forward(self, name, flows, goal, has_device=False, has_ovs=False):
        if has_device:
            capture = self.folder / f"{flows}.pcap"
            write_capture(capture, flows)
            source = ["--capture", capture, "--flows", flows]
            makers = [self.merlon("merlon", *source), self.testpmd(capture, flows),
                      self.merlon("merlon_synthetic", "--flows", flows)]
            if has_ovs:
                makers.append(self.ovs(capture))
        else:
            source = ["--flows", flows]
            makers = [self.merlon("merlon", *source), self.merlon("io_only", *source, "--way", "io")]
        rates = {k: [v / 1e6 for v in values] for k, values in self.race(makers).items()}
        peers = {k: round(statistics.median(v), 2) for k, v in rates.items() if not k.startswith(("merlon", "io"))}
        limit = peers.get("testpmd") if has_device else round(statistics.median(rates["io_only"]), 2)
        memory = self.perf("memory", "--flows", flows)[0]["bytes_per_session"]
        more = {"source": "synthetic"}
        if has_device:
            more = {"source": "net_pcap",
                    "with_synthetic_source": round(statistics.median(rates["merlon_synthetic"]), 2)}
        self.add(name, "Mpps", rates["merlon"], goal(peers), limit=limit, peers=peers, bytes_per_session=memory, **more)

    def forward_1k(self):
        def goal(peers):
            floor = max([0.5 * peers.get("testpmd", 50), 4 * peers.get("ovs_dpdk_conntrack", 0)])
            return at_least(floor, "0.5 x testpmd and 4 x OVS-DPDK conntrack, Mpps")
        self.forward("forward_1k", 1024, goal, has_device=True, has_ovs=True)

    def forward_64k(self):
        self.forward("forward_64k", 65536, lambda _: at_least(16, "Mpps"), has_device=True)

    def forward_200k(self):
        self.forward("forward_200k", 200000, lambda _: at_least(12, "Mpps"), has_device=True)

    def forward_1m(self):
        self.forward("forward_1m", 1000000, lambda _: at_least(8, "Mpps"))

    def forward_10m(self):
        self.forward("forward_10m", 10000000, lambda _: at_least(4, "Mpps"))

    # ---- new sessions

    def new_sessions(self, name, traffic, packets, goal):
        def reading(contestant, rate):
            if contestant.name == "io_only":
                return rate / packets / 1e6, 0
            return contestant.last["created_per_second"] / 1e6, contestant.last["cycles_per_created"]
        options = ["--traffic", traffic, "--rules", 4000]
        rates = self.race([self.merlon("merlon", *options), self.merlon("io_only", *options, "--way", "io")], reading)
        cycles = statistics.median(c for _, c in rates["merlon"])
        self.add(name, "M/s", [r for r, _ in rates["merlon"]], goal(cycles), cycles_each=round(cycles),
                 limit=round(statistics.median(r for r, _ in rates["io_only"]), 2), source="synthetic")

    def new_udp_4k_rules(self):
        self.new_sessions("new_udp_4k_rules", "new", 1, lambda _: at_least(3, "M/s"))

    def tcp_connections_4k_rules(self):
        def goal(cycles):
            def check(rate):
                return ("at least 0.5 M/s, at most 4,000 cycles each", rate >= 0.5 and cycles <= 4000,
                        min(rate / 0.5, 4000 / cycles))
            return check
        self.new_sessions("tcp_connections_4k_rules", "connections", 8, goal)

    def rule_scaling(self):
        rows = self.perf("scaling", "--runs", self.runs, "--seconds", 0.3 * self.seconds)
        cost = {}
        for row in rows:
            cost.setdefault(row["rules"], []).append(row["cycles_per_created"])
        for rules, values in cost.items():
            self.add(f"rule_scaling.{rules}", "cycles", values)
        for rules, limit in ((4000, 1.5), (100000, 4.0)):
            self.add("rule_scaling" if rules == 4000 else f"rule_scaling.ratio_{rules}", "x 0 rules",
                     [c / z for c, z in zip(cost[rules], cost[0])], at_most(limit, f"x the cost of 0 rules at {rules}"))

    # ---- the rest

    def classifier(self):
        if not os.path.isdir(self.classbench):
            raise Absent(f"no ClassBench sets in {self.classbench}")
        sets = {}
        for row in self.perf("classifier", "--classbench", self.classbench, "--runs", self.runs):
            sets.setdefault(row["set"], []).append(row)
        wrong = sum(rows[0]["wrong"] for rows in sets.values())
        worst = {}
        for name, rows in sets.items():
            is_large = name.endswith("10k")
            look, update = [r["nanoseconds"] for r in rows], [r["update_microseconds"] for r in rows]
            worst[name] = (look, update)
            self.add(f"classifier.{name}", "ns", look, at_most(150, "ns") if is_large else None,
                     bulk=round(statistics.median(r["bulk_nanoseconds"] for r in rows), 1),
                     update_us=round(statistics.median(update), 2), wrong=rows[0]["wrong"],
                     update_with_rebuilds_us=round(statistics.median(r["update_with_rebuilds_microseconds"]
                                                                     for r in rows), 1))
        large = [w for n, w in worst.items() if n.endswith("10k")]
        slowest = max((look for look, _ in large), key=statistics.median)
        updates = max((update for _, update in large), key=statistics.median)
        self.add("classifier", "ns", slowest, lambda v: (
            "every 10k set at most 150 ns, an update at most 10 us, no wrong answer",
            v <= 150 and statistics.median(updates) <= 10 and wrong == 0, 150 / v), wrong=wrong,
            update_us=round(statistics.median(updates), 2))

    def commit(self):
        rows = self.perf("commit", "--runs", self.runs)
        end = rows.pop()
        blocked = [r["blocked_microseconds"] for r in rows]
        for what, name, limit in (("10k", "commit", 1000), ("one_in_10k", "commit.one_in_10k", 10),
                                  ("100k", "commit.100k", 10000)):
            mine = [r for r in rows if r["what"] == what]
            self.add(name, "ms", [r["milliseconds"] for r in mine], at_most(limit, "ms"),
                     traffic_mpps=round(statistics.median(r["pps"] for r in mine) / 1e6, 1))
        self.add("commit.blocked", "us", blocked, at_most(100, "us"), largest=max(blocked))
        self.add("commit.lost", "packets", [end["lost"] + end["dropped"] + end["out_of_order"]],
                 at_most(0, "packets lost, dropped or overtaken"), carried=end["sent"])

    def allocations_per_packet(self):
        row = self.perf("allocations", "--packets", 1000000 if self.runs < 5 else 10000000)[0]
        self.add("allocations_per_packet", "allocations", [row["allocations"] / row["packets"]],
                 at_most(0, "allocations"), packets=row["packets"], created=row["created"], dropped=row["dropped"])

    def workers(self):
        flows = ["--flows", 65536]
        rates = self.race([self.merlon("1", *flows), self.merlon("2", *flows, "--workers", 2)])
        one, two = ([r / 1e6 for r in rates[k]] for k in ("1", "2"))
        self.add("workers.1", "Mpps", one, source="synthetic")
        self.add("workers.2", "Mpps", two, source="synthetic")
        self.add("workers", "x one worker", [b / a for a, b in zip(one, two)], limit=2.0, source="synthetic")


NAMES = ["forward_1k", "forward_64k", "forward_200k", "forward_1m", "forward_10m", "new_udp_4k_rules",
         "tcp_connections_4k_rules", "rule_scaling", "classifier", "commit", "allocations_per_packet", "workers"]


def at_least(floor, unit):
    return lambda value: (f"at least {floor:.4g} {unit}", value >= floor, value / floor)


def at_most(ceiling, unit):
    return lambda value: (f"at most {ceiling:.4g} {unit}", value <= ceiling, ceiling / value if value else 1)


def machine():
    cpu = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "")
    commit = subprocess.run(["git", "-C", ROOT, "rev-parse", "--short", "HEAD"], capture_output=True, text=True,
                            check=False).stdout.strip()
    return (f"{cpu}, {os.cpu_count()} cores (virtual machine), Linux {platform.release()}, "
            f"{'huge pages' if free_huge_mib() else 'no huge pages'}, commit {commit}")


def print_row(r):
    beside = ", ".join(f"{k} {v}" for k, v in r["peers"].items())
    if r["limit"] is not None and not beside:
        beside = f"limit {r['limit']}"
    print(f"{r['name']:<26} {r['value']:>10.4g} {r['unit']:<10} ±{100 * r['spread']:>3.0f} %  "
          f"{r.get('verdict', ''):<20} {r.get('target', ''):<55} {beside}".rstrip(), flush=True)


@contextlib.contextmanager
def huge_pages(mebibytes):
    """Enough huge pages meanwhile, as far as the machine lets us."""
    before = None
    try:
        if HUGE_PAGES.exists() and os.access(HUGE_PAGES, os.W_OK) and free_huge_mib() < mebibytes:
            before = HUGE_PAGES.read_text()
            HUGE_PAGES.write_text(str(int(before) + (mebibytes - free_huge_mib()) // 2))
        yield
    finally:
        if before is not None:
            HUGE_PAGES.write_text(before)


def main():
    parser = argparse.ArgumentParser(prog="./dev bench")
    parser.add_argument("names", nargs="*", metavar="NAME", help=" ".join(NAMES))
    parser.add_argument("--program", required=True)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--classbench", default=os.environ.get("MERLON_CLASSBENCH", "../shared/data/classbench"))
    parser.add_argument("--quick", action="store_true", help="two short runs; to see that it works")
    arguments = parser.parse_args()
    unknown = [n for n in arguments.names if n not in NAMES]
    if unknown:
        parser.error(f"no benchmark named {unknown[0]}; there are: {' '.join(NAMES)}")
    if os.cpu_count() < 2:
        print("dev bench: two cores are needed, one to measure and one to be measured", file=sys.stderr)
        return 1
    bench = Bench(arguments)
    failed = 0
    with tempfile.TemporaryDirectory(prefix="merlon-bench-") as folder, huge_pages(1400):
        bench.folder = pathlib.Path(folder)
        os.sched_setaffinity(0, {0})
        for name in arguments.names or NAMES:
            try:
                getattr(bench, name)()
            except Absent as why:
                bench.note(f"{name} left out: {why}")
            except (RuntimeError, ValueError, KeyError, subprocess.SubprocessError) as error:
                failed += 1
                print(f"{name}: failed: {error}", flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps(bench.results, indent=1) + "\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

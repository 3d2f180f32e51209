#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How exactly the laboratory's sender keeps its rate over a veth pair and over memif, and its highest rate beside
trafgen's and dpdk-testpmd's (txonly) on the same path, in alternating runs. Needs root; figures go to
libs/lab/traffic/NOTES.md.

  lab_rates.py --program build/release/bin/lab_rate_bench [--seconds 1] [--runs 3] [--json FILE] [veth|memif]..."""
import argparse
import contextlib
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

RATES = [1_000, 10_000, 50_000, 100_000, 200_000, 400_000]
MEMIF_RATES = RATES + [1_000_000]
FRAME = """{ 0x02,0x00,0x00,0x00,0x00,0x02, 0x02,0x00,0x00,0x00,0x00,0x01, c16(0x0800),
  0x45,0x00,c16(46),c16(0),c16(0x4000),64,17,csumip(14,33),
  10,9,0,1, 10,10,0,1, c16(1024),c16(5001),c16(26),c16(0), fill(0x42,18) }
"""


def command(*words, **more):
    return subprocess.run(words, check=True, capture_output=True, text=True, **more)


@contextlib.contextmanager
def veth():
    """Two namespaces and the pair between them; taken away whatever happens."""
    names = [f"labrate-{os.getpid()}-{end}" for end in "gk"]
    try:
        for name in names:
            command("ip", "netns", "add", name)
            command("ip", "netns", "exec", name, "sysctl", "-qw", "net.ipv6.conf.default.disable_ipv6=1")
        command("ip", "link", "add", "g0", "netns", names[0], "type", "veth", "peer", "name", "k0", "netns", names[1])
        command("ip", "-n", names[0], "link", "set", "g0", "up")
        command("ip", "-n", names[1], "link", "set", "k0", "up", "promisc", "on")
        time.sleep(1.2)  # until the kernel has noticed the carrier
        yield names
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "del", name], capture_output=True)


def prioritised(options, words):
    return ["chrt", "-f", "1", *words] if options.real_time else words


def received(namespace):
    path = "/sys/class/net/k0/statistics/rx_packets"
    return int(command("ip", "netns", "exec", namespace, "cat", path).stdout)


def lab(options, arguments, rates):
    words = [options.program, *arguments, "--sender-core", "0", "--receiver-core", "1",
             "--seconds", str(options.seconds), *map(str, rates)]
    out = command(*prioritised(options, words), timeout=120).stdout
    return [json.loads(line) for line in out.splitlines() if line.startswith("{")]


def lab_veth(options, names, rates):
    return lab(options, ["--kind", "af_packet", "--a", "g0", "--b", "k0", "--ns-a", names[0], "--ns-b", names[1]], rates)


def timed(options, namespace, words, **more):
    """Frames that reach k0 per second while a generator runs; its own start-up does not count."""
    process = subprocess.Popen(prioritised(options, words), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **more)
    try:
        start = received(namespace)
        deadline = time.monotonic() + 15
        while received(namespace) < start + 1000:
            if time.monotonic() > deadline or process.poll() is not None:
                return None
            time.sleep(0.02)
        first, began = received(namespace), time.monotonic()
        time.sleep(options.seconds)
        last, ended = received(namespace), time.monotonic()
        return (last - first) / (ended - began)
    finally:
        process.terminate()
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def trafgen_veth(options, names, folder):
    if not shutil.which("trafgen"):
        return None
    config = pathlib.Path(folder, "frame.cfg")
    config.write_text(FRAME)
    return timed(options, names[1], ["timeout", "-s", "INT", str(options.seconds + 5), "ip", "netns", "exec", names[0],
                                     "taskset", "-c", "0", "trafgen", "--no-sock-mem", "-Q", "-C", "-P", "1",
                                     "--dev", "g0", "--conf", str(config)])


def testpmd(prefix, device, mode):
    # Cores 0 and 1: the main core idles on 1 between commands, forwarding is on 0.
    lcores = ["-l", "0,1", "--main-lcore", "1"] if mode == "txonly" else ["-l", "0,1", "--main-lcore", "0"]
    return ["dpdk-testpmd", *lcores, "--no-huge", "-m", "256", "--no-pci", f"--file-prefix={prefix}", "--vdev", device,
            "--", f"--forward-mode={mode}", "--txpkts=60", "--total-num-mbufs=16384",
            "--auto-start", "--stats-period=1", "--no-lsc-interrupt"]


def testpmd_veth(options, names):
    if not shutil.which("dpdk-testpmd"):
        return None
    words = testpmd(f"labrate{os.getpid()}", "net_af_packet0,iface=g0,blocksz=65536,framesz=2048,framecnt=1024", "txonly")
    return timed(options, names[1], ["ip", "netns", "exec", names[0], *words], stdin=subprocess.DEVNULL)


def testpmd_memif(options, folder):
    """A transmitting and a receiving testpmd; the receiver's own rate once per second, median."""
    if not shutil.which("dpdk-testpmd"):
        return None
    socket = f"{folder}/testpmd.sock"
    device = f"net_memif0,socket={socket},socket-abstract=no"
    out = pathlib.Path(folder, "rx.txt")
    started = []
    try:
        with out.open("w") as sink:
            for mode, role, where in (("rxonly", "server", sink), ("txonly", "client", subprocess.DEVNULL)):
                words = testpmd(f"labrate{os.getpid()}{role}", f"{device},role={role}", mode)
                started.append(subprocess.Popen(prioritised(options, words), stdin=subprocess.DEVNULL, stdout=where,
                                                stderr=subprocess.DEVNULL))
                time.sleep(2)
            time.sleep(options.seconds + 2)
    finally:
        for process in started:
            process.terminate()
        for process in started:
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
    rates = [int(r) for r in re.findall(r"Rx-pps:\s+(\d+)", out.read_text()) if int(r) > 0]
    return statistics.median(rates) if rates else None


def table(title, trials):
    print(f"\n{title}\n| intended | offered | off by | lateness p50 / p99 / max us | latency p50 / p99 us | lost |")
    print("| --- | --- | --- | --- | --- | --- |")
    for t in trials:
        late, delay, wanted = t["lateness_us"], t["latency_us"], t["intended_pps"]
        off = f"{(t['offered_pps'] / wanted - 1) * 100:+.3f} %" if wanted else "-"
        print(f"| {wanted or 'maximum':,} | {t['offered_pps']:,.0f} | {off} | {late['p50']} / {late['p99']} / {late['max']} "
              f"| {delay['p50']} / {delay['p99']} | {t['lost']} |")


def peers(title, runs):
    print(f"\n{title}, alternating runs, Mpps")
    for name in runs[0]:
        values = [r[name] / 1e6 for r in runs if r[name]]
        shown = ", ".join(f"{v:.2f}" for v in values) if values else "absent"
        print(f"  {name:8} {shown}" + (f" (median {statistics.median(values):.2f})" if values else ""))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("--seconds", type=float, default=1)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--real-time", action="store_true",
                        help="every generator at real-time priority, for machines with other work: shots below 0.9 s only")
    parser.add_argument("--json")
    parser.add_argument("paths", nargs="*")
    options = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("network namespaces need root")
    paths = options.paths or ["veth", "memif"]
    results = {}
    with tempfile.TemporaryDirectory(prefix="labrate") as folder:
        if "veth" in paths:
            with veth() as names:
                trials = lab_veth(options, names, RATES)
                # Nobody reads at the other end, for the others don't either.
                alone = ["--kind", "af_packet", "--a", "g0", "--ns-a", names[0]]
                runs = [{"merlon": lab(options, alone, ["max"])[0]["offered_pps"],
                         "trafgen": trafgen_veth(options, names, folder),
                         "testpmd": testpmd_veth(options, names)} for _ in range(options.runs)]
            table("AF_PACKET over veth, 64 B", trials)
            peers("Highest rate over veth", runs)
            results["veth"] = {"trials": trials, "peers": runs}
        if "memif" in paths:
            ends = ["--kind", "memif", "--a", f"{folder}/lab.sock", "--b", f"{folder}/lab.sock"]
            trials = lab(options, ends, MEMIF_RATES)
            runs = [{"merlon": lab(options, ends, ["max"])[0]["received_pps"], "testpmd": testpmd_memif(options, folder)}
                    for _ in range(options.runs)]
            table("memif, 64 B", trials)
            peers("Highest rate over memif", runs)
            results["memif"] = {"trials": trials, "peers": runs}
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()

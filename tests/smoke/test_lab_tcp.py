# SPDX-License-Identifier: Apache-2.0
"""The laboratory's stateful load against other stacks and through stateful firewalls: what it sends must be TCP to all."""
import json

from lab import (SERVER4, Lab, Skip, check, check_equal, need_tools, run, wait_for)

ROUTER_C, ROUTER_S = "10.9.255.254", "10.10.255.254"

NFT = """
table inet judge {
  counter invalid {}
  counter opened {}
  chain forward {
    type filter hook forward priority 0; policy drop;
    ct state invalid counter name invalid drop
    ct state established,related accept
    tcp dport 5001 ct state new tcp flags & (fin|syn|rst|ack) == syn counter name opened accept
  }
}
"""


def tool(context):
    path = context.binaries / "lab_tcp_tool"
    if not path.exists():
        raise Skip("lab_tcp_tool is not built")
    return path


def load(context, *words, seconds=60):
    done = run([tool(context), *words], seconds=seconds)
    return json.loads(done.stdout)


def ends(lab):
    return ["--client", f"af_packet:eth0@{lab.spaces['c']}", "--server", f"af_packet:eth0@{lab.spaces['s']}"]


def short(rate, sustain=2):
    return ["--rate", rate, "--up", 1, "--sustain", sustain, "--down", 1]


def check_whole(kpis, opened):
    check_equal(kpis["failed"], 0, f"failed connections ({kpis})")
    check_equal(kpis["attempted"], opened, "connections of the schedule")
    check_equal(kpis["completed"], opened, "completed connections")
    check_equal(kpis["transactions_failed"], 0, "failed transactions")
    check_equal(kpis["sides_disagree"], 0, "clients and servers count alike")


def router(lab):
    """The middle namespace routes between 10.9/16 and 10.10/16."""
    run([*lab.inside("f"), "sh", "-c", f"ip addr add {ROUTER_C}/16 dev lan; ip addr add {ROUTER_S}/16 dev wan;"
                                       "sysctl -qw net.ipv4.ip_forward=1 net.ipv4.conf.all.rp_filter=0"])


def counters(lab):
    listed = json.loads(run([*lab.inside("f"), "nft", "-j", "list", "counters"]).stdout)
    return {c["counter"]["name"]: c["counter"]["packets"] for c in listed["nftables"] if "counter" in c}


def test_conntrack_passes_every_segment(context):
    need_tools("nft")
    tool(context)
    with Lab(context, start=False) as lab:
        router(lab)
        run([*lab.inside("f"), "nft", "-f", "-"], input=NFT, stdin=None)
        # The strictest form of the kernel's tracker: windows are checked, nothing is picked up in the middle.
        run([*lab.inside("f"), "sysctl", "-qw", "net.netfilter.nf_conntrack_tcp_be_liberal=0", "net.netfilter.nf_conntrack_tcp_loose=0"])
        kpis = load(context, *ends(lab), *short(400), "--next-hop", ROUTER_C, "--transactions", 4, "--kib", "1,16,64", "--retries", 6)
        check_whole(kpis, 1200)
        seen = counters(lab)
        check_equal(seen["invalid"], 0, "segments that conntrack calls invalid")
        check(1200 <= seen["opened"] <= 1200 + kpis["syn_retransmissions"], f"new connections that it saw: {seen}")
        kpis = load(context, *ends(lab), *short(1500), "--next-hop", ROUTER_C, "--transactions", 0, "--retries", 6)
        check_whole(kpis, 4500)
        check_equal(counters(lab)["invalid"], 0, "segments that conntrack calls invalid")


def test_reject_is_told_from_silence(context):
    need_tools("nft")
    tool(context)
    with Lab(context, start=False) as lab:
        router(lab)
        for verdict, outcome in (("reject with tcp reset", "refused"), ("reject with icmp type admin-prohibited", "unreachable"),
                                 ("drop", "connect_timeout")):
            rules = f"flush ruleset; table inet judge {{ chain forward {{ type filter hook forward priority 0; {verdict}; }}; }}"
            run([*lab.inside("f"), "nft", rules])
            run([*lab.inside("f"), "sysctl", "-qw", "net.ipv4.icmp_ratelimit=0", "net.ipv4.icmp_msgs_per_sec=100000"])
            kpis = load(context, *ends(lab), *short(50, 1), "--next-hop", ROUTER_C, "--retries", 1, "--drain", 6)
            check_equal(kpis[outcome], 100, f"connections that met '{verdict}'")
            check_equal(kpis["established"], 0, "established connections")
            check_equal(kpis["rfc9411"], False, "the standard's verdict")


def test_merlon_passes_every_segment(context):
    tool(context)
    with Lab(context) as lab:
        kpis = load(context, *ends(lab), *short(400), "--server-port", 80, "--transactions", 4, "--kib", "1,16,64", "--retries", 6)
        check_whole(kpis, 1200)
        kpis = load(context, *ends(lab), *short(1500), "--server-port", 80, "--transactions", 0, "--retries", 6)
        check_whole(kpis, 4500)
        for row in lab.daemon.rows("drops"):
            check("tcp" not in row["reason"] or row["packets"] == 0, f"no segment is dropped by the tracker: {row}")


def test_two_threads(context):
    kpis = load(context, "--client", "ring:t", "--server", "ring:t", "--threads", 2, *short(2000, 1), "--transactions", 3,
                "--kib", "1,64", "--retries", 6)
    check_whole(kpis, 4000)


def test_servers_answer_curl(context):
    need_tools("curl")
    with Lab(context, start=False) as lab:
        bridge(lab)
        run([*lab.inside("c"), "ip", "route", "add", "10.10.0.0/16", "dev", "eth0"])
        server = lab.spawn("s", tool(context), "--server", "af_packet:eth0", "--server-port", 80, "--up", 0, "--sustain", 30, "--down", 0)
        wait_for(lambda: lab.run_in("c", "curl", "-sS", "--max-time", "2", "-o", "/dev/null", "http://10.10.0.1/o/1024",
                                    check_code=False).returncode == 0, 15, "the servers answer")
        for size in (1024, 4096, 65536, 262144):
            done = lab.run_in("c", "curl", "-sS", "--max-time", "10", "-o", "/dev/null", "-w",
                              "%{http_code} %{size_download} %{num_connects}\n",
                              f"http://10.10.0.2/o/{size}", "-o", "/dev/null", f"http://10.10.0.2/o/{size}")
            # Two objects over one connection.
            check_equal(done.stdout.split(), ["200", str(size), "1", "200", str(size), "0"], f"curl's answer for {size} bytes")
        for more in (["-0"], ["-H", "Connection: close"]):
            done = lab.run_in("c", "curl", "-sS", *more, "--max-time", "10", "-o", "/dev/null", "-w", "%{http_code} %{size_download}",
                              "http://10.10.0.1/o/16384")
            check_equal(done.stdout, "200 16384", f"curl {more}")
        done = lab.run_in("c", "curl", "-s", "--max-time", "10", "-o", "/dev/null", "-w", "%{http_code}", "http://10.10.0.1/elsewhere")
        check_equal(done.stdout, "404", "another path")
        server.terminate()


WEB = """
import http.server, sys
class Handler(http.server.SimpleHTTPRequestHandler):
    protocol_version = sys.argv[1]
    def do_GET(self):
        size = int(self.path.rsplit("/", 1)[1])
        self.send_response(200)
        if sys.argv[2] == "length": self.send_header("Content-Length", str(size))
        self.end_headers()
        self.wfile.write(b"x" * size)
    def log_message(self, *_): pass
class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 128
Server(("0.0.0.0", 8080), Handler).serve_forever()
"""


def test_clients_against_the_kernels_stack(context):
    tool(context)
    for version, form, more in (("HTTP/1.1", "length", ["--transactions", 3]), ("HTTP/1.0", "none", ["--transactions", 1])):
        with Lab(context, start=False) as lab:
            bridge(lab)
            lab.serve("s", "python3", "-c", WEB, version, form, tcp=8080)
            kpis = load(context, "--client", f"af_packet:eth0@{lab.spaces['c']}", "--next-hop", SERVER4, "--clients", "10.77.0.100/100",
                        "--servers", SERVER4, "--server-port", 8080, "--verify", 0, "--kib", "1,64", *short(20), *more, "--retries", 6)
            check_equal(kpis["failed"], 0, f"failed connections against {version} ({kpis})")
            check_equal(kpis["completed"], 60, "completed connections")
            check_equal(kpis["transactions_failed"], 0, "failed transactions")


def bridge(lab):
    """The middle namespace is a plain bridge."""
    run([*lab.inside("f"), "sh", "-c", "ip link add br0 type bridge stp_state 0 mcast_snooping 0; ip link set lan master br0;"
                                       "ip link set wan master br0; ip link set br0 up"])

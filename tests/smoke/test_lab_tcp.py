# SPDX-License-Identifier: Apache-2.0
"""The laboratory's stateful load against other stacks and through stateful firewalls: what it sends must be TCP to all."""
import json

from lab import (SERVER4, Lab, Skip, check, check_equal, check_in, need_tools, run, wait_for)

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


SECURE_WEB = """
import http.server, ssl, sys
class Handler(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        size = int(self.path.rsplit("/", 1)[1])
        self.send_response(200)
        self.send_header("Content-Length", str(size))
        self.end_headers()
        self.wfile.write(b"x" * size)
    def log_message(self, *_): pass
class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 128
    # Handshakes belong to the connections' threads.
    def finish_request(self, request, address):
        with context.wrap_socket(request, server_side=True) as secured:
            super().finish_request(secured, address)
            try: secured.unwrap()
            except OSError: pass
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(sys.argv[1], sys.argv[2])
context.set_alpn_protocols(["http/1.1"])
Server(("0.0.0.0", 8443), Handler).serve_forever()
"""


def make_certificate(folder, kind):
    """A self-signed pair of files; `kind` in the words of openssl req."""
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    run(["openssl", "req", "-x509", "-newkey", *kind, "-nodes", "-subj", "/CN=server.lab", "-days", 2, "-keyout", key, "-out", certificate])
    return key, certificate


def check_secured(kpis, opened, transactions):
    check_equal(kpis["failed"], 0, f"failed connections ({kpis})")
    check_equal(kpis["completed"], opened, "completed connections")
    check_equal(kpis["handshakes"], opened, "handshakes")
    check_equal(kpis["transactions_attempted"], transactions, "transactions")
    check_equal(kpis["transactions_failed"], 0, "failed transactions")
    check(0 < kpis["tls_established_p50_ms"] <= kpis["ttfb_p99_ms"], f"TLS is established before the first byte ({kpis})")


def to_stranger(lab, port, *more):
    return ["--client", f"af_packet:eth0@{lab.spaces['c']}", "--next-hop", SERVER4, "--clients", "10.77.0.100/100", "--servers", SERVER4,
            "--server-port", port, "--verify", 0, "--retries", 6, *more]


def test_tls_clients_against_openssl_in_python(context):
    need_tools("openssl")
    tool(context)
    for kind, words in ((["ec", "-pkeyopt", "ec_paramgen_curve:P-256"], ["--tls", 13]),
                        (["ec", "-pkeyopt", "ec_paramgen_curve:P-256"], ["--tls", 12, "--tls-cipher", 256]),
                        (["rsa:2048"], ["--tls", 12, "--tls-key", 2048])):
        with Lab(context, start=False) as lab:
            bridge(lab)
            key, certificate = make_certificate(lab.folder, kind)
            lab.serve("s", "python3", "-c", SECURE_WEB, certificate, key, tcp=8443)
            kpis = load(context, *to_stranger(lab, 8443, *words), *short(10), "--transactions", 3, "--kib", "1,64")
            check_secured(kpis, 30, 90)
            check_equal(kpis["handshakes_resumed"], 0, "resumed sessions")
            # Nobody we know has signed this server's certificate.
            kpis = load(context, *to_stranger(lab, 8443, *words, "--tls-verify", 1), *short(10, 1))
            check_equal(kpis["tls_verify"], 20, f"certificates that were not accepted ({kpis})")


def test_tls_clients_against_s_server(context):
    """Objects without a length, which end by close_notify and FIN, and sessions that come back."""
    need_tools("openssl")
    tool(context)
    for version in (12, 13):
        with Lab(context, start=False) as lab:
            bridge(lab)
            key, certificate = make_certificate(lab.folder, ["ec", "-pkeyopt", "ec_paramgen_curve:P-256"])
            (lab.folder / "o").mkdir()
            for size in (1024, 65536):
                (lab.folder / "o" / str(size)).write_bytes(b"x" * size)
            lab.serve("s", "sh", "-c", f"cd {lab.folder} && exec openssl s_server -WWW -quiet -accept 4433 -cert {certificate} -key {key}",
                      tcp=4433)
            for reuse in (0, 1):
                kpis = load(context, *to_stranger(lab, 4433, "--tls", version, "--tls-reuse", reuse), *short(8), "--kib", "1,64")
                check_secured(kpis, 24, 24)
                check(kpis["handshakes_resumed"] >= 20 if reuse else kpis["handshakes_resumed"] == 0,
                      f"TLS {version}: resumed sessions, {reuse} asked for ({kpis})")
            # What the peer does not speak ends by its alert.
            other = load(context, *to_stranger(lab, 4433, "--tls", version, "--tls-key", 2048), *short(8, 1)) if version == 12 else None
            if other:
                check_equal(other["tls_alert"], 16, f"alerts to a client that wants an RSA key ({other})")
                check_equal(other["tls_last_alert"], 40, "handshake_failure")


PYTHON_CLIENT = """
import json, socket, ssl, sys
address, version, authority = sys.argv[1], sys.argv[2], sys.argv[3]
context = ssl.create_default_context(cafile=authority)
context.minimum_version = context.maximum_version = getattr(ssl.TLSVersion, version)
context.set_alpn_protocols(["h2", "http/1.1"])
with socket.create_connection((address, 443), 10) as raw, context.wrap_socket(raw, server_hostname="server.lab") as s:
    s.sendall(b"GET /o/65536 HTTP/1.1\\r\\nHost: server.lab\\r\\n\\r\\n" * 2)
    got = b""
    while b"\\r\\n\\r\\n" not in got or len(got) < 2 * (got.index(b"\\r\\n\\r\\n") + 4 + 65536): got += s.recv(65536)
    told = {"version": s.version(), "cipher": s.cipher()[0], "alpn": s.selected_alpn_protocol(), "answers": got.count(b"200 OK")}
    s.unwrap()
print(json.dumps(told))
"""


def test_tls_servers_answer_curl_and_python(context):
    need_tools("curl", "openssl")
    for words, version, cipher in ((["--tls", 13], "TLSv1_3", "TLS_AES_128_GCM_SHA256"),
                                   (["--tls", 12, "--tls-key", 2048], "TLSv1_2", "ECDHE-RSA-AES128-GCM-SHA256"),
                                   (["--tls", 12, "--tls-cipher", 256], "TLSv1_2", "ECDHE-ECDSA-AES256-GCM-SHA384")):
        with Lab(context, start=False) as lab:
            bridge(lab)
            run([*lab.inside("c"), "ip", "route", "add", "10.10.0.0/16", "dev", "eth0"])
            server = lab.spawn("s", tool(context), "--server", "af_packet:eth0", "--server-port", 443, "--up", 0, "--sustain", 40,
                               "--down", 0, *words)
            shown = wait_for(lambda: lab.run_in("c", "sh", "-c", "echo | timeout 3 openssl s_client -connect 10.10.0.1:443 "
                                                "-servername server.lab -alpn http/1.1 -showcerts 2>/dev/null", check_code=False).stdout,
                             15, "the servers shake hands")
            check_in("ALPN protocol: http/1.1", shown, "s_client's account")
            # The chain's second certificate is the authority of this run.
            authority = lab.folder / "authority.pem"
            authority.write_text("-----BEGIN CERTIFICATE-----" + shown.split("-----BEGIN CERTIFICATE-----")[2].split("-----END")[0]
                                 + "-----END CERTIFICATE-----\n")
            curl = ["curl", "-sS", "--max-time", "10", "--http1.1", "--cacert", authority, "--resolve", "server.lab:443:10.10.0.2"]
            for size in (1024, 65536, 262144):
                url = f"https://server.lab/o/{size}"
                done = lab.run_in("c", *curl, "-o", "/dev/null", "-w", "%{http_code} %{size_download} %{num_connects} %{ssl_verify_result}\n",
                                  url, "-o", "/dev/null", url)
                check_equal(done.stdout.split(), ["200", str(size), "1", "0", "200", str(size), "0", "0"], f"curl's answer for {size} bytes")
            done = lab.run_in("c", *curl, "--resolve", "other.lab:443:10.10.0.2", "https://other.lab/o/1024", check_code=False)
            check(done.returncode != 0, "curl accepts another name")
            done = lab.run_in("c", "python3", "-c", PYTHON_CLIENT, "10.10.0.3", version, authority)
            check_equal(json.loads(done.stdout), {"version": version.replace("_", "."), "cipher": cipher, "alpn": "http/1.1", "answers": 2},
                        "what Python saw, two requests in one record")
            server.terminate()


def test_merlon_passes_every_handshake(context):
    tool(context)
    with Lab(context) as lab:
        for words in (["--tls", 13], ["--tls", 12, "--tls-key", 2048]):
            kpis = load(context, *ends(lab), *short(60), *words, "--tls-verify", 1, "--server-port", 443, "--transactions", 4,
                        "--kib", "1,16,64", "--retries", 6)
            check_whole(kpis, 180)
            check_secured(kpis, 180, 720)
            check_equal(kpis["server_handshakes"], 180, "handshakes that the servers saw")
        for row in lab.daemon.rows("drops"):
            check("tcp" not in row["reason"] or row["packets"] == 0, f"no segment is dropped by the tracker: {row}")


def bridge(lab):
    """The middle namespace is a plain bridge."""
    run([*lab.inside("f"), "sh", "-c", "ip link add br0 type bridge stp_state 0 mcast_snooping 0; ip link set lan master br0;"
                                       "ip link set wan master br0; ip link set br0 up"])

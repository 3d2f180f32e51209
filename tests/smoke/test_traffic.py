# SPDX-License-Identifier: Apache-2.0
"""Real clients through the firewall: what passes, what does not, and that frames are left as they are."""
import json
import struct
import time

from lab import (CLIENT4, CLIENT6, ROOT, SERVER4, SERVER6, Lab, check, check_equal, check_in, need_af_xdp, need_tools, read_pcap, wait_for)

# Like a mirror's switch, but between the two ends of a wire: foreign addresses, so that no stack answers.
MAC_A, MAC_B = bytes.fromhex("02aa00000001"), bytes.fromhex("02aa00000002")


def checksum(data):
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def udp_frame(size, tags=b"", port=7000, fragment=0):
    """A UDP frame of that many bytes behind the tags, with right lengths."""
    payload = bytes((7 * i) & 0xFF for i in range(size - 14 - 20 - 8))
    header = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + 8 + len(payload), 1, fragment, 64, 17, 0, bytes([10, 77, 0, 1]), bytes([10, 77, 0, 2]))
    header = header[:10] + struct.pack("!H", checksum(header)) + header[12:]
    return MAC_B + MAC_A + tags + b"\x08\x00" + header + struct.pack("!HHHH", 40000, port, 8 + len(payload), 0) + payload


def frames_through(lab, frames, name):
    """Sends frames from the client; returns what arrives at the server's cable from that sender."""
    path = lab.folder / f"{name}.pcap"
    capture = lab.spawn("s", "tcpdump", "-i", "eth0", "-U", "-s", "0", "-w", path, "ether", "src", "02:aa:00:00:00:01")
    # tcpdump writes the file's header once it listens.
    wait_for(lambda: path.exists() and path.stat().st_size >= 24, 5, "tcpdump listens")
    time.sleep(0.1)
    lab.send_frames("c", *frames)
    expected = 24 + sum(16 + len(f) for f in frames)
    try:
        wait_for(lambda: path.stat().st_size >= expected, 3, "all frames arrive")
    except AssertionError:
        pass  # the caller compares
    capture.terminate()
    capture.wait(5)
    return read_pcap(path)


def test_clients(context):
    need_tools("curl", "ping")
    with Lab(context) as lab:
        content = lab.web_server()
        for address in (SERVER4, SERVER6):
            host = f"[{address}]" if ":" in address else address
            got = lab.folder / "got"
            lab.run_in("c", "curl", "-sS", "--max-time", "10", "-o", got, f"http://{host}/file")
            check(got.read_bytes() == content, f"the file through {address} is another one")
            check_equal(lab.ping(address).returncode, 0, f"ping {address}")
        check_equal(lab.daemon.drops().get("policy_deny", 0), 0, "packets dropped by policy")
        sessions = lab.daemon.rows("sessions", "port=80")
        check_equal(sorted(s["source"].rsplit(":", 1)[0] for s in sessions), [CLIENT4, f"[{CLIENT6}]"], "sources of the sessions")
        for s in sessions:
            check_equal((s["rule"], s["action"], s["protocol"], s["from"], s["to"]), ("web", "permit", "tcp", "lan", "wan"), "session")
            check(s["bytes_in"] > len(content), "the answer's bytes are counted")
        rules = {r["rule"]: r for r in lab.daemon.rows("policy")}
        check_equal((rules["web"]["hits"], rules["web"]["sessions"]), (2, 2), "hits and live sessions of rule web")
        check(rules["web"]["bytes"] > 2 * len(content), "bytes of rule web, its sessions being alive")
        check_equal(rules["bulk"]["hits"], 0, "hits of rule bulk")


def test_bulk(context):
    need_tools("iperf3")
    with Lab(context, workers=2) as lab:
        lab.serve("s", "iperf3", "-s", tcp=5201)
        done = json.loads(lab.run_in("c", "iperf3", "-J", "-c", SERVER4, "-t", "2", seconds=30).stdout)
        rate = done["end"]["sum_received"]["bits_per_second"]
        check(rate > 20e6, f"TCP through the wire: {rate / 1e6:.0f} Mbit/s")
        done = json.loads(lab.run_in("c", "iperf3", "-J", "-u", "-b", "10M", "-c", SERVER6, "-t", "1", seconds=30).stdout)
        check(done["end"]["sum"]["packets"] > 500, "UDP packets were sent")
        # A server that closes on data answers what is on its way with RSTs, which come from before its FIN: rightly dropped.
        at_the_end = ("tcp_window", "tcp_rst_window")
        named = {name: n for name, n in lab.daemon.drops().items() if n and name not in at_the_end}
        check_equal(named, {}, "drops")
        check(len(lab.daemon.rows("sessions", "rule=bulk")) >= 4, "control and data sessions of both runs")


def test_drop(context):
    need_tools("nc")
    with Lab(context) as lab:
        # A server that would answer: the silence is the firewall's.
        lab.serve("s", "nc", "-lk", "23", tcp=23)
        said = lab.run_in("c", "nc", "-zv", "-w", "1", SERVER4, "23", check_code=False).stderr
        check_in("timed out", said, "what nc says")
        drops = lab.daemon.drops()
        check(drops["policy_deny"] >= 1, f"policy_deny is counted: {drops}")
        packet = lab.daemon.rows("drops", "--packets", "--reason", "policy_deny")[0]
        check_equal((packet["rule"], packet["port"], packet["destination"]), ("no-telnet", "lan", f"{SERVER4}:23"), "dropped packet")
        # The same words everywhere: events, metrics, explanation.
        event = wait_for(lambda: [e for e in lab.daemon.events("drop") if e["dest_port"] == 23], 3, "the drop event")[0]
        check_equal((event["drop"]["reason"], event["drop"]["rule"]), ("policy_deny", "no-telnet"), "drop event")
        verdict = [e for e in lab.daemon.events("policy") if e["dest_port"] == 23][0]
        check_equal((verdict["policy"]["action"], verdict["policy"]["reason"]), ("drop", "clear text login"), "policy event")
        check_in('merlon_drops_total{reason="policy_deny"} ' + str(lab.daemon.drops()["policy_deny"]), lab.daemon.metrics(), "metrics")
        why = lab.daemon.merlon("explain", "packet", "lan", f"{CLIENT4}:40000", f"{SERVER4}:23", "tcp", "syn")
        check_in("no-telnet", why, "explanation")
        check_in("drop", why, "explanation")


def test_reject(context):
    need_tools("nc")
    with Lab(context) as lab:
        lab.serve("s", "nc", "-lk", "25", tcp=25)
        for address in (SERVER4, SERVER6):
            start = time.monotonic()
            said = lab.run_in("c", "nc", "-zv", "-w", "5", address, "25", check_code=False).stderr
            check_in("refused", said, "what nc says")
            check(time.monotonic() - start < 4, "the refusal comes at once")
            # ICMP port unreachable, which the client's stack reports for its datagram.
            answer = lab.run_in("c", "python3", ROOT / "tests/smoke/echo.py", "udp", address, "25").stdout.strip()
            check_equal(answer, "ECONNREFUSED", f"UDP to {address}")
        check_equal(lab.daemon.drops()["policy_reject"], 4, "policy_reject")


def expect_untouched(lab, frames, name):
    got = frames_through(lab, frames, name)
    check_equal([f.hex() for f in got], [f.hex() for f in frames], "frames at the other end")
    check_equal({k: v for k, v in lab.daemon.drops().items() if v}, {}, "drops")


VLAN, INNER = struct.pack("!HH", 0x8100, 0x6007), struct.pack("!HH", 0x8100, 42)
OUTER = struct.pack("!HH", 0x88A8, 100)


def test_frames_untouched(context):
    need_tools("tcpdump")
    with Lab(context) as lab:
        expect_untouched(lab, [udp_frame(60), udp_frame(1514), udp_frame(60, VLAN), udp_frame(1514, VLAN), udp_frame(200, OUTER + INNER),
                               udp_frame(1506, OUTER + INNER), udp_frame(60, OUTER), udp_frame(60, VLAN + INNER),
                               udp_frame(60, OUTER + OUTER), udp_frame(61)], "tags")
        # Pieces of one datagram, the middle one first: none is joined with another.
        pieces = [udp_frame(1514, fragment=0x2000 | 185), udp_frame(1514, fragment=0x2000), udp_frame(614, fragment=370)]
        got = frames_through(lab, pieces, "pieces")
        check_equal(sorted(f.hex() for f in got), sorted(f.hex() for f in pieces), "fragments at the other end")


def test_jumbo(context):
    need_tools("tcpdump", "curl")
    with Lab(context, mtu=9000) as lab:
        expect_untouched(lab, [udp_frame(9014), udp_frame(4000), udp_frame(9014, VLAN), udp_frame(9010, OUTER), udp_frame(60)], "jumbo")
        check_equal(lab.ping(more=("-s", "8972", "-M", "do")).returncode, 0, "full-size ping")
        check_equal(lab.ping(count=2, more=("-s", "40000")).returncode, 0, "fragments of 9 KB")


def test_offloads_carried(context):
    # The ends of a veth pair hand over super-frames of up to 64 KB with checksums that nobody has filled in.
    need_tools("curl")
    with Lab(context, workers=2) as lab:
        content = lab.web_server()
        got = lab.folder / "got"
        for address in (SERVER4, f"[{SERVER6}]"):
            lab.run_in("c", "curl", "-sS", "--max-time", "10", "-o", got, f"http://{address}/file")
            check(got.read_bytes() == content, f"the file through {address} is another one")
        session = lab.daemon.rows("sessions", "port=80")[0]
        check(session["bytes_in"] / session["packets_in"] > 1514, "super-frames were passed on as they came")
        bad = lab.run_in("c", "sh", "-c", "grep -h -A1 -E '^Tcp|^Udp' /proc/net/snmp").stdout
        names, values = (line.split() for line in bad.splitlines()[:2])
        check_equal(dict(zip(names, values))["InCsumErrors"], "0", "checksum errors at the client")
        for port in lab.daemon.rows("ports"):
            check_equal((port["rx_errors"], port["tx_errors"], port["tx_dropped"]), (0, 0, 0), f"port {port['port']}")
        check_equal({k: v for k, v in lab.daemon.drops().items() if v}, {}, "drops")


def test_checksums_verified_though_left_to_hardware(context):
    # Partial checksums are completed before they are judged, also when a commit asks for it, and super-frames still pass.
    need_tools("curl")
    with Lab(context) as lab:
        content = lab.web_server()
        got = lab.folder / "got"
        lab.daemon.commit(lab.config_text() + "\npackets: {verify_checksums: true}\n")
        for address in (SERVER4, f"[{SERVER6}]"):
            lab.run_in("c", "curl", "-sS", "--max-time", "10", "-o", got, f"http://{address}/file")
            check(got.read_bytes() == content, f"the file through {address} is another one")
        check_equal({k: v for k, v in lab.daemon.drops().items() if v}, {}, "drops")
        wrong = udp_frame(60)
        wrong = wrong[:40] + b"\x12\x34" + wrong[42:]
        lab.send_frames("c", wrong)
        wait_for(lambda: [v for k, v in lab.daemon.drops().items() if v and "checksum" in k] == [1], 3, "a wrong checksum is dropped")


def test_dpdk_drivers(context):
    # net_af_packet would join fragments and send every tag as 0x8100 (libs/io/NOTES.md): plain frames only.
    need_tools("tcpdump")
    with Lab(context, driver="af_packet") as lab:
        expect_untouched(lab, [udp_frame(60), udp_frame(1514), udp_frame(60, VLAN)], "af_packet")
    need_af_xdp()
    with Lab(context, driver="af_xdp") as lab:
        expect_untouched(lab, [udp_frame(60), udp_frame(1514, VLAN), udp_frame(1506, OUTER + INNER)], "af_xdp")
        check_equal(lab.ping(count=5, more=("-s", "4000")).returncode, 0, "fragmented ping")


class MixedLab(Lab):
    """A kernel interface on the client's side, a DPDK port on the server's."""

    def config_text(self, policy=None):
        return super().config_text(policy).replace("wan: {interface: wan}", 'wan: {device: "net_af_xdp0,iface=wan"}')


def test_interface_beside_dpdk(context):
    need_af_xdp()
    need_tools("curl", "ethtool")
    with MixedLab(context, offloads=False) as lab:
        # The client leaves checksums to hardware: they are completed before DPDK's port gets them.
        lab.run_in("c", "ethtool", "-K", "eth0", "tx-checksum-ip-generic", "on")
        content = lab.web_server()
        got = lab.folder / "got"
        for address in (SERVER4, f"[{SERVER6}]"):
            lab.run_in("c", "curl", "-sS", "--max-time", "10", "-o", got, f"http://{address}/file")
            check(got.read_bytes() == content, f"the file through {address} is another one")
        check_equal(lab.ping(count=5, more=("-s", "4000")).returncode, 0, "fragmented ping")
        check_equal([p["driver"] for p in lab.daemon.rows("ports")], ["af_packet", "net_af_xdp"], "drivers")
        check_equal({k: v for k, v in lab.daemon.drops().items() if v}, {}, "drops")


def test_vlans(context):
    # The same conversation in two VLANs and without a tag is three sessions.
    with Lab(context) as lab:
        lab.send_frames("c", udp_frame(60), *[udp_frame(60, struct.pack("!HH", 0x8100, v)) for v in (7, 8)])
        rows = wait_for(lambda: lab.daemon.rows("sessions", "port=7000"), 3, "sessions")
        check_equal(sorted(r["vlan"] or 0 for r in rows), [0, 7, 8], "VLANs of the sessions")
        check_equal(len(lab.daemon.rows("sessions", "vlan=7")), 1, "sessions in VLAN 7")


def test_sizes(context):
    with Lab(context) as lab:
        for size in (0, 1, 1471, 1472):
            check_equal(lab.ping(more=("-s", str(size), "-M", "do")).returncode, 0, f"ping -s {size}, not to be fragmented")
        check_equal(lab.ping(SERVER6, more=("-s", "1452", "-M", "do")).returncode, 0, "full-size IPv6 ping")
        # Larger than the link: fragments, which follow their datagram's verdict.
        for address in (SERVER4, SERVER6):
            check_equal(lab.ping(address, count=5, more=("-s", "4000")).returncode, 0, f"fragmented ping to {address}")
        big = lab.ping(count=1, more=("-s", "60000"))
        check_equal(big.returncode, 0, "a datagram of 41 fragments")
        check_equal({k: v for k, v in lab.daemon.drops().items() if v}, {}, "drops")


def test_link_followed(context):
    def carrier(lab, who):
        return lab.run_in(who, "cat", "/sys/class/net/eth0/carrier").stdout.strip()

    with Lab(context) as lab:
        for cause, other, port in (("c", "s", "lan"), ("s", "c", "wan")):
            lab.run_in(cause, "ip", "link", "set", "eth0", "down")
            wait_for(lambda: carrier(lab, other) == "0", 5, f"the link of {other} follows that of {cause} down")
            links = {p["port"]: p["link"] for p in lab.daemon.rows("ports")}
            check_equal(links[port], "down", f"show ports, {port}")
            lab.run_in(cause, "ip", "link", "set", "eth0", "up")
            # IPv6 addresses go with the link.
            lab.run_in(cause, "ip", "addr", "replace", f"{CLIENT6 if cause == 'c' else SERVER6}/64", "dev", "eth0", "nodad")
            wait_for(lambda: carrier(lab, other) == "1", 5, f"the link of {other} follows that of {cause} up")
            wait_for(lambda: lab.ping(count=1).returncode == 0, 10, "traffic passes again")
        links = {p["port"]: p["link"] for p in lab.daemon.rows("ports")}
        check_equal(links, {"lan": "up", "wan": "up"}, "links at the end")


def test_tap(context):
    # A mirror carries both directions: the zones are told apart by their networks.
    zones = f"""
  lan: {{ports: [lan, wan], networks: [{CLIENT4}/32]}}
  wan: {{ports: [lan, wan], networks: [0.0.0.0/0]}}"""
    with Lab(context, mode="tap", zones=zones) as lab:
        allowed, denied = udp_frame(100, port=7000), udp_frame(100, port=9)

        def is_seen():
            lab.send_frames("c", allowed, denied)
            return lab.daemon.rows("sessions", "port=7000")

        wait_for(is_seen, 10, "the tap sees the session")
        row = [d for d in lab.daemon.rows("drops") if d["reason"] == "default_deny"][0]
        check(row["would_drop"] >= 1, "packets that would have been dropped")
        check_equal(row["packets"], row["would_drop"], "nothing else was dropped")
        event = wait_for(lambda: lab.daemon.events("drop"), 3, "the drop event")[0]
        check_equal((event["drop"]["would_drop"], event["dest_port"]), (True, 9), "drop event")
        check_equal([p["tx_packets"] for p in lab.daemon.rows("ports")], [0, 0], "packets sent by taps")

# SPDX-License-Identifier: Apache-2.0
"""What the running daemon tells: lists in every form, explanations, metrics, events and where they go."""
import csv
import io
import json
import os
import re
import signal
import socket

from lab import (CLIENT4, SERVER4, Failure, Lab, Skip, check, check_equal, check_in, need_tools, read_pcap, run, wait_for)

LISTS = ("ports", "workers", "sessions", "policy", "drops", "pools")


def some_traffic(lab):
    lab.web_server(5000)
    lab.run_in("c", "curl", "-sS", "--max-time", "10", "-o", "/dev/null", f"http://{SERVER4}/file")
    lab.run_in("c", "nc", "-z", "-w", "1", SERVER4, "23", check_code=False)


def test_formats(context):
    with Lab(context) as lab:
        some_traffic(lab)
        for what in (*LISTS, "drops --packets"):
            words = what.split()
            objects = lab.daemon.rows(*words)
            check(objects, f"{what} is not empty")
            lines = [json.loads(line) for line in lab.daemon.merlon("show", *words, "-o", "jsonl").splitlines()]
            check_equal([sorted(o) for o in lines], [sorted(o) for o in objects], f"{what}: keys in jsonl and json")
            table = list(csv.reader(io.StringIO(lab.daemon.merlon("show", *words, "-o", "csv"))))
            check_equal(sorted(table[0]), sorted(objects[0]), f"{what}: titles of csv")
            check_equal({len(r) for r in table}, {len(table[0])}, f"{what}: columns of csv rows")
            check_equal(len(table) - 1, len(objects), f"{what}: rows of csv")
            for form in ("table", "wide"):
                text = lab.daemon.merlon("show", *words, "-o", form).splitlines()
                check_equal(len(text) - 1, len(objects), f"{what}: rows of {form}")
                check(text[0] == text[0].upper(), f"{what}: titles of {form}")
            check_equal(len(lab.daemon.merlon("show", *words, "--limit", "1", "--no-headers").splitlines()), 1, f"{what} --limit 1")
        status = json.loads(lab.daemon.merlon("show", "status", "-o", "json"))
        check_equal((status["mode"], status["config_revision"]), ("wire", 1), "status")
        check_in("no-telnet", lab.daemon.merlon("show", "config"), "show config")
        check_in("verify_checksums", lab.daemon.merlon("show", "config", "--canonical"), "canonical configuration")
        check_equal(lab.daemon.merlon("show", "policy", "--columns", "rule,hits", "-o", "csv").splitlines()[0], "rule,hits", "chosen columns")


def test_explain_and_watch(context):
    with Lab(context) as lab:
        lab.echo_server()
        talk = lab.echo_client()
        check(talk.say(), "the echo passes")
        row = lab.daemon.rows("sessions", "port=7000")[0]
        check_equal((row["state"], row["rule"]), ("established", "chat"), "session")
        why = lab.daemon.merlon("explain", "session", row["id"])
        check_in("chat", why, "explanation of the session")
        why = lab.daemon.merlon("explain", "session", row["source"], row["destination"], "tcp")
        check_in("established", why, "explanation of the session by its ends")
        why = json.loads(lab.daemon.merlon("explain", "-o", "json", "packet", "lan", f"{CLIENT4}:40000", f"{SERVER4}:25", "udp"))
        check_in("no-smtp", json.dumps(why), "explanation as JSON")
        picture = lab.daemon.merlon("watch", "--once")
        for word in ("lan", "wan", "chat"):
            check_in(word, picture, "watch --once")
        # Clearing a session is not a hole: the next segment is judged anew, and it is no SYN.
        lab.daemon.merlon("clear", "sessions", "port=7000")
        wait_for(lambda: not lab.daemon.rows("sessions", "port=7000", "state=established"), 3, "the session is gone")
        check(not talk.say(0.5), "a segment of a cleared session does not pass")
        check(lab.daemon.drops().get("tcp_not_syn", 0) + lab.daemon.drops().get("session_killed", 0) > 0, "it is dropped by name")
        lab.daemon.merlon("clear", "sessions", code=2)
        lab.daemon.merlon("clear", "sessions", "--all")


def parse_metrics(text):
    """Prometheus text form to {name{labels}: value}, strictly."""
    values, types, helps = {}, {}, set()
    for line in text.splitlines():
        if line.startswith("# HELP "):
            helps.add(line.split()[2])
        elif line.startswith("# TYPE "):
            _, _, name, kind = line.split()
            check(name not in types, f"TYPE of {name} stands twice")
            check(kind in ("counter", "gauge", "histogram"), line)
            types[name] = kind
        else:
            found = re.fullmatch(r'([a-z_:][a-z0-9_:]*)(\{(?:[a-z_]+="(?:[^"\\\n]|\\.)*",?)*\})? (-?[0-9.e+-]+|NaN|[+-]Inf)', line)
            check(found, f"not a sample: {line}")
            name = re.sub(r"_(bucket|sum|count)$", "", found[1]) if found[1] not in types else found[1]
            check(name in types and name in helps, f"{found[1]} has neither TYPE nor HELP before it")
            check((types[name] != "counter") or name.endswith("_total"), f"counter {name} does not end in _total")
            check(found[1] + (found[2] or "") not in values, f"{line} stands twice")
            values[found[1] + (found[2] or "")] = float(found[3])
    return values


def test_metrics(context):
    with Lab(context) as lab:
        some_traffic(lab)
        values = parse_metrics(lab.daemon.metrics())
        check(values['merlon_port_up{port="lan"}'] == 1, "port lan is up")
        check(values['merlon_port_receive_packets_total{port="lan"}'] > 5, "packets of port lan")
        check(values['merlon_drops_total{reason="policy_deny"}'] >= 1, "drops")
        hits = {k: v for k, v in values.items() if k.startswith("merlon_policy_") and 'rule="web"' in k}
        check(any(v >= 1 for v in hits.values()), f"hits of rule web: {hits}")
        later = parse_metrics(lab.daemon.metrics())
        check_equal(sorted(set(values) - set(later)), [], "samples that went away")
        fallen = [k for k in values if "_total" in k and later[k] < values[k]]
        check_equal(fallen, [], "counters that fell")


def test_drops_capture(context):
    need_tools("tcpdump")
    with Lab(context) as lab:
        some_traffic(lab)
        path = lab.folder / "drops.pcap"
        lab.daemon.merlon("show", "drops", "--packets", "--pcap", path)
        check(len(read_pcap(path)) >= 1, "the capture holds packets")
        check_in(f"{SERVER4}.23", run(["tcpdump", "-nr", path]).stdout, "what tcpdump reads")


def test_events(context):
    with Lab(context) as lab:
        some_traffic(lab)
        lab.daemon.merlon("clear", "sessions", "--all")
        flow = wait_for(lambda: [e for e in lab.daemon.events("flow") if e.get("dest_port") == 80], 5, "the flow event")[0]
        start = [e for e in lab.daemon.events("policy") if e.get("dest_port") == 80][0]
        check_equal(flow["flow_id"], start["flow_id"], "number of the session")
        check_equal((flow["proto"], flow["src_ip"], flow["dest_ip"], flow["in_iface"]), ("TCP", CLIENT4, SERVER4, "lan"), "flow")
        check_equal((flow["policy"]["rule"], flow["policy"]["action"]), ("web", "permit"), "verdict of the flow")
        check(flow["flow"]["bytes_toclient"] > 5000, "bytes to the client")
        # The file is moved away, as logrotate does; what comes next goes to a new one.
        moved = lab.daemon.folder / "eve.old"
        os.rename(lab.daemon.eve, moved)
        lab.daemon.process.send_signal(signal.SIGHUP)
        wait_for(lambda: lab.daemon.eve.exists() and lab.daemon.events("stats"), 5, "the new file is written to")
        check(moved.read_text().endswith("\n"), "the old file ends with a whole line")
        check_equal(lab.daemon.stop(), 0, "exit code")
        check(lab.daemon.events(), "the file is whole after the end")


def test_rotation(context):
    with Lab(context, start=False) as lab:
        text = lab.daemon.config.read_text().replace(f"path: {lab.daemon.eve}", f"path: {lab.daemon.eve}, rotate_size: 64KiB, keep: 2")
        lab.daemon.config.write_text(text.replace("stats_interval: 1s", "stats_interval: 100ms"))
        lab.start()

        def has_rotated():
            # Each datagram is denied and so an event.
            lab.run_in("c", "python3", "-c", f"""
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for i in range(200): s.sendto(b'x', ('{SERVER4}', 10000 + i))""")
            return len(list(lab.daemon.folder.glob("eve.json*"))) >= 3

        wait_for(has_rotated, 20, "three files")
        for _ in range(10):
            has_rotated()
        check_equal(lab.daemon.stop(), 0, "exit code")
        files = sorted(lab.daemon.folder.glob("eve.json*"))
        check_equal(len(files), 3, f"the file and two old ones: {[f.name for f in files]}")
        for path in files:
            check(path.stat().st_size < 80 * 1024, f"{path.name}: {path.stat().st_size} bytes")
            for line in path.read_text().split("\n")[:-1]:
                json.loads(line)


def test_syslog(context):
    with Lab(context, start=False) as lab:
        path = lab.folder / "syslog"
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as receiver:
            receiver.bind(str(path))
            receiver.settimeout(10)
            text = lab.daemon.config.read_text().replace("events:\n", f"events:\n  syslog: {{target: {path}, types: [policy]}}\n")
            lab.daemon.config.write_text(text)
            lab.start()
            lab.run_in("c", "nc", "-z", "-w", "1", SERVER4, "23", check_code=False)
            line = receiver.recv(65536).decode()
        found = re.match(r"<(\d+)>1 \S+ \S+ \S+ \S+ \S+ ", line)
        check(found, f"RFC 5424 header: {line}")
        check_equal(int(found[1]) >> 3, 16, "facility")
        check_equal(json.loads(line[line.index("{"):])["policy"]["rule"], "no-telnet", "rule in the message")


def test_disk_full(context):
    need_tools("mount", "umount")
    with Lab(context, start=False) as lab:
        disk = lab.folder / "disk"
        disk.mkdir()
        if run(["mount", "-t", "tmpfs", "-o", "size=128k", "tmpfs", disk], check_code=False).returncode != 0:
            raise Skip("tmpfs can't be mounted here")
        try:
            lab.daemon.eve = disk / "eve.json"
            lab.daemon.config.write_text(lab.config_text())
            lab.start()
            filler = disk / "filler"
            def lost():
                lab.run_in("c", "nc", "-z", "-w", "1", SERVER4, "23", check_code=False)
                values = parse_metrics(lab.daemon.metrics())
                return sum(v for k, v in values.items() if k.startswith("merlon_export_") and "lost" in k)

            with open(filler, "ab", buffering=0) as more:
                try:
                    while True:
                        more.write(bytes(4096))
                except OSError:
                    pass
            wait_for(lost, 20, "lost events are counted")
            check_equal(lab.ping().returncode, 0, "packets pass while the disk is full")
            check(lab.daemon.is_answering(), "the API answers while the disk is full")
            filler.unlink()
            wait_for(lambda: b'"stats"' in tail(lab.daemon.eve), 20, "events are written again")
            lines = lab.daemon.eve.read_text().split("\n")[:-1]
            broken = [line for line in lines if not is_json(line)]
            check_equal(broken, [], "broken lines in the file")
        finally:
            lab.daemon.close()
            run(["umount", disk])


def tail(path):
    before = path.stat().st_size
    try:
        wait_for(lambda: path.stat().st_size > before, 3, "growth")
    except Failure:
        return b""
    return path.read_bytes()[before:]


def is_json(line):
    try:
        json.loads(line)
        return True
    except ValueError:
        return False

# SPDX-License-Identifier: Apache-2.0
"""What goes wrong around the daemon: interfaces that are missing or vanish, a damaged store, rude clients, signals."""
import os
import re
import signal
import socket
import subprocess
import time

from lab import POLICY, Failure, Lab, check, check_equal, check_in, need_tools, run, wait_for


def refused_start(lab, seconds=15):
    done = subprocess.run(lab.daemon.command(), capture_output=True, text=True, timeout=seconds)
    lab.daemon.log.write_text(done.stderr)
    check(done.returncode not in (0, -signal.SIGSEGV, -signal.SIGABRT), f"exit code {done.returncode}: {done.stderr}")
    return done


def test_missing_interface(context):
    with Lab(context, start=False) as lab:
        lab.daemon.config.write_text(lab.config_text().replace("interface: wan", "interface: wann"))
        done = refused_start(lab)
        check_equal(done.returncode, 1, "exit code")
        check_in('port wan: there is no network interface "wann"', done.stderr, "message")


def test_interface_vanishes(context):
    with Lab(context) as lab:
        run(["ip", "-n", lab.spaces["f"], "link", "del", "wan"])
        wait_for(lambda: {p["port"]: p["link"] for p in lab.daemon.rows("ports")}["wan"] == "down", 5, "show ports says down")
        # The wire's other side is told.
        wait_for(lambda: lab.run_in("c", "cat", "/sys/class/net/eth0/carrier", check_code=False).stdout.strip() != "1", 5, "the client's link")
        check(lab.daemon.is_answering(), "the API answers")
        # One of the same name takes its place, as when a virtual machine starts again.
        lab.connect_server()
        wait_for(lambda: {p["port"]: p["link"] for p in lab.daemon.rows("ports")}["wan"] == "up", 10, "show ports says up")
        wait_for(lambda: lab.ping(count=1).returncode == 0, 10, "traffic passes again")
        check_equal(lab.daemon.stop(), 0, "exit code")


def test_damaged_store(context):
    with Lab(context) as lab:
        lab.daemon.commit(lab.config_text(POLICY.replace("id: chat,", "id: talk,")))
        lab.daemon.commit(lab.config_text(POLICY.replace("id: chat,", "id: words,")))
        check_equal(lab.daemon.stop(), 0, "exit code")
        # The newest revision loses its end, as after a power cut on a file system that lies.
        newest = [p for p in sorted(lab.daemon.state.rglob("*")) if p.is_file() and b"id: words," in p.read_bytes()]
        check(newest, "the newest revision is on the disk")
        for path in newest:
            path.write_bytes(path.read_bytes()[:-200])
        lab.daemon.start()
        rules = [r["rule"] for r in lab.daemon.rows("policy")]
        check("talk" in rules or "chat" in rules, f"an earlier revision runs: {rules}")
        check("words" not in rules, "half a revision does not run")
        check(re.search(r"revision 3 is damaged", lab.daemon.log.read_text()), "the log says so")
        # And a commit works on top of that.
        lab.daemon.commit(lab.config_text(POLICY.replace("id: chat,", "id: again,")))
        lab.daemon.stop()
        lab.daemon.start()
        check_in("again", [r["rule"] for r in lab.daemon.rows("policy")], "rules after the restart")


def test_garbage_state(context):
    # A state file of rubbish: never an open firewall, never a crash.
    with Lab(context) as lab:
        lab.daemon.commit(lab.config_text(POLICY.replace("id: chat,", "id: talk,")))
        lab.daemon.stop()
        for path in lab.daemon.state.rglob("*"):
            if path.is_file() and path.suffix != ".yaml":
                path.write_bytes(b"\x00\xff{[not ours" * 20)
        try:
            lab.daemon.start()
        except Failure:
            check(lab.daemon.process.returncode in (1, 3), f"exit code {lab.daemon.process.returncode}")
            check_in("error", lab.daemon.log.read_text(), "log")
            return
        rules = {r["rule"]: r["action"] for r in lab.daemon.rows("policy")}
        check_equal(rules["default"], "drop", "the policy's default")
        check_in("damaged", lab.daemon.log.read_text(), "log")
        check("chat" in rules or "talk" in rules, f"rules {rules}")


def test_rude_clients(context):
    with Lab(context) as lab:
        def talk(data, seconds=3):
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as s:
                s.settimeout(seconds)
                s.connect(str(lab.daemon.socket))
                try:
                    s.sendall(data)
                    return s.recv(4096)
                except OSError:
                    return b""

        check_in(b" 400 ", talk(b"\x16\x03\x01\x02\x00\x01" * 50), "TLS to a plain socket")
        check_in(b" 400 ", talk(b"GARBAGE\r\n\r\n"), "garbage")
        check_in(b" 404 ", talk(b"GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n"), "unknown path")
        check_in(b" 405 ", talk(b"DELETE /api/v1/status HTTP/1.1\r\nHost: x\r\n\r\n"), "wrong method")
        check_in(b" 431 ", talk(b"GET /api/v1/status HTTP/1.1\r\n" + b"X: " + b"y" * 200_000 + b"\r\n\r\n"), "long head")
        check_in(b" 413 ", talk(b"POST /api/v1/explain HTTP/1.1\r\nHost: x\r\nContent-Length: 999999999\r\n\r\n"), "large body")
        check_in(b" 400 ", talk(b"POST /api/v1/explain HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n[[[[["), "no JSON")
        # More silent connections than anyone needs; the polite get through when they go.
        idle = []
        for _ in range(200):
            s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            s.settimeout(1)
            try:
                s.connect(str(lab.daemon.socket))
            except OSError:
                s.close()
                break
            idle.append(s)
        check_equal(lab.ping().returncode, 0, "packets pass meanwhile")
        for s in idle:
            s.close()
        wait_for(lab.daemon.is_answering, 5, "the API answers afterwards")


def test_signals(context):
    with Lab(context) as lab:
        for _ in range(50):
            lab.daemon.process.send_signal(signal.SIGHUP)
            time.sleep(0.005)
        check(lab.daemon.is_answering(), "fifty hang-ups")
        flood = lab.spawn("c", "ping", "-q", "-n", "-i", "0.002", "-w", "5", "10.77.0.2")
        wait_for(lambda: lab.daemon.rows("workers")[0]["packets"] > 200, 5, "traffic flows")
        start = time.monotonic()
        check_equal(lab.daemon.stop(), 0, "exit code under traffic")
        check(time.monotonic() - start < 3, "it ends at once")
        flood.kill()
        last = lab.daemon.events("stats")[-1]["stats"]["counters"]
        check_equal(last["received_packets"], last["forwarded_packets"] + last["dropped_packets"], "the last statistics add up")


def test_unprivileged(context):
    # Raw sockets need a capability: said in one sentence, not by a crash.
    need_tools("setpriv")
    with Lab(context, start=False) as lab:
        os.chmod(lab.folder, 0o777)
        os.chmod(lab.daemon.folder, 0o777)
        prefix = [*lab.inside("f"), "setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "--inh-caps=-all", "--bounding-set=-all"]
        lab.daemon.prefix = prefix
        done = refused_start(lab)
        check_equal(done.returncode, 1, "exit code")
        check(re.search(r"error: port (lan|wan).*CAP_NET_RAW", done.stderr), f"message: {done.stderr}")

# SPDX-License-Identifier: Apache-2.0
"""What somebody who may talk to the API's socket, or sends signals, can try: packets go on, others are answered, memory is bounded."""
import json
import pathlib
import re
import signal
import socket
import threading
import time

from lab import POLICY, Lab, check, check_equal, wait_for

MIB = 1 << 20


def memory(lab, what="VmRSS"):
    text = pathlib.Path("/proc", str(lab.daemon.process.pid), "status").read_text()
    return int(re.search(rf"{what}:\s+(\d+) kB", text)[1]) * 1024


def connect(lab):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    s.connect(str(lab.daemon.socket))  # waits while the daemon's queue is full
    s.settimeout(5)
    return s


def send_all(s, data):
    """False when the other side has ended it."""
    try:
        s.sendall(data)
        return True
    except OSError:
        return False


def test_silent_and_slow_clients(context):
    with Lab(context) as lab:
        before = memory(lab)
        peers = [connect(lab) for _ in range(400)]
        for s in peers[::2]:
            send_all(s, b"GET /api/v1/status HTTP/1.1\r\nX: ")
        for turn in range(10):
            for s in peers:
                send_all(s, b"y")
            lab.daemon.merlon("show", "ports")  # exit code 0: answered all the same
        check_equal(lab.ping().returncode, 0, "packets pass meanwhile")
        for s in peers:
            s.close()
        # Thousands that come and go at once.
        for _ in range(3000):
            connect(lab).close()
        lab.daemon.merlon("show", "status")
        wait_for(lambda: memory(lab) - before < 64 * MIB, 5, f"memory, {(memory(lab) - before) // MIB} MiB more")


def test_huge_bodies(context):
    with Lab(context) as lab:
        before = memory(lab)
        lists = b'{"files":[' + b"[]," * (20 * MIB) + b"[]]}"
        text = json.dumps({"files": [{"name": "m.yaml", "text": "a: [" * (4 * MIB)}]}).encode()
        keys = json.dumps({"files": [{"name": "m.yaml", "text": "".join(f"k{i}: 1\n" for i in range(300_000))}]}).encode()
        answers = []

        def post(body):
            with connect(lab) as s:
                s.settimeout(60)
                send_all(s, b"POST /api/v1/config/check HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body))
                send_all(s, body)
                try:
                    answers.append(s.recv(200).split(b" ")[1:2])
                except OSError:
                    answers.append(None)

        threads = [threading.Thread(target=post, args=(body,)) for body in (lists, lists, lists, text, text, keys)]
        for t in threads:
            t.start()
        while any(t.is_alive() for t in threads):
            lab.daemon.get("/api/v1/status")
            check_equal(lab.ping(count=2).returncode, 0, "packets pass meanwhile")
        check(all(a in ([b"400"], [b"422"], [b"503"]) for a in answers), f"answers {answers}")
        # Four bodies at once and what one of them becomes.
        check(memory(lab, "VmHWM") - before < 700 * MIB, f"peak {(memory(lab, 'VmHWM') - before) // MIB} MiB more")


def test_hang_ups(context):
    with Lab(context) as lab:
        flood = lab.spawn("c", "ping", "-q", "-n", "-i", "0.002", "-w", "20", "10.77.0.2")
        for i in range(2000):
            lab.daemon.process.send_signal(signal.SIGHUP)
            if i % 100 == 0:
                lab.daemon.eve.unlink(missing_ok=True)
                time.sleep(0.01)
        lab.daemon.process.send_signal(signal.SIGHUP)
        wait_for(lambda: lab.daemon.events("stats"), 5, "events in the new file")
        flood.kill()
        check_equal({k: v for k, v in lab.daemon.drops().items() if v}, {}, "drops")


def test_commits_and_readers_at_once(context):
    with Lab(context) as lab:
        until = time.monotonic() + 4
        codes, lock = {"commit": [], "read": []}, threading.Lock()

        def ask(kind, method, path, body=None):
            status, _ = lab.daemon.request(method, path, body)
            with lock:
                codes[kind].append(status)

        def commit(number):
            turn = 0
            while time.monotonic() < until:
                turn += 1
                policy = POLICY.replace("id: chat,", f"id: chat-{number}-{turn},")
                ask("commit", "POST", "/api/v1/config/commit",
                    {"files": [{"name": str(lab.daemon.config), "text": lab.config_text(policy)}]})

        def read(path):
            while time.monotonic() < until:
                ask("read", "GET", path)

        threads = [threading.Thread(target=commit, args=(n,)) for n in range(3)]
        threads += [threading.Thread(target=read, args=(f"/api/v1/{p}",)) for p in ("status", "policy", "config/history", "snapshot", "config")]
        for t in threads:
            t.start()
        check_equal(lab.ping(count=40).returncode, 0, "packets pass meanwhile")
        for t in threads:
            t.join()
        check(set(codes["commit"]) <= {200, 503} and set(codes["read"]) <= {200, 503}, f"statuses {codes}")
        done = codes["commit"].count(200)
        check(done > 3, f"{done} commits")
        check_equal(lab.daemon.get("/api/v1/status")["config_revision"], done + 1, "revision")

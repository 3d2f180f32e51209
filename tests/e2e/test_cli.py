# SPDX-License-Identifier: Apache-2.0
"""The command line as a user meets it: a pseudo terminal, completion, hints, exit codes, pipes. Needs no root: the
daemon runs on null devices or captures."""
import json
import os
import pathlib
import pty
import re
import select
import shutil
import socket
import struct
import subprocess
import tempfile
import termios
import threading
import time
import fcntl

from lab import ROOT, Daemon, check, check_equal, check_in, need_tools, wait_for

CONFIG = """version: 1
name: desk
state_directory: {state}
ports:
  lan: {{pcap: {{read: {capture}}}}}
  wan: {{pcap: {{write: {out}}}}}
wires: {{w: {{ports: [lan, wan]}}}}
zones:
  lan: {{ports: lan}}
  wan: {{ports: wan}}
sessions: {{max: 2000}}
policy:
  default: drop
  rules:
    - {{id: dns, service: udp/53, action: permit}}
    - {{id: web, service: [tcp/80, tcp/443], action: permit, log: both}}
    - {{id: no-telnet, service: tcp/23, action: drop, log: start}}
events: {{file: {{path: {eve}}}}}
"""


def checksum(data):
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def write_capture(path, count):
    """As many UDP questions from as many ports."""
    records = [struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1)]
    for n in range(count):
        ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 36, n & 0xFFFF, 0, 64, 17, 0, bytes([192, 0, 2, 1 + n // 50000]), bytes([198, 51, 100, 1]))
        ip = ip[:10] + struct.pack("!H", checksum(ip)) + ip[12:]
        frame = bytes.fromhex("02aa0000000202aa000000010800") + ip + struct.pack("!HHHH", 1024 + n % 50000, 53, 16, 0) + b"question"
        frame = frame.ljust(60, b"\0")
        records.append(struct.pack("<IIII", 1_700_000_000, n, len(frame), len(frame)) + frame)
    path.write_bytes(b"".join(records))


class Desk:
    """A daemon on captures, in the folder of the test."""

    def __init__(self, context, questions=20):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="merlon-e2e-"))
        context.keep_or_remove(self.folder)
        capture = self.folder / "in.pcap"
        write_capture(capture, questions)
        self.daemon = Daemon(context.binaries, self.folder / "d", f"desk{os.getpid()}-{context.next_number()}")
        context.log_files.append(self.daemon.log)
        self.daemon.config.write_text(CONFIG.format(state=self.daemon.state, capture=capture, out=self.folder / "out.pcap",
                                                    eve=self.daemon.eve))

    def __enter__(self):
        self.daemon.start()
        return self.daemon

    def __exit__(self, *_):
        self.daemon.close()


def terminal(daemon, *words, keys=b"", until=None, rows=30, columns=120, seconds=8):
    """Runs the client on a pseudo terminal; returns what it showed and its exit code."""
    pid, master = pty.fork()
    if pid == 0:
        os.environ.update(MERLON_SOCKET=str(daemon.socket), TERM="xterm-256color")
        os.environ.pop("NO_COLOR", None)
        os.execv(str(daemon.binaries / "merlon"), ["merlon", *words])
    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    shown, end, is_sent = b"", time.monotonic() + seconds, not keys
    while time.monotonic() < end:
        ready, _, _ = select.select([master], [], [], 0.1)
        if ready:
            try:
                part = os.read(master, 65536)
            except OSError:
                break
            if not part:
                break
            shown += part
        if not is_sent and (until is None or until in shown):
            os.write(master, keys)
            is_sent = True
    os.close(master)
    _, status = os.waitpid(pid, 0)
    return shown.decode(errors="replace"), os.waitstatus_to_exitcode(status)


def complete(daemon, *words):
    return daemon.merlon("__complete", *words).splitlines()


def names(lines):
    return [re.split(r"[\t:]", line)[0] for line in lines]


def test_completion(context):
    with Desk(context) as daemon:
        check_in("show", names(complete(daemon, "sho")), "completion of sho")
        check_in("sessions", names(complete(daemon, "show", "se")), "completion of show se")
        check_in("--limit", names(complete(daemon, "show", "sessions", "--li")), "completion of --li")
        check_equal(sorted(names(complete(daemon, "show", "ports", "-o", ""))), ["csv", "json", "jsonl", "table", "wide"], "formats")
        # Names that only the daemon knows.
        rules = complete(daemon, "show", "sessions", "rule=no-t")
        check(any("no-telnet" in line for line in rules), f"completion of rule=no-t: {rules}")
        check(any("lan" in line for line in complete(daemon, "explain", "packet", "l")), "completion of a port")
        for shell in ("bash", "zsh"):
            check(len(daemon.merlon("completion", shell).splitlines()) > 5, f"script of {shell}")
    # Without a daemon there are no such names, and no noise.
    check_equal(complete(daemon, "show", "sessions", "rule=no-t"), [], "completion without a daemon")
    check_in("sessions", names(complete(daemon, "show", "se")), "completion without a daemon")


def test_completion_in_bash(context):
    need_tools("bash")
    with Desk(context) as daemon:
        script = daemon.folder / "complete.sh"
        script.write_text(f"""
PATH={daemon.binaries}:$PATH
source <(merlon completion bash)
spec=$(complete -p merlon)
function=$(sed 's/.*-F \\([^ ]*\\) .*/\\1/' <<<"$spec")
COMP_WORDS=(merlon show pol) COMP_CWORD=2 COMP_LINE="merlon show pol" COMP_POINT=15
$function merlon pol show
printf '%s\\n' "${{COMPREPLY[@]}}"
""")
        done = subprocess.run(["bash", str(script)], capture_output=True, text=True, timeout=10,
                              env={**os.environ, "MERLON_SOCKET": str(daemon.socket)})
        check_equal((done.stdout.strip(), done.stderr), ("policy", ""), "what bash completes")


def test_exit_codes(context):
    with Desk(context) as daemon:
        daemon.merlon("show", "status")
        for words, hint in ((["shwo", "ports"], "show"), (["show", "prots"], "ports"), (["show", "ports", "--limti", "1"], "--limit"),
                            (["show", "sessions", "prto=tcp"], "proto"), (["show", "sessions", "rule"], ""), (["config"], "commit"),
                            (["show", "ports", "-o", "xml"], "json")):
            said = daemon.merlon(*words, code=2)
            check_in(hint, said, f"hint for {' '.join(words)}")
            check(said.startswith("merlon: error:"), said)
        said = daemon.merlon("show", "drops", "--packets", "--reason", "policy_dney", code=2)
        check_in("policy_deny", said, "hint for a reason")
        broken = daemon.folder / "broken.yaml"
        broken.write_text(daemon.config.read_text().replace("udp/53", "udp/53x"))
        for words in (["check", "-c", broken], ["config", "check", broken], ["config", "commit", broken]):
            said = daemon.merlon(*words, code=3)
            check(re.search(r"broken\.yaml:\d+:\d+: error", said), said)
        daemon.merlon("config", "confirm", code=1)
        daemon.merlon("config", "commit", daemon.config, "--base", "77", code=6)
        daemon.merlon("config", "rollback", "99", code=1)
        daemon.merlon("show", "config", "--revision", "99", code=1)
    daemon.merlon("show", "status", code=4)
    said = daemon.merlon("show", "ports", code=4)
    check_in(str(daemon.socket), said, "message without a daemon")
    # A daemon that does not answer.
    deaf = daemon.folder / "deaf.sock"
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
        listener.bind(str(deaf))
        listener.listen()
        daemon.merlon("show", "ports", "--socket", deaf, "--timeout", "300ms", code=7)


def test_pipes(context):
    with Desk(context, questions=1500) as daemon:
        wait_for(lambda: len(daemon.rows("sessions")) == 1500, 10, "all sessions are there")
        # The reader goes away after a line: no message, no signal.
        done = subprocess.run(["bash", "-c", f"set -o pipefail; '{daemon.binaries}/merlon' show sessions | head -1"], capture_output=True,
                              text=True, timeout=10, env={**os.environ, "MERLON_SOCKET": str(daemon.socket)})
        check_equal((done.returncode, done.stderr), (0, ""), "merlon show sessions | head -1")
        check_in("PROTO", done.stdout, "first line")
        said = daemon.merlon("show", "sessions", "sport=1024", "-o", "csv").splitlines()
        check_equal(len(said), 2, "rows of a filter")
        check("\x1b" not in daemon.merlon("show", "policy"), "no colours in a pipe")
        check_equal(len(daemon.merlon("show", "sessions", "--limit", "7", "-o", "jsonl").splitlines()), 7, "--limit")
        full = subprocess.run([daemon.binaries / "merlon", "show", "sessions"], stdout=open("/dev/full", "w"), stderr=subprocess.PIPE,
                              text=True, timeout=10, env={**os.environ, "MERLON_SOCKET": str(daemon.socket)})
        check_equal(full.returncode, 1, "exit code on a full disk")
        check_in("No space left", full.stderr, "message on a full disk")


def test_batch(context):
    with Desk(context) as daemon:
        environment = {**os.environ, "MERLON_SOCKET": str(daemon.socket)}
        done = subprocess.run([daemon.binaries / "merlon"], input="show status\n# a note\nshow ports -o csv\nshow prots\nshow drops\n",
                              capture_output=True, text=True, timeout=10, env=environment)
        check_equal(done.returncode, 2, "exit code of the line that failed")
        check_in("stopped at line 4", done.stderr, "messages")
        check_in("desk", done.stdout, "output of the first line")


def test_terminal(context):
    with Desk(context) as daemon:
        shown, code = terminal(daemon, "show", "policy")
        check_equal(code, 0, "exit code on a terminal")
        check_in("no-telnet", shown, "terminal")
        shown, code = terminal(daemon)
        check_in("show", shown, "merlon alone on a terminal shows its help")
        check_equal(code, 0, "exit code of the help")
        shown, code = terminal(daemon, "watch", keys=b"q", until=b"lan")
        check_equal(code, 0, "exit code of watch")
        check_in("\x1b[?1049l", shown, "watch leaves the other screen")
        check_in("\x1b[?25h", shown, "watch shows the cursor again")
        # A narrow terminal: nothing wraps.
        shown, code = terminal(daemon, "watch", keys=b"q", until=b"lan", columns=60, rows=12)
        check_equal(code, 0, "exit code of watch on a narrow terminal")


def test_help(context):
    daemon = Daemon(context.binaries, tempfile.mkdtemp(prefix="merlon-e2e-"), "none")
    context.keep_or_remove(daemon.folder)
    text = daemon.merlon("help")
    for word in ("run", "replay", "check", "explain", "show", "config", "watch", "clear"):
        check(re.search(rf"\b{word}\b", text), f"help lacks {word}")
    check_in("--confirm", daemon.merlon("help", "config", "commit"), "help of commit")
    check_in("--out-pcap", daemon.merlon("replay", "--help"), "help of replay")
    # The manual is that of the program.
    page = (ROOT / "docs/reference/commands.md").read_text()
    check_equal(daemon.merlon("__reference"), page, "docs/reference/commands.md is out of date: merlon __reference")


def test_many_readers(context):
    # Several clients at a time, and one that reads slowly, don't disturb one another.
    with Desk(context, questions=1500) as daemon:
        wait_for(lambda: len(daemon.rows("sessions")) == 1500, 10, "all sessions are there")
        slow = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        slow.connect(str(daemon.socket))
        slow.sendall(b"GET /api/v1/sessions HTTP/1.1\r\nHost: x\r\n\r\n")
        results = []

        def read():
            results.append(len(json.loads(daemon.request("GET", "/api/v1/sessions")[1])))

        threads = [threading.Thread(target=read) for _ in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join(15)
        slow.close()
        check_equal(results, [1500] * 8, "sessions that each reader got")

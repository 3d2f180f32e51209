# SPDX-License-Identifier: Apache-2.0
"""A laboratory in network namespaces: client = firewall = server, joined by veth pairs.

Names carry the runner's process id, so that several runs never meet; everything is removed when the lab closes,
and what a killed run left behind is removed by the next one. Nothing of the host's own network is touched.
"""
import ctypes
import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
PREFIX = "mrl"
CLIENT4, SERVER4 = "10.77.0.1", "10.77.0.2"
CLIENT6, SERVER6 = "fd77::1", "fd77::2"

POLICY = """
policy:
  default: drop
  default_log: start
  rules:
    - {id: ping, service: [icmp/echo-request, icmpv6/echo-request], action: permit}
    - {id: no-telnet, service: tcp/23, action: drop, log: start, reason: clear text login}
    - {id: no-smtp, service: [tcp/25, udp/25], action: reject, log: start}
    - {id: web, from: lan, to: wan, service: [tcp/80, tcp/443], action: permit, log: both}
    - {id: bulk, from: lan, to: wan, service: [tcp/5201, udp/5201], action: permit, log: end}
    - {id: chat, from: lan, to: wan, service: [tcp/7000-7009, udp/7000-7009], action: permit, log: end}
"""

ZONES = """
  lan: {ports: lan}
  wan: {ports: wan}"""


class Skip(Exception):
    """The test can't run here; the text says why."""


class Failure(AssertionError):
    """An expectation that did not hold."""


def check(condition, message):
    if not condition:
        raise Failure(message)


def check_equal(got, expected, what):
    if got != expected:
        raise Failure(f"{what}: got {got!r}, expected {expected!r}")


def check_in(part, whole, what="text"):
    if part not in whole:
        raise Failure(f"{what} lacks {part!r}:\n{whole}")


def wait_for(condition, seconds, what):
    """Polls until the condition gives something true; returns that."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise Failure(f"not within {seconds} s: {what}")
        time.sleep(0.05)


def need_tools(*tools):
    for tool in tools:
        if shutil.which(tool) is None:
            raise Skip(f"{tool} is not installed")


_probe_lock = threading.Lock()


def need_root():
    if os.geteuid() != 0:
        raise Skip("needs root for network namespaces")
    need_tools("ip", "ethtool")
    name = f"{PREFIX}{os.getpid()}-probe"
    with _probe_lock:
        if run(["ip", "netns", "add", name], check_code=False).returncode != 0:
            raise Skip("network namespaces are not allowed here")
        run(["ip", "netns", "del", name])


def need_af_xdp():
    """The kernel must know AF_XDP sockets and the build DPDK's driver for them."""
    try:
        socket.socket(44, socket.SOCK_RAW).close()
    except OSError as problem:
        raise Skip(f"no AF_XDP sockets: {problem.strerror}") from None


_libc = ctypes.CDLL(None, use_errno=True)


def _die_with_parent():
    _libc.prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def run(argv, seconds=20, check_code=True, **options):
    argv = [str(a) for a in argv]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=seconds, stdin=options.pop("stdin", subprocess.DEVNULL),
                          **options)
    if check_code and done.returncode != 0:
        words = " ".join(argv)
        raise Failure(f"{words[:300]}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done


def remove_leftovers():
    """Namespaces of runs whose process is gone."""
    if os.geteuid() != 0 or shutil.which("ip") is None:
        return
    for line in run(["ip", "netns", "list"], check_code=False).stdout.splitlines():
        found = re.match(rf"{PREFIX}(\d+)-", line)
        if found and not pathlib.Path("/proc", found[1]).exists():
            run(["ip", "netns", "del", line.split()[0]], check_code=False)


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path, seconds):
        super().__init__("merlon", timeout=seconds)
        self._path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


class Daemon:
    """A merlond with a folder of its own: configuration, state, socket, events, log."""

    def __init__(self, binaries, folder, instance, prefix=()):
        self.binaries = pathlib.Path(binaries)
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.instance = instance
        self.prefix = list(prefix)  # "ip netns exec NAME"
        self.process = None
        self.config = self.folder / "merlon.yaml"
        self.socket = self.folder / "api.sock"
        self.state = self.folder / "state"
        self.eve = self.folder / "eve.json"
        self.log = self.folder / "merlond.log"

    def command(self, *more):
        return [*self.prefix, str(self.binaries / "merlond"), "run", "-c", str(self.config), "--state", str(self.state),
                "--socket", str(self.socket), "--instance", self.instance, *more]

    def start(self, seconds=15, environment=None):
        log = open(self.log, "ab")
        self.process = subprocess.Popen(self.command(), stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                                        preexec_fn=_die_with_parent, env={**os.environ, **(environment or {})})
        log.close()

        def is_up():
            if self.process.poll() is not None:
                raise Failure(f"merlond ended with code {self.process.returncode}")
            return self.is_answering()

        wait_for(is_up, seconds, "the API answers")

    def is_answering(self):
        try:
            return self.get("/api/v1/status")["state"] == "running"
        except (OSError, http.client.HTTPException, Failure, KeyError):
            return False

    def stop(self, seconds=10):
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(seconds)

    def kill(self):
        self.process.kill()
        self.process.wait(10)

    def close(self):
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(5)
            except subprocess.TimeoutExpired:
                self.kill()

    def request(self, method, path, body=None, accept="application/json", seconds=15):
        connection = UnixConnection(self.socket, seconds)
        try:
            headers = {"Accept": accept}
            if body is not None:
                headers["Content-Type"] = "application/json"
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def get(self, path):
        status, text = self.request("GET", path)
        check_equal(status, 200, f"GET {path}: {text}")
        return json.loads(text)

    def commit(self, text, **wishes):
        body = {"files": [{"name": str(self.config), "text": text}], **wishes}
        status, answer = self.request("POST", "/api/v1/config/commit", body)
        check_equal(status, 200, f"commit: {answer}")
        return json.loads(answer)

    def merlon(self, *words, code=0, **options):
        """The client; returns its output, and its messages behind that."""
        environment = {**os.environ, "MERLON_SOCKET": str(self.socket), **options.pop("environment", {})}
        done = run([self.binaries / "merlon", *words], check_code=False, env=environment, **options)
        if done.returncode != code:
            raise Failure(f"merlon {' '.join(map(str, words))}: exit code {done.returncode}, expected {code}\n"
                          f"{done.stdout}{done.stderr}")
        return done.stdout + done.stderr

    def rows(self, what, *words):
        return json.loads(self.merlon("show", what, "-o", "json", *words))

    def drops(self):
        return {row["reason"]: row["packets"] for row in self.rows("drops")}

    def events(self, kind=None):
        """Whole lines of the event file."""
        lines = self.eve.read_text().split("\n")[:-1] if self.eve.exists() else []
        records = [json.loads(line) for line in lines]
        return [r for r in records if kind is None or r["event_type"] == kind]

    def metrics(self):
        status, text = self.request("GET", "/metrics", accept="text/plain")
        check_equal(status, 200, "GET /metrics")
        return text


class Lab:
    """Client and server namespaces with the firewall between them."""

    def __init__(self, context, mode="wire", policy=POLICY, mtu=1500, extra="", workers=1, start=True, driver=None,
                 zones=ZONES, offloads=None):
        """`driver`: a DPDK driver for the ports; without it they are kernel interfaces. `offloads`: whether the ends of
        the veth pairs leave checksums and segments to hardware that is not there; only kernel interfaces carry that."""
        need_root()
        self.context = context
        number = context.next_number()
        self.spaces = {who: f"{PREFIX}{os.getpid()}-{number}{who}" for who in ("c", "f", "s")}
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="merlon-smoke-"))
        self.policy, self.mtu, self.mode, self.extra, self.workers = policy, mtu, mode, extra, workers
        self.driver, self.zones = driver, zones
        self.offloads = driver is None if offloads is None else offloads
        self.children = []
        self.daemon = Daemon(context.binaries, self.folder / "d", f"{PREFIX}{os.getpid()}-{number}", self.inside("f"))
        context.log_files.append(self.daemon.log)
        try:
            self._build()
            self.daemon.config.write_text(self.config_text())
            if start:
                self.start()
        except BaseException:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def inside(self, who):
        return ["ip", "netns", "exec", self.spaces[who]]

    def _build(self):
        for name in self.spaces.values():
            run(["ip", "netns", "add", name])
        self._connect("lan", "c", CLIENT4, CLIENT6)
        self.connect_server()

    def connect_server(self):
        self._connect("wan", "s", SERVER4, SERVER6)

    def _connect(self, port, who, v4, v6):
        run(["ip", "-n", self.spaces["f"], "link", "add", port, "type", "veth", "peer", "name", "eth0", "netns", self.spaces[who]])
        # Behind a DPDK driver the sender's checksums and segments must be real: nothing finishes them.
        finish = "" if self.offloads else "ethtool -K eth0 tx off tso off gso off >/dev/null;"
        run([*self.inside(who), "sh", "-c", f"sysctl -qw net.ipv6.conf.eth0.router_solicitations=0; {finish} ip link set lo up;"
                                            f"ip link set eth0 mtu {self.mtu} up; ip addr add {v4}/24 dev eth0; ip addr add {v6}/64 dev eth0 nodad"])
        run([*self.inside("f"), "sh", "-c", f"sysctl -qw net.ipv6.conf.{port}.disable_ipv6=1; ip link set {port} mtu {self.mtu} up"])

    def config_text(self, policy=None):
        roles = "wires:\n  between: {ports: [lan, wan]}" if self.mode == "wire" else "taps: [lan, wan]"
        mtu = f", mtu: {self.mtu}" if self.mtu != 1500 else ""
        kind = "interface: {0}" if self.driver is None else f'device: "net_{self.driver}_{{0}},iface={{0}}"'
        return f"""version: 1
name: smoke
state_directory: {self.daemon.state}
workers: {{count: {self.workers}}}
ports:
  lan: {{{kind.format("lan")}{mtu}}}
  wan: {{{kind.format("wan")}{mtu}}}
{roles}
zones:{self.zones}
sessions: {{max: 20000}}
events:
  stats_interval: 1s
  file: {{path: {self.daemon.eve}}}
{self.extra}
{policy or self.policy}"""

    def start(self):
        self.daemon.start()
        if self.mode == "wire":
            # A new interface may swallow frames for a second.
            wait_for(lambda: self.ping(count=1).returncode == 0, 10, "the first ping passes")
            wait_for(lambda: self.ping(SERVER6, count=1).returncode == 0, 10, "the first IPv6 ping passes")

    def run_in(self, who, *argv, **options):
        return run([*self.inside(who), *argv], **options)

    def udp_counters(self, who):
        lines = [line.split() for line in self.run_in(who, "cat", "/proc/net/snmp").stdout.splitlines() if line.startswith("Udp:")]
        return dict(zip(lines[0][1:], map(int, lines[1][1:])))

    def ping(self, address=SERVER4, count=3, more=()):
        return self.run_in("c", "ping", "-n", "-c", count, "-i", "0.05", "-W", "1", *more, address, check_code=False)

    def spawn(self, who, *argv, output=subprocess.DEVNULL, stdin=subprocess.DEVNULL):
        child = subprocess.Popen([*self.inside(who), *map(str, argv)], stdout=output, stderr=subprocess.STDOUT, stdin=stdin,
                                 text=True, preexec_fn=_die_with_parent)
        self.children.append(child)
        return child

    def serve(self, who, *argv, tcp=None, udp=None, **options):
        """Starts a server and waits until its port is bound."""
        child = self.spawn(who, *argv, **options)
        port, kind = (tcp, "-ltn") if tcp else (udp, "-lun")

        def is_bound():
            check(child.poll() is None, f"{argv[0]} ended with code {child.returncode}")
            return f":{port} " in self.run_in(who, "ss", "-H", kind).stdout

        wait_for(is_bound, 5, f"{argv[0]} listens on port {port}")
        return child

    def web_server(self, size=300_000):
        """An HTTP server with one random file; returns its bytes."""
        folder = self.folder / "www"
        folder.mkdir(exist_ok=True)
        content = os.urandom(size)
        (folder / "file").write_bytes(content)
        self.serve("s", "python3", "-m", "http.server", "--bind", "::", "-d", folder, "80", tcp=80)
        return content

    def echo_server(self, port=7000):
        self.serve("s", "python3", ROOT / "tests/smoke/echo.py", "serve", port, tcp=port)

    def echo_client(self, port=7000, address=SERVER4):
        """A connection that says one line at a time; see Talk."""
        return Talk(self.spawn("c", "python3", ROOT / "tests/smoke/echo.py", "talk", address, port, output=subprocess.PIPE,
                               stdin=subprocess.PIPE))

    def send_frames(self, who, *frames):
        self.run_in(who, "python3", ROOT / "tests/smoke/echo.py", "send", "eth0", *[f.hex() for f in frames])

    def close(self):
        self.daemon.close()
        for child in self.children:
            if child.poll() is None:
                child.kill()
            child.wait()
            for stream in (child.stdin, child.stdout):
                if stream:
                    stream.close()
        for name in self.spaces.values():
            for process in run(["ip", "netns", "pids", name], check_code=False).stdout.split():
                try:
                    os.kill(int(process), signal.SIGKILL)
                except ProcessLookupError:
                    pass
            run(["ip", "netns", "del", name], check_code=False)
        self.context.keep_or_remove(self.folder)


class Talk:
    """The client's end of an echo connection."""

    def __init__(self, process):
        self.process = process
        check_equal(self.process.stdout.readline().strip(), "connected", "echo client")

    def say(self, seconds=2.0):
        """Sends a line; True when its echo came back in time."""
        self.process.stdin.write(f"{seconds}\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip() == "echo"


def read_pcap(path):
    """Frames of a little-endian Ethernet capture."""
    data = pathlib.Path(path).read_bytes()
    check(len(data) >= 24, f"{path} is no capture")
    magic = struct.unpack_from("<I", data)[0]
    check(magic in (0xa1b2c3d4, 0xa1b23c4d), f"{path}: magic {magic:x}")
    frames, at = [], 24
    while at + 16 <= len(data):
        size = struct.unpack_from("<I", data, at + 8)[0]
        frames.append(data[at + 16:at + 16 + size])
        at += 16 + size
    return frames

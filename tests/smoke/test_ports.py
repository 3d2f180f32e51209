# SPDX-License-Identifier: Apache-2.0
"""Ports by device string with a partner: virtual machines' network cards (vhost), shared memory (memif), tap.

The partner of a vhost or memif port is dpdk-testpmd: it forwards between a capture file and a virtio or memif device, as
a guest does, so that every frame that arrives can be compared with what was sent.
"""
import os
import pathlib
import signal
import struct
import subprocess
import tempfile
import time

from lab import (POLICY, PREFIX, ROOT, ZONES, Daemon, Failure, Lab, Skip, check, check_equal, check_in, need_root, need_tools, read_pcap,
                 wait_for, _die_with_parent)
from test_traffic import udp_frame


def write_pcap(path, frames):
    data = struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1)
    path.write_bytes(data + b"".join(struct.pack("<IIII", 0, i, len(f), len(f)) + f for i, f in enumerate(frames)))


class Guest:
    """A testpmd that carries frames of a capture into a device, or from it into one."""

    def __init__(self, lab, name, device, **capture):
        self.name, self.folder = name, lab.folder
        self.log = lab.folder / f"{name}.log"
        lab.context.log_files.append(self.log)
        ends = ",".join(f"{key}={path}" for key, path in capture.items())
        cores = ",".join(map(str, sorted(os.sched_getaffinity(0))[:2]))
        argv = ["stdbuf", "-oL", "dpdk-testpmd", "-l", cores, "--no-huge", "-m", "160", "--no-pci", "--no-telemetry", "--no-shconf",
                f"--file-prefix={name}", "--vdev", f"net_pcap0,{ends}", "--vdev", device,
                "--", "--interactive", "--forward-mode=io", "--total-num-mbufs=8192", "--no-lsc-interrupt",
                "--disable-link-check", "--no-flush-rx"]
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=log, stderr=log, preexec_fn=_die_with_parent,
                                            env={**os.environ, "RUNTIME_DIRECTORY": str(self.folder)})
        lab.guests.append(self)
        self.wait_for_text("testpmd>")

    def wait_for_text(self, text):
        def is_there():
            check(self.process.poll() is None, f"{self.name} ended with code {self.process.returncode}")
            return text in self.log.read_text(errors="replace")

        wait_for(is_there, 20, f"{self.name} says {text}")

    def start(self):
        """Only with a connected partner: what comes before is lost."""
        self.process.stdin.write(b"start\n")
        self.process.stdin.flush()
        self.wait_for_text("packet forwarding - ports=2")

    def stop(self):
        """Ends as a guest that is shut down; its capture is whole then."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        self.process.wait(20)
        self.process.stdin.close()

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(10)
        self.process.stdin.close()


class PartnerLab:
    """A daemon with two device ports that programs of this machine connect to."""

    def __init__(self, context, server, client):
        need_root()
        need_tools("dpdk-testpmd")
        if len(os.sched_getaffinity(0)) < 2:
            raise Skip("testpmd needs two processors")
        self.context, self.client = context, client
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="merlon-smoke-"))
        self.guests = []
        self.daemon = Daemon(context.binaries, self.folder / "d", f"{PREFIX}{os.getpid()}-{context.next_number()}")
        context.log_files.append(self.daemon.log)
        ports = "\n".join(f'  {port}: {{device: "{server.format(number=n, socket=self.socket(port))}"}}'
                          for n, port in enumerate(("lan", "wan")))
        self.daemon.config.write_text(f"""version: 1
name: smoke
state_directory: {self.daemon.state}
workers: {{count: 1}}
ports:
{ports}
wires:
  between: {{ports: [lan, wan]}}
zones:{ZONES}
sessions: {{max: 20000}}
{POLICY}""")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for guest in self.guests:
            guest.kill()
        self.daemon.close()
        self.context.keep_or_remove(self.folder)

    def socket(self, port):
        return self.folder / f"{port}.sock"

    def device(self, port):
        return self.client.format(socket=self.socket(port))

    def start(self):
        self.daemon.start(environment={"RUNTIME_DIRECTORY": str(self.folder)})

    def ports(self):
        return {row["port"]: row for row in self.daemon.rows("ports")}

    def wait_for_links(self, **links):
        wait_for(lambda: {name: self.ports()[name]["link"] for name in links} == links, 10, f"links {links}")

    def receiver(self, name):
        guest = Guest(self, name, self.device("wan"), tx_pcap=self.folder / f"{name}.pcap")
        self.wait_for_links(wan="up")
        guest.start()
        return guest

    def sender(self, name, frames):
        write_pcap(self.folder / f"{name}.pcap", frames)
        guest = Guest(self, name, self.device("lan"), rx_pcap=self.folder / f"{name}.pcap")
        self.wait_for_links(lan="up", wan="up")
        guest.start()
        return guest

    def sent_to(self, port):
        return self.ports()[port]["tx_packets"]


def frames_of(count, size, port=7000):
    """Frames that can be told apart by their last bytes."""
    return [udp_frame(size, port=port)[:-2] + struct.pack("!H", i) for i in range(count)]


def partners(context, driver, server, client):
    allowed, denied = frames_of(200, 60) + frames_of(40, 1514), frames_of(16, 60, port=9)
    with PartnerLab(context, server, client) as lab:
        lab.start()
        # Nobody is there yet: it says so instead of waiting.
        check_equal({p: r["link"] for p, r in lab.ports().items()}, {"lan": "down", "wan": "down"}, "links before anyone connects")
        check_equal({r["driver"] for r in lab.ports().values()}, {driver}, "drivers")
        check_in("lan, wan: nobody is connected yet", lab.daemon.log.read_text(), "log")

        receiver = lab.receiver("first")
        sender = lab.sender("out", allowed + denied)
        wait_for(lambda: lab.sent_to("wan") >= len(allowed), 10, "the frames pass")
        rows = lab.ports()
        check_equal((rows["lan"]["rx_packets"], rows["wan"]["tx_packets"]), (len(allowed + denied), len(allowed)), "counted packets")
        check_equal(rows["wan"]["tx_bytes"], sum(map(len, allowed)), "counted bytes")
        check_equal({k: v for k, v in lab.daemon.drops().items() if v}, {"default_deny": len(denied)}, "drops")
        receiver.stop()
        check(read_pcap(lab.folder / "first.pcap") == allowed, "the frames arrive as they were")

        # Both partners go, one of them without a word, and come again: the links follow, traffic passes again.
        lab.wait_for_links(wan="down")
        sender.kill()
        lab.wait_for_links(lan="down")
        for turn in ("second", "third"):
            receiver = lab.receiver(turn)
            before = lab.sent_to("wan")
            sender = lab.sender(f"out-{turn}", allowed)
            wait_for(lambda: lab.sent_to("wan") - before >= len(allowed), 10, f"the frames pass, {turn} time")
            receiver.stop()
            check(read_pcap(lab.folder / f"{turn}.pcap") == allowed, f"the frames arrive as they were, {turn} time")
            sender.kill()
            lab.wait_for_links(lan="down", wan="down")
        check(lab.daemon.is_answering(), "the API answers")
        check_equal(lab.daemon.stop(), 0, "exit code")


def test_vhost(context):
    partners(context, "net_vhost", "net_vhost{number},iface={socket}", "net_virtio_user0,path={socket},queues=1,queue_size=1024")


def test_memif(context):
    partners(context, "net_memif", "net_memif{number},role=server,socket={socket},socket-abstract=no",
             "net_memif0,role=client,socket={socket},socket-abstract=no")


class TapLab(Lab):
    """Both ports are interfaces that the daemon makes in its own namespace, as a host's virtual machines get them."""

    def config_text(self, policy=None):
        text = super().config_text(policy)
        for number, port in enumerate(("lan", "wan")):
            text = text.replace(f"{port}: {{interface: {port}}}", f'{port}: {{device: "net_tap{number},iface=t{port}"}}')
        return text

    def through(self, frames, name):
        """Sends frames into the one interface; returns what comes out of the other."""
        path = self.folder / f"{name}.pcap"
        capture = self.spawn("f", "tcpdump", "-i", "twan", "-Q", "in", "-U", "-s", "0", "-w", path, "ether", "src", "02:aa:00:00:00:01")
        wait_for(lambda: path.exists() and path.stat().st_size >= 24, 5, "tcpdump listens")
        time.sleep(0.1)
        self.run_in("f", "python3", ROOT / "tests/smoke/echo.py", "send", "tlan", *[f.hex() for f in frames])
        try:
            wait_for(lambda: len(read_pcap(path)) >= len(frames), 3, "the frames arrive")
        except Failure:
            pass  # the caller compares
        capture.terminate()
        capture.wait(5)
        return read_pcap(path)


def test_tap(context):
    need_tools("tcpdump")
    allowed, denied = frames_of(20, 60) + frames_of(4, 1514), frames_of(3, 60, port=9)
    with TapLab(context, start=False) as lab:
        lab.run_in("f", "sysctl", "-qw", "net.ipv6.conf.default.disable_ipv6=1")
        lab.daemon.start(environment={"RUNTIME_DIRECTORY": str(lab.folder)})
        links = lambda: {p["port"]: p["link"] for p in lab.daemon.rows("ports")}
        wait_for(lambda: links() == {"lan": "up", "wan": "up"}, 5, "links")
        check(lab.through(allowed, "first") == allowed, "the frames arrive as they were")
        check_equal(lab.through(denied, "denied"), [], "what policy denies")
        rows = {p["port"]: p for p in lab.daemon.rows("ports")}
        check_equal((rows["lan"]["driver"], rows["wan"]["tx_packets"]), ("net_tap", len(allowed)), "driver, frames sent")
        check_equal({k: v for k, v in lab.daemon.drops().items() if v}, {"default_deny": len(denied)}, "drops")
        lab.run_in("f", "ip", "link", "set", "twan", "down")
        wait_for(lambda: links()["wan"] == "down", 5, "the link down is seen")
        lab.run_in("f", "ip", "link", "set", "twan", "up")
        wait_for(lambda: links() == {"lan": "up", "wan": "up"}, 5, "links again")
        check(lab.through(allowed, "second") == allowed, "the frames arrive as they were")
        check_equal(lab.daemon.stop(), 0, "exit code")
        check("tlan" not in lab.run_in("f", "ip", "-br", "link").stdout, "the interfaces go with the daemon")

# SPDX-License-Identifier: Apache-2.0
"""Programs that forward packets without end on one core and stand still while it is not their turn.

All of them take the same frames from net_pcap's endless replay and give them to net_null, or, Merlon alone, from
its synthetic source. A rate is packets by the seconds for which the program really had the core: what other
programs took is left out for all alike."""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

WORK_CORE, CONTROL_CORE = 1, 0
MBUF_DATA = 256  # bytes of a frame in a buffer, for testpmd and Merlon alike
HEADROOM = 128


class Absent(Exception):
    """The contestant can't run here; the text says why."""


def prefer(process):
    """Lets the process and its session come before other programs, where that is allowed."""
    try:
        pathlib.Path(f"/proc/{process.pid}/autogroup").write_text("-19")
        os.setpriority(os.PRIO_PROCESS, process.pid, -19)
    except OSError:
        pass


def start(arguments, **options):
    process = subprocess.Popen(arguments, start_new_session=True, text=True, **options)
    prefer(process)
    return process


def thread_nanos(pid, name):
    """Nanoseconds on a core of the threads whose name starts with `name`."""
    total = 0
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        if (task / "comm").read_text().startswith(name):
            total += int((task / "schedstat").read_text().split()[0])
    return total


class Contestant:
    name = ""
    process = None

    def pause(self):
        os.kill(self.process.pid, signal.SIGSTOP)

    def resume(self):
        os.kill(self.process.pid, signal.SIGCONT)

    def measure(self, seconds):
        """Packets a second, in its turn."""
        self.resume()
        try:
            return self.rate(seconds)
        finally:
            self.pause()

    def close(self):
        if self.process is None:
            return
        self.resume()
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def rate_by_counter(self, thread, counter, seconds):
        time.sleep(0.3)
        before, nanos = counter(), thread_nanos(self.process.pid, thread)
        time.sleep(seconds)
        after, nanos = counter(), thread_nanos(self.process.pid, thread) - nanos
        if after <= before or nanos == 0:
            raise Absent(f"{self.name} forwards nothing")
        return (after - before) * 1e9 / nanos


class Merlon(Contestant):
    """merlon_perf live; `arguments` are its options."""

    def __init__(self, program, name, arguments):
        self.name, self.last = name, {}
        self.arguments = [str(program), "live", *map(str, arguments)]
        self.process = start(self.arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        if self.process.stdout.readline() != "ready\n":
            self.process.wait()
            raise RuntimeError(f"{' '.join(self.arguments)} did not start")
        self.pause()

    def rate(self, seconds):
        self.process.stdin.write(f"go {seconds}\n")
        self.process.stdin.flush()
        self.last = json.loads(self.process.stdout.readline())
        return self.last["pps"]


class Testpmd(Contestant):
    """DPDK's own forwarder in io mode: the limit of the devices."""

    name = "testpmd"

    def __init__(self, capture, frames, folder):
        program = shutil.which("dpdk-testpmd")
        if program is None:
            raise Absent("dpdk-testpmd is not installed (apt-get install dpdk)")
        if not free_huge_mib():
            raise Absent("no huge pages")
        buffers = 16384
        while buffers < frames + 8192:
            buffers *= 2
        memory = 96 + buffers * (MBUF_DATA + HEADROOM + 256) // 2**20
        self.process = start(
            ["stdbuf", "-oL", program, "-l", f"{CONTROL_CORE},{WORK_CORE}", "--in-memory", "--no-pci", "-m", str(memory),
             "--vdev", f"net_pcap_left,rx_pcap={capture},infinite_rx=1", "--vdev", "net_null_right,no-rx=1",
             "--", "-i", "--nb-cores=1", "--forward-mode=io", "--burst=64", f"--mbuf-size={MBUF_DATA + HEADROOM}",
             f"--total-num-mbufs={buffers - 1}", "--no-mlockall"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.log = (folder / "testpmd.log").open("w")
        self.order("start")
        if self.sent() is None:
            raise Absent("dpdk-testpmd did not start; see " + self.log.name)
        self.pause()

    def order(self, text):
        self.process.stdin.write(text + "\n")
        self.process.stdin.flush()

    def sent(self):
        self.order("show port stats 1")
        for line in self.process.stdout:
            self.log.write(line)
            found = re.search(r"TX-packets: (\d+)", line)
            if found:
                return int(found[1])
        return None

    def rate(self, seconds):
        # testpmd names its forwarding threads after DPDK's.
        return self.rate_by_counter(self.thread(), self.sent, seconds)

    def thread(self):
        names = [(t / "comm").read_text().strip() for t in pathlib.Path(f"/proc/{self.process.pid}/task").iterdir()]
        return next(n for n in names if re.search(rf"worker.*{WORK_CORE}$", n))


class OpenVSwitch:
    """A private OVS-DPDK with one poll-mode core; its configurations are contestants that share it."""

    def __init__(self, capture, folder):
        program = "/usr/lib/openvswitch-switch-dpdk/ovs-vswitchd-dpdk"
        if not os.path.exists(program):
            raise Absent("OVS-DPDK is not installed (apt-get install openvswitch-switch-dpdk)")
        if free_huge_mib() < 700:
            raise Absent(f"OVS-DPDK wants 512 MiB of huge pages of its own, {free_huge_mib()} MiB are free")
        self.folder = folder / "ovs"
        self.folder.mkdir()
        self.environment = {**os.environ, **{f"OVS_{v}DIR": str(self.folder) for v in ("RUN", "LOG", "DB", "SYSCONF")}}
        self.processes = []
        try:
            self.start(program, capture)
        except Exception:
            self.close()
            raise

    def start(self, program, capture):
        database = f"{self.folder}/conf.db"
        socket = f"unix:{self.folder}/db.sock"
        self.run("ovsdb-tool", "create", database, "/usr/share/openvswitch/vswitch.ovsschema")
        self.spawn("ovsdb-server", database, f"--remote=p{socket}", f"--unixctl={self.folder}/db.ctl")
        self.vsctl = ["ovs-vsctl", f"--db={socket}"]
        self.retry(*self.vsctl, "--no-wait", "init")
        self.run(*self.vsctl, "--no-wait", "set", "Open_vSwitch", ".", "other_config:dpdk-init=true",
                 "other_config:dpdk-socket-mem=512", f"other_config:pmd-cpu-mask={1 << WORK_CORE:#x}",
                 f"other_config:dpdk-lcore-mask={1 << CONTROL_CORE:#x}",
                 f"other_config:dpdk-extra=--no-pci --file-prefix=merlon-bench-{os.getpid()}")
        self.process = self.spawn(program, socket, f"--unixctl={self.folder}/vs.ctl")
        prefer(self.process)
        self.retry(*self.vsctl, "--timeout=20", "add-br", "br0", "--", "set", "bridge", "br0", "datapath_type=netdev",
                   "fail_mode=secure")
        for port, device in (("left", f"net_pcap_ol,rx_pcap={capture},infinite_rx=1"), ("right", "net_null_or,no-rx=1")):
            self.run(*self.vsctl, "--timeout=20", "add-port", "br0", port, "--", "set", "Interface", port, "type=dpdk",
                     f"options:dpdk-devargs={device}")
        numbers = [self.run(*self.vsctl, "get", "Interface", p, "ofport").strip() for p in ("left", "right")]
        if "-1" in numbers:
            raise Absent("OVS-DPDK refuses the devices: " + self.run(*self.vsctl, "get", "Interface", "left", "error"))
        self.left, self.right = numbers

    def spawn(self, *arguments):
        log = (self.folder / (os.path.basename(arguments[0]) + ".log")).open("w")
        process = subprocess.Popen(arguments, env=self.environment, stdout=log, stderr=log, start_new_session=True)
        self.processes.append(process)
        return process

    def run(self, *arguments):
        done = subprocess.run(arguments, env=self.environment, text=True, capture_output=True, timeout=30, check=False)
        if done.returncode != 0:
            raise Absent(f"OVS-DPDK: {' '.join(arguments[:3])} failed: {done.stderr.strip()[-300:]}")
        return done.stdout

    def retry(self, *arguments):
        for _ in range(50):
            try:
                return self.run(*arguments)
            except Absent as error:
                last = error
                time.sleep(0.2)
        raise last

    def flows(self, lines):
        path = self.folder / "flows"
        path.write_text("\n".join(lines) + "\n")
        self.run("ovs-ofctl", "-O", "OpenFlow13", "--bundle", "replace-flows", f"unix:{self.folder}/br0.mgmt", str(path))

    def sent(self):
        text = self.run("ovs-ofctl", "dump-ports", f"unix:{self.folder}/br0.mgmt", self.right)
        return int(re.search(r"tx pkts=(\d+)", text)[1])

    def close(self):
        for process in reversed(self.processes):
            os.kill(process.pid, signal.SIGCONT)
            process.terminate()
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


class OvsSetting(Contestant):
    """One configuration of the shared switch."""

    def __init__(self, switch, name, flows):
        self.switch, self.name, self.process = switch, name, switch.process
        self.flows = flows
        self.pause()

    def rate(self, seconds):
        self.switch.flows(self.flows)
        time.sleep(0.5)
        return self.rate_by_counter("pmd-c", self.switch.sent, seconds)

    def close(self):
        self.resume()


def ovs_settings(switch):
    out = f"actions=output:{switch.right}"
    forward = [f"in_port={switch.left},{out}"]
    blocks = [f"priority=100,udp,nw_src=198.18.{n // 256 % 256}.{n % 256},tp_dst={1024 + n},actions=drop"
              for n in range(4000)]
    conntrack = ["table=0,priority=10,ip,ct_state=-trk,actions=ct(table=1)",
                 f"table=1,priority=10,ip,ct_state=+trk+new,actions=ct(commit),output:{switch.right}",
                 f"table=1,priority=10,ip,ct_state=+trk+est,{out}"]
    return [OvsSetting(switch, "ovs_dpdk_forward", forward),
            OvsSetting(switch, "ovs_dpdk_4k_rules", blocks + [f"priority=1,in_port={switch.left},{out}"]),
            OvsSetting(switch, "ovs_dpdk_conntrack", conntrack)]


def free_huge_mib():
    folder = pathlib.Path("/sys/kernel/mm/hugepages")
    return sum(int((f / "free_hugepages").read_text()) * int(f.name.split("-")[1][:-2]) // 1024
               for f in folder.iterdir()) if folder.exists() else 0

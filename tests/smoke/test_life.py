# SPDX-License-Identifier: Apache-2.0
"""The configuration's life: check, diff, commit, confirmation, roll-back, and what a crash leaves behind."""
import json
import os
import re
import signal
import socket
import subprocess
import threading
import time

from lab import CLIENT4, POLICY, PREFIX, SERVER4, Daemon, Failure, Lab, check, check_equal, check_in, wait_for

CHAT = "- {id: chat,"
NO_CHAT = POLICY.replace(CHAT, "- {id: chat, enabled: false,")


def slow(test):
    """Mostly waits: the runner lets it run beside the others."""
    test.is_slow = True
    return test


def history(lab):
    return json.loads(lab.daemon.merlon("config", "history", "-o", "json"))


def revision(lab):
    return lab.daemon.get("/api/v1/status")["config_revision"]


def test_edit_to_rollback(context):
    with Lab(context) as lab:
        lab.echo_server()
        talk = lab.echo_client()
        check(talk.say(), "the echo passes")
        candidate = lab.folder / "candidate.yaml"

        # A slip in the editor: place, caret, hint, exit code 3; the daemon goes on.
        editor = {"EDITOR": "sed -i 's/action: permit, log: end}/action: permt, log: end}/'", "VISUAL": ""}
        said = lab.daemon.merlon("config", "edit", candidate, environment=editor, code=3)
        lines = candidate.read_text().splitlines()
        line = next(i for i, text in enumerate(lines, 1) if "permt" in text)
        check(re.search(rf"{line}:{lines[line - 1].index('permt') + 1}: error", said), f"place of the error in:\n{said}")
        check_in("^", said, "error")
        check_in("permit", said, "error")
        lab.daemon.merlon("config", "check", candidate, code=3)
        lab.daemon.merlon("config", "diff", candidate, code=3)
        lab.daemon.merlon("config", "commit", candidate, code=3)
        check_equal(revision(lab), 1, "revision after refused commits")
        check(talk.say(), "the echo still passes")

        # The mended candidate forbids the running conversation.
        candidate.write_text(lab.config_text(NO_CHAT))
        lab.daemon.merlon("config", "check", candidate)
        said = lab.daemon.merlon("config", "diff", candidate)
        check_in("chat", said, "diff")
        check(re.search(r"\b1 of \d+ live sessions? would be dropped", said), f"effect on live sessions in:\n{said}")
        check(talk.say(), "a diff changes nothing")
        said = lab.daemon.merlon("config", "commit", candidate, "--comment", "no more chat", "--base", "1")
        check_equal(revision(lab), 2, "revision after the commit")
        check(re.search(r"\b1 of \d+ live sessions? no longer permitted", said), f"what became of live sessions in:\n{said}")
        check(not talk.say(0.5), "the live session ends with the commit")
        lab.daemon.merlon("config", "commit", candidate, "--base", "1", code=6)

        said = lab.daemon.merlon("config", "rollback", "--comment", "chat again")
        check_equal(revision(lab), 3, "revision after the roll-back")
        wait_for(lambda: talk.say(0.5) or lab.echo_client().say(), 3, "conversations pass again")
        entries = history(lab)
        check_equal([e["revision"] for e in entries], [3, 2, 1], "revisions")
        check_equal([e["comment"] for e in entries][:2], ["chat again", "no more chat"], "comments")
        check_equal(entries[0]["content_of"], 1, "content of revision 3")
        check(all(e["author"] for e in entries), "every revision has an author")
        events = wait_for(lambda: len(lab.daemon.events("config")) >= 2 and lab.daemon.events("config"), 3, "config events")
        check_equal([e["config"]["revision"] for e in events][-2:], [2, 3], "revisions in config events")
        check_equal(events[-2]["config"]["sessions_ended"], 1, "sessions that revision 2 ended")


@slow
def test_confirm_runs_out(context):
    with Lab(context) as lab:
        lab.echo_server()
        check(lab.echo_client().say(), "the echo passes")
        candidate = lab.folder / "candidate.yaml"
        candidate.write_text(lab.config_text(NO_CHAT))
        lab.daemon.merlon("config", "commit", candidate, "--confirm", "1")
        start = time.monotonic()
        check_equal(revision(lab), 2, "revision that waits")
        deadline = lab.daemon.get("/api/v1/status")["confirm_deadline"]
        check(deadline, "the status names the deadline")
        said = lab.run_in("c", "nc", "-z", "-w", "1", SERVER4, "7000", check_code=False)
        check(said.returncode != 0, "the new policy is live while it waits")
        wait_for(lambda: revision(lab) == 3, 75, "the automatic roll-back")
        waited = time.monotonic() - start
        check(waited > 50, f"it came after {waited:.0f} s")
        check(lab.echo_client().say(), "the echo passes again")
        entries = history(lab)
        check_equal(entries[0]["content_of"], 1, "content of the running revision")
        check_in("not confirmed", entries[1]["reason"], "reason of the revision that waited")
        check(lab.daemon.get("/api/v1/status")["confirm_deadline"] is None, "nothing waits any more")
        # Confirmed in time, it stays.
        lab.daemon.merlon("config", "commit", candidate, "--confirm", "1")
        lab.daemon.merlon("config", "confirm")
        check(lab.daemon.get("/api/v1/status")["confirm_deadline"] is None, "nothing waits after the confirmation")
        check_equal(revision(lab), 4, "revision after the confirmation")
        lab.daemon.merlon("config", "confirm", code=1)


def test_kill_while_waiting(context):
    with Lab(context) as lab:
        lab.echo_server()
        candidate = lab.folder / "candidate.yaml"
        candidate.write_text(lab.config_text(NO_CHAT))
        lab.daemon.merlon("config", "commit", candidate, "--confirm", "5")
        check_equal(revision(lab), 2, "revision that waits")
        lab.daemon.kill()
        lab.start()
        entries = history(lab)
        check_equal((entries[0]["revision"], entries[0]["content_of"]), (3, 1), "the old content runs again")
        check_in("rolled back", entries[0]["reason"], "reason of the roll-back")
        check_in("not confirmed", entries[1]["reason"], "reason of what waited")
        check(lab.echo_client().say(), "the echo passes again")


def test_kill_in_commits(context):
    # The start file stays; commits alternate, and the process dies at any moment of them.
    with Lab(context) as lab:
        texts = [lab.config_text(NO_CHAT), lab.config_text(POLICY)]
        last, accepted = revision(lab), 0
        for round_number in range(10):
            stop = threading.Event()
            done = []

            def commit_forever():
                n = 0
                while not stop.is_set():
                    try:
                        done.append(lab.daemon.commit(texts[n % 2])["revision"])
                    except (OSError, Failure, ValueError, Exception):  # the connection dies with the daemon
                        return
                    n += 1

            thread = threading.Thread(target=commit_forever)
            thread.start()
            wait_for(lambda: done or not thread.is_alive(), 5, "a first commit")
            time.sleep(0.011 * round_number)
            lab.daemon.kill()
            stop.set()
            thread.join(10)
            accepted += len(done)
            lab.daemon.start()
            now = revision(lab)
            newest = max(done, default=last)
            # What was answered is there; of what was not answered at most one is, and half a commit is none. Numbers may
            # be left out.
            entries = history(lab)
            numbers = [e["revision"] for e in entries]
            what = f"round {round_number}, {newest} was acknowledged:\n{lab.daemon.merlon('config', 'history')}"
            committed = [e["revision"] for e in entries if e["reason"] == "committed" and e["revision"] > newest]
            check(now >= newest and newest in numbers, what)
            check(len(committed) <= 1, what)
            # A revision made by a roll-back has the content of an earlier one.
            content = {e["revision"]: e["content_of"] or e["revision"] for e in entries}
            check_equal(content[now], content[max([newest, *committed])], f"content of revision {now}; {what}")
            check_equal(numbers, sorted(set(numbers), reverse=True), "numbers in the history")
            check_equal(lab.daemon.rows("policy")[0]["rule"], "ping", "policy after the restart")
            last = now
        check(accepted >= 10, f"only {accepted} commits were accepted")
        log = lab.daemon.log.read_text()
        check("damage" not in log and "corrupt" not in log, "the store is whole")


def test_commits_under_traffic(context):
    commits_under_traffic(context, workers=1)


def test_commits_under_traffic_two_workers(context):
    commits_under_traffic(context, workers=2)


def commits_under_traffic(context, workers):
    with Lab(context, workers=workers) as lab:
        lab.serve("s", "iperf3", "-s", tcp=5201)
        iperf = lab.spawn("c", "iperf3", "-J", "-u", "-b", "8M", "-l", "400", "-c", SERVER4, "-t", "5", output=subprocess.PIPE)
        ping = lab.spawn("c", "ping", "-q", "-n", "-i", "0.005", "-c", "800", "-W", "2", SERVER4, output=subprocess.PIPE)
        wait_for(lambda: lab.daemon.rows("sessions", "rule=bulk", "proto=udp"), 5, "the datagrams' session")
        # Rules come and go around those that the traffic uses, which are judged again each time.
        extra = "    - {id: more-N, service: tcp/1-1000, source: 10.1.0.0/16, action: drop}\n"
        blocked = []
        for n in range(1, 21):
            report = lab.daemon.commit(lab.config_text(POLICY + (extra.replace("N", str(n)) if n % 2 else "")))
            blocked.append(report["blocked_ns"])
            time.sleep(0.1)
        said = ping.communicate(timeout=30)[0]
        counts = re.search(r"(\d+) packets transmitted, (\d+) received", said)
        result = json.loads(iperf.communicate(timeout=30)[0])["end"]["sum"]
        check_equal(revision(lab), 21, "revision after twenty commits")
        check(int(counts[1]) > 200, said)
        # What did not arrive must have a name: received by us = sent on + dropped with a reason.
        def books():
            ports = lab.daemon.rows("ports")
            return (sum(p["rx_packets"] for p in ports), sum(p["tx_packets"] for p in ports), sum(lab.daemon.drops().values()))

        def settled():
            first = books()
            return first if first[0] == first[1] + first[2] else None

        try:
            wait_for(settled, 3, "received = sent + dropped")
        except Failure:
            received, sent, dropped = books()
            raise Failure(f"received {received}, sent {sent}, dropped {dropped}") from None
        named = {k: v for k, v in lab.daemon.drops().items() if v}
        check_equal(named, {}, "drops")
        check_equal(int(counts[1]) - int(counts[2]), 0, "lost pings")
        # The server may be kept from reading for longer than its socket holds datagrams; the kernel counts those.
        unread = lab.udp_counters("s")["RcvbufErrors"]
        check_equal(result["lost_packets"] - unread, 0, f"lost datagrams ({unread} more were never read by the server)")
        check(max(blocked) < 1_000_000_000, f"blocked times {blocked}")
        check_in("policy_rechecks", json.dumps(lab.daemon.events("stats")[-1]), "stats")
        check(lab.daemon.events("stats")[-1]["stats"]["counters"]["policy_rechecks"] >= 20, "sessions were judged again")


def test_two_daemons(context):
    with Lab(context) as first, Lab(context) as second:
        check_equal(first.ping().returncode, 0, "ping through the first")
        check_equal(second.ping().returncode, 0, "ping through the second")
        # A third one with the socket or the state of the first is refused, and the first lives on.
        for socket_of, state_of, word in ((first, second, "socket"), (second, first, "state")):
            third = Daemon(context.binaries, first.folder / f"third-{word}", f"{first.daemon.instance}t", first.inside("f"))
            third.config.write_text(third_config(third))
            argv = third.command()
            if word == "socket":
                argv[argv.index("--socket") + 1] = str(first.daemon.socket)
            else:
                argv[argv.index("--state") + 1] = str(first.daemon.state)
            done = subprocess.run(argv, capture_output=True, text=True, timeout=15)
            check_equal(done.returncode, 6, f"exit code with a {word} in use: {done.stderr}")
            check(first.daemon.is_answering(), f"the first daemon answers after the refusal ({word})")
        check_equal(first.daemon.stop(), 0, "exit code of the first")
        check_equal(second.ping().returncode, 0, "ping through the second after the first's end")


def third_config(daemon):
    return f"""version: 1
ports:
  a: {{device: net_null0}}
  b: {{device: net_null1}}
wires: {{w: {{ports: [a, b]}}}}
zones: {{all: {{ports: [a, b]}}}}
sessions: {{max: 2000}}
events: {{file: {{path: {daemon.eve}}}}}
"""


def test_broken_start_file(context):
    with Lab(context) as lab:
        candidate = lab.folder / "candidate.yaml"
        candidate.write_text(lab.config_text(NO_CHAT))
        lab.daemon.merlon("config", "commit", candidate)
        check_equal(lab.daemon.stop(), 0, "exit code")
        # The last valid revision, loudly.
        lab.daemon.config.write_text(lab.config_text(POLICY.replace("default: drop", "default: dorp")))
        lab.daemon.start()
        log = lab.daemon.log.read_text()
        check_in("dorp", log, "log")
        check(re.search(r"merlon\.yaml:\d+:\d+: error", log), "place of the error in the log")
        check_in("revision", log, "log")
        rules = {r["rule"]: r["state"] for r in lab.daemon.rows("policy")}
        check(rules["chat"] != "active", f"the committed policy runs: {rules}")
        lab.daemon.stop()
    # Without any revision nothing starts: an inline firewall never comes up open by accident.
    with Lab(context, start=False) as lab:
        lab.daemon.config.write_text("version: 1\nports: {lan: {devise: x}}\n")
        done = subprocess.run(lab.daemon.command(), capture_output=True, text=True, timeout=15)
        check_equal(done.returncode, 3, "exit code")
        check_in("devise", done.stderr, "message")
        check(lab.ping(count=1).returncode != 0, "nothing passes")


def test_service_manager(context):
    with Lab(context, start=False) as lab:
        path = lab.folder / "notify"
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            manager.bind(str(path))
            manager.settimeout(10)
            lab.daemon.start(environment={"NOTIFY_SOCKET": str(path)})
            check_in("READY=1", manager.recv(4096).decode(), "first notice")
            check_equal(lab.daemon.stop(), 0, "exit code")
            check_in("STOPPING=1", manager.recv(4096).decode(), "last notice")
        check(not lab.daemon.socket.exists(), "the socket is removed at the end")
        # A socket that a killed daemon left is no obstacle.
        lab.daemon.start()
        lab.daemon.kill()
        check(lab.daemon.socket.exists(), "a killed daemon leaves its socket")
        lab.daemon.start()
        lab.daemon.process.send_signal(signal.SIGINT)
        check_equal(lab.daemon.process.wait(10), 0, "exit code after an interrupt")


def test_limits(context):
    # A full table and a full source are named, and what exists goes on.
    extra = "drops: {ring_packets: 4}"
    with Lab(context, extra=extra, start=False) as lab:
        text = lab.config_text(POLICY.replace("id: chat,", "id: chat, max_sessions_per_source: 50,"))
        lab.daemon.config.write_text(text.replace("sessions: {max: 20000}", "sessions: {max: 1024}"))
        lab.start()
        lab.echo_server()
        talk = lab.echo_client()
        check(talk.say(), "the echo passes")
        lab.run_in("c", "python3", "-c", f"""
import socket
for n in range(300):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.bind(('', 20000 + n)); s.sendto(b'x', ('{SERVER4}', 7001)); s.close()""")
        wait_for(lambda: lab.daemon.drops().get("source_limit", 0) + lab.daemon.drops().get("rule_limit", 0) >= 200, 3, "drops at the limit")
        check(len(lab.daemon.rows("sessions", "rule=chat")) <= 51, "sessions of the rule")
        lab.run_in("c", "python3", "-c", f"""
import socket
for n in range(3000):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.bind(('', 20000 + n)); s.sendto(b'x', ('{SERVER4}', 5201)); s.close()""")
        pool = [p for p in lab.daemon.rows("pools") if p["pool"].startswith("sessions")][0]
        check(pool["used"] <= pool["limit"], f"pool {pool}")
        check(pool["peak"] >= 1000, f"pool {pool}")
        check(talk.say(), "the established session outlives the flood")
        check(len(lab.daemon.rows("drops", "--packets", "--reason", "source_limit")) <= 4, "packets kept")

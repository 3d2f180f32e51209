# SPDX-License-Identifier: Apache-2.0
# ./dev demo [--replay-only]: set up, build, then real traffic judged: captures of real clients first, which needs no
# root, then live clients in network namespaces, which does.
need build test demo
build release --target merlond merlon
if [ "${1:-}" = --replay-only ]; then has_live=no; else has_live=yes; fi
export PATH=$PWD/build/release/bin:$PATH
unset MERLON_SOCKET
demo=build/demo
rm -rf $demo
mkdir -p $demo
if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then bold=$'\e[1m' dim=$'\e[2m' plain=$'\e[0m'; else bold='' dim='' plain=''; fi

title() { printf '\n%s%s%s\n' "$bold" "$*" "$plain"; }
note() { printf '%s%s%s\n' "$dim" "$*" "$plain"; }
# show COMMAND: prints a command line, then runs it. Its exit code is part of the story, not of ours.
show() {
  printf '%s$ %s%s\n' "$bold" "$1" "$plain"
  bash -c "$1" 2>&1 || true
}

title "1. The policy: examples/demo.yaml"
show "merlon check -c examples/demo.yaml"

title "2. Captures of real clients through it"
note "curl, dig, ssh, openssl, iperf3, ping, traceroute, nmap, hping3; tests/data/README.md tells what each does."
show "merlon replay -c examples/demo.yaml --out $demo/day --out-pcap $demo/day/forwarded.pcap tests/data/*.pcap"

title "3. What the sessions were"
note "Events are one JSON object a line, with the field names that log pipelines know."
show "jq -r 'select(.event_type == \"flow\") | \"\(.proto) \(.src_ip):\(.src_port) -> \(.dest_ip):\(.dest_port)  \(.policy.rule)  \(.flow.bytes_toserver)+\(.flow.bytes_toclient) bytes, \(.tcp.state // .flow.state)\"' $demo/day/eve.json | head -12"

title "4. Who was turned away, and by which rule"
show "jq -r 'select(.event_type == \"policy\" and .policy.action != \"permit\") | \"\(.policy.action) \(.policy.rule) \(.policy.reason // \"\")\"' $demo/day/eve.json | sort | uniq -c"

title "5. Why"
show "merlon explain -c examples/demo.yaml packet lan 10.20.0.10:40000 198.51.100.80:23 tcp syn"

title "6. The same captures by night"
note "examples/demo-night.yaml: no speed tests, no logins."
show "diff examples/demo.yaml examples/demo-night.yaml"
show "merlon replay -q -c examples/demo-night.yaml --out $demo/night tests/data/*.pcap"
verdicts="jq -c 'select(.event_type == \"policy\") | [.proto, .src_ip, .dest_ip, .dest_port, .policy.action, .policy.rule]'"
show "diff <($verdicts $demo/day/eve.json | sort -u) <($verdicts $demo/night/eve.json | sort -u)"
note "The same run again gives the same bytes:"
merlon replay -q -c examples/demo-night.yaml --out $demo/again tests/data/*.pcap
show "cmp $demo/night/eve.json $demo/again/eve.json && echo identical"

live_part() {
  local space
  tag=demo$$
  client=$tag-client firewall=$tag-firewall server=$tag-server
  trap 'live_end' EXIT
  trap 'exit 130' INT TERM
  for space in $client $firewall $server; do ip netns add "$space" 2>$demo/netns.log || return 1; done
  ip -n "$firewall" link add lan type veth peer name eth0 netns "$client"
  ip -n "$firewall" link add wan type veth peer name eth0 netns "$server"
  for space in $client $server; do
    ip netns exec "$space" sysctl -qw net.ipv6.conf.all.disable_ipv6=1
    ip -n "$space" link set lo up
    ip -n "$space" link set eth0 up
  done
  ip -n "$client" addr add 10.20.0.10/24 dev eth0
  ip -n "$client" route add 198.51.100.0/24 dev eth0
  ip -n "$server" addr add 198.51.100.80/24 dev eth0
  ip -n "$server" route add 10.20.0.0/24 dev eth0
  for port in lan wan; do
    ip netns exec "$firewall" sysctl -qw "net.ipv6.conf.$port.disable_ipv6=1"
    ip -n "$firewall" link set "$port" up
  done
  mkdir -p $demo/live/www
  echo 'hello from the server' >$demo/live/www/index.html
  ip netns exec "$server" python3 -m http.server -d $demo/live/www 80 &>$demo/live/http.log &
  ip netns exec "$server" iperf3 -s &>$demo/live/iperf3.log &
  ip netns exec "$server" nc -lk 23 &>/dev/null </dev/null &
}

live_end() {
  local space
  for space in $client $firewall $server; do
    ip netns pids "$space" 2>/dev/null | xargs -r kill 2>/dev/null || true
  done
  for _ in $(seq 50); do
    [ -z "$(ip netns pids "$firewall" 2>/dev/null)" ] && break
    sleep 0.1
  done
  for space in $client $firewall $server; do ip netns del "$space" 2>/dev/null || true; done
}

# in_client COMMAND: a command of the client, shown as its prompt shows it.
in_client() {
  printf '%sclient$ %s%s\n' "$bold" "$1" "$plain"
  ip netns exec "$client" bash -c "$1" 2>&1 || true
}

run_live() {
  local here=$PWD
  title "7. Live: client - firewall - server in three network namespaces"
  note "\$ merlon run -c examples/demo.yaml    (in namespace $firewall; its log: $demo/live/merlond.log)"
  (cd $demo/live && exec ip netns exec "$firewall" merlon run -c "$here/examples/demo.yaml" --state "$here/$demo/live/state" \
    --socket "$here/$demo/live/api.sock" --instance "$tag" &>merlond.log) &
  daemon=$!
  export MERLON_SOCKET=$here/$demo/live/api.sock
  # Packets may pass before the API answers.
  for _ in $(seq 100); do
    merlon show status &>/dev/null && ip netns exec "$client" ping -q -c1 -W1 198.51.100.80 &>/dev/null && break
    kill -0 $daemon 2>/dev/null || break
    sleep 0.1
  done
  merlon show status >/dev/null || {
    cat $demo/live/merlond.log
    die "the daemon does not answer"
  }
  show "merlon show ports --columns port,link,driver,role,zone,rx_packets,tx_packets"
  in_client "curl -s http://198.51.100.80/"
  in_client "iperf3 -c 198.51.100.80 -t 2 | grep -E 'sender|receiver'"
  in_client "nc -vz -w 2 198.51.100.80 23"
  title "8. Why telnet does not work"
  show "merlon show drops"
  show "merlon show drops --packets --limit 2"
  show "merlon explain packet lan 10.20.0.10:40000 198.51.100.80:23 tcp syn"
  show "merlon show policy"
  show "merlon show sessions"
  title "9. A commit while a speed test runs"
  ip netns exec "$client" iperf3 -c 198.51.100.80 -t 60 &>$demo/live/client-iperf3.log &
  for _ in $(seq 50); do
    [ "$(merlon show sessions rule=speed-tests state=established -o jsonl | wc -l)" -ge 2 ] && break
    sleep 0.1
  done
  show "merlon config diff examples/demo-night.yaml"
  show "merlon config commit examples/demo-night.yaml --confirm 5 --comment 'good night'"
  in_client "nc -vz -w 1 198.51.100.80 5201"
  in_client "curl -s http://198.51.100.80/"
  show "merlon config rollback --comment 'too early'"
  in_client "nc -vz -w 1 198.51.100.80 5201"
  show "merlon config history"
}

if [ $has_live = no ]; then
  note "Left out, as asked: the live part."
elif [ "$(id -u)" -ne 0 ]; then
  title "7. Left out: live clients in network namespaces, because that needs root (sudo ./dev demo)"
elif ! live_part; then
  title "7. Left out: live clients, because network namespaces are not allowed here"
  cat $demo/netns.log
else
  run_live
fi

title "Where things are"
echo "$demo/day/     eve.json, summary.json, forwarded.pcap of the day's policy"
echo "$demo/night/   eve.json and summary.json of the night's"
[ -d $demo/live ] && echo "$demo/live/    the live daemon's log, events and revisions"
echo "examples/           configurations to start from; docs/user-guide.md walks through one"
echo
echo "Next: merlon replay YOUR.pcap, merlon help, merlon watch; binaries are in build/release/bin"

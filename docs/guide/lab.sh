#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The small network of docs/user-guide.md: two namespaces, office (10.0.0.5) and internet (10.0.0.80), each at the end
# of a veth pair whose near ends, lan0 and wan0, are for the firewall. Needs root.
#   lab.sh up           makes it
#   lab.sh servers      starts a web server and a telnet port in internet
#   lab.sh record FILE  joins lan0 and wan0 by a plain bridge for a moment and records what real clients do
#   lab.sh down         removes everything
set -euo pipefail

up() {
  local side
  for side in office:lan0:10.0.0.5 internet:wan0:10.0.0.80; do
    IFS=: read -r space near address <<<"$side"
    ip netns add "$space"
    ip link add "$near" type veth peer name eth0 netns "$space"
    # Nothing of this host's own shall appear in the lab, and checksums shall be real ones.
    sysctl -qw "net.ipv6.conf.$near.disable_ipv6=1"
    ip netns exec "$space" sysctl -qw net.ipv6.conf.all.disable_ipv6=1
    ip netns exec "$space" ethtool -K eth0 tx off >/dev/null
    ip -n "$space" address add "$address/24" dev eth0
    ip -n "$space" link set lo up
    ip -n "$space" link set eth0 up
    ip link set "$near" up
  done
}

servers() {
  mkdir -p /tmp/lab-www
  echo 'hello from the internet' >/tmp/lab-www/index.html
  ip netns exec internet python3 -m http.server --directory /tmp/lab-www 80 >/tmp/lab-www.log 2>&1 &
  ip netns exec internet nc -lk 23 >/dev/null 2>&1 &
}

clients() {
  local office=(ip netns exec office)
  "${office[@]}" ping -q -c 2 -i 0.3 10.0.0.80
  "${office[@]}" curl -s http://10.0.0.80/
  "${office[@]}" nc -w1 -z 10.0.0.80 23
  "${office[@]}" nc -w1 -z 10.0.0.80 22 || true
  echo query | "${office[@]}" nc -u -w1 10.0.0.80 53 || true
  ip netns exec internet nc -w1 -z 10.0.0.5 8080 || true
}

record() {
  ip link add lab-bridge type bridge mcast_snooping 0
  sysctl -qw net.ipv6.conf.lab-bridge.disable_ipv6=1
  ip link set lan0 master lab-bridge
  ip link set wan0 master lab-bridge
  ip link set lab-bridge up
  ip netns exec office tcpdump -q -U -i eth0 -w - >"$1" 2>/dev/null &
  local recorder=$!
  sleep 1
  clients
  sleep 1
  kill "$recorder"
  ip link delete lab-bridge
}

case ${1:-} in
  up) up ;;
  servers) servers ;;
  record) record "$2" ;;
  down)
    # The pairs by name: a namespace takes them along only when its last process has gone.
    for link in lan0 wan0 lab-bridge; do ip link delete "$link" 2>/dev/null || true; done
    for space in office internet; do
      ip netns pids "$space" 2>/dev/null | xargs -r kill || true
      ip netns delete "$space" 2>/dev/null || true
    done
    rm -rf /tmp/lab-www /tmp/lab-www.log
    ;;
  *)
    echo "usage: lab.sh up|servers|record FILE|down" >&2
    exit 2
    ;;
esac

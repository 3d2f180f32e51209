#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Records the captures of this folder anew: real clients in a namespace, a router, real servers in another.
#   tests/data/record.sh [NAME...]     needs root and: apt-get install tcpdump curl dnsutils openssh-client openssh-server
#                                      openssl iperf3 nmap hping3 iputils-ping traceroute netcat-openbsd ethtool python3
# Captured at the client's interface, checksums and segments made by the stack, none by hardware.
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
[ "$(id -u)" = 0 ] || { echo "record.sh: needs root" >&2; exit 1; }
tag=rec$$
work=$(mktemp -d)
client=$tag-c router=$tag-r server=$tag-s

clean_up() {
  for space in $client $router $server; do
    ip netns pids "$space" 2>/dev/null | xargs -r kill -9 2>/dev/null || true
    ip netns del "$space" 2>/dev/null || true
  done
  rm -rf "$work"
}
trap clean_up EXIT
trap 'exit 1' INT TERM

in_client() { ip netns exec "$client" "$@"; }
in_server() { ip netns exec "$server" "$@"; }

# client 10.20.0.10, 2001:db8:20::10 = router = server 198.51.100.80, 2001:db8:80::80.
build() {
  for space in $client $router $server; do ip netns add "$space"; done
  ip -n "$router" link add left type veth peer name eth0 netns "$client"
  ip -n "$router" link add right type veth peer name eth0 netns "$server"
  local place
  for place in "$client eth0" "$router left" "$router right" "$server eth0"; do
    # shellcheck disable=SC2086
    set -- $place
    ip netns exec "$1" sysctl -qw "net.ipv6.conf.$2.accept_dad=0" "net.ipv6.conf.$2.router_solicitations=0"
    ip netns exec "$1" ethtool -K "$2" tx off tso off gso off gro off >/dev/null
    ip -n "$1" link set lo up
    ip -n "$1" link set "$2" up
  done
  ip -n "$client" addr add 10.20.0.10/24 dev eth0
  ip -n "$client" addr add 2001:db8:20::10/64 dev eth0
  ip -n "$router" addr add 10.20.0.1/24 dev left
  ip -n "$router" addr add 2001:db8:20::1/64 dev left
  ip -n "$router" addr add 198.51.100.1/24 dev right
  ip -n "$router" addr add 2001:db8:80::1/64 dev right
  ip -n "$server" addr add 198.51.100.80/24 dev eth0
  ip -n "$server" addr add 2001:db8:80::80/64 dev eth0
  ip netns exec "$router" sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1 net.ipv4.icmp_ratelimit=0 net.ipv6.icmp.ratelimit=0
  in_server sysctl -qw net.ipv4.icmp_ratelimit=0 net.ipv6.icmp.ratelimit=0
  for space in $client $server; do
    local v4=198.51.100.1 v6=2001:db8:80::1
    [ "$space" = "$client" ] && v4=10.20.0.1 v6=2001:db8:20::1
    ip -n "$space" route add default via $v4
    ip -n "$space" -6 route add default via $v6
  done
  until in_client ping -q -c1 -W1 198.51.100.80 >/dev/null && in_client ping -q -c1 -W1 2001:db8:80::80 >/dev/null; do :; done
}

# wait_port tcp|udp PORT: until a server listens.
wait_port() {
  local list=-ltn
  [ "$1" = udp ] && list=-lun
  for _ in $(seq 100); do
    [[ $(in_server ss -H $list) == *":$2 "* ]] && return
    sleep 0.05
  done
  echo "record.sh: nothing listens on $1 port $2" >&2
  cat "$work/sshd.log" >&2
  exit 1
}

# record NAME COMMAND...: what passes the client's interface while the function runs.
record() {
  local name=$1
  shift
  ip netns exec "$client" tcpdump -Z root --immediate-mode -U -i eth0 -s 0 -w "$work/$name.pcap" not arp 2>"$work/tcpdump" &
  local capture=$!
  until grep -q listening "$work/tcpdump"; do sleep 0.05; done
  "$@" >"$work/$name.log" 2>&1 || { cat "$work/$name.log" >&2; echo "record.sh: $name failed" >&2; exit 1; }
  sleep 0.5
  kill $capture
  wait $capture || true
  mv "$work/$name.pcap" "$here/$name.pcap"
  echo "$name.pcap: $(stat -c %s "$here/$name.pcap") bytes, $(tcpdump -nr "$here/$name.pcap" 2>/dev/null | wc -l) packets"
}

http() {
  local host
  for host in 198.51.100.80 '[2001:db8:80::80]'; do
    in_client curl -sS -o /dev/null "http://$host/index.html" "http://$host/page.txt"
    in_client curl -sS -o /dev/null "http://$host/missing"
    in_client curl -sS -I -o /dev/null "http://$host/page.txt"
  done
}
dns() {
  local server
  for server in 198.51.100.80 2001:db8:80::80; do
    in_client dig +noall +answer @$server www.example.test A www.example.test AAAA example.test TXT
    in_client dig +tcp @$server www.example.test A
    in_client dig @$server nowhere.example.test A
  done
}
ssh_login() {
  in_client ssh -F /dev/null -i "$work/key" -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o BatchMode=yes \
    root@198.51.100.80 'echo here; uname -s'
}
tls() {
  local version host
  for version in -tls1_2 -tls1_3; do
    for host in 198.51.100.80:443 '[2001:db8:80::80]:443'; do
      printf 'GET / HTTP/1.0\r\n\r\n' | in_client openssl s_client $version -quiet -ign_eof -servername www.example.test -connect "$host"
    done
  done
}
iperf() {
  in_client iperf3 -c 198.51.100.80 -n 60K
  in_client iperf3 -c 2001:db8:80::80 -u -b 1M -l 500 -n 20K
}
telnet() {
  printf 'root\r\nsecret\r\n' | in_client nc -q 1 -w 2 198.51.100.80 23
}
# -M do: the stack learns the path's MTU from the router.
path_mtu() {
  in_client ip route flush cache
  in_client nc -q 1 -w 2 198.51.100.80 9 <"$work/www/page.txt"
  in_client ping -c 2 -i 0.2 -M 'do' -s 1450 198.51.100.80 || true
  in_client ping -c 2 -i 0.2 -M 'do' -s 1430 2001:db8:80::80 || true
}
pings() {
  in_client ping -c 3 -i 0.2 198.51.100.80
  in_client ping -c 3 -i 0.2 2001:db8:80::80
  in_client ping -c 1 -W 1 198.51.100.99 || true
}
fragments() {
  in_client ping -c 2 -i 0.2 -s 4000 198.51.100.80
  in_client ping -c 2 -i 0.2 -s 4000 2001:db8:80::80
}
trace() {
  in_client traceroute -n -q 2 -w 1 198.51.100.80
  in_client traceroute -n -I -q 1 -w 1 198.51.100.80
  in_client traceroute -n -T -p 80 -q 1 -w 1 198.51.100.80
  in_client traceroute -6 -n -q 2 -w 1 2001:db8:80::80
}
scan() {
  in_client nmap -n -Pn -sS -p 1-120 --max-retries 0 198.51.100.80
  in_client nmap -n -Pn -sS -f -p 22,80 --max-retries 0 198.51.100.80
  local kind
  for kind in -sF -sN -sX -sA -sM; do in_client nmap -n -Pn $kind -p 79-83 --max-retries 0 198.51.100.80; done
  in_client nmap -n -Pn -sU -p 53,123,161 --max-retries 0 198.51.100.80
  in_client nmap -6 -n -Pn -sS -p 20-30 --max-retries 0 2001:db8:80::80
}
flood() {
  in_client hping3 -q -S -p 80 -i u1000 -c 150 --rand-source 198.51.100.80 || true
  in_client hping3 -q -2 -p 9 -i u1000 -c 20 198.51.100.80 || true
  in_client hping3 -q -S -p 80 -s 80 -k -a 198.51.100.80 -c 2 198.51.100.80 || true
}

serve() {
  mkdir "$work/www"
  echo '<h1>Merlon</h1>' >"$work/www/index.html"
  seq 6000 >"$work/www/page.txt"
  in_server python3 -m http.server --bind :: -d "$work/www" 80 &>/dev/null &
  in_server python3 "$here/dns_server.py" 53 &>/dev/null &
  in_server iperf3 -s &>/dev/null &
  # Like telnetd's first words: options, then a prompt in clear text.
  printf '\377\375\030\377\375\040Debian GNU/Linux 12\r\nlogin: ' >"$work/greeting"
  in_server nc -lk 23 <"$work/greeting" &>/dev/null &
  in_server nc -lk 9 &>/dev/null &
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 3650 -subj /CN=www.example.test \
    -keyout "$work/tls.key" -out "$work/tls.crt" &>/dev/null
  in_server openssl s_server -quiet -www -accept '[::]:443' -key "$work/tls.key" -cert "$work/tls.crt" &>/dev/null &
  ssh-keygen -q -t ed25519 -N '' -f "$work/key"
  ssh-keygen -q -t ed25519 -N '' -f "$work/host_key"
  cp "$work/key.pub" "$work/authorized"
  chmod 700 "$work"
  mkdir -p /run/sshd
  in_server /usr/sbin/sshd -D -f /dev/null -h "$work/host_key" -o AuthorizedKeysFile="$work/authorized" -o StrictModes=no \
    -o PidFile=none -o PermitRootLogin=yes -o UsePAM=no -o UseDNS=no &>"$work/sshd.log" &
  local port
  for port in 9 22 23 80 443 5201 53; do wait_port tcp $port; done
  wait_port udp 53
}

build
serve
wanted=("$@")
want() { [ ${#wanted[@]} -eq 0 ] || [[ " ${wanted[*]} " == *" $1 "* ]]; }
if want http; then record http http; fi
if want dns; then record dns dns; fi
if want ssh; then record ssh ssh_login; fi
if want tls; then record tls tls; fi
if want iperf3; then record iperf3 iperf; fi
if want telnet; then record telnet telnet; fi
if want ping; then record ping pings; fi
if want fragments; then record fragments fragments; fi
if want traceroute; then record traceroute trace; fi
if want scan; then record scan scan; fi
if want flood; then record flood flood; fi
if want path-mtu; then
  # The second link is narrow only where that is the subject.
  ip -n "$router" link set right mtu 1400
  record path-mtu path_mtu
fi

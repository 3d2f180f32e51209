# SPDX-License-Identifier: Apache-2.0
"""A name server of five names, over UDP and TCP, for recording: dns_server.py PORT"""
import ipaddress
import socket
import socketserver
import struct
import sys
import threading

RECORDS = {
    ("www.example.test", 1): ipaddress.ip_address("198.51.100.80").packed,
    ("www.example.test", 28): ipaddress.ip_address("2001:db8:80::80").packed,
    ("example.test", 16): b"\x0bhello there",
}
NAMES = {name for name, _ in RECORDS}


def answer(question):
    """The reply to one query; no compression but the pointer to the question."""
    number, flags = struct.unpack_from("!HH", question)
    labels, at = [], 12
    while question[at]:
        labels.append(question[at + 1:at + 1 + question[at]].decode())
        at += 1 + question[at]
    kind = struct.unpack_from("!H", question, at + 1)[0]
    name, asked = ".".join(labels).lower(), question[12:at + 5]
    data = RECORDS.get((name, kind))
    code = 0 if name in NAMES else 3
    header = struct.pack("!HHHHHH", number, 0x8400 | (flags & 0x0100) | code, 1, 0 if data is None else 1, 0, 0)
    record = b"" if data is None else struct.pack("!HHHIH", 0xC00C, kind, 1, 60, len(data)) + data
    return header + asked + record


class Udp(socketserver.BaseRequestHandler):
    def handle(self):
        self.request[1].sendto(answer(self.request[0]), self.client_address)


class Tcp(socketserver.BaseRequestHandler):
    def handle(self):
        size = struct.unpack("!H", self.request.recv(2))[0]
        reply = answer(self.request.recv(size))
        self.request.sendall(struct.pack("!H", len(reply)) + reply)


class V6Udp(socketserver.UDPServer):
    address_family = socket.AF_INET6
    allow_reuse_address = True


class V6Tcp(socketserver.TCPServer):
    address_family = socket.AF_INET6
    allow_reuse_address = True


port = int(sys.argv[1])
servers = [V6Udp(("::", port), Udp), V6Tcp(("::", port), Tcp)]
for server in servers:
    threading.Thread(target=server.serve_forever).start()

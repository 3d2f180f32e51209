# SPDX-License-Identifier: Apache-2.0
"""Small ends of conversations, run inside a namespace.

echo.py serve PORT          TCP echo server
echo.py talk HOST PORT      connects, says "connected"; for each line read (seconds to wait) sends one byte and says
                            "echo", "silence" or "closed"
echo.py send IF HEX...      sends raw frames
echo.py udp HOST PORT       sends one datagram and says the error that comes back, or "silence"
"""
import errno
import socket
import sys
import threading


def serve(port):
    listener = socket.create_server(("::", port), family=socket.AF_INET6, dualstack_ipv6=True)

    def answer(connection):
        with connection:
            while data := connection.recv(4096):
                connection.sendall(data)

    while True:
        connection, _ = listener.accept()
        threading.Thread(target=answer, args=(connection,), daemon=True).start()


def talk(host, port):
    connection = socket.create_connection((host, port), 5)
    print("connected", flush=True)
    for line in sys.stdin:
        connection.settimeout(float(line))
        try:
            connection.sendall(b"x")
            print("echo" if connection.recv(4096) else "closed", flush=True)
        except TimeoutError:
            print("silence", flush=True)
        except OSError as problem:
            print("closed", errno.errorcode.get(problem.errno, ""), flush=True)


def send(interface, frames):
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as out:
        out.bind((interface, 0))
        for frame in frames:
            out.send(bytes.fromhex(frame))


def udp(host, port):
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as out:
        out.connect((host, port))
        out.settimeout(2)
        out.send(b"question")
        try:
            print(out.recv(4096))
        except TimeoutError:
            print("silence")
        except OSError as problem:
            print(errno.errorcode[problem.errno])


command, *words = sys.argv[1:]
if command == "serve":
    serve(int(words[0]))
elif command == "talk":
    talk(words[0], int(words[1]))
elif command == "send":
    send(words[0], words[1:])
else:
    udp(words[0], int(words[1]))

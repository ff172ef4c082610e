"""Answers each request with its pid, one after another, by plain accept() on the socket of sd_listen_fds(3)."""
import os
import signal
import socket
import sys

if os.environ.get("LISTEN_PID") != str(os.getpid()) or os.environ.get("LISTEN_FDS") != "1":
    sys.exit("no socket was passed")
listener = socket.socket(fileno=3)
if not listener.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
    sys.exit("the socket does not listen")
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
print("accepts", flush=True)
while True:
    client, _ = listener.accept()
    with client:
        client.recv(65536)
        body = f"{os.getpid()}\n"
        client.sendall(f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n{body}".encode())

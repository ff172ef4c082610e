"""Serves one client at a time, each in a tenth of a second: the others wait in the accept queue, which the kernel resets when SIGTERM ends the server."""
import os
import signal
import socket
import time

stopping = False


def stop(_signal, _frame):
    global stopping
    stopping = True


signal.signal(signal.SIGTERM, stop)
signal.siginterrupt(signal.SIGTERM, True)
server = socket.create_server(("127.0.0.1", int(os.environ["PROCMAN_CLUSTER_PORT"])), backlog=64)
server.settimeout(0.05)
text = f"{os.getpid()}\n"
while not stopping:
    try:
        client, _ = server.accept()
    except OSError:
        continue
    with client:
        client.settimeout(10)
        asked = b""
        while b"\r\n\r\n" not in asked:
            part = client.recv(4096)
            if not part:
                break
            asked += part
        time.sleep(0.1)
        client.sendall(f"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {len(text)}\r\n\r\n{text}".encode())

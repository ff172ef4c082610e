"""A server from Python's standard library, on the socket that all instances share."""
import os
import signal
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from socket import socket

if os.environ.get("LISTEN_PID") != str(os.getpid()):
    sys.exit("no socket was passed")


class Hello(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(f"hello from {os.getpid()}\n".encode())


server = HTTPServer(("127.0.0.1", 8091), Hello, bind_and_activate=False)
server.socket.close()
server.socket = socket(fileno=3)
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
server.serve_forever()

#!/usr/bin/env python3
"""A stand-in for a gateway of agents: it runs a command, prints the first message that is posted to it, and ends the command.

gateway.py COMMAND      a line for the shell, which finds the gateway's address in $GATEWAY
"""

import os
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer


class Gateway(BaseHTTPRequestHandler):
    """Answers as OpenClaw's /hooks/agent does: 200 as soon as the message is taken."""

    def do_POST(self) -> None:
        print(f"{self.path}\n{self.rfile.read(int(self.headers['Content-Length'])).decode()}")
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """What a gateway has to say is what was posted to it."""


with HTTPServer(("127.0.0.1", 0), Gateway) as server:
    surroundings = {**os.environ, "GATEWAY": f"http://127.0.0.1:{server.server_port}"}
    child = subprocess.Popen(["/bin/sh", "-c", f"exec {sys.argv[1]}"], env=surroundings, stdout=subprocess.DEVNULL)
    server.timeout = 60
    server.handle_request()
    child.terminate()
    child.wait()

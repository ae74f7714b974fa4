"""A server of our own that does what it is asked and loses its acknowledgements."""

from __future__ import annotations

import json
import socket
import struct
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from fencepost.operations.http import HEADER


class Bank(ThreadingHTTPServer):
    """Books payments by the key that comes with them; a key is booked once."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Desk)
        self.booked: dict[str, Any] = {}
        self.requests: list[tuple[str, str]] = []
        self.drop = False
        self.status = 201

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Desk(BaseHTTPRequestHandler):
    """One connection to the bank."""

    server: Bank
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        key = self.headers[HEADER]
        self.server.requests.append(("POST", key))
        content = self.rfile.read(int(self.headers["Content-Length"]))
        if self.path == "/moved":
            self.send_response(307)
            self.send_header("Location", "/payments")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        self.server.booked[key] = json.loads(content)
        if self.server.drop:
            self.hang_up()
            return
        self.answer(self.server.status, {"booked": key})

    def do_GET(self) -> None:
        key = self.headers[HEADER]
        self.server.requests.append(("GET", key))
        assert self.path == f"/payments/{key}"
        if key in self.server.booked:
            self.answer(200, self.server.booked[key])
        else:
            self.answer(404, None)

    def hang_up(self) -> None:
        """Close the connection without a word, the effect done."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True
        self.connection.close()

    def answer(self, status: int, content: Any) -> None:
        body = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""

    def finish(self) -> None:
        """End it, also where it has been hung up."""
        if not self.wfile.closed and self.connection.fileno() >= 0:
            super().finish()

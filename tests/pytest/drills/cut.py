"""Something between one program and the server that cuts the connection at one chosen point."""

from __future__ import annotations

import os
import re
import shutil
import socket
import tempfile
import threading
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

CALL = re.compile(rb'"?kernel"?\."?(\w+)')


@dataclass(frozen=True)
class Point:
    """Where to cut: before a function is called, or when its call is committed, but not heard."""

    function: str
    is_committed: bool


class Cut:
    """A server's socket in another folder.

    The program comes as far as *point*, and no further: :attr:`reached` is set, and its connection
    hangs until :meth:`drop` is called. After that everything passes, over new connections.

    :param point: ``None``: everything passes until :meth:`drop` is called.
    """

    def __init__(self, point: Point | None) -> None:
        self.folder = tempfile.mkdtemp(prefix="fencepost-cut-", dir="/tmp")
        self.reached = threading.Event()
        self.is_refusing = False
        """Whether connections that are made from now on are closed at once."""
        self._point = point
        self._go = threading.Event()
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        self._name = f".s.PGSQL.{os.environ['PGPORT']}"
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(f"{self.folder}/{self._name}")
        self._listener.listen(50)
        self._accepting = threading.Thread(target=self._accept, daemon=True)
        self._accepting.start()

    def stops_at(self, point: Point) -> bool:
        """Say whether it is to stop here, which it does once."""
        with self._lock:
            if point != self._point:
                return False
            self._point = None
        self.reached.set()
        self._go.wait()
        return True

    def drop(self) -> None:
        """Cut every connection that there is."""
        self._go.set()
        with self._lock:
            for end in self._open:
                _shut(end)

    def close(self) -> None:
        """Take no more connections, and end those that there are.

        The thread is gone before its descriptor is: a call of accept that is begun again, as after
        SIGCONT, would take from whatever listener has the same number by then.
        """
        _shut(self._listener)
        self._accepting.join()
        self._listener.close()
        self.drop()
        shutil.rmtree(self.folder)

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                if self.is_refusing:
                    client.close()
                    continue
                server = socket.socket(socket.AF_UNIX)
                server.connect(str(Path(os.environ["PGHOST"]) / self._name))
                with self._lock:
                    self._open |= {client, server}
                threading.Thread(target=self._pass_on, args=(client, server), daemon=True).start()

    def _pass_on(self, client: socket.socket, server: socket.socket) -> None:
        wire = _Wire(self, client, server)
        back = threading.Thread(target=wire.from_server, daemon=True)
        back.start()
        with suppress(OSError):
            wire.from_client()
        _shut(server)
        back.join()
        with self._lock:
            self._open -= {client, server}
        client.close()
        server.close()


class _Wire:
    """One connection: two threads, one for each direction."""

    def __init__(self, cut: Cut, client: socket.socket, server: socket.socket) -> None:
        self._cut = cut
        self._client = client
        self._server = server
        self._function = ""
        self._committing = ""

    def from_client(self) -> None:
        begun = _read_exactly(self._client, 4)
        self._server.sendall(begun + _read_exactly(self._client, int.from_bytes(begun) - 4))
        while True:
            kind, message = _read_message(self._client)
            if kind in {b"Q", b"P"}:
                text = message[5:]
                called = CALL.search(text)
                if called:
                    self._function = called[1].decode()
                    if self._cut.stops_at(Point(self._function, is_committed=False)):
                        return
                if kind == b"Q" and text.rstrip(b"\0") == b"COMMIT":
                    self._committing = self._function
            self._server.sendall(message)

    def from_server(self) -> None:
        with suppress(OSError):
            while True:
                kind, message = _read_message(self._server)
                if self._committing and kind == b"C" and message[5:].rstrip(b"\0") == b"COMMIT":
                    function, self._committing = self._committing, ""
                    if self._cut.stops_at(Point(function, is_committed=True)):
                        break
                self._client.sendall(message)
        _shut(self._client)


def _shut(end: socket.socket) -> None:
    with suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)


def _read_message(source: socket.socket) -> tuple[bytes, bytes]:
    """Read one message: a letter, a length that counts itself, the rest."""
    head = _read_exactly(source, 5)
    return head[:1], head + _read_exactly(source, int.from_bytes(head[1:]) - 4)


def _read_exactly(source: socket.socket, count: int) -> bytes:
    content = b""
    while len(content) < count:
        chunk = source.recv(count - len(content))
        if not chunk:
            raise ConnectionResetError
        content += chunk
    return content


@contextmanager
def before(point: Point | None) -> Iterator[Cut]:
    """Stand before the server, and end there."""
    made = Cut(point)
    try:
        yield made
    finally:
        made.close()

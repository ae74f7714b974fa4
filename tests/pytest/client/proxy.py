"""Something between client and server that loses an answer, or keeps it back."""

from __future__ import annotations

import contextlib
import os
import select
import socket
import tempfile
import threading
from contextlib import contextmanager
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING

from psycopg.conninfo import make_conninfo

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.pytest.conftest import Principal


class Proxy:
    """Stands between client and server, and can swallow the server's answer to a COMMIT.

    :param folder: where its socket is.
    :param server: the folder of the socket that it passes on to.
    """

    def __init__(self, folder: Path, server: str) -> None:
        self.folder = folder
        self.swallow = False
        self.swallowed = 0
        self.hold: bytes | None = None
        """What a client sends, to which the answer is kept back until :attr:`release` is set."""
        self.held = threading.Event()
        self.release = threading.Event()
        self.is_closed = False
        self._name = f".s.PGSQL.{os.environ['PGPORT']}"
        self._server = server
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(folder / self._name))
        self._listener.listen()
        self._accepting = threading.Thread(target=self._accept, daemon=True)
        self._accepting.start()

    def conninfo(self, who: Principal, database: str) -> str:
        """Return how to connect through here."""
        return make_conninfo(who.conninfo(database), host=str(self.folder))

    def close(self) -> None:
        """Accept nothing more, and end what there is."""
        self.is_closed = True
        self.release.set()
        self._accepting.join()
        self._listener.close()

    def _accept(self) -> None:
        while not self.is_closed:
            if not select.select([self._listener], [], [], 0.1)[0]:
                continue
            with contextlib.suppress(OSError):
                client, _ = self._listener.accept()
                server = socket.socket(socket.AF_UNIX)
                server.connect(f"{self._server}/{self._name}")
                threading.Thread(target=self._pump, args=(client, server), daemon=True).start()

    def _pump(self, client: socket.socket, server: socket.socket) -> None:
        with client, server, contextlib.suppress(OSError):  # either side may leave
            while not self.is_closed:
                for ready in select.select([client, server], [], [], 0.1)[0]:
                    data = ready.recv(65536)
                    if not data:
                        return
                    if ready is client:
                        server.sendall(data)
                        if self.swallow and b"COMMIT\0" in data:
                            server.recv(65536)  # the answer: it is committed
                            self.swallow = False
                            self.swallowed += 1
                            return
                        if self.hold is not None and self.hold in data:
                            self.hold = None
                            select.select([server], [], [])
                            self.held.set()
                            self.release.wait()
                    else:
                        client.sendall(data)


@contextmanager
def running(server: str | None = None) -> Iterator[Proxy]:
    """Run a proxy before *server*, in a folder whose name is short enough for a socket."""
    folder = Path(tempfile.mkdtemp(prefix="fencepost-proxy-", dir="/tmp"))
    made = Proxy(folder, server or os.environ["PGHOST"])
    try:
        yield made
    finally:
        made.close()
        rmtree(folder)

"""How the command reaches the server, and how it goes on when the connection is lost."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any, TypeVar

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from .errors import KernelUnfit, Retry
from .interrupt import Interrupt
from .persistence import Persistence
from .role import Role
from .session import connect

T = TypeVar("T")

_HURRY = timedelta(seconds=10)
_SECRETS = ("password", "sslpassword")
_DEFAULTS = {
    # A server that vanished is noticed in half a minute rather than in two hours.
    "connect_timeout": "10",
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": "30000",
}


class SecretInTheOpen(ValueError):
    """A password where other processes can read it."""


class NoServer(Exception):
    """There is no server at that address, or it does not accept connections."""


class NotAdmitted(Exception):
    """The server does not let this principal in, or not into this database."""


def conninfo(
    *,
    dsn: str | None,
    service: str | None,
    application: str,
    environment: Mapping[str, str] = os.environ,
) -> str:
    """Return the connection string for libpq, which takes what is missing from its environment.

    :raises SecretInTheOpen: a password stands in *dsn*, or in the environment.
    :raises psycopg.ProgrammingError: *dsn* is not a connection string.
    """
    given = {key: str(value) for key, value in conninfo_to_dict(dsn or "").items()}
    for name in _SECRETS:
        if name in given:
            message = f"a {name} inside --dsn can be read by every process on this machine"
            raise SecretInTheOpen(message)
    if "PGPASSWORD" in environment:
        message = "PGPASSWORD is set, and an environment is no place for a password"
        raise SecretInTheOpen(message)
    if service is not None:
        given["service"] = service
    # Not as defaults below the service file's: libpq does not say what a service sets.
    return make_conninfo("", **{**_DEFAULTS, "application_name": application, **given})


def first_connection(conninfo: str) -> psycopg.Connection[Any]:
    """Open a connection, or say why not in a way that names who can help.

    :raises NoServer: nobody answers there.
    :raises NotAdmitted: somebody answers, and refuses.
    :raises KernelUnfit: the kernel is missing, too old or too new.
    """
    try:
        connection = connect(conninfo)
    except psycopg.OperationalError as error:
        ping = psycopg.pq.PGconn.ping(conninfo.encode())
        raise (NotAdmitted if ping == psycopg.pq.Ping.OK else NoServer)(str(error)) from error
    try:
        Role(connection).require_fit_kernel()
    except KernelUnfit:
        connection.close()
        raise
    except psycopg.errors.InsufficientPrivilege as error:
        connection.close()
        raise NotAdmitted(str(error)) from error
    return connection


class Link:
    """One connection that is made again when it is lost, used by one thread at a time.

    Every call of the kernel that goes through here may be repeated: the kernel recognises a
    repeat by its token and content. So a call whose answer was lost is simply made again.

    :param connect: opens a connection.
    :param connection: the first one, if there is one already.
    :param tell: is told, in a sentence, when the connection is lost and when it is back.
    """

    def __init__(
        self,
        connect: Callable[[], psycopg.Connection[Any]],
        *,
        connection: psycopg.Connection[Any] | None = None,
        tell: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._connect = connect
        self._connection = connection
        self._tell = tell
        self._lock = threading.Lock()
        self.losses = 0
        """How often the connection was lost in the middle of a call."""

    def call(
        self,
        function: Callable[[psycopg.Connection[Any]], T],
        *,
        patience: timedelta | None = timedelta(minutes=1),
        unless: Interrupt | None = None,
        hurry: timedelta = _HURRY,
    ) -> T:
        """Call *function* with the connection; repeat it after a lost one or a *retry* answer.

        :param patience: how long to look for a server that is gone; ``None``: for ever.
        :param unless: while this is set, *hurry* at most.
        :raises ServerUnreachable: the server did not come back in that time.
        :raises Retry: the answer was still *retry* after several calls.
        """
        persistence = Persistence(self._tell)
        with self._lock:
            while True:
                try:
                    result = function(self._connected())
                except Retry as error:
                    wait = persistence.after_retry(error)
                except psycopg.OperationalError as error:
                    if self._connection is not None and not self._connection.closed:
                        raise
                    self.drop()
                    self.losses += 1
                    wait = persistence.after_loss(error, hurry if unless else patience)
                else:
                    persistence.has_succeeded()
                    return result
                _pause(wait, unless)

    def _connected(self) -> psycopg.Connection[Any]:
        if self._connection is None or self._connection.closed:
            self._connection = self._connect()
        return self._connection

    def drop(self) -> None:
        """Close the connection, if there is one."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _pause(seconds: float, unless: Interrupt | None) -> None:
    if unless is None or unless:
        time.sleep(seconds)
    else:
        unless.wait(seconds)

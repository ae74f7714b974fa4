"""The doorbell: hear that there may be work, and let others hear it.

A ring is a hint and nothing more. It may be lost, late, or false; the ledger's tables say what
there is to do. So whoever listens looks after every ring, and looks all the same when none was
heard for a while: :func:`fencepost.polling.poll` does.
"""

from __future__ import annotations

import os
import select
import threading
from collections.abc import Callable
from contextlib import closing, suppress
from datetime import timedelta
from types import TracebackType
from typing import Any, Protocol

import psycopg

from . import clock
from .connection import Link
from .errors import KernelError, ServerUnreachable
from .hearing import (
    CHECK,
    IS_LISTENING,
    LISTEN,
    WHICH_SESSION,
    Hearing,
    NotHeard,
    classes_to_wake,
    is_meant,
    require_listening,
    require_own_session,
)
from .interrupt import Interrupt
from .records import Receipt
from .role import Role


class Doorbell:
    """Listens for one class, on a connection of its own, in a thread of its own.

    The thread takes every ring off the connection at once, however long the work takes: a listener
    that does not read would keep the server's queue from being emptied. When the connection is
    lost, it is made again, after a pause that doubles up to half a minute.

    Through a pooler nothing is heard reliably: where there is one, the thread says so and ends.

    :param connect: opens a connection in autocommit.
    :param campaign_class: whose rings to hear; all others are passed over.
    :param tell: is told, in a sentence, when nothing is heard any more and when it is again.
    """

    def __init__(
        self,
        connect: Callable[[], psycopg.Connection[Any]],
        campaign_class: str,
        *,
        tell: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._connect = connect
        self._class = campaign_class
        self._hearing = Hearing(tell)
        self._bell = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._done = Interrupt()
        self._thread = threading.Thread(target=self._run, name="doorbell", daemon=True)

    def __enter__(self) -> Doorbell:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._done.set("done")
        self._thread.join(timeout=5)
        if not self._thread.is_alive():  # else it is waiting for a server that does not answer
            os.close(self._bell)
            self._done.close()

    def clear(self) -> None:
        """Forget what was heard. Do it before a look, so that a ring meanwhile is not missed."""
        with suppress(BlockingIOError):
            os.eventfd_read(self._bell)

    def wait(self, seconds: float, interrupt: Interrupt) -> bool:
        """Sleep until a ring, *interrupt*, or the time; return whether there was a ring."""
        if interrupt:
            return False
        watched = [self._bell, interrupt.fileno()]
        return self._bell in select.select(watched, [], [], max(0.0, seconds))[0]

    def _run(self) -> None:
        while not self._done:
            self._hearing.begins()
            try:
                with closing(self._connect()) as connection:
                    self._listen(connection)
                    self._hearing.is_there()
                    # Whatever rang before is gone: look once now.
                    os.eventfd_write(self._bell, 1)
                    self._hear(connection)
            except NotHeard as error:
                self._hearing.is_given_up(error)
                return
            except (psycopg.Error, OSError) as error:
                if not self._done:
                    self._hearing.is_lost(error)
            self._done.wait(self._hearing.until_next())

    def _listen(self, connection: psycopg.Connection[Any]) -> None:
        require_own_session(connection.execute(WHICH_SESSION).fetchone(), connection.info)
        connection.execute(LISTEN)

    def _hear(self, connection: psycopg.Connection[Any]) -> None:
        """Take off what comes until the end, and look now and then whether anything can come."""
        check_at = clock.now() + CHECK
        while not self._done:
            watched = [connection.fileno(), self._done.fileno()]
            select.select(watched, [], [], max(0.0, check_at - clock.now()))
            for notify in connection.notifies(timeout=0):
                if is_meant(notify, self._class):
                    os.eventfd_write(self._bell, 1)
            if clock.now() >= check_at:
                require_listening(connection.execute(IS_LISTENING).fetchone())
                check_at = clock.now() + CHECK


class Ring(Protocol):
    """Told what the kernel answered, wakes whoever could go on with it."""

    def __call__(self, *receipts: Receipt) -> None:
        """Ring, if one of these leaves something to do."""


def silent(*_receipts: Receipt) -> None:
    """Ring nothing."""


def ring(link: Link, *receipts: Receipt, tell: Callable[[str], None] = lambda _: None) -> None:
    """Wake whoever could go on with a campaign, once the call that moved it has returned.

    In a transaction of its own, whose failure matters to nobody: *tell* is told of it.

    :param receipts: what the call answered; where nobody can go on, nothing is rung.
    """
    for name in classes_to_wake(receipts):
        try:
            link.call(
                lambda connection, name=name: Role(connection).ring(name),  # type: ignore[misc]
                patience=timedelta(0),
            )
        except (KernelError, ServerUnreachable, psycopg.Error) as error:
            tell(f"the bell could not be rung: {error}")

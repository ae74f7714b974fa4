"""How a program with asyncio goes on when the connection is lost."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any, TypeVar

import psycopg
from psycopg.pq import TransactionStatus

from .errors import Retry
from .persistence import Persistence

T = TypeVar("T")


class AsyncLink:
    """:class:`fencepost.connection.Link` for ``asyncio``, used by one task at a time.

    Whoever is tired of waiting cancels the task: that leaves no transaction open, and the next call
    goes on from there.

    :param connect: opens a connection.
    :param connection: the first one, if there is one already.
    :param tell: is told, in a sentence, when the connection is lost and when it is back.
    """

    def __init__(
        self,
        connect: Callable[[], Awaitable[psycopg.AsyncConnection[Any]]],
        *,
        connection: psycopg.AsyncConnection[Any] | None = None,
        tell: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._connect = connect
        self._connection = connection
        self._tell = tell
        self._lock = asyncio.Lock()
        self.losses = 0
        """How often the connection was lost in the middle of a call."""

    async def call(
        self,
        function: Callable[[psycopg.AsyncConnection[Any]], Awaitable[T]],
        *,
        patience: timedelta | None = timedelta(minutes=1),
    ) -> T:
        """Await *function* with the connection; again after a lost one or a *retry* answer.

        :param patience: how long to look for a server that is gone; ``None``: for ever.
        :raises ServerUnreachable: the server did not come back in that time.
        :raises Retry: the answer was still *retry* after several calls.
        """
        persistence = Persistence(self._tell)
        async with self._lock:
            while True:
                try:
                    result = await function(await self._connected())
                except Retry as error:
                    wait = persistence.after_retry(error)
                except psycopg.OperationalError as error:
                    if self._connection is not None and not self._connection.closed:
                        raise
                    await self.drop()
                    self.losses += 1
                    wait = persistence.after_loss(error, patience)
                except asyncio.CancelledError:
                    if not self._is_idle():
                        await self.drop()
                    raise
                else:
                    persistence.has_succeeded()
                    return result
                await asyncio.sleep(wait)

    async def _connected(self) -> psycopg.AsyncConnection[Any]:
        if self._connection is None or self._connection.closed:
            self._connection = await self._connect()
        return self._connection

    def _is_idle(self) -> bool:
        connection = self._connection
        return connection is not None and (
            connection.info.transaction_status is TransactionStatus.IDLE
        )

    async def drop(self) -> None:
        """Close the connection, if there is one."""
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()

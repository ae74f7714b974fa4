"""The doorbell for asyncio: hear that there may be work, and let others hear it.

What :mod:`fencepost.doorbell` says of rings holds here, too: clear, look, and then wait, but not
for ever.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from types import TracebackType
from typing import Any

import psycopg

from .async_connection import AsyncLink
from .async_role import AsyncRole
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
from .records import Receipt


class AsyncDoorbell:
    """:class:`fencepost.doorbell.Doorbell` for ``asyncio``: listens in a task of its own.

    :param connect: opens a connection in autocommit.
    :param campaign_class: whose rings to hear; all others are passed over.
    :param tell: is told, in a sentence, when nothing is heard any more and when it is again.
    """

    def __init__(
        self,
        connect: Callable[[], Awaitable[psycopg.AsyncConnection[Any]]],
        campaign_class: str,
        *,
        tell: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._connect = connect
        self._class = campaign_class
        self._hearing = Hearing(tell)
        self._bell = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> AsyncDoorbell:
        self._task = asyncio.create_task(self._run(), name="doorbell")
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})
            if not self._task.cancelled():
                self._task.result()

    def clear(self) -> None:
        """Forget what was heard. Do it before a look, so that a ring meanwhile is not missed."""
        self._bell.clear()

    async def wait(self, seconds: float) -> bool:
        """Sleep until a ring or the time; return whether there was a ring."""
        try:
            async with asyncio.timeout(seconds):
                await self._bell.wait()
        except TimeoutError:
            return False
        return True

    async def _run(self) -> None:
        while True:
            self._hearing.begins()
            try:
                connection = await self._connect()
                try:
                    await self._listen(connection)
                    self._hearing.is_there()
                    # Whatever rang before is gone: look once now.
                    self._bell.set()
                    await self._hear(connection)
                finally:
                    await connection.close()
            except NotHeard as error:
                self._hearing.is_given_up(error)
                return
            except (psycopg.Error, OSError) as error:
                self._hearing.is_lost(error)
            await asyncio.sleep(self._hearing.until_next())

    async def _listen(self, connection: psycopg.AsyncConnection[Any]) -> None:
        asked = await connection.execute(WHICH_SESSION)
        require_own_session(await asked.fetchone(), connection.info)
        await connection.execute(LISTEN)

    async def _hear(self, connection: psycopg.AsyncConnection[Any]) -> None:
        """Take off what comes until the end, and look now and then whether anything can come."""
        while True:
            async for notify in connection.notifies(timeout=CHECK):
                if is_meant(notify, self._class):
                    self._bell.set()
            asked = await connection.execute(IS_LISTENING)
            require_listening(await asked.fetchone())


async def ring(
    link: AsyncLink, *receipts: Receipt, tell: Callable[[str], None] = lambda _: None
) -> None:
    """Wake whoever could go on with a campaign, once the call that moved it has returned.

    In a transaction of its own, whose failure matters to nobody: *tell* is told of it.

    :param receipts: what the call answered; where nobody can go on, nothing is rung.
    """
    for name in classes_to_wake(receipts):
        try:
            await link.call(
                lambda connection, name=name: AsyncRole(connection).ring(name),  # type: ignore[misc]
                patience=timedelta(0),
            )
        except (KernelError, ServerUnreachable, psycopg.Error) as error:
            tell(f"the bell could not be rung: {error}")

"""Keeps a lease alive while a block works, and ends the block when it is lost."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Any

import psycopg

from .async_connection import AsyncLink
from .errors import ServerUnreachable
from .hold import Hold
from .records import Lease

Renew = Callable[[psycopg.AsyncConnection[Any], Lease], Awaitable[Lease]]


class AsyncLeaseKeeper:
    """:class:`fencepost.lease_keeper.LeaseKeeper` for ``asyncio``: renews in a task of its own.

    When the lease is lost, the block is cancelled, and in place of the cancellation the reason is
    raised at its end: what the kernel answered, or ``ServerUnreachable``. A block that has heard of
    it and ends by itself meets the same::

        async with AsyncLeaseKeeper(link, renew, lease) as keeper:
            result = await work()
            await keeper.stop()
            await link.call(lambda connection: AsyncWorker(connection).submit(lease, ...))

    :param link: the connection; the keeper uses it only while nobody else does.
    :param renew: calls ``kernel.renew`` for a lease.
    :param lease: as it was granted.
    """

    def __init__(self, link: AsyncLink, renew: Renew, lease: Lease) -> None:
        self._link = link
        self._renew = renew
        self._hold = Hold(lease)
        self._reason: BaseException | None = None
        self._is_over = False
        self._owner: asyncio.Task[Any] | None = None
        self._cancelled_before = 0
        self._tasks: set[asyncio.Task[Any]] = set()

    async def __aenter__(self) -> AsyncLeaseKeeper:
        self._owner = asyncio.current_task()
        assert self._owner is not None  # noqa: S101 - a coroutine runs in one
        self._cancelled_before = self._owner.cancelling()
        self._tasks.add(asyncio.create_task(self._keep(), name="lease keeper"))
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.stop()
        if self._reason is None or self._owner is None:
            return
        # As asyncio.timeout does: somebody else may have cancelled the block as well.
        is_ours = self._owner.uncancel() <= self._cancelled_before
        if kind is None or (is_ours and issubclass(kind, asyncio.CancelledError)):
            raise self._reason from error

    async def stop(self) -> None:
        """Renew no more. Call it before the call that ends the lease."""
        self._is_over = True
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)
            self._tasks.clear()

    @property
    def lease(self) -> Lease:
        """The lease as last renewed."""
        return self._hold.lease

    @property
    def is_lost(self) -> bool:
        """Whether the lease is known, or must be taken, to be lost."""
        return self._hold.why_lost is not None or self._hold.has_run_out()

    @property
    def why_lost(self) -> str | None:
        """What the kernel said of it, or that nothing was heard."""
        return self._hold.why_lost

    async def _keep(self) -> None:
        while True:
            await asyncio.sleep(self._hold.until_next())
            patience = self._hold.asks()
            asking = asyncio.create_task(self._link.call(self._asked, patience=patience))
            self._tasks.add(asking)
            await asyncio.wait({asking}, timeout=patience.total_seconds())
            error: BaseException | None
            if asking.done():
                self._tasks.discard(asking)
                error = asking.exception()
            else:
                # Its end is not waited for: the server that is silent may have part in it.
                asking.cancel()
                error = ServerUnreachable("no answer")
            if error is None:
                self._hold.renewed(asking.result())
            elif self._hold.failed(error):
                self._lose(error)
                return

    async def _asked(self, connection: psycopg.AsyncConnection[Any]) -> Lease:
        return await self._renew(connection, self._hold.lease)

    def _lose(self, error: BaseException) -> None:
        if not self._is_over and self._owner is not None:
            self._reason = error
            self._owner.cancel(self._hold.why_lost)

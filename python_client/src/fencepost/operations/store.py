"""Operations over a connection of psycopg."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import psycopg
from psycopg.pq import TransactionStatus

from fencepost.connection import Link
from fencepost.errors import ConnectionBusy
from fencepost.translation import translated

from .base import AsyncOperationStore, OperationStore
from .records import ABSENT, Claim, Completed, Operation
from .statements import Call, first_column

C = TypeVar("C")
T = TypeVar("T")

_IDLE = frozenset({TransactionStatus.IDLE, TransactionStatus.UNKNOWN})

_blocks: ContextVar[frozenset[object]] = ContextVar("_blocks", default=frozenset())
"""The blocks of :meth:`AsyncStore.transaction` that a task is in, or was started in."""


@dataclass(slots=True)
class Completion(Generic[C]):
    """The caller's own transaction, whose commit also completes an operation."""

    connection: C
    outcome: Completed | None = None

    def complete(
        self,
        result: Any = ABSENT,
        *,
        reason: str | None = None,
        read_back: Any = ABSENT,
        result_text: str | None = None,
    ) -> None:
        """Say what came of it; recorded at the end of the block, in the same transaction."""
        self.outcome = Completed(
            result=result, reason=reason, read_back=read_back, result_text=result_text
        )


class Store(OperationStore):
    """Operations over one connection of psycopg, which threads may share.

    The connection is the caller's and must be idle: every method makes one short transaction of its
    own, commits it, and only then raises what the kernel's answer asks for.

    :param connection: logged in as a principal that is enrolled in the class; or a link, which
        makes its connection again when it is lost.
    """

    def __init__(
        self, connection: psycopg.Connection[Any] | Link, campaign_class: str, **named: Any
    ) -> None:
        super().__init__(campaign_class, **named)
        self._connection = connection
        self._lock = threading.RLock()

    @property
    def is_lost(self) -> bool:
        """Whether the connection is gone; a link's never is."""
        return isinstance(self._connection, psycopg.Connection) and self._connection.closed

    def _run(self, call: Call[T]) -> T:
        with self._lock:
            if isinstance(self._connection, Link):
                rows = self._connection.call(lambda connection: _alone(connection, call))
            else:
                rows = _alone(self._connection, call)
        return call.decode(rows)

    @contextmanager
    def transaction(self, claim: Claim) -> Iterator[Completion[psycopg.Connection[Any]]]:
        """Carry out an effect in this database, and complete its operation with the same commit.

        Whatever the block does with ``connection`` and the operation's record come about together
        or not at all; such an operation needs no start. The block says what came of it with
        ``complete``; if it does not, the operation is completed without a result.

        :raises Refused: the operation could not be completed, and all was rolled back.
        """
        connection = self._own()
        with self._lock:
            _require_idle(connection.info.transaction_status)
            with connection.transaction():
                completion = Completion(connection)
                yield completion
                call = self._statements.complete(claim, completion.outcome or Completed())
                with translated():
                    rows = _rows(connection, call)
                call.decode(rows)

    def complete_here(
        self,
        claim: Claim,
        result: Any = ABSENT,
        *,
        reason: str | None = None,
        read_back: Any = ABSENT,
        result_text: str | None = None,
    ) -> Operation:
        """Complete an operation inside the transaction that the connection is in already.

        :raises Refused: roll back; what was done in this transaction must not be committed.
        """
        outcome = Completed(
            result=result, reason=reason, read_back=read_back, result_text=result_text
        )
        call = self._statements.complete(claim, outcome)
        with self._lock, translated():
            rows = _rows(self._own(), call)
        return call.decode(rows)

    def _own(self) -> psycopg.Connection[Any]:
        if isinstance(self._connection, Link):
            message = "a transaction of the caller's needs a connection of the caller's"
            raise ConnectionBusy(message)
        return self._connection


class AsyncStore(AsyncOperationStore):
    """:class:`Store` for ``asyncio``, over an ``AsyncConnection`` of psycopg."""

    def __init__(
        self, connection: psycopg.AsyncConnection[Any], campaign_class: str, **named: Any
    ) -> None:
        super().__init__(campaign_class, **named)
        self._connection = connection
        self._lock = asyncio.Lock()
        self._block: object | None = None

    @property
    def is_lost(self) -> bool:
        """Whether the connection is gone."""
        return self._connection.closed

    async def _run(self, call: Call[T]) -> T:
        self._require_no_block()
        async with self._lock:
            _require_idle(self._connection.info.transaction_status)
            with translated():
                async with self._connection.transaction():
                    rows = await self._rows(call)
        return call.decode(rows)

    @asynccontextmanager
    async def transaction(
        self, claim: Claim
    ) -> AsyncIterator[Completion[psycopg.AsyncConnection[Any]]]:
        """See :meth:`Store.transaction`. Other tasks wait until the block has ended.

        A task that is started in the block is part of it, and would wait for its own end: what it
        asks of this store is refused.

        :raises ConnectionBusy: the connection, or the block that this is called in, is in a
            transaction.
        """
        self._require_no_block()
        block = object()
        async with self._lock:
            _require_idle(self._connection.info.transaction_status)
            self._block = block
            _blocks.set(_blocks.get() | {block})
            try:
                async with self._connection.transaction():
                    completion = Completion(self._connection)
                    yield completion
                    call = self._statements.complete(claim, completion.outcome or Completed())
                    with translated():
                        rows = await self._rows(call)
                    call.decode(rows)
            finally:
                self._block = None
                _blocks.set(_blocks.get() - {block})

    async def complete_here(
        self,
        claim: Claim,
        result: Any = ABSENT,
        *,
        reason: str | None = None,
        read_back: Any = ABSENT,
        result_text: str | None = None,
    ) -> Operation:
        """See :meth:`Store.complete_here`."""
        outcome = Completed(
            result=result, reason=reason, read_back=read_back, result_text=result_text
        )
        call = self._statements.complete(claim, outcome)
        async with nullcontext() if self._is_in_block() else self._lock:
            with translated():
                rows = await self._rows(call)
        return call.decode(rows)

    def _require_no_block(self) -> None:
        if self._is_in_block():
            message = (
                "this call would wait for the end of the block of transaction() that it is made in:"
                " make it before or after the block, or by a store on a connection of its own"
            )
            raise ConnectionBusy(message)

    def _is_in_block(self) -> bool:
        """Whether who calls is in the block that has the connection, or was started in it."""
        return self._block in _blocks.get()

    async def _rows(self, call: Call[Any]) -> list[str]:
        async with psycopg.AsyncRawCursor(self._connection) as cursor:
            await cursor.execute(call.text.encode(), call.values, prepare=False)
            return first_column(await cursor.fetchall())


def _alone(connection: psycopg.Connection[Any], call: Call[Any]) -> list[str]:
    """Send one statement in a transaction of its own, and commit it."""
    _require_idle(connection.info.transaction_status)
    with translated(), connection.transaction():
        return _rows(connection, call)


def _rows(connection: psycopg.Connection[Any], call: Call[Any]) -> list[str]:
    with psycopg.RawCursor(connection) as cursor:
        cursor.execute(call.text.encode(), call.values, prepare=False)
        return first_column(cursor.fetchall())


def _require_idle(status: TransactionStatus) -> None:
    if status not in _IDLE:
        message = "the connection is in a transaction: commit or roll back before this call"
        raise ConnectionBusy(message)

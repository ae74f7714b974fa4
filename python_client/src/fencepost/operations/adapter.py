"""Operations over whatever an application has: anything with ``query(text, values)``.

Nothing here knows a driver, opens a connection or a transaction, or changes a schema. A method is
one call of ``query``, and one statement, so that a pool may give each to another connection. The
client has to commit it before it answers: autocommit does, so does a transaction around that one
statement.

An application that used ``@context-action/tool-durable-operations`` finds its store here. What is
different, and why, is in docs/explanation/operations.md.
"""

from __future__ import annotations

import asyncio
import inspect
import re
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, Protocol, TypeVar

from .base import AsyncOperationStore, OperationStore
from .errors import InvalidArgument, NoKernelAnswer, known
from .statements import Call, first_column

T = TypeVar("T")

_NUMBERED: Final = re.compile(r"%|\$(\d+)")


class Client(Protocol):
    """What an application gives: its own way of running one statement.

    The answer is the rows themselves or something that holds them as ``rows``; a row is a sequence
    or a mapping.
    """

    def query(self, text: str, values: Sequence[Any], /) -> Any:
        """Run *text* with *values*, commit, and return the rows."""
        ...


Placeholders = Callable[[str], str]
"""Turns a statement with ``$1``, ``$2`` … into what the client's driver reads."""


def numbered(text: str) -> str:
    """Leave a statement as it is: ``$1``, ``$2`` …, as asyncpg and node-postgres have it."""
    return text


def formatted(text: str) -> str:
    """Write ``%s`` for each value, as psycopg and pg8000's ``dbapi`` have it."""
    # Every number stands once and in order; test_adapter.py holds the statements to that.
    return _NUMBERED.sub(lambda found: "%s" if found[1] else "%%", text)


class Adapter(OperationStore):
    """A store over a client that answers at once.

    :param client: the application's; see :class:`Client`.
    :param campaign_class: the class, which is the namespace of the keys.
    :param placeholders: how the driver wants the places of values written.
    :param is_shared: whether threads may call the client at the same time; a pool may be, a single
        connection may not.
    """

    def __init__(
        self,
        client: Client,
        campaign_class: str,
        *,
        placeholders: Placeholders = numbered,
        is_shared: bool = False,
        **named: Any,
    ) -> None:
        super().__init__(campaign_class, **named)
        self._client = _checked(client)
        self._placeholders = placeholders
        self._lock = None if is_shared else threading.RLock()

    def _run(self, call: Call[T]) -> T:
        text = self._placeholders(call.text)
        if self._lock is None:
            return call.decode(self._rows(text, call))
        with self._lock:
            rows = self._rows(text, call)
        return call.decode(rows)

    def _rows(self, text: str, call: Call[Any]) -> list[str]:
        try:
            answer = self._client.query(text, call.values)
        except Exception as error:
            raised = known(error)
            if raised is None:
                raise
            raise raised from error
        if inspect.isawaitable(answer):
            if inspect.iscoroutine(answer):
                answer.close()
            message = "the client's query has to be awaited: use AsyncAdapter"
            raise NoKernelAnswer(message)
        return rows_of(answer)


class AsyncAdapter(AsyncOperationStore):
    """A store over a client whose ``query`` is awaited, or is not.

    :param client: the application's; see :class:`Client`.
    :param campaign_class: the class, which is the namespace of the keys.
    :param placeholders: how the driver wants the places of values written.
    :param is_shared: whether tasks may call the client at the same time, as they may a pool.
    """

    def __init__(
        self,
        client: Client,
        campaign_class: str,
        *,
        placeholders: Placeholders = numbered,
        is_shared: bool = False,
        **named: Any,
    ) -> None:
        super().__init__(campaign_class, **named)
        self._client = _checked(client)
        self._placeholders = placeholders
        self._lock = None if is_shared else asyncio.Lock()

    async def _run(self, call: Call[T]) -> T:
        if self._lock is None:
            return call.decode(await self._rows(call))
        async with self._lock:
            rows = await self._rows(call)
        return call.decode(rows)

    async def _rows(self, call: Call[Any]) -> list[str]:
        try:
            answer = self._client.query(self._placeholders(call.text), call.values)
            if isinstance(answer, Awaitable):
                answer = await answer
        except Exception as error:
            raised = known(error)
            if raised is None:
                raise
            raise raised from error
        return rows_of(answer)


def rows_of(answer: Any) -> list[str]:
    """Return the rows of a client's answer.

    :raises NoKernelAnswer: it holds none.
    """
    rows = getattr(answer, "rows", answer)
    if isinstance(answer, Mapping):
        rows = answer.get("rows")
    if isinstance(rows, str | bytes) or not isinstance(rows, Sequence):
        message = f"the client's query answered {type(answer).__name__}, which holds no rows"
        raise NoKernelAnswer(message)
    return first_column(rows)


def _checked(client: Client) -> Client:
    if not callable(getattr(client, "query", None)):
        message = "the client has no method query(text, values)"
        raise InvalidArgument(message)
    return client

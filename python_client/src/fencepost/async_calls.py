"""One call of a kernel function, in one short transaction of its own."""

from __future__ import annotations

from dataclasses import fields
from datetime import timedelta
from typing import Any, LiteralString, TypeVar
from uuid import UUID

import psycopg
from psycopg.pq import TransactionStatus
from psycopg.rows import dict_row

from . import clock
from .errors import ConnectionBusy, refusal
from .records import Lease, Receipt
from .translation import translated

R = TypeVar("R", bound=Receipt)


async def rows(
    connection: psycopg.AsyncConnection[Any], query: LiteralString, arguments: dict[str, Any]
) -> list[dict[str, Any]]:
    """Run *query* in a transaction of its own, commit, and return its rows.

    Whoever is cancelled in the middle leaves no transaction behind: it is rolled back, and where
    that cannot be known the connection is closed.

    :raises ConnectionBusy: the connection is in a transaction.
    :raises RaisedError: the server raised an SQLSTATE of ``ledger.answer``.
    """
    _require_idle(connection)
    has_begun = False
    with translated():
        try:
            async with connection.transaction(), connection.cursor(row_factory=dict_row) as cursor:
                has_begun = True
                await cursor.execute(query, arguments)
                return await cursor.fetchall()
        except BaseException:
            # psycopg rolls back, but before 3.3 not where it was interrupted while it began.
            is_idle = connection.info.transaction_status is TransactionStatus.IDLE
            if not (has_begun and is_idle):
                await connection.close()
            raise


async def statement(
    connection: psycopg.AsyncConnection[Any], query: LiteralString, arguments: dict[str, Any]
) -> list[dict[str, Any]]:
    """Run *query*, which writes nothing, and return its rows.

    On a connection in autocommit it is sent alone, without BEGIN and COMMIT around it.
    """
    if not connection.autocommit:
        return await rows(connection, query, arguments)
    _require_idle(connection)
    with translated():
        cursor = connection.cursor(row_factory=dict_row)
        await cursor.execute(query, arguments)
        return await cursor.fetchall()


def _require_idle(connection: psycopg.AsyncConnection[Any]) -> None:
    if connection.info.transaction_status not in {
        TransactionStatus.IDLE,
        TransactionStatus.UNKNOWN,
    }:
        message = "the connection is in a transaction: commit or roll back before this call"
        raise ConnectionBusy(message)


def record(kind: type[R], row: dict[str, Any], **own: Any) -> R:
    """Make a *kind* of a row, or raise what its outcome says. Columns it does not know are left.

    :raises Refused: the outcome is not ``ok``.
    """
    values = {"campaign_class" if name == "class" else name: value for name, value in row.items()}
    if values["outcome"] != "ok":
        known = {field.name for field in fields(Receipt)}
        raise refusal(Receipt(**{name: values[name] for name in known if name in values}))
    known = {field.name for field in fields(kind)}
    return kind(**{name: value for name, value in values.items() if name in known}, **own)


async def one(
    connection: psycopg.AsyncConnection[Any],
    kind: type[R],
    query: LiteralString,
    arguments: dict[str, Any],
) -> R:
    """Call a function that returns one *kind*."""
    found = await rows(connection, query, arguments)
    return record(kind, found[0])


async def lease_or_none(
    connection: psycopg.AsyncConnection[Any],
    query: LiteralString,
    arguments: dict[str, Any],
    token: UUID,
) -> Lease | None:
    """Call a function that returns a lease, or no row where there is nothing to claim.

    *query* gives a column ``lease_left`` beside those of the lease: expiry less the server's
    present time, so that the two clocks are never compared.
    """
    asked_at = clock.now()
    found = await rows(connection, query, arguments)
    return lease(found[0], token, asked_at) if found else None


def lease(row: dict[str, Any], token: UUID, asked_at: float) -> Lease:
    """Make a lease of a row that was asked for at that time of :func:`fencepost.clock.now`."""
    left: timedelta | None = row.pop("lease_left", None)
    runs_out_at = asked_at + (left.total_seconds() if left else 0.0)
    return record(Lease, row, token=token, runs_out_at=runs_out_at)


def under(lease: Lease) -> dict[str, Any]:
    """Return the four arguments by which every call names the lease that it is made under."""
    return {
        "class": lease.campaign_class,
        "campaign_id": lease.campaign_id,
        "generation": lease.generation,
        "token": lease.token,
    }


async def renew(
    connection: psycopg.AsyncConnection[Any], lease: Lease, lease_for: timedelta | None
) -> Lease:
    """Call ``kernel.renew``, which workers and verifiers share."""
    renewed = await lease_or_none(
        connection,
        """
        select answer.*, answer.lease_expires_at - pg_catalog.clock_timestamp() as lease_left
        from kernel.renew(
            p_class       => %(class)s,
            p_campaign_id => %(campaign_id)s,
            p_generation  => %(generation)s,
            p_token       => %(token)s,
            p_lease_for   => %(lease_for)s
        ) as answer
        """,
        {**under(lease), "lease_for": lease_for},
        lease.token,
    )
    assert renewed is not None  # noqa: S101 - not a set: the function always returns its one row
    return renewed

"""What every role may ask of the kernel."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import psycopg

from . import async_calls
from .errors import KernelUnfit

API_VERSIONS = range(1, 2)
"""Versions of the kernel's functions that this client knows."""


class AsyncRole:
    """What the classes for worker, verifier and reaper share.

    :param connection: logged in as a principal that is a member of one of the group roles.
    """

    def __init__(self, connection: psycopg.AsyncConnection[Any]) -> None:
        self._connection = connection

    async def api_version(self) -> int:
        """Return the version of the kernel's functions. Calls ``kernel.api_version``."""
        found = await async_calls.statement(
            self._connection, "select kernel.api_version() as version", {}
        )
        return int(found[0]["version"])

    async def require_fit_kernel(self) -> None:
        """Look once, before anything else is called, whether client and kernel fit.

        Calls ``kernel.api_version``.

        :raises KernelUnfit: there is no kernel here, or one too old or too new for this client.
        """
        try:
            version = await self.api_version()
        except (psycopg.errors.UndefinedFunction, psycopg.errors.InvalidSchemaName) as error:
            raise KernelUnfit("there is no Fencepost kernel in this database") from error
        if version not in API_VERSIONS:
            side = "too old" if version < API_VERSIONS.start else "too new"
            message = (
                f"the kernel has API version {version}, {side} for this client, "
                f"which knows {API_VERSIONS.start} to {API_VERSIONS.stop - 1}"
            )
            raise KernelUnfit(message)

    async def classes(self) -> list[str]:
        """Return the classes that concern the principal: all to a reaper, else where enrolled.

        Calls ``kernel.classes``.
        """
        found = await async_calls.statement(
            self._connection, "select class.name from kernel.classes() as class (name)", {}
        )
        return [row["name"] for row in found]

    async def next_due(self, campaign_class: str) -> timedelta | None:
        """Return how long until something is due for the principal, or ``None`` if nothing waits.

        Calls ``kernel.next_due``. Zero or less means now. It is a hint for how long to sleep: a
        claim may find nothing all the same, and who is not enrolled is told that nothing waits.
        """
        found = await async_calls.statement(
            self._connection,
            """
            select kernel.next_due(p_class => %(class)s) - pg_catalog.clock_timestamp() as due_in
            """,
            {"class": campaign_class},
        )
        due_in: timedelta | None = found[0]["due_in"]
        return due_in

    async def ring(self, campaign_class: str) -> None:
        """Wake those that listen for work in a class.

        Calls ``kernel.ring``. Make it after the call that made work for somebody has returned, and
        let nothing depend on it: a ring that is lost costs waiting until the next look.
        """
        await async_calls.statement(
            self._connection,
            "select kernel.ring(p_class => %(class)s)",
            {"class": campaign_class},
        )

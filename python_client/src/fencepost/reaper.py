# Made of async_reaper.py by tools/generate-sync: change that, and run it again.
"""What a reaper may ask of the kernel."""

from __future__ import annotations

from datetime import timedelta

from . import calls
from .records import Checkpoint, Eviction, Receipt
from .role import Role


class Reaper(Role):
    """Gives back what its holder lost, so that somebody else can continue it.

    The connection is the caller's and must be idle: every method makes one short transaction of
    its own. A reaper may be stopped and started at any time, and several may run at once.

    :param connection: logged in as a principal that is a member of ``fencepost_reaper``.
    """

    def is_reaper(self) -> bool:
        """Return whether the principal may call ``kernel.reap``."""
        found = calls.statement(
            self._connection,
            "select pg_catalog.has_function_privilege("
            "'kernel.reap(text, integer)', 'execute') as is_reaper",
            {},
        )
        return bool(found[0]["is_reaper"])

    def reap(self, campaign_class: str, *, limit: int = 100) -> list[Receipt]:
        """Take up to *limit* campaigns from leases that ran out, and park what waited too long.

        Calls ``kernel.reap``.

        :return: one receipt per campaign moved; its ``note`` names the move.
        :raises UnknownClass: there is no such class.
        """
        found = calls.rows(
            self._connection,
            "select * from kernel.reap(p_class => %(class)s, p_limit => %(limit)s)",
            {"class": campaign_class, "limit": limit},
        )
        return [calls.record(Receipt, row) for row in found]

    def checkpoint(self, campaign_class: str) -> Checkpoint:
        """Digest what was logged since the last checkpoint, chained to that one.

        Calls ``kernel.checkpoint``. Keep number and digest outside of the server: later tampering
        with the log cannot lead to the same digest again.

        :raises UnknownClass: there is no such class.
        """
        return calls.one(
            self._connection,
            Checkpoint,
            "select * from kernel.checkpoint(p_class => %(class)s)",
            {"class": campaign_class},
        )

    def evict(self, older_than: timedelta) -> list[Eviction]:
        """End the sessions of the ledger's principals that hold a transaction open for longer.

        Calls ``watchdog.evict``, which is there where a superuser has deployed ``superuser/``.

        :param older_than: longer than the longest honest transaction; one second to one day.
        :raises psycopg.errors.InvalidSchemaName: it is not deployed.
        """
        found = calls.rows(
            self._connection,
            "select * from watchdog.evict(p_older_than => %(older_than)s)",
            {"older_than": older_than},
        )
        return [Eviction(**row) for row in found]

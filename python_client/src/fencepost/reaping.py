"""What ``fencepost reaper`` does: takes back what its holders lost, in all classes."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import psycopg

from .connection import Link, NotAdmitted
from .console import Console
from .doorbell import Ring, silent
from .errors import Forbidden, KernelError
from .interrupt import Interrupt
from .operations.store import Store
from .polling import Step
from .reaper import Reaper

_LIMIT = 100
_NO_WATCHDOG = (
    "there is no watchdog.evict that this principal may call: have a superuser deploy superuser/, "
    "or leave --evict-after out"
)


class Reaping:
    """Rounds over all classes. A class that cannot be reaped does not keep the others waiting.

    Operations without a campaign whose lease has run out are taken back, too.

    :param link: the connection, as a reaper.
    :param ring: is told what was taken back, to wake those who can go on with it.
    :param evict_after: end sessions that hold a transaction open for longer, before each round:
        what they have locked is passed by. ``None``: end none.
    """

    def __init__(
        self,
        link: Link,
        *,
        console: Console,
        interrupt: Interrupt,
        patience: timedelta | None = None,
        ring: Ring = silent,
        evict_after: timedelta | None = None,
    ) -> None:
        self._link = link
        self._console = console
        self._interrupt = interrupt
        self._patience = patience
        self._ring = ring
        self._evict_after = evict_after
        self._complaint = ""

    def step(self) -> Step:
        """Reap every class once.

        :return: ``PARTLY`` if a class could not be reaped, or sessions not be ended.
        :raises NotAdmitted: the principal is not a reaper.
        :raises Forbidden: likewise, and it was one when this began.
        :raises ServerUnreachable: the server is gone and did not come back.
        """
        names = self._link.call(
            _classes,
            patience=self._patience,
            unless=self._interrupt,
        )
        last = Step.NOTHING
        has_trouble = self._evict_after is not None and not self._evict(self._evict_after)
        for name in names:
            try:
                if self._reap(name):
                    last = Step.DONE
            except (Forbidden, psycopg.errors.InsufficientPrivilege):
                raise  # the wrong role: no class will be reaped, now or later
            except (KernelError, psycopg.Error) as error:
                self._console.event("error", name, reason=error)
                has_trouble = True
        return Step.PARTLY if has_trouble else last

    def _evict(self, older_than: timedelta) -> bool:
        """End the sessions that hold a transaction open; return whether that was possible."""
        complaint = ""
        try:
            evictions = self._link.call(
                lambda connection: Reaper(connection).evict(older_than),
                patience=self._patience,
                unless=self._interrupt,
            )
        except (
            psycopg.errors.InvalidSchemaName,
            psycopg.errors.UndefinedFunction,
            psycopg.errors.InsufficientPrivilege,
        ):
            complaint = _NO_WATCHDOG
        except (KernelError, psycopg.Error) as error:
            complaint = str(error)
        else:
            for each in (one for one in evictions if one.was_ended):
                self._console.event(
                    "evicted",
                    each.principal,
                    pid=each.pid,
                    state=each.state,
                    open_for=each.open_for,
                    application=each.application_name or None,
                )
        if complaint and complaint != self._complaint:  # once, and not in every round
            self._console.event("error", reason=complaint)
        self._complaint = complaint
        return not complaint

    def _reap(self, name: str) -> bool:
        """Reap one class until there is nothing left to reap; return whether there was any."""
        has_moved = False
        while not self._interrupt:
            moved = self._link.call(
                lambda connection: Reaper(connection).reap(name, limit=_LIMIT),
                patience=self._patience,
                unless=self._interrupt,
            )
            for receipt in moved:
                self._console.event("reaped", receipt, move=receipt.note, state=receipt.state)
            self._ring(*moved)
            has_moved = has_moved or bool(moved)
            if len(moved) < _LIMIT:
                break
        while not self._interrupt:
            expired = self._link.call(
                lambda connection: Store(connection, name).expire(limit=_LIMIT),
                patience=self._patience,
                unless=self._interrupt,
            )
            for operation in expired:
                self._console.event(
                    "expired", name, operation=operation.key, state=operation.operation_state
                )
            has_moved = has_moved or bool(expired)
            if len(expired) < _LIMIT:
                break
        return has_moved


def _classes(connection: psycopg.Connection[Any]) -> list[str]:
    """Return all classes; to anybody but a reaper the kernel would name only some, or none."""
    reaper = Reaper(connection)
    if not reaper.is_reaper():
        raise NotAdmitted("the principal may not call kernel.reap")
    return reaper.classes()

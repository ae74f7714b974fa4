"""What ``fencepost reaper`` does: takes back what its holders lost, in all classes."""

from __future__ import annotations

from datetime import timedelta

import psycopg

from .connection import Link
from .console import Console
from .errors import Forbidden, KernelError
from .interrupt import Interrupt
from .polling import Step
from .reaper import Reaper

_LIMIT = 100


class Reaping:
    """Rounds over all classes. A class that cannot be reaped does not keep the others waiting.

    :param link: the connection, as a reaper.
    """

    def __init__(
        self,
        link: Link,
        *,
        console: Console,
        interrupt: Interrupt,
        patience: timedelta | None = None,
    ) -> None:
        self._link = link
        self._console = console
        self._interrupt = interrupt
        self._patience = patience

    def step(self) -> Step:
        """Reap every class once.

        :raises Forbidden: the principal is not a reaper.
        :raises ServerUnreachable: the server is gone and did not come back.
        """
        names = self._link.call(
            lambda connection: Reaper(connection).classes(),
            patience=self._patience,
            unless=self._interrupt,
        )
        last = Step.NOTHING
        for name in names:
            try:
                if self._reap(name):
                    last = Step.DONE
            except (Forbidden, psycopg.errors.InsufficientPrivilege):
                raise  # the wrong role: no class will be reaped, now or later
            except (KernelError, psycopg.Error) as error:
                self._console.event("error", name, reason=error)
        return last

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
            has_moved = has_moved or bool(moved)
            if len(moved) < _LIMIT:
                break
        return has_moved

"""Keeps a lease alive while its holder works, and says when it is lost."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from datetime import timedelta
from types import TracebackType
from typing import Any

import psycopg

from . import clock
from .connection import Link
from .errors import KernelError, Retry, ServerUnreachable
from .interrupt import Interrupt
from .records import Lease

_LAST_TRY = 3.0

Renew = Callable[[psycopg.Connection[Any], Lease], Lease]


class LeaseKeeper:
    """Renews a lease at a third of what is left of it, in a thread of its own.

    It sets *interrupt* when the kernel says that the lease is lost, or when it has run out by this
    machine's own clock while the server could not be reached: somebody else may hold the campaign
    then.

    :param link: the connection; the keeper uses it only while nobody else does.
    :param renew: calls ``kernel.renew`` for a lease.
    :param lease: as it was granted.
    :param interrupt: is set when the work must stop; its reason begins with ``LOST``.
    """

    LOST = "the lease is lost"

    def __init__(self, link: Link, renew: Renew, lease: Lease, interrupt: Interrupt) -> None:
        self._link = link
        self._renew = renew
        self._lease = lease
        self._interrupt = interrupt
        self._is_lost = False
        self._asking_since: float | None = None
        self._done = Interrupt()
        self._thread = threading.Thread(target=self._keep, name="lease keeper", daemon=True)

    def __enter__(self) -> LeaseKeeper:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """Renew no more. Call it before the call that ends the lease."""
        self._done.set("done")
        self._thread.join(timeout=30)

    @property
    def lease(self) -> Lease:
        """The lease as last renewed."""
        return self._lease

    @property
    def is_lost(self) -> bool:
        """Whether the lease is known, or must be taken, to be lost."""
        self.check()
        return self._is_lost

    @property
    def why_lost(self) -> str | None:
        """What the kernel said of it, or that nothing was heard."""
        return self._interrupt.reason if self._is_lost else None

    def check(self) -> None:
        """Look whether the lease has run out by this machine's clock. Cheap; call it often."""
        time, since = clock.now(), self._asking_since
        if self._is_lost or self._done or time < self._lease.runs_out_at or since is None:
            return
        # A process that slept past the expiry may ask once more: an expired lease that nobody
        # took can be renewed. One that has been asking in vain since before must not go on.
        if since <= self._lease.runs_out_at or time - since > _LAST_TRY:
            self._lose("it ran out, and the server could not be reached")

    def _lose(self, why: str) -> None:
        self._is_lost = True
        self._interrupt.set(f"{self.LOST}: {why}")

    def _keep(self) -> None:
        while not self._done.wait(self._until_next()):
            self._asking_since = clock.now()
            left = self._lease.runs_out_at - self._asking_since
            try:
                self._lease = self._link.call(
                    lambda connection: self._renew(connection, self._lease),
                    patience=timedelta(seconds=left if left > 0 else _LAST_TRY),
                    unless=self._done,
                    hurry=timedelta(0),
                )
            except (Retry, ServerUnreachable) as error:
                if clock.now() >= self._lease.runs_out_at:
                    self._lose(f"it ran out, and could not be renewed: {error}")
                    return
            except (KernelError, psycopg.Error) as error:
                if not self._done:
                    self._lose(str(error))
                return
            self._asking_since = None

    def _until_next(self) -> float:
        """Return how long to wait: a third of what is left, a little less or more."""
        left = self._lease.runs_out_at - clock.now()
        return max(0.1, left / 3 * random.uniform(0.9, 1.0))  # noqa: S311 - not a secret

"""Keeps a lease alive while its holder works, and says when it is lost."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import timedelta
from types import TracebackType
from typing import Any

import psycopg

from .connection import Link
from .errors import KernelError, ServerUnreachable
from .hold import Hold
from .interrupt import Interrupt
from .records import Lease

Renew = Callable[[psycopg.Connection[Any], Lease], Lease]


class LeaseKeeper:
    """Renews a lease at a third of what is left of it, in a thread of its own.

    It sets *interrupt* when the lease is lost, as :class:`fencepost.hold.Hold` says.

    :param link: the connection; the keeper uses it only while nobody else does.
    :param renew: calls ``kernel.renew`` for a lease.
    :param lease: as it was granted.
    :param interrupt: is set when the work must stop; its reason begins with ``LOST``.
    """

    LOST = "the lease is lost"

    def __init__(self, link: Link, renew: Renew, lease: Lease, interrupt: Interrupt) -> None:
        self._link = link
        self._renew = renew
        self._hold = Hold(lease)
        self._interrupt = interrupt
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
        return self._hold.lease

    @property
    def is_lost(self) -> bool:
        """Whether the lease is known, or must be taken, to be lost."""
        self.check()
        return self._hold.why_lost is not None

    @property
    def why_lost(self) -> str | None:
        """What the kernel said of it, or that nothing was heard."""
        return self._interrupt.reason if self._hold.why_lost is not None else None

    def check(self) -> None:
        """Look whether the lease has run out by this machine's clock. Cheap; call it often."""
        if not self._done and self._hold.has_run_out():
            self._lose()

    def _lose(self) -> None:
        self._interrupt.set(f"{self.LOST}: {self._hold.why_lost}")

    def _keep(self) -> None:
        while not self._done.wait(self._hold.until_next()):
            try:
                lease = self._link.call(
                    lambda connection: self._renew(connection, self._hold.lease),
                    patience=self._hold.asks(),
                    unless=self._done,
                    hurry=timedelta(0),
                )
            except (KernelError, ServerUnreachable, psycopg.Error) as error:
                if self._done:
                    return
                if self._hold.failed(error):
                    self._lose()
                    return
            else:
                self._hold.renewed(lease)

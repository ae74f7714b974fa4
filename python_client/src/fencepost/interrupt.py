"""A latch that says why work must stop, and wakes whoever waits for it."""

from __future__ import annotations

import os
import select
import threading
import time
from datetime import timedelta
from types import TracebackType


class Interrupt:
    """Set once, by a signal handler or another thread; the first reason stays.

    :meth:`fileno` becomes readable when it is set, so that it can be waited for beside pipes.

    :param others: while one of these is set, so is this one; but see them as well by polling.
    """

    def __init__(self, *others: Interrupt) -> None:
        self._others = others
        self._read, self._write = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self._reason: str | None = None
        self._since = 0.0
        self._is_closed = False
        self._lock = threading.RLock()  # a signal handler may come while its own thread is inside

    def set(self, reason: str) -> None:
        """Ask for a stop; *reason* is a phrase for people."""
        with self._lock:
            if self._reason is None:
                self._since = time.monotonic()
                self._reason = reason
                if not self._is_closed:
                    os.write(self._write, b"!")

    @property
    def reason(self) -> str | None:
        """Why to stop, or ``None`` while nobody asked."""
        if self._reason is not None:
            return self._reason
        return next((other.reason for other in self._others if other), None)

    def __bool__(self) -> bool:
        return self._reason is not None or any(self._others)

    def wait(self, seconds: float) -> bool:
        """Sleep, but no longer than until it is set; return whether it is."""
        if not self and seconds > 0:
            select.select([self, *self._others], [], [], seconds)
        return bool(self)

    def is_older_than(self, seconds: float) -> bool:
        """Return whether it was set so long ago."""
        return self._reason is not None and time.monotonic() >= self._since + seconds

    def fileno(self) -> int:
        """Return a descriptor that is readable once this is set."""
        return self._read

    def close(self) -> None:
        """Give the descriptors back; who still has it may set it, and wakes nobody."""
        with self._lock:
            if not self._is_closed:
                self._is_closed = True
                os.close(self._read)
                os.close(self._write)

    def __enter__(self) -> Interrupt:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class Overdue(Interrupt):
    """Set once another has been for so long: what is nearly done has that time to be done.

    :param other: looked at by polling.
    """

    def __init__(self, other: Interrupt, grace: timedelta) -> None:
        super().__init__()
        self._other = other
        self._grace = grace.total_seconds()

    @property
    def reason(self) -> str | None:
        """Why to stop, or ``None`` while there is time."""
        return self._other.reason if self else None

    def __bool__(self) -> bool:
        return self._other.is_older_than(self._grace)

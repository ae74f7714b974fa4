"""What this machine knows of a lease while it is being kept."""

from __future__ import annotations

import random
from datetime import timedelta

from . import clock
from .errors import Retry, ServerUnreachable
from .records import Lease

_LAST_TRY = 3.0


class Hold:
    """Says when the lease is to be renewed, and when it must be taken to be lost.

    It is lost when the kernel says so, or when it has run out by this machine's own clock while the
    server could not be reached: somebody else may hold the campaign then.

    :param lease: as it was granted.
    """

    def __init__(self, lease: Lease) -> None:
        self.lease = lease
        """The lease as last renewed."""
        self.why_lost: str | None = None
        self._asking_since: float | None = None

    def until_next(self) -> float:
        """Return how long to wait: a third of what is left, a little less or more."""
        left = self.lease.runs_out_at - clock.now()
        return max(0.1, left / 3 * random.uniform(0.9, 1.0))  # noqa: S311 - not a secret

    def asks(self) -> timedelta:
        """Note that a renewal is asked for now, and return how long its answer may take.

        A process that slept past the expiry may ask once more: an expired lease that nobody took
        can be renewed.
        """
        time = clock.now()
        if self._asking_since is None:
            self._asking_since = time
        until = self.lease.runs_out_at
        if self._asking_since > until:
            until = self._asking_since + _LAST_TRY
        return timedelta(seconds=max(0.0, until - time))

    def renewed(self, lease: Lease) -> None:
        """Take the lease that was answered."""
        self.lease = lease
        self._asking_since = None

    def failed(self, error: BaseException) -> bool:
        """Return whether the lease is lost, now that its renewal failed."""
        if not isinstance(error, Retry | ServerUnreachable):
            self.why_lost = str(error)
        elif clock.now() >= self.lease.runs_out_at:
            self.why_lost = f"it ran out, and could not be renewed: {error}"
        return self.why_lost is not None

    def has_run_out(self) -> bool:
        """Return whether it ran out while its renewal was asked for in vain. Cheap."""
        time, since = clock.now(), self._asking_since
        if self.why_lost is not None or time < self.lease.runs_out_at or since is None:
            return False
        # One that has been asking since before the expiry must not go on.
        if since > self.lease.runs_out_at and time - since <= _LAST_TRY:
            return False
        self.why_lost = "it ran out, and the server could not be reached"
        return True

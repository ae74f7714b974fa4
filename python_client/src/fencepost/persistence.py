"""How a call goes on that failed: after a pause, or not any more."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import timedelta

from . import clock
from .errors import Retry, ServerUnreachable

_RETRIES = 8
_LONGEST_RETRY = 2.0
_LONGEST_LOSS = 5.0


class Persistence:
    """What one call has met so far, and for how long it is made again.

    Each pause is another while, so that many do not come at once.

    :param tell: is told, in a sentence, when the connection is lost and when it is back.
    """

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell
        self._retries = 0
        self._losses = 0
        self._lost_at = 0.0
        self._told = ""

    def after_retry(self, error: Retry) -> float:
        """Return how long to wait after an answer that says so.

        :raises Retry: it was answered often enough.
        """
        self._retries += 1
        if self._retries >= _RETRIES:
            raise error
        return _about(min(_LONGEST_RETRY, 0.05 * 2**self._retries))

    def after_loss(self, error: Exception, patience: timedelta | None) -> float:
        """Return how long to wait after the connection was lost: the first time not at all.

        :param patience: for how long it may be gone; ``None``: for ever.
        :raises ServerUnreachable: it has been gone for so long.
        """
        self._losses += 1
        if self._losses == 1:
            self._lost_at = clock.now()
        if self._told != str(error):
            self._told = str(error)
            self._tell(f"connection lost, trying again: {error}")
        if self._losses == 1:
            return 0.0
        wait = min(_LONGEST_LOSS, 0.1 * 2**self._losses)
        if patience is not None and clock.now() + wait > self._lost_at + patience.total_seconds():
            raise ServerUnreachable(str(error)) from error
        return _about(wait)

    def has_succeeded(self) -> None:
        """Say that it is over, if there was anything to say before."""
        if self._losses:
            self._tell("connection is back")


def _about(seconds: float) -> float:
    return seconds * random.uniform(0.5, 1.5)  # noqa: S311 - not a secret

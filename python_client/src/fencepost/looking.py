"""Whether a claim is worth making: asked of the kernel with one statement that writes nothing."""

from __future__ import annotations

from datetime import timedelta

from .connection import Link
from .interrupt import Interrupt
from .polling import Step
from .role import Role

_CLAIM_AT_LEAST = 60
_CLAIMS_IN_DOUBT = 30


class Look:
    """The looks of one command at one class.

    A claim is three statements, and a look by ``kernel.next_due`` is one. So a claim is made when
    something is due, and otherwise only now and then, to learn of what ``next_due`` does not say:
    that the principal was dismissed, or that a claim whose answer was lost brought a lease.

    :param link: the connection.
    """

    def __init__(
        self,
        link: Link,
        campaign_class: str,
        *,
        interrupt: Interrupt,
        patience: timedelta | None = None,
    ) -> None:
        self._link = link
        self._class = campaign_class
        self._interrupt = interrupt
        self._patience = patience
        self._claims_owed = 1
        self._looks = 0
        self._losses = link.losses
        self._due_in: float | None = None
        self._is_asked = False

    def due_in(self) -> float | None:
        """Return in how many seconds something is due, as of the last look; ``None``: unknown."""
        return self._due_in

    def is_worth_a_claim(self) -> bool:
        """Look, or say without looking that a claim is due anyway."""
        self._looks += 1
        self._is_asked = False
        if self._claims_owed > 0:
            self._claims_owed -= 1
        elif self._looks < _CLAIM_AT_LEAST and not self._is_due():
            return False
        self._looks = 0
        return True

    def after(self, *, has_lease: bool) -> Step:
        """Take note of what the claim brought, and say what to make of it."""
        if self._link.losses != self._losses:
            # The server may only now be committing a claim that nobody waits for any more.
            self._losses = self._link.losses
            self._claims_owed = _CLAIMS_IN_DOUBT
        if has_lease:
            self._claims_owed = max(1, self._claims_owed)
            return Step.DONE
        return Step.MISSED if self._is_asked or self._is_due() else Step.NOTHING

    def _is_due(self) -> bool:
        self._is_asked = True
        found = self._link.call(
            lambda connection: Role(connection).next_due(self._class),
            patience=self._patience,
            unless=self._interrupt,
        )
        self._due_in = None if found is None else found.total_seconds()
        return self._due_in is not None and self._due_in <= 0

"""What the operations add to :mod:`fencepost.errors`.

    FencepostError
    ├── InvalidArgument         cannot be stored as it is; nothing was sent
    ├── NoKernelAnswer          the client answered a query with something else than its rows
    ├── OutcomeNotRecorded      the effect ended, and its record could not be written
    └── FenceChanged            the operation is not the one that was read before

What the kernel answers is raised as elsewhere: ``Stale``, ``NotHolder``, ``Illegal``, ``Expired``
and the other outcomes, ``UnknownOperation`` and the other kinds of misuse, ``Retry``.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from fencepost.errors import FencepostError, KernelError, RaisedError

if TYPE_CHECKING:
    from uuid import UUID

    from .records import Claim, Outcome


class InvalidArgument(FencepostError, ValueError):
    """A value that no ledger can hold: refused here, before anything is sent."""


class NoKernelAnswer(FencepostError):
    """The application's client returned something that holds no rows."""


class FenceChanged(FencepostError):
    """The operation was written since the fence was read; nothing was asked or changed."""


class OutcomeNotRecorded(FencepostError):
    """The effect ended like this, and the ledger could not be told.

    Whoever has the claim, or its token, can still tell it, once the server is back:
    ``store.complete(error.claim, error.outcome.result)``. Do not carry the effect out again.
    """

    def __init__(
        self, claim: Claim, outcome: Outcome, *, is_unknown: bool, cause: BaseException
    ) -> None:
        state = "it is unknown now" if is_unknown else "its record stands as it stood"
        super().__init__(
            f"the outcome of operation {claim.key!r} was not recorded, {state}: {cause}"
        )
        self.claim = claim
        self.outcome = outcome
        self.is_unknown = is_unknown
        """Whether the ledger says that the operation is unknown."""

    @property
    def key(self) -> str:
        """The operation's key."""
        return self.claim.key

    @property
    def token(self) -> UUID:
        """The operation's token, which is no part of the message."""
        return self.claim.token


def sqlstate(error: BaseException) -> str | None:
    """Return the SQLSTATE of an error of any driver, as far as it says one.

    psycopg and asyncpg have ``sqlstate``, psycopg2 ``pgcode``, pg8000 a dictionary of the
    protocol's fields.
    """
    for name in ("sqlstate", "pgcode"):
        found = getattr(error, name, None)
        if isinstance(found, str):
            return found
    fields = error.args[0] if error.args else None
    if isinstance(fields, dict) and isinstance(fields.get("C"), str):
        return str(fields["C"])
    return None


def known(error: BaseException) -> RaisedError | None:
    """Return the exception for a driver's error whose SQLSTATE the ledger knows."""
    kind = KernelError.by_code.get(sqlstate(error) or "")
    if kind is None or not issubclass(kind, RaisedError):
        return None
    return kind(_Described(error))  # type: ignore[arg-type]


class _Described:
    """An error of any driver, described as psycopg does."""

    def __init__(self, error: BaseException) -> None:
        self._text = str(error)
        diagnostics = getattr(error, "diag", None)
        fields: Any = error.args[0] if error.args and isinstance(error.args[0], dict) else {}
        self.diag = diagnostics or SimpleNamespace(
            message_primary=fields.get("M") or getattr(error, "message", None),
            message_detail=fields.get("D") or getattr(error, "detail", None),
            message_hint=fields.get("H") or getattr(error, "hint", None),
        )

    def __str__(self) -> str:
        return self._text

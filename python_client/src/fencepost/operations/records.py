"""What the operation functions return, and what is said to them."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import Enum, StrEnum
from typing import Any, Final, TypeAlias
from uuid import UUID

from fencepost import clock
from fencepost.records import Receipt


class Absent(Enum):
    """The type of :data:`ABSENT`."""

    ABSENT = "ABSENT"

    def __repr__(self) -> str:
        return "ABSENT"

    def __bool__(self) -> bool:
        return False


ABSENT: Final = Absent.ABSENT
"""No value at all, where ``None`` is the value ``null`` of JSON."""


@dataclass(frozen=True, slots=True)
class RawJson:
    """JSON that is passed on as it is written, every digit of it."""

    text: str


class ClaimStatus(StrEnum):
    """What became of a claim."""

    OWNER = "owner"
    """The operation is the caller's to carry out."""
    PENDING = "pending"
    """Somebody is at it, or died there; see ``retry_after``."""
    REPLAY = "replay"
    """It is done; the record says how it ended."""
    UNKNOWN = "unknown"
    """Whether it happened is not known; reconcile it first."""
    CONFLICT = "conflict"
    """The key is in use for something else. Nothing else is told."""


class State:
    """The states of an operation, as the kernel writes them."""

    PENDING: Final = "pending"
    COMPLETED: Final = "completed"
    FAILED: Final = "failed"
    UNKNOWN: Final = "unknown"
    RELEASED: Final = "released"
    """Nothing was done; counts as absent."""


@dataclass(frozen=True, slots=True)
class Fence:
    """Which life of a key, and which write in it. Every write raises the revision."""

    incarnation: UUID
    revision: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation(Receipt):
    """``kernel.operation``: an operation as it stood when it was read.

    ``state``, ``campaign_id`` and ``generation`` are the campaign's, and ``None`` where there is
    none; ``lease_expires_at`` is the operation's own.
    """

    status: str | None = None
    """A :class:`ClaimStatus`; only in the answer to a claim."""
    operation_key: str | None = None
    kind: str | None = None
    target: str | None = None
    ordinal: int | None = None
    attempt_no: int | None = None
    duty: str | None = None
    fingerprint: str | None = None
    incarnation: UUID | None = None
    revision: int | None = None
    operation_state: str | None = None
    is_started: bool | None = None
    expected: dict[str, Any] | None = None
    read_back: Any = None
    result: Any = ABSENT
    result_text: str | None = None
    """The result as the caller wrote it, byte for byte."""
    diagnostic: Any = ABSENT
    reason: str | None = None
    principal: str | None = None
    label: str | None = None
    created_at: datetime | None = None
    updated_at: datetime | None = None
    reconciled_by: str | None = None
    reconciled_at: datetime | None = None
    retry_after: timedelta | None = None

    @property
    def key(self) -> str:
        """The operation's key."""
        return self.operation_key or ""

    @property
    def fence(self) -> Fence:
        """What :meth:`Store.resolve_unknown` wants to see again."""
        if self.incarnation is None or self.revision is None:
            message = "a conflict shows no fence"
            raise ValueError(message)
        return Fence(self.incarnation, self.revision)

    @property
    def has_result(self) -> bool:
        """Whether there is a result, be it ``null``."""
        return self.result is not ABSENT


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """The answer to a claim. Show it to nobody: with its token one can end the operation."""

    status: ClaimStatus
    operation: Operation
    """As it stands; on a conflict nothing but the key."""
    token: UUID = field(repr=False)
    """Made by the client for this claim; part of every call of the operation's owner."""
    campaign_class: str
    key: str
    runs_out_at: float | None = field(repr=False, compare=False, default=None)
    """Seconds of :func:`fencepost.clock.now`; ``None`` where there is no lease."""

    @property
    def is_owner(self) -> bool:
        """Whether the operation is the caller's to carry out."""
        return self.status is ClaimStatus.OWNER

    @property
    def is_over(self) -> bool:
        """Whether its lease has run out, by this machine's clock."""
        return self.runs_out_at is not None and clock.now() >= self.runs_out_at

    @property
    def fence(self) -> Fence:
        """The operation's fence. A conflict has none."""
        return self.operation.fence


@dataclass(frozen=True, slots=True, kw_only=True)
class Completed:
    """It happened, and this came of it."""

    result: Any = ABSENT
    reason: str | None = None
    read_back: Any = ABSENT
    """What the target shows now; must contain what was expected of it, where something was."""
    result_text: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """It certainly did not happen, or what happened is certainly no success."""

    reason: str
    result: Any = ABSENT
    result_text: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Unknown:
    """It may have happened."""

    reason: str
    diagnostic: Any = ABSENT


@dataclass(frozen=True, slots=True, kw_only=True)
class StillUnknown:
    """Somebody looked, and it is still not known."""

    reason: str


Outcome: TypeAlias = Completed | Failed | Unknown
"""What an effect ends as."""

Resolution: TypeAlias = Completed | Failed | StillUnknown
"""What a reconciler finds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """``kernel.operation_step``: one event in the life of a key."""

    event_no: int
    incarnation: UUID
    revision: int
    event: str
    from_state: str | None
    to_state: str
    by_principal: str
    reason: str | None
    diagnostic: Any
    is_late: bool
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class PruneResult:
    """How many were removed, and whether there is more to remove."""

    removed: int
    is_more: bool


@dataclass(frozen=True, slots=True)
class Cursor:
    """Where a page ended."""

    key: str
    at: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Some operations, and where the next page begins: ``None`` at the end."""

    operations: list[Operation]
    next_cursor: Cursor | None

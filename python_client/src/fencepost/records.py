"""What the kernel returns: one frozen dataclass per composite type.

The fields are those of the type, with one difference: ``class`` is a reserved word in Python, so
here it is ``campaign_class``. Every type of the kernel's begins with the fields of
``kernel.receipt``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """``kernel.receipt``: what became of a call. Where it was refused, the rest is ``None``."""

    outcome: str
    """``ok``, or a code of ``ledger.answer``."""
    duplicate: bool | None = None
    """The same call had been carried out before; nothing was written now."""
    moved: bool | None = None
    """The call changed the state of a campaign."""
    note: str | None = None
    """Why it moved nothing, or which move was made where that is not plain."""
    campaign_class: str | None = None
    campaign_id: int | None = None
    generation: int | None = None
    state: str | None = None
    lease_expires_at: datetime | None = None
    message: str | None = None
    """Why it was refused, in a sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease(Receipt):
    """``kernel.lease``: who holds a campaign, as its holder keeps it.

    Two fields are the client's own: the token, and when the lease runs out by the clock of this
    machine. Show them to nobody; whoever has the token and the principal's password is the holder.
    """

    campaign_class: str
    campaign_id: int
    generation: int
    state: str
    lease_expires_at: datetime
    attempt_no: int
    attempt_limit: timedelta
    """How long an attempt may run."""
    lease_cap_at: datetime
    """Beyond this the lease cannot be renewed."""
    token: UUID = field(repr=False)
    """Made by the client for this claim; part of every call under the lease."""
    runs_out_at: float = field(repr=False, compare=False, default=0.0)
    """Seconds of :func:`fencepost.clock.now`. Never later than the server's expiry."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment(Receipt):
    """``kernel.assignment``: what a worker is asked to do, and what was tried before."""

    campaign_class: str
    campaign_id: int
    generation: int
    state: str
    lease_expires_at: datetime
    attempt_no: int
    attempt_limit: timedelta
    target: str
    location: dict[str, Any]
    desired_state: dict[str, Any]
    acceptance: dict[str, Any]
    observation: dict[str, Any] | None
    """What the sensor saw that opened the campaign; ``None`` where an admin opened it."""
    attempts: list[dict[str, Any]]
    """Earlier attempts, oldest first: ``ending``, ``reason``, ``approach``, ``fingerprint`` …"""
    refused_fingerprints: list[str]
    """Outcomes that may not be submitted again."""
    previous_campaign_id: int | None
    operations: list[dict[str, Any]]
    """Operations of the campaign of which nobody knows whether they took effect, oldest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundle(Receipt):
    """``kernel.bundle``: what a verifier judges."""

    campaign_class: str
    campaign_id: int
    generation: int
    state: str
    lease_expires_at: datetime
    attempt_no: int
    target: str
    location: dict[str, Any]
    desired_state: dict[str, Any]
    acceptance: dict[str, Any]
    result: dict[str, Any]
    fingerprint: str
    refused_fingerprints: list[str]
    bundle_sha256: bytes
    promotes: bool
    """Whether an accepted result is to be put into the target's own ref."""
    operations: list[dict[str, Any]]
    """Operations of the campaign of which nobody knows whether they took effect, oldest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint(Receipt):
    """``kernel.checkpoint``: the digest of the log of a class up to now."""

    campaign_class: str
    checkpoint_no: int
    event_count: int
    """How many events were digested with this one."""
    sha256: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Eviction:
    """``watchdog.eviction``: a session that was ended. What is hidden, or unset, is ``None``."""

    pid: int
    principal: str | None
    application_name: str | None
    state: str | None
    """As in ``pg_stat_activity``, ``idle in transaction`` for one."""
    open_for: timedelta
    """How long its transaction was open."""
    was_ended: bool
    """``False`` where it had ended by itself."""

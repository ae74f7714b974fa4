# Made of async_worker.py by tools/generate-sync: change that, and run it again.
"""What a worker may ask of the kernel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import psycopg
from psycopg.types.json import Jsonb

from . import calls, clock
from .records import Assignment, Lease, Receipt
from .role import Role


class Worker(Role):
    """Claims campaigns and records what became of the attempts.

    The connection is the caller's and must be idle: every method makes one short transaction of
    its own, commits it, and only then raises what the kernel's answer asks for. Any method may be
    repeated with the same arguments after a lost connection; the kernel recognises the repeat.

    :param connection: logged in as a principal that is a member of ``fencepost_worker`` and
        enrolled in the class as worker.
    :param label: what people see beside the principal's name; at most 200 bytes.
    """

    def __init__(self, connection: psycopg.Connection[Any], *, label: str | None = None) -> None:
        super().__init__(connection)
        self._label = label

    def claim(
        self,
        campaign_class: str,
        *,
        token: UUID | None = None,
        lease_for: timedelta | None = None,
    ) -> Lease | None:
        """Lease the next ready campaign of a class, or return ``None`` when none is ready.

        Calls ``kernel.claim``.

        :param token: names this claim, and every call under its lease. Pass the same again to
            repeat a claim whose answer was lost; a fresh one is made if ``None``.
        :param lease_for: how long until the lease must be renewed; the class's default if ``None``.
        :raises Forbidden: the principal is not enrolled in the class as worker.
        :raises NotHolder: the token names a lease of another principal or kind.
        :raises ArgumentOutOfRange: *lease_for* is outside the bounds of the class.
        """
        token = token or uuid4()
        return calls.lease_or_none(
            self._connection,
            """
            select answer.*, answer.lease_expires_at - pg_catalog.clock_timestamp() as lease_left
            from kernel.claim(
                p_class     => %(class)s,
                p_token     => %(token)s,
                p_label     => %(label)s,
                p_lease_for => %(lease_for)s
            ) as answer
            """,
            {"class": campaign_class, "token": token, "label": self._label, "lease_for": lease_for},
            token,
        )

    def claim_many(
        self,
        campaign_class: str,
        *,
        tokens: Sequence[UUID],
        lease_for: timedelta | None = None,
    ) -> list[Lease]:
        """Lease as many campaigns as there are tokens, or as many as are ready, in one transaction.

        Calls ``kernel.claim_many``. Each lease is renewed, ended and lost by itself.

        :param tokens: 1 to 100 different ones, one for each lease. Pass the same again to repeat a
            call whose answer was lost.
        :param lease_for: as in :meth:`claim`.
        :return: the leases, each with its token, in the order of *tokens*.
        :raises Forbidden: the principal is not enrolled in the class as worker.
        :raises NotHolder: a token names a lease of another principal or kind. What the other
            tokens brought is held all the same: call again without that one.
        :raises ArgumentOutOfRange: *tokens* or *lease_for* is outside the bounds.
        """
        asked_at = clock.now()
        found = calls.rows(
            self._connection,
            """
            select answer.*, answer.lease_expires_at - pg_catalog.clock_timestamp() as lease_left
            from kernel.claim_many(
                p_class     => %(class)s,
                p_tokens    => %(tokens)s,
                p_label     => %(label)s,
                p_lease_for => %(lease_for)s
            ) as answer
            """,
            {
                "class": campaign_class,
                "tokens": list(tokens),
                "label": self._label,
                "lease_for": lease_for,
            },
        )
        if len(found) == len(tokens) or not any(row["duplicate"] for row in found):
            # Where nothing more is ready, the tokens at the end are those without a lease.
            return [
                calls.lease(row, token, asked_at) for row, token in zip(found, tokens, strict=False)
            ]
        # A repeat, and some of the leases have ended since. A row does not name its token; a claim
        # with it does.
        repeats = {row["campaign_id"]: row["duplicate"] for row in found}
        leases = [self.claim(campaign_class, token=token, lease_for=lease_for) for token in tokens]
        return [
            replace(lease, duplicate=repeats.get(lease.campaign_id, lease.duplicate))
            for lease in leases
            if lease is not None
        ]

    def brief(self, lease: Lease) -> Assignment:
        """Return what to do under a lease, and every earlier attempt with its reason.

        Calls ``kernel.brief``.

        :raises Stale: the lease is lost.
        """
        return calls.one(
            self._connection,
            Assignment,
            """
            select * from kernel.brief(
                p_class       => %(class)s,
                p_campaign_id => %(campaign_id)s,
                p_generation  => %(generation)s,
                p_token       => %(token)s
            )
            """,
            calls.under(lease),
        )

    def renew(self, lease: Lease, *, lease_for: timedelta | None = None) -> Lease:
        """Prolong a lease, counted from now, and return it with its new expiry.

        Calls ``kernel.renew``.

        :param lease_for: as in :meth:`claim`. The lease's cap bounds all renewals together.
        :raises Stale: the lease is lost: stop the work, discard it.
        """
        return calls.renew(self._connection, lease, lease_for)

    def submit(
        self,
        lease: Lease,
        *,
        fingerprint: str,
        approach: str | None,
        result: dict[str, Any],
        evidence_uri: str | None = None,
        evidence_sha256: bytes | None = None,
    ) -> Receipt:
        """Hand the attempt's result in for verification; the lease ends.

        Calls ``kernel.submit``.

        :param fingerprint: identifies the outcome, for Git the patch id; at most 200 bytes.
        :param approach: what was tried, for the next attempt; at most 4096 bytes.
        :param result: for a Git target ``repository``, ``ref``, ``base``, ``commit``,
            ``pushed_ref``.
        :param evidence_sha256: 32 bytes.
        :raises Repeated: an attempt with this fingerprint failed before; the lease stands.
        :raises Stale: the lease is lost; nothing was recorded.
        """
        return calls.one(
            self._connection,
            Receipt,
            """
            select * from kernel.submit(
                p_class           => %(class)s,
                p_campaign_id     => %(campaign_id)s,
                p_generation      => %(generation)s,
                p_token           => %(token)s,
                p_fingerprint     => %(fingerprint)s,
                p_approach        => %(approach)s,
                p_result          => %(result)s,
                p_evidence_uri    => %(evidence_uri)s,
                p_evidence_sha256 => %(evidence_sha256)s
            )
            """,
            {
                **calls.under(lease),
                "fingerprint": fingerprint,
                "approach": approach,
                "result": Jsonb(result),
                "evidence_uri": evidence_uri,
                "evidence_sha256": evidence_sha256,
            },
        )

    def fail(
        self,
        lease: Lease,
        *,
        reason: str,
        approach: str | None = None,
        fingerprint: str | None = None,
    ) -> Receipt:
        """Record that the attempt did not succeed; the lease ends, the next attempt is later.

        Calls ``kernel.fail``.

        :param reason: what the next attempt should know; at most 4096 bytes, no NUL
            (:func:`fencepost.text.harmless` makes any output fit).
        :param fingerprint: of the outcome, if there was one; it will not be accepted again.
        :raises Stale: the lease is lost; nothing was recorded.
        """
        return calls.one(
            self._connection,
            Receipt,
            """
            select * from kernel.fail(
                p_class       => %(class)s,
                p_campaign_id => %(campaign_id)s,
                p_generation  => %(generation)s,
                p_token       => %(token)s,
                p_reason      => %(reason)s,
                p_approach    => %(approach)s,
                p_fingerprint => %(fingerprint)s
            )
            """,
            {
                **calls.under(lease),
                "reason": reason,
                "approach": approach,
                "fingerprint": fingerprint,
            },
        )

    def release(self, lease: Lease, *, reason: str | None = None) -> Receipt:
        """Give the campaign back without a verdict on the attempt; the lease ends.

        Calls ``kernel.release``.

        :raises Stale: the lease is lost; nothing was recorded.
        """
        return calls.one(
            self._connection,
            Receipt,
            """
            select * from kernel.release(
                p_class       => %(class)s,
                p_campaign_id => %(campaign_id)s,
                p_generation  => %(generation)s,
                p_token       => %(token)s,
                p_reason      => %(reason)s
            )
            """,
            {**calls.under(lease), "reason": reason},
        )

# Made of async_verifier.py by tools/generate-sync: change that, and run it again.
"""What a verifier may ask of the kernel."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Literal
from uuid import UUID, uuid4

import psycopg

from . import calls
from .records import Bundle, Lease, Receipt
from .role import Role

Verdict = Literal["accepted", "rejected", "unverifiable"]


class Verifier(Role):
    """Judges submitted attempts, and promotes what was accepted.

    The connection is the caller's and must be idle: every method makes one short transaction of
    its own, commits it, and only then raises what the kernel's answer asks for. Any method may be
    repeated with the same arguments after a lost connection; the kernel recognises the repeat.

    :param connection: logged in as a principal that is a member of ``fencepost_verifier`` and
        enrolled in the class as verifier.
    :param label: what people see beside the principal's name; at most 200 bytes.
    """

    def __init__(self, connection: psycopg.Connection[Any], *, label: str | None = None) -> None:
        super().__init__(connection)
        self._label = label

    def claim_verification(
        self,
        campaign_class: str,
        *,
        token: UUID | None = None,
        lease_for: timedelta | None = None,
    ) -> Lease | None:
        """Lease a submitted attempt that this principal may judge, or return ``None``.

        Calls ``kernel.claim_verification``.

        :param token: names this claim; pass the same again to repeat one whose answer was lost.
        :param lease_for: how long until the lease must be renewed; the class's default if ``None``.
        :raises Forbidden: the principal is not enrolled in the class as verifier.
        """
        token = token or uuid4()
        return calls.lease_or_none(
            self._connection,
            """
            select answer.*, answer.lease_expires_at - pg_catalog.clock_timestamp() as lease_left
            from kernel.claim_verification(
                p_class     => %(class)s,
                p_token     => %(token)s,
                p_label     => %(label)s,
                p_lease_for => %(lease_for)s
            ) as answer
            """,
            {"class": campaign_class, "token": token, "label": self._label, "lease_for": lease_for},
            token,
        )

    def claim_promotion(
        self,
        campaign_class: str,
        *,
        token: UUID | None = None,
        lease_for: timedelta | None = None,
    ) -> Lease | None:
        """Lease an accepted attempt whose promotion nobody holds, or return ``None``.

        Calls ``kernel.claim_promotion``. Parameters and errors are those of
        :meth:`claim_verification`.
        """
        token = token or uuid4()
        return calls.lease_or_none(
            self._connection,
            """
            select answer.*, answer.lease_expires_at - pg_catalog.clock_timestamp() as lease_left
            from kernel.claim_promotion(
                p_class     => %(class)s,
                p_token     => %(token)s,
                p_label     => %(label)s,
                p_lease_for => %(lease_for)s
            ) as answer
            """,
            {"class": campaign_class, "token": token, "label": self._label, "lease_for": lease_for},
            token,
        )

    def renew(self, lease: Lease, *, lease_for: timedelta | None = None) -> Lease:
        """Prolong a lease, counted from now, and return it with its new expiry.

        Calls ``kernel.renew``.

        :raises Stale: the lease is lost: stop the work, discard it.
        """
        return calls.renew(self._connection, lease, lease_for)

    def bundle(self, lease: Lease) -> Bundle:
        """Return what is to be judged or promoted under a lease.

        Calls ``kernel.bundle``.

        :raises Stale: the lease is lost.
        """
        return calls.one(
            self._connection,
            Bundle,
            """
            select * from kernel.bundle(
                p_class       => %(class)s,
                p_campaign_id => %(campaign_id)s,
                p_generation  => %(generation)s,
                p_token       => %(token)s
            )
            """,
            calls.under(lease),
        )

    def judge(
        self,
        lease: Lease,
        *,
        verdict: Verdict,
        bundle_sha256: bytes | None = None,
        fingerprint: str | None = None,
        command: str | None = None,
        exit_code: int | None = None,
        reason: str | None = None,
        evidence_uri: str | None = None,
        evidence_sha256: bytes | None = None,
    ) -> Receipt:
        """Record the verdict, once and for good.

        Calls ``kernel.judge``. ``accepted`` in a class that promotes leaves the lease standing, in
        state ``promoting``; every other verdict ends it.

        :param verdict: ``accepted`` needs *bundle_sha256*, *exit_code* 0, evidence, and the
            *fingerprint* that the verifier computed itself; ``rejected`` needs *bundle_sha256*,
            *reason* and evidence; ``unverifiable``, an abstention, needs *reason*.
        :param command: the acceptance command as it was run.
        :param reason: at most 4096 bytes.
        :param evidence_sha256: 32 bytes, of what *evidence_uri* names.
        :raises SelfVerdict: this principal worked on the campaign.
        :raises SameFamily: the class wants a verifier of another model family.
        :raises BundleMismatch: digest or fingerprint is not the bundle's.
        :raises Repeated: the fingerprint is one that did not succeed before.
        :raises NoEvidence: evidence is missing.
        :raises Paused: accepted, while the class is paused.
        :raises VerdictContradictsExitCode: accepted, with another exit code than 0.
        :raises Stale: the lease is lost; nothing was recorded.
        """
        return calls.one(
            self._connection,
            Receipt,
            """
            select * from kernel.judge(
                p_class           => %(class)s,
                p_campaign_id     => %(campaign_id)s,
                p_generation      => %(generation)s,
                p_token           => %(token)s,
                p_verdict         => %(verdict)s,
                p_bundle_sha256   => %(bundle_sha256)s,
                p_fingerprint     => %(fingerprint)s,
                p_command         => %(command)s,
                p_exit_code       => %(exit_code)s,
                p_reason          => %(reason)s,
                p_evidence_uri    => %(evidence_uri)s,
                p_evidence_sha256 => %(evidence_sha256)s
            )
            """,
            {
                **calls.under(lease),
                "verdict": verdict,
                "bundle_sha256": bundle_sha256,
                "fingerprint": fingerprint,
                "command": command,
                "exit_code": exit_code,
                "reason": reason,
                "evidence_uri": evidence_uri,
                "evidence_sha256": evidence_sha256,
            },
        )

    def promote(self, lease: Lease) -> Receipt:
        """Record that the result is in the target's ref, which a completed operation has shown.

        Calls ``kernel.promote``. :mod:`fencepost.operations.git` makes that operation.

        :raises NoEvidence: no completed operation of kind ``promote`` has moved this result.
        :raises OperationOpen: an operation of the campaign is open, or unknown.
        :raises Stale: the lease is lost; nothing was recorded.
        """
        return calls.one(
            self._connection,
            Receipt,
            """
            select * from kernel.promote(
                p_class       => %(class)s,
                p_campaign_id => %(campaign_id)s,
                p_generation  => %(generation)s,
                p_token       => %(token)s
            )
            """,
            calls.under(lease),
        )

    def outdate(self, lease: Lease, *, reason: str) -> Receipt:
        """Record that the target moved on, so that the result no longer fits it; the lease ends.

        Calls ``kernel.outdate``. Only for a ref that does not hold the expected value and from
        which the result is not reachable. The fingerprint stays usable.

        :param reason: what the ref held; at most 4096 bytes.
        :raises Stale: the lease is lost; nothing was recorded.
        """
        return calls.one(
            self._connection,
            Receipt,
            """
            select * from kernel.outdate(
                p_class       => %(class)s,
                p_campaign_id => %(campaign_id)s,
                p_generation  => %(generation)s,
                p_token       => %(token)s,
                p_reason      => %(reason)s
            )
            """,
            {**calls.under(lease), "reason": reason},
        )

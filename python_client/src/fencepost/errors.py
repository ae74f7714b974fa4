"""What can go wrong, one class per outcome and per SQLSTATE of the kernel.

    FencepostError
    ├── ConnectionBusy          the connection is in a transaction already
    ├── ServerUnreachable       no connection to the server within the time allowed
    ├── KernelUnfit             there is no kernel, or one that this client does not know
    └── KernelError             the kernel answered, and not with ``ok``
        ├── Refused             recorded by the kernel; ``.receipt`` is its answer
        │   ├── Stale           another generation holds the campaign: stop, discard
        │   ├── NotHolder       another principal or token holds this generation
        │   ├── Illegal         not a move from the campaign's present state
        │   ├── Forbidden       not enrolled in the class for this duty
        │   ├── Repeated        the fingerprint of an attempt that did not succeed
        │   ├── SelfVerdict     who attempts does not judge
        │   ├── SameFamily      the verdict needs another model family
        │   ├── BundleMismatch  digest, fingerprint or value is not the bundle's
        │   ├── NoEvidence      evidence with its SHA-256 is needed
        │   ├── Paused          the class is paused: nothing is accepted meanwhile
        │   ├── Expired         the lease has run out, and here an unexpired one is needed
        │   ├── OperationOpen   an external operation is open or unknown: reconcile it first
        │   └── Limit           as many as are allowed
        ├── Misuse              raised by the kernel: fix the caller
        │   ├── ArgumentMissing             KN101
        │   ├── ArgumentMalformed           KN102
        │   ├── ArgumentTooLong             KN103
        │   ├── ArgumentOutOfRange          KN104
        │   ├── UnknownPolicyKey            KN105
        │   ├── UnknownClass                KN106
        │   ├── UnknownTarget               KN107
        │   ├── UnknownCampaign             KN108
        │   ├── UnknownPrincipal            KN109
        │   ├── UnknownObservation          KN110
        │   ├── WrongIsolation              KN111
        │   ├── ReadOnly                    KN112
        │   ├── NotYetCommitted             KN113
        │   ├── VerdictContradictsExitCode  KN114
        │   ├── NotAMember                  KN115
        │   ├── UnknownOperation            KN116
        │   ├── MoveRefused                 KN901
        │   ├── AppendOnly                  KN902
        │   └── FrozenColumn                KN903
        └── Retry               repeat the call with the same arguments
            ├── LockNotAvailable            55P03
            ├── DeadlockDetected            40P01
            └── QueryCanceled               57014

Each class names its code, and :func:`refusal` and :mod:`fencepost.translation` find a class by it,
so a new answer is one class and nothing else. ``ledger.answer`` is the same list in the database.
What the kernel did not say (a lost connection, a missing privilege) stays the ``psycopg.Error`` it
was.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    import psycopg

    from .records import Receipt


class FencepostError(Exception):
    """Catch this to catch whatever this package raises by itself."""


class ConnectionBusy(FencepostError):
    """The connection is in a transaction: a method begins and commits one of its own."""


class ServerUnreachable(FencepostError):
    """No connection to the server could be had within the time allowed."""


class KernelUnfit(FencepostError):
    """The database has no kernel, or one that is too old or too new for this client."""


class KernelError(FencepostError):
    """The kernel answered, and the answer is not ``ok``."""

    code: str
    """The outcome, or the SQLSTATE."""

    by_code: ClassVar[dict[str, type[KernelError]]] = {}
    """Every class that stands for one code, by that code."""

    def __init_subclass__(cls, *, code: str | None = None, **rest: Any) -> None:
        super().__init_subclass__(**rest)
        if code is not None:
            cls.code = code
            KernelError.by_code[code] = cls


class Refused(KernelError):
    """The kernel did not carry the call out, and recorded that."""

    receipt: Receipt
    """The kernel's answer; ``receipt.message`` says why in a sentence."""

    def __init__(self, receipt: Receipt) -> None:
        super().__init__(receipt.message or receipt.outcome)
        self.receipt = receipt
        self.code = str(receipt.outcome)  # also where this client has no class for it


class Stale(Refused, code="stale"):
    """The generation is not the present one: stop working, discard the result."""


class NotHolder(Refused, code="not_holder"):
    """Another principal, or the same one with another token, holds this generation."""


class Illegal(Refused, code="illegal"):
    """The campaign is in a state in which this is not done."""


class Forbidden(Refused, code="forbidden"):
    """The principal is not enrolled in the class for this duty: ask an admin."""


class Repeated(Refused, code="repeated"):
    """The fingerprint is that of an attempt that failed, was rejected or contradicted."""


class SelfVerdict(Refused, code="self_verdict"):
    """The verifier's principal worked on this campaign."""


class SameFamily(Refused, code="same_family"):
    """The class wants a verifier of another model family than the worker's."""


class BundleMismatch(Refused, code="bundle_mismatch"):
    """Digest, fingerprint or new value is not that of the bundle."""


class NoEvidence(Refused, code="no_evidence"):
    """An evidence URI with its SHA-256 is needed here."""


class Paused(Refused, code="paused"):
    """The class is paused: nothing is accepted until an admin resumes it."""


class Expired(Refused, code="expired"):
    """The lease has run out, and what is to begin needs an unexpired one."""


class OperationOpen(Refused, code="operation_open"):
    """An external operation is open, or nobody knows how it ended: reconcile it first."""


class Limit(Refused, code="limit"):
    """There are as many as the class allows."""


class RaisedError(KernelError):
    """An error that the server raised under an SQLSTATE of ``ledger.answer``."""

    detail: str | None
    hint: str | None

    def __init__(self, error: psycopg.Error) -> None:
        super().__init__(error.diag.message_primary or str(error))
        self.detail = error.diag.message_detail
        self.hint = error.diag.message_hint


class Misuse(RaisedError):
    """The call cannot be right, whatever the ledger holds: fix the caller."""


class ArgumentMissing(Misuse, code="KN101"):
    """A required argument is null."""


class ArgumentMalformed(Misuse, code="KN102"):
    """An argument does not have the form that its description states."""


class ArgumentTooLong(Misuse, code="KN103"):
    """A text or jsonb argument is longer than its bound."""


class ArgumentOutOfRange(Misuse, code="KN104"):
    """A duration or number is outside its bounds; the detail names them."""


class UnknownPolicyKey(Misuse, code="KN105"):
    """The policy or acceptance has a key that the kernel does not know."""


class UnknownClass(Misuse, code="KN106"):
    """There is no such class."""


class UnknownTarget(Misuse, code="KN107"):
    """The class has no such target."""


class UnknownCampaign(Misuse, code="KN108"):
    """The class has no such campaign."""


class UnknownPrincipal(Misuse, code="KN109"):
    """There is no such LOGIN role, or it is not registered as it is now."""


class UnknownObservation(Misuse, code="KN110"):
    """The target has no observation of this number."""


class WrongIsolation(Misuse, code="KN111"):
    """The transaction is not READ COMMITTED."""


class ReadOnly(Misuse, code="KN112"):
    """The transaction is read-only."""


class NotYetCommitted(Misuse, code="KN113"):
    """The lease was granted in this same transaction: commit the claim first."""


class VerdictContradictsExitCode(Misuse, code="KN114"):
    """The verdict is accepted, but the exit code is not 0."""


class NotAMember(Misuse, code="KN115"):
    """The role is not a direct, inheriting member of the group that the duty needs."""


class UnknownOperation(Misuse, code="KN116"):
    """The class has no operation of this key."""


class MoveRefused(Misuse, code="KN901"):
    """A change of a ledger row that no kernel function makes."""


class AppendOnly(Misuse, code="KN902"):
    """Rows of this table are never changed or removed."""


class FrozenColumn(Misuse, code="KN903"):
    """A column that is fixed once written."""


class Retry(RaisedError):
    """Nothing was done; the same call may well succeed in a moment."""


class LockNotAvailable(Retry, code="55P03"):
    """A row lock was not had within the kernel's ``lock_timeout``."""


class DeadlockDetected(Retry, code="40P01"):
    """The server ended the call to break a deadlock."""


class QueryCanceled(Retry, code="57014"):
    """The call was cancelled, or ran into the session's ``statement_timeout``."""


def refusal(receipt: Receipt) -> Refused:
    """Return the exception for a receipt whose outcome is not ``ok``."""
    known = KernelError.by_code.get(receipt.outcome)
    return known(receipt) if known and issubclass(known, Refused) else Refused(receipt)

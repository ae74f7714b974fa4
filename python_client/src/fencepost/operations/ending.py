"""How a run ends, and what of that can be written down; no connection, no thread."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final, Protocol

from fencepost.errors import FencepostError, KernelError, Retry
from fencepost.text import harmless, head

from .blank import is_blank, trimmed
from .errors import InvalidArgument, sqlstate
from .records import (
    ABSENT,
    Claim,
    ClaimStatus,
    Completed,
    Failed,
    Operation,
    Outcome,
    Resolution,
    StillUnknown,
    Unknown,
)
from .statements import encoded, plain

MESSAGE_UNITS: Final = 512
"""How much of an error's message becomes a reason."""

CANCELLED: Final = "cancelled"
MISSING: Final = "missing"
REPLAYED: Final = "replayed"
RESOLVED: Final = "resolved"

NOT_CLAIMED: Final = "side-effect was cancelled before claim"
NOT_EXECUTED: Final = "side-effect was cancelled before execution"
IN_FLIGHT: Final = "side-effect caller cancelled while execution was in flight"
TOO_LATE: Final = "its lease ran out between start and execution"
NOT_BEGUN: Final = "cancelled between start and execution"
WORDLESS: Final = "side-effect adapter threw without a reason"

# What is wrong with the program, and will be the next time as well.
_FINAL: Final = (
    FencepostError,
    TypeError,
    AttributeError,
    LookupError,
    ValueError,
    AssertionError,
    NotImplementedError,
)
# Classes of SQLSTATE: connection, rollback, resources, object in use, intervention.
_PASSING: Final = frozenset({"08", "40", "53", "55", "57"})


class Cancel(Protocol):
    """What tells that the caller does not want it any more: a ``threading.Event``, say."""

    def is_set(self) -> bool:
        """Return whether it was cancelled."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What an effect is told about its operation."""

    key: str
    """Pass it to the other side, as its idempotency key, where it takes one."""
    fingerprint: str
    operation: Operation
    cancel: Cancel | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """How a run ended.

    ``state`` is ``completed``, ``failed`` or ``unknown`` where this run carried out the effect;
    ``replayed``, ``pending``, ``unknown`` or ``conflict`` where it did not, since the key is taken;
    ``cancelled`` where nothing was begun.
    """

    state: str
    operation: Operation | None = None
    reason: str | None = None
    result: Any = ABSENT
    diagnostic: Any = ABSENT
    result_error: str | None = None
    """Why the result could not be stored; the operation is completed without it."""
    is_executed: bool = False
    """Whether the effect was begun by this run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecoverResult:
    """What came of a look at an operation: ``missing``, ``resolved``, or the state it is in."""

    state: str
    operation: Operation | None = None


def may_pass(error: BaseException) -> bool:
    """Return whether the same call may succeed in a moment: *retry*, or the connection."""
    if isinstance(error, Retry):
        return True
    code = sqlstate(error)
    if code is not None:
        return code[:2] in _PASSING
    return not isinstance(error, _FINAL)


def is_answer(error: BaseException) -> bool:
    """Return whether the kernel said no, and will say so again."""
    return isinstance(error, KernelError) and not isinstance(error, Retry)


def resolution_of(said: object) -> Resolution:
    """Return what a resolver said, if it is one of the three things that it may say.

    :raises InvalidArgument: it is not.
    """
    if isinstance(said, Completed | Failed | StillUnknown):
        return said
    message = f"a resolver says Completed, Failed or StillUnknown, not {said!r}"
    raise InvalidArgument(message)


def unrecorded(outcome: Outcome, why: BaseException) -> str:
    """Return why an operation is unknown whose effect ended as *outcome*."""
    kind = type(outcome).__name__.lower()
    return cut(f"the effect ended as {kind}, and that was not recorded: {message_of(why)}")


def misclassified(why: BaseException) -> Unknown:
    """Return the outcome where the one who classifies errors raised one."""
    return Unknown(reason=cut(f"side-effect error classification failed: {message_of(why)}"))


def recorded(operation: Operation, outcome: Outcome, result_error: str | None) -> RunResult:
    """Return the result of a run whose outcome is in the ledger."""
    return RunResult(
        state=operation.operation_state or "",
        operation=operation,
        reason=outcome.reason,
        result=ABSENT if isinstance(outcome, Unknown) else outcome.result,
        diagnostic=outcome.diagnostic if isinstance(outcome, Unknown) else ABSENT,
        result_error=result_error,
        is_executed=True,
    )


def taken(claim: Claim) -> RunResult:
    """Return what somebody else's operation says; a conflict says nothing."""
    status = claim.status
    return stood(claim.operation, REPLAYED if status is ClaimStatus.REPLAY else status.value)


def stood(operation: Operation, state: str | None = None) -> RunResult:
    """Return what stands in the ledger, where this run did nothing."""
    return RunResult(
        state=state or operation.operation_state or MISSING,
        operation=operation,
        reason=operation.reason,
        result=operation.result,
        diagnostic=operation.diagnostic,
    )


def cancelled(reason: str, operation: Operation | None = None) -> RunResult:
    """Return that of a run that began nothing."""
    return RunResult(state=CANCELLED, reason=reason, operation=operation)


def wellformed(outcome: object) -> Outcome:
    """Return *outcome* if it is one, and otherwise that nobody knows."""
    if isinstance(outcome, Completed):
        return outcome
    if isinstance(outcome, Failed | Unknown):
        reason: object = outcome.reason
        if isinstance(reason, str) and not is_blank(reason):
            return outcome
        what = f"{type(outcome).__name__} without a reason"
    else:
        what = f"not Completed, Failed or Unknown, but {type(outcome).__name__}"
    return Unknown(reason=f"side-effect adapter returned an invalid outcome: {what}")


def storable(outcome: Outcome) -> tuple[Outcome, str | None]:
    """Return an outcome that the ledger can hold, and what had to be left out.

    An effect that happened has happened, also where its result cannot be written down.
    """
    outcome = _with_reason(outcome, _fit(outcome.reason or ""))
    try:
        if isinstance(outcome, Unknown):
            encoded(outcome.diagnostic)
        else:
            encoded(outcome.result)
            plain(outcome.result_text or "none", "result")
    except InvalidArgument as error:
        return without_result(outcome, str(error)), str(error)
    return outcome, None


def _with_reason(outcome: Outcome, reason: str) -> Outcome:
    said = None if is_blank(reason) else reason
    if isinstance(outcome, Completed):
        return replace(outcome, reason=said)
    return replace(outcome, reason=said or "the reason given holds nothing that can be read")


def without_result(outcome: Outcome, why: str) -> Outcome:
    """Return *outcome* as it can be stored where its result cannot."""
    said = f"{outcome.reason}; " if outcome.reason else ""
    reason = _fit(f"{said}the result is not stored: {why}")
    if isinstance(outcome, Completed):
        return Completed(reason=reason, read_back=outcome.read_back)
    return Failed(reason=reason) if isinstance(outcome, Failed) else Unknown(reason=reason)


def _fit(reason: str) -> str:
    """Return a reason as the ledger takes it."""
    return head(harmless(reason))


def message_of(error: BaseException) -> str:
    """Return what an error says, or at least what it is."""
    return str(error) or type(error).__name__


def reason_of(error: BaseException, otherwise: str) -> str:
    """Return what an error says, as a reason; *otherwise* where it says nothing."""
    text = trimmed(str(error))
    return cut(text) if text else otherwise


def cut(text: str) -> str:
    """Return the beginning of *text*, without what neither ledger nor terminal can take."""
    return harmless(text)[:MESSAGE_UNITS]

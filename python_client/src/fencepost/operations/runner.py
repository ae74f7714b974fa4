"""Carries out an effect at most once, and says plainly where it does not know.

The order is: claim, start, effect, record. Each of the first two is committed before the next
begins. Whatever ends the effect in an unclear way leaves the operation ``unknown``, and nobody
carries it out again until somebody has looked: :meth:`EffectRunner.recover`.
"""

from __future__ import annotations

import contextlib
import random
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from types import TracebackType
from typing import Any, Final, TypeVar
from uuid import uuid4

from fencepost import clock
from fencepost.errors import ArgumentMalformed, ArgumentTooLong, KernelError
from fencepost.records import Lease

from .base import OperationStore, has_fencing_capability
from .ending import (
    CANCELLED,
    IN_FLIGHT,
    MISSING,
    NOT_BEGUN,
    NOT_CLAIMED,
    NOT_EXECUTED,
    REPLAYED,
    RESOLVED,
    TOO_LATE,
    WORDLESS,
    Cancel,
    Context,
    RecoverResult,
    RunResult,
    cancelled,
    is_answer,
    may_pass,
    misclassified,
    reason_of,
    recorded,
    resolution_of,
    stood,
    storable,
    taken,
    unrecorded,
    wellformed,
    without_result,
)
from .errors import FenceChanged, InvalidArgument, OutcomeNotRecorded
from .records import (
    ABSENT,
    Claim,
    Completed,
    Failed,
    Fence,
    Operation,
    Outcome,
    Resolution,
    State,
    StillUnknown,
    Unknown,
)

__all__ = [
    "CANCELLED",
    "MISSING",
    "REPLAYED",
    "RESOLVED",
    "Context",
    "EffectRunner",
    "Execute",
    "OnError",
    "RecoverResult",
    "Renewal",
    "Resolver",
    "RunResult",
    "run_http_effect",
    "run_queue_effect",
]

T = TypeVar("T")
R = TypeVar("R")

_TICK: Final = 0.02
_FIRST_PAUSE: Final = 0.05
_LONGEST_PAUSE: Final = 2.0

Execute = Callable[[Context], Outcome]
OnError = Callable[[BaseException, Context], Outcome]
Resolver = Callable[[Operation], Resolution]


class EffectRunner:
    """Runs effects whose operations are kept in *store*, and reconciles the unknown ones.

    :param store: keeps the operations.
    :param patience: how long a record is tried again while the server cannot be reached.
    """

    def __init__(
        self, store: OperationStore, *, patience: timedelta = timedelta(seconds=30)
    ) -> None:
        if not has_fencing_capability(store):
            message = "a store with fencing by incarnation and revision is needed"
            raise InvalidArgument(message)
        self._store = store
        self._patience = patience.total_seconds()

    @property
    def store(self) -> OperationStore:
        """Where the operations are kept."""
        return self._store

    def get(self, key: str) -> Operation | None:
        """Return the operation of *key* as it stands."""
        return self._store.get(key)

    def run(
        self,
        key: str,
        fingerprint: str,
        execute: Execute,
        *,
        kind: str | None = None,
        target: str | None = None,
        expected: dict[str, Any] | None = None,
        lease_for: timedelta | None = None,
        cancel: Cancel | None = None,
        cancel_diagnostic: Any = ABSENT,
        on_error: OnError | None = None,
    ) -> RunResult:
        """Carry out *execute* if the key is free, and record how it ended.

        :param execute: does it, and says how it ended: ``Completed``, ``Failed`` or ``Unknown``.
            Anything it raises, unless *on_error* says better, is ``Unknown``.
        :param cancel: once set, nothing is begun any more; what has begun is ``unknown`` at once,
            and what it still returns is ignored. With it, *execute* runs in another thread.
        :param cancel_diagnostic: is kept with an operation that was cancelled in flight.
        :param on_error: says how an effect ended that raised.
        :raises OutcomeNotRecorded: the effect has ended, and the ledger does not know how.
        """
        if cancel is not None and cancel.is_set():
            return cancelled(NOT_CLAIMED)
        token = uuid4()
        claim = self._patiently(
            lambda: self._store.claim(
                key,
                fingerprint,
                kind=kind,
                target=target,
                token=token,
                lease_for=lease_for,
                expected=expected,
            )
        )
        return self._carry_out(
            claim,
            fingerprint,
            execute,
            cancel=cancel,
            cancel_diagnostic=cancel_diagnostic,
            on_error=on_error,
            lease_for=lease_for,
        )

    def run_under(
        self,
        lease: Lease,
        fingerprint: str,
        execute: Execute,
        *,
        kind: str | None = None,
        target: str | None = None,
        ordinal: int = 1,
        expected: dict[str, Any] | None = None,
        cancel: Cancel | None = None,
        cancel_diagnostic: Any = ABSENT,
        on_error: OnError | None = None,
    ) -> RunResult:
        """Carry out *execute* as an operation of a campaign's attempt; see :meth:`run`."""
        if cancel is not None and cancel.is_set():
            return cancelled(NOT_CLAIMED)
        token = uuid4()
        claim = self._patiently(
            lambda: self._store.begin(
                lease,
                fingerprint,
                kind=kind,
                target=target,
                ordinal=ordinal,
                token=token,
                expected=expected,
            )
        )
        return self._carry_out(
            claim,
            fingerprint,
            execute,
            cancel=cancel,
            cancel_diagnostic=cancel_diagnostic,
            on_error=on_error,
        )

    def recover(
        self,
        key: str,
        resolver: Resolver,
        *,
        fence: Fence | None = None,
        lease: Lease | None = None,
    ) -> RecoverResult:
        """Let *resolver* look at the target of an unknown operation, and record what it found.

        It is asked about an unknown operation only, and never carries the effect out. When it
        raises, the operation stays as it was.

        :param resolver: returns ``Completed``, ``Failed`` or ``StillUnknown``.
        :param fence: look only if the operation still has this one.
        :param lease: the campaign's present one, where the operation belongs to a campaign.
        :raises FenceChanged: the operation was written since *fence* was read.
        :raises InvalidArgument: the resolver said something else; nothing was recorded.
        """
        operation = self._store.get(key)
        if operation is None:
            return RecoverResult(state=MISSING)
        if operation.operation_state != State.UNKNOWN:
            return RecoverResult(state=operation.operation_state or MISSING, operation=operation)
        if fence is not None and fence != operation.fence:
            message = f"operation {key!r} was written since its fence was read"
            raise FenceChanged(message)
        said = resolution_of(resolver(operation))
        resolved = self._patiently(
            lambda: self._store.resolve_unknown(key, operation.fence, said, lease=lease)
        )
        state = State.UNKNOWN if isinstance(said, StillUnknown) else RESOLVED
        return RecoverResult(state=state, operation=resolved)

    # -- a run -------------------------------------------------------------------------------------

    def _carry_out(
        self,
        claim: Claim,
        fingerprint: str,
        execute: Execute,
        *,
        cancel: Cancel | None,
        cancel_diagnostic: Any,
        on_error: OnError | None,
        lease_for: timedelta | None = None,
    ) -> RunResult:
        if not claim.is_owner:
            return taken(claim)
        try:
            if cancel is not None and cancel.is_set():
                released = self._release(claim, "cancelled before execution")
                return cancelled(NOT_EXECUTED, released)
            started = self._patiently(lambda: self._store.start(claim))
        except KernelError:
            # Nothing was begun: what the kernel would not let start is free for another.
            self._release(claim, "could not be started")
            raise
        if started.operation_state != State.PENDING:
            # The answer to the first start was lost, and the lease ran out before this one.
            return stood(started)
        if claim.is_over or (cancel is not None and cancel.is_set()):
            reason = TOO_LATE if claim.is_over else NOT_BEGUN
            return replace(self._record(claim, Failed(reason=reason)), is_executed=False)
        context = Context(key=claim.key, fingerprint=fingerprint, operation=started, cancel=cancel)
        effect = _Effect(execute, on_error, context)
        with Renewal(self._store, claim, lease_for) as renewal:
            try:
                outcome = effect.outcome(cancel, cancel_diagnostic)
            except BaseException as error:
                # This process is being stopped. The effect may have happened.
                with contextlib.suppress(OutcomeNotRecorded):
                    self._record(claim, Unknown(reason=reason_of(error, "interrupted")), hurry=True)
                raise
            renewal.stop()
            return self._record(claim, outcome)

    def _release(self, claim: Claim, reason: str) -> Operation | None:
        """Give it back; if that fails, it is taken back when its lease runs out."""
        try:
            return self._store.release(claim, reason)
        except Exception:  # noqa: BLE001 - the caller is told something of more weight
            return None

    def _record(self, claim: Claim, outcome: Outcome, *, hurry: bool = False) -> RunResult:
        """Write down how it ended, for as long as patience lasts."""
        outcome, result_error = storable(outcome)
        patience = 0.0 if hurry else self._patience
        try:
            try:
                operation = self._patiently(
                    lambda: self._written(claim, outcome), patience=patience, is_vital=True
                )
            except (ArgumentTooLong, ArgumentMalformed) as error:
                outcome, result_error = without_result(outcome, str(error)), str(error)
                operation = self._patiently(
                    lambda: self._written(claim, outcome), patience=patience, is_vital=True
                )
        except Exception as error:
            is_unknown = self._mark(claim, outcome, error)
            raise OutcomeNotRecorded(claim, outcome, is_unknown=is_unknown, cause=error) from error
        return recorded(operation, outcome, result_error)

    def _written(self, claim: Claim, outcome: Outcome) -> Operation:
        if isinstance(outcome, Completed):
            return self._store.complete(
                claim,
                outcome.result,
                reason=outcome.reason,
                read_back=outcome.read_back,
                result_text=outcome.result_text,
            )
        if isinstance(outcome, Failed):
            return self._store.fail(
                claim, outcome.reason, outcome.result, result_text=outcome.result_text
            )
        return self._store.mark_unknown(claim, outcome.reason, outcome.diagnostic)

    def _mark(self, claim: Claim, outcome: Outcome, why: BaseException) -> bool:
        """Say at least that it is unknown; return whether the ledger has it so."""
        try:
            self._store.mark_unknown(claim, unrecorded(outcome, why))
        except Exception:  # noqa: BLE001 - the caller is told of the first error
            try:
                found = self._store.get(claim.key)
            except Exception:  # noqa: BLE001
                return False
            return found is not None and found.operation_state == State.UNKNOWN
        return True

    def _patiently(
        self, call: Callable[[], T], *, patience: float | None = None, is_vital: bool = False
    ) -> T:
        """Make a call that repeats safely until it is answered.

        The kernel's *retry* is tried again, and so is what a driver says of the connection. What
        is vital is tried at least twice.
        """
        until = clock.now() + (self._patience if patience is None else patience)
        pause, tries = _FIRST_PAUSE, 0
        while True:
            tries += 1
            try:
                return call()
            except Exception as error:
                if not may_pass(error):
                    raise
                if clock.now() + pause > until and not (is_vital and tries == 1):
                    raise
                if self._store.is_lost:
                    raise
            time.sleep(pause * random.uniform(0.5, 1.0))  # noqa: S311 - not a secret
            pause = min(2 * pause, _LONGEST_PAUSE)


class _Effect:
    """One call of ``execute``, and what it comes to whatever it does."""

    def __init__(self, execute: Execute, on_error: OnError | None, context: Context) -> None:
        self._execute = execute
        self._on_error = on_error
        self._context = context
        self._settled = threading.Event()
        self._outcome: Outcome | None = None
        self._raised: BaseException | None = None

    def outcome(self, cancel: Cancel | None, diagnostic: Any) -> Outcome:
        """Return how it ended; once *cancel* is set, that it is unknown."""
        if cancel is None:
            return self._called()
        threading.Thread(target=self._in_thread, name="effect", daemon=True).start()
        while not self._settled.wait(_TICK):
            if cancel.is_set():
                return Unknown(
                    reason=IN_FLIGHT,
                    diagnostic=diagnostic,
                )
        if self._raised is not None:
            raise self._raised
        assert self._outcome is not None  # noqa: S101 - settled without an error
        return self._outcome

    def _in_thread(self) -> None:
        try:
            self._outcome = self._called()
        except BaseException as error:  # noqa: BLE001 - raised in the caller's thread
            self._raised = error
        finally:
            self._settled.set()

    def _called(self) -> Outcome:
        try:
            outcome: object = self._execute(self._context)
        except Exception as error:  # noqa: BLE001 - whatever it is, the effect may have happened
            outcome = self._classified(error)
        return wellformed(outcome)

    def _classified(self, error: Exception) -> object:
        if self._on_error is None:
            return Unknown(reason=reason_of(error, WORDLESS))
        try:
            return self._on_error(error, self._context)
        except Exception as second:  # noqa: BLE001
            return misclassified(second)


class Renewal:
    """Holds an operation for as long as the block lasts, in a thread of its own.

    It renews at a third of what is left, and stops when the kernel says that another has it: the
    record will say so. A campaign's operation lives as long as that lease, and needs none of this.

    :param store: where the operation is kept.
    :param claim: its owner's.
    :param lease_for: how long each time; the class's default if ``None``.
    """

    def __init__(
        self, store: OperationStore, claim: Claim, lease_for: timedelta | None = None
    ) -> None:
        self._store = store
        self._claim = claim
        self._lease_for = lease_for
        self._done = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Renewal:
        if self._claim.runs_out_at is not None:
            self._thread = threading.Thread(target=self._keep, name="renewal", daemon=True)
            self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def stop(self) -> None:
        """Renew no more."""
        self._done.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def _keep(self) -> None:
        while not self._done.wait(self._until_next()):
            try:
                self._claim = self._store.renew(self._claim, lease_for=self._lease_for)
            except Exception as error:  # noqa: BLE001
                if is_answer(error):
                    return  # it is taken: the record will say so
                # The server is away; the next try may reach it.

    def _until_next(self) -> float:
        left = (self._claim.runs_out_at or 0.0) - clock.now()
        return max(0.1, left / 3 * random.uniform(0.9, 1.0))  # noqa: S311 - not a secret


# -- bridges ---------------------------------------------------------------------------------------


def run_http_effect(
    runner: EffectRunner,
    key: str,
    fingerprint: str,
    *,
    request: Callable[[Context], R],
    on_response: Callable[[R, Context], Outcome],
    **options: Any,
) -> RunResult:
    """Run an effect that is a request; *on_response* says what the response means.

    Nothing is inferred from its status, and nothing is sent twice. *options* are those of
    :meth:`EffectRunner.run`.
    """
    return runner.run(
        key, fingerprint, lambda context: on_response(request(context), context), **options
    )


def run_queue_effect(
    runner: EffectRunner,
    key: str,
    fingerprint: str,
    *,
    message: T,
    enqueue: Callable[[T, Context], R],
    on_acknowledgement: Callable[[R, Context], Outcome],
    **options: Any,
) -> RunResult:
    """Run an effect that puts *message* into a queue.

    Nothing is inferred from a receipt: *on_acknowledgement* says what it means. *options* are those
    of :meth:`EffectRunner.run`.
    """
    return runner.run(
        key,
        fingerprint,
        lambda context: on_acknowledgement(enqueue(message, context), context),
        **options,
    )

"""The runner for ``asyncio``: see :mod:`.runner`, whose order and promises are the same."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import random
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import replace
from datetime import timedelta
from typing import Any, Final, TypeVar
from uuid import uuid4

from fencepost import clock
from fencepost.errors import ArgumentMalformed, ArgumentTooLong, KernelError
from fencepost.records import Lease

from .base import AsyncOperationStore, has_fencing_capability
from .ending import (
    IN_FLIGHT,
    MISSING,
    NOT_BEGUN,
    NOT_CLAIMED,
    NOT_EXECUTED,
    RESOLVED,
    TOO_LATE,
    WORDLESS,
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

T = TypeVar("T")

_FIRST_PAUSE: Final = 0.05
_LONGEST_PAUSE: Final = 2.0

AsyncExecute = Callable[[Context], Awaitable[Outcome]]
AsyncResolver = Callable[[Operation], Awaitable[Resolution]]
OnError = Callable[[BaseException, Context], Outcome]


class AsyncEffectRunner:
    """:class:`.runner.EffectRunner` for ``asyncio``.

    A task that is cancelled while its effect is in flight leaves the operation unknown, at once.

    :param store: keeps the operations.
    :param patience: how long a record is tried again while the server cannot be reached.
    """

    def __init__(
        self, store: AsyncOperationStore, *, patience: timedelta = timedelta(seconds=30)
    ) -> None:
        if not has_fencing_capability(store):
            message = "a store with fencing by incarnation and revision is needed"
            raise InvalidArgument(message)
        self._store = store
        self._patience = patience.total_seconds()

    async def get(self, key: str) -> Operation | None:
        """Return the operation of *key* as it stands."""
        return await self._store.get(key)

    async def run(
        self,
        key: str,
        fingerprint: str,
        execute: AsyncExecute,
        *,
        kind: str | None = None,
        target: str | None = None,
        expected: dict[str, Any] | None = None,
        lease_for: timedelta | None = None,
        cancel: asyncio.Event | None = None,
        cancel_diagnostic: Any = ABSENT,
        on_error: OnError | None = None,
    ) -> RunResult:
        """Carry out *execute* if the key is free; see :meth:`.runner.EffectRunner.run`."""
        if cancel is not None and cancel.is_set():
            return cancelled(NOT_CLAIMED)
        token = uuid4()
        claim = await self._patiently(
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
        return await self._carry_out(
            claim,
            fingerprint,
            execute,
            cancel=cancel,
            cancel_diagnostic=cancel_diagnostic,
            on_error=on_error,
            lease_for=lease_for,
        )

    async def run_under(
        self,
        lease: Lease,
        fingerprint: str,
        execute: AsyncExecute,
        *,
        kind: str | None = None,
        target: str | None = None,
        ordinal: int = 1,
        expected: dict[str, Any] | None = None,
        cancel: asyncio.Event | None = None,
        cancel_diagnostic: Any = ABSENT,
        on_error: OnError | None = None,
    ) -> RunResult:
        """Carry out *execute* as an operation of a campaign's attempt."""
        if cancel is not None and cancel.is_set():
            return cancelled(NOT_CLAIMED)
        token = uuid4()
        claim = await self._patiently(
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
        return await self._carry_out(
            claim,
            fingerprint,
            execute,
            cancel=cancel,
            cancel_diagnostic=cancel_diagnostic,
            on_error=on_error,
        )

    async def recover(
        self,
        key: str,
        resolver: AsyncResolver,
        *,
        fence: Fence | None = None,
        lease: Lease | None = None,
    ) -> RecoverResult:
        """Let *resolver* look at an unknown operation; see :meth:`.runner.EffectRunner.recover`."""
        operation = await self._store.get(key)
        if operation is None:
            return RecoverResult(state=MISSING)
        if operation.operation_state != State.UNKNOWN:
            return RecoverResult(state=operation.operation_state or MISSING, operation=operation)
        if fence is not None and fence != operation.fence:
            message = f"operation {key!r} was written since its fence was read"
            raise FenceChanged(message)
        found: object = resolver(operation)
        said = resolution_of(await found if inspect.isawaitable(found) else found)
        resolved = await self._patiently(
            lambda: self._store.resolve_unknown(key, operation.fence, said, lease=lease)
        )
        state = State.UNKNOWN if isinstance(said, StillUnknown) else RESOLVED
        return RecoverResult(state=state, operation=resolved)

    # -- a run -------------------------------------------------------------------------------------

    async def _carry_out(
        self,
        claim: Claim,
        fingerprint: str,
        execute: AsyncExecute,
        *,
        cancel: asyncio.Event | None,
        cancel_diagnostic: Any,
        on_error: OnError | None,
        lease_for: timedelta | None = None,
    ) -> RunResult:
        if not claim.is_owner:
            return taken(claim)
        try:
            if cancel is not None and cancel.is_set():
                return cancelled(
                    NOT_EXECUTED, await self._release(claim, "cancelled before execution")
                )
            started = await self._patiently(lambda: self._store.start(claim))
        except KernelError:
            await self._release(claim, "could not be started")
            raise
        if started.operation_state != State.PENDING:
            return stood(started)
        if claim.is_over or (cancel is not None and cancel.is_set()):
            reason = TOO_LATE if claim.is_over else NOT_BEGUN
            result = await self._record(claim, Failed(reason=reason))
            return replace(result, is_executed=False)
        context = Context(key=claim.key, fingerprint=fingerprint, operation=started, cancel=cancel)
        done = asyncio.Event()
        renewal = asyncio.create_task(self._renew(claim, lease_for, done))

        async def ended(outcome: Outcome, *, hurry: bool = False) -> RunResult:
            # A renewal is waited for: cut off half-way, it could leave the connection busy.
            done.set()
            await renewal
            return await self._record(claim, outcome, hurry=hurry)

        try:
            outcome = await self._outcome(execute, context, cancel, cancel_diagnostic, on_error)
        except BaseException as error:
            # This task, or the process, is being stopped. The effect may have happened.
            reason = IN_FLIGHT if isinstance(error, asyncio.CancelledError) else "interrupted"
            unknown = Unknown(reason=reason_of(error, reason), diagnostic=cancel_diagnostic)
            with contextlib.suppress(OutcomeNotRecorded, asyncio.CancelledError):
                await _to_its_end(ended(unknown, hurry=True))
            raise
        return await _to_its_end(ended(outcome))

    async def _outcome(
        self,
        execute: AsyncExecute,
        context: Context,
        cancel: asyncio.Event | None,
        diagnostic: Any,
        on_error: OnError | None,
    ) -> Outcome:
        effect = asyncio.create_task(_called(execute, context, on_error))
        if cancel is None:
            return await effect
        waiting = asyncio.create_task(cancel.wait())
        try:
            await asyncio.wait({effect, waiting}, return_when=asyncio.FIRST_COMPLETED)
            if effect.done():
                return effect.result()
        except asyncio.CancelledError:
            effect.cancel()
            raise
        finally:
            waiting.cancel()
        # What it still comes to is nobody's business any more.
        effect.add_done_callback(lambda task: task.cancelled() or task.exception())
        return Unknown(reason=IN_FLIGHT, diagnostic=diagnostic)

    async def _release(self, claim: Claim, reason: str) -> Operation | None:
        try:
            return await self._store.release(claim, reason)
        except Exception:  # noqa: BLE001 - the caller is told something of more weight
            return None

    async def _record(self, claim: Claim, outcome: Outcome, *, hurry: bool = False) -> RunResult:
        outcome, result_error = storable(outcome)
        patience = 0.0 if hurry else self._patience
        try:
            try:
                operation = await self._patiently(
                    lambda: self._written(claim, outcome), patience=patience, is_vital=True
                )
            except (ArgumentTooLong, ArgumentMalformed) as error:
                outcome, result_error = without_result(outcome, str(error)), str(error)
                operation = await self._patiently(
                    lambda: self._written(claim, outcome), patience=patience, is_vital=True
                )
        except Exception as error:
            is_unknown = await self._mark(claim, outcome, error)
            raise OutcomeNotRecorded(claim, outcome, is_unknown=is_unknown, cause=error) from error
        return recorded(operation, outcome, result_error)

    async def _written(self, claim: Claim, outcome: Outcome) -> Operation:
        if isinstance(outcome, Completed):
            return await self._store.complete(
                claim,
                outcome.result,
                reason=outcome.reason,
                read_back=outcome.read_back,
                result_text=outcome.result_text,
            )
        if isinstance(outcome, Failed):
            return await self._store.fail(
                claim, outcome.reason, outcome.result, result_text=outcome.result_text
            )
        return await self._store.mark_unknown(claim, outcome.reason, outcome.diagnostic)

    async def _mark(self, claim: Claim, outcome: Outcome, why: BaseException) -> bool:
        try:
            await self._store.mark_unknown(claim, unrecorded(outcome, why))
        except Exception:  # noqa: BLE001 - the caller is told of the first error
            try:
                found = await self._store.get(claim.key)
            except Exception:  # noqa: BLE001
                return False
            return found is not None and found.operation_state == State.UNKNOWN
        return True

    async def _renew(self, claim: Claim, lease_for: timedelta | None, done: asyncio.Event) -> None:
        while claim.runs_out_at is not None:
            left = claim.runs_out_at - clock.now()
            pause = max(0.1, left / 3 * random.uniform(0.9, 1.0))  # noqa: S311 - not a secret
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(done.wait(), pause)
            if done.is_set():
                return
            try:
                claim = await self._store.renew(claim, lease_for=lease_for)
            except Exception as error:  # noqa: BLE001
                if is_answer(error):
                    return  # it is taken: the record will say so
                # The server is away; the next try may reach it.

    async def _patiently(
        self,
        call: Callable[[], Awaitable[T]],
        *,
        patience: float | None = None,
        is_vital: bool = False,
    ) -> T:
        until = clock.now() + (self._patience if patience is None else patience)
        pause, tries = _FIRST_PAUSE, 0
        while True:
            tries += 1
            try:
                return await call()
            except Exception as error:
                if not may_pass(error):
                    raise
                if clock.now() + pause > until and not (is_vital and tries == 1):
                    raise
                if self._store.is_lost:
                    raise
            await asyncio.sleep(pause * random.uniform(0.5, 1.0))  # noqa: S311 - not a secret
            pause = min(2 * pause, _LONGEST_PAUSE)


async def _to_its_end(work: Coroutine[Any, Any, T]) -> T:
    """Wait for *work*, also where the waiting task is cancelled: only then is that heard."""
    task = asyncio.create_task(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        with contextlib.suppress(Exception):
            await asyncio.wait({task})
        raise


async def _called(execute: AsyncExecute, context: Context, on_error: OnError | None) -> Outcome:
    try:
        answer: object = execute(context)
        outcome: object = await answer if inspect.isawaitable(answer) else answer
    except Exception as error:  # noqa: BLE001 - whatever it is, the effect may have happened
        outcome = _classified(error, context, on_error)
    return wellformed(outcome)


def _classified(error: Exception, context: Context, on_error: OnError | None) -> object:
    if on_error is None:
        return Unknown(reason=reason_of(error, WORDLESS))
    try:
        return on_error(error, context)
    except Exception as second:  # noqa: BLE001
        return misclassified(second)

"""The methods of every store; how a statement is sent is each store's own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from typing import Any, Final, TypeVar
from uuid import UUID

from fencepost.records import Lease

from .errors import InvalidArgument
from .records import (
    ABSENT,
    Claim,
    Completed,
    Cursor,
    Failed,
    Fence,
    Operation,
    Page,
    PruneResult,
    Resolution,
    Step,
)
from .statements import Call, Statements

T = TypeVar("T")

FENCING_CAPABILITY: Final = "context-action/durable-operation-fencing/incarnation-revision-v1"
"""What a store has whose operations are fenced by incarnation and revision."""


def has_fencing_capability(store: object) -> bool:
    """Return whether *store* says that it fences by incarnation and revision."""
    return bool(getattr(store, "fencing_capability", None) == FENCING_CAPABILITY)


class _Named:
    """What every store knows by itself.

    :param campaign_class: the class, which is the namespace of the keys.
    :param kind: what kind of operation a claim is for, unless it says so itself.
    :param target: likewise, what it acts on.
    :param label: what people see beside the principal's name; at most 200 bytes.
    :param schema: where the kernel's functions are, if not in ``kernel``.
    """

    fencing_capability: Final = FENCING_CAPABILITY

    def __init__(
        self,
        campaign_class: str,
        *,
        kind: str | None = None,
        target: str | None = None,
        label: str | None = None,
        schema: str = "kernel",
    ) -> None:
        self._statements = Statements(campaign_class, schema=schema)
        self._kind = kind
        self._target = target
        self._label = label

    @property
    def is_lost(self) -> bool:
        """Whether no call can succeed any more, since the connection is gone for good."""
        return False

    @property
    def campaign_class(self) -> str:
        """The class, which is the namespace of the keys."""
        return self._statements.campaign_class

    def _claim(
        self,
        key: str | None,
        fingerprint: str,
        *,
        kind: str | None,
        target: str | None,
        token: UUID | None,
        lease_for: timedelta | None,
        expected: dict[str, Any] | None,
        lease: Lease | None = None,
        ordinal: int = 1,
    ) -> Call[Claim]:
        kind, target = kind or self._kind, target or self._target
        if kind is None or target is None:
            message = "a claim needs a kind and a target, from the call or from the store"
            raise InvalidArgument(message)
        return self._statements.claim(
            key,
            fingerprint,
            kind=kind,
            target=target,
            token=token,
            label=self._label,
            lease_for=lease_for,
            expected=expected,
            lease=lease,
            ordinal=ordinal,
        )


class OperationStore(_Named, ABC):
    """Operations kept in the ledger, over a connection that waits.

    Every method is one statement. Any may be repeated with the same arguments after an answer was
    lost, a claim with the same *token*; the kernel recognises the repeat.

    Each raises a subclass of ``Refused`` for an outcome that is not ``ok``, of ``Misuse`` for a
    call that cannot be right, and of ``Retry`` where the same call may well succeed in a moment.
    """

    @abstractmethod
    def _run(self, call: Call[T]) -> T:
        """Send one statement, and return what it answers."""

    def claim(
        self,
        key: str,
        fingerprint: str,
        *,
        kind: str | None = None,
        target: str | None = None,
        token: UUID | None = None,
        lease_for: timedelta | None = None,
        expected: dict[str, Any] | None = None,
    ) -> Claim:
        """Claim *key* for an operation of its own; ``status`` of the answer says what came of it.

        Calls ``kernel.begin_operation``.

        :param fingerprint: what is to be done; the same key with another is a conflict.
        :param token: names this claim. Pass the same again to repeat a claim whose answer was
            lost; a fresh one is made if ``None``.
        :param lease_for: how long until it must be renewed; the class's default if ``None``.
        :param expected: ``{"before": …, "after": {…}}``: what completion must be able to show.
        :raises Forbidden: the principal has no authority for this kind and target.
        """
        return self._run(
            self._claim(
                key,
                fingerprint,
                kind=kind,
                target=target,
                token=token,
                lease_for=lease_for,
                expected=expected,
            )
        )

    def begin(
        self,
        lease: Lease,
        fingerprint: str,
        *,
        kind: str | None = None,
        target: str | None = None,
        ordinal: int = 1,
        token: UUID | None = None,
        expected: dict[str, Any] | None = None,
    ) -> Claim:
        """Begin an operation under a campaign's *lease*; its key is made by the kernel.

        Calls ``kernel.begin_operation``.

        :param ordinal: distinguishes operations of one kind on one target in one attempt.
        :raises Forbidden: the class gives this duty no authority for this kind and target.
        :raises Expired: the lease has run out.
        """
        return self._run(
            self._claim(
                None,
                fingerprint,
                kind=kind,
                target=target,
                token=token,
                lease_for=None,
                expected=expected,
                lease=lease,
                ordinal=ordinal,
            )
        )

    def start(self, claim: Claim) -> Operation:
        """Say that the effect begins now; commit this before it does.

        Calls ``kernel.start_operation``. Without it, an operation whose lease runs out counts as
        not done.

        :raises Expired: the lease has run out: do not begin.
        """
        return self._run(self._statements.start(claim))

    def complete(
        self,
        claim: Claim,
        result: Any = ABSENT,
        *,
        reason: str | None = None,
        read_back: Any = ABSENT,
        result_text: str | None = None,
    ) -> Operation:
        """Say that it happened. Calls ``kernel.complete_operation``.

        :param result: JSON for whoever claims the key again; ``None`` is the value ``null``.
        :param read_back: what the target shows now.
        :param result_text: the result byte for byte, where the order of keys matters.
        :raises NoEvidence: *read_back* does not contain what was expected.
        """
        outcome = Completed(
            result=result, reason=reason, read_back=read_back, result_text=result_text
        )
        return self._run(self._statements.complete(claim, outcome))

    def fail(
        self, claim: Claim, reason: str, result: Any = ABSENT, *, result_text: str | None = None
    ) -> Operation:
        """Say that it certainly did not happen. Calls ``kernel.fail_operation``."""
        outcome = Failed(reason=reason, result=result, result_text=result_text)
        return self._run(self._statements.fail(claim, outcome))

    def mark_unknown(self, claim: Claim, reason: str, diagnostic: Any = ABSENT) -> Operation:
        """Say that it may have happened. Calls ``kernel.mark_operation_unknown``.

        This is never refused because a lease is over.
        """
        return self._run(self._statements.mark_unknown(claim, reason, diagnostic))

    def renew(self, claim: Claim, *, lease_for: timedelta | None = None) -> Claim:
        """Hold an operation without a campaign longer. Calls ``kernel.renew_operation``."""
        return self._run(self._statements.renew(claim, lease_for))

    def release(self, claim: Claim, reason: str | None = None) -> Operation:
        """Give an operation back that was not started. Calls ``kernel.release_operation``."""
        return self._run(self._statements.release(claim, reason))

    def resolve_unknown(
        self, key: str, fence: Fence, resolution: Resolution, *, lease: Lease | None = None
    ) -> Operation:
        """Record what somebody found who looked at the target. Calls ``kernel.resolve_operation``.

        :param fence: that of the operation as it was read before looking.
        :param lease: the campaign's present one, where the operation belongs to a campaign.
        :raises Stale: the operation was written since.
        :raises Illegal: it is not unknown.
        """
        return self._run(self._statements.resolve_unknown(key, fence, resolution, lease=lease))

    def get(self, key: str) -> Operation | None:
        """Return the operation of *key*, or ``None``. Calls ``kernel.get_operation``."""
        return self._run(self._statements.get(key))

    def list_operations(
        self, state: str | None = None, *, after: Cursor | None = None, limit: int = 100
    ) -> Page:
        """Return one page of operations. Calls ``kernel.list_operations``.

        They come in the order of their keys; those of one state with the oldest first.

        :param after: ``next_cursor`` of the page before.
        """
        return self._run(self._statements.page(state, after, limit))

    def iter_operations(
        self, state: str | None = None, *, page_size: int = 100
    ) -> Iterator[Operation]:
        """Yield every operation, page by page."""
        after: Cursor | None = None
        while True:
            page = self.list_operations(state, after=after, limit=page_size)
            yield from page.operations
            if page.next_cursor is None:
                return
            after = page.next_cursor

    def history(self, key: str) -> list[Step]:
        """Return what became of a key, oldest first. Calls ``kernel.operation_history``."""
        return self._run(self._statements.history(key))

    def expire(self, *, limit: int = 100) -> list[Operation]:
        """Take back what is past its lease: started is unknown then, the rest was not done.

        Calls ``kernel.expire_operations``; for a reaper.
        """
        return self._run(self._statements.expire(limit))

    def prune(
        self,
        *,
        older_than: timedelta | None = None,
        batch: int = 1000,
        max_batches: int = 1000,
    ) -> PruneResult:
        """Remove what has ended long ago, oldest first; never what is pending or unknown.

        Calls ``kernel.prune_operations`` until nothing is left, at most *max_batches* times; for a
        reaper.

        :param older_than: since when it must have ended; the class's retention if ``None``.
        """
        removed = 0
        for _ in range(max_batches):
            done = self._run(self._statements.prune(batch, older_than))
            removed += done.removed
            if not done.is_more:
                return PruneResult(removed=removed, is_more=False)
        return PruneResult(removed=removed, is_more=True)


class AsyncOperationStore(_Named, ABC):
    """:class:`OperationStore` for ``asyncio``: the same methods, to be awaited."""

    @abstractmethod
    async def _run(self, call: Call[T]) -> T:
        """Send one statement, and return what it answers."""

    async def claim(
        self,
        key: str,
        fingerprint: str,
        *,
        kind: str | None = None,
        target: str | None = None,
        token: UUID | None = None,
        lease_for: timedelta | None = None,
        expected: dict[str, Any] | None = None,
    ) -> Claim:
        """See :meth:`OperationStore.claim`."""
        return await self._run(
            self._claim(
                key,
                fingerprint,
                kind=kind,
                target=target,
                token=token,
                lease_for=lease_for,
                expected=expected,
            )
        )

    async def begin(
        self,
        lease: Lease,
        fingerprint: str,
        *,
        kind: str | None = None,
        target: str | None = None,
        ordinal: int = 1,
        token: UUID | None = None,
        expected: dict[str, Any] | None = None,
    ) -> Claim:
        """See :meth:`OperationStore.begin`."""
        return await self._run(
            self._claim(
                None,
                fingerprint,
                kind=kind,
                target=target,
                token=token,
                lease_for=None,
                expected=expected,
                lease=lease,
                ordinal=ordinal,
            )
        )

    async def start(self, claim: Claim) -> Operation:
        """See :meth:`OperationStore.start`."""
        return await self._run(self._statements.start(claim))

    async def complete(
        self,
        claim: Claim,
        result: Any = ABSENT,
        *,
        reason: str | None = None,
        read_back: Any = ABSENT,
        result_text: str | None = None,
    ) -> Operation:
        """See :meth:`OperationStore.complete`."""
        outcome = Completed(
            result=result, reason=reason, read_back=read_back, result_text=result_text
        )
        return await self._run(self._statements.complete(claim, outcome))

    async def fail(
        self, claim: Claim, reason: str, result: Any = ABSENT, *, result_text: str | None = None
    ) -> Operation:
        """See :meth:`OperationStore.fail`."""
        outcome = Failed(reason=reason, result=result, result_text=result_text)
        return await self._run(self._statements.fail(claim, outcome))

    async def mark_unknown(self, claim: Claim, reason: str, diagnostic: Any = ABSENT) -> Operation:
        """See :meth:`OperationStore.mark_unknown`."""
        return await self._run(self._statements.mark_unknown(claim, reason, diagnostic))

    async def renew(self, claim: Claim, *, lease_for: timedelta | None = None) -> Claim:
        """See :meth:`OperationStore.renew`."""
        return await self._run(self._statements.renew(claim, lease_for))

    async def release(self, claim: Claim, reason: str | None = None) -> Operation:
        """See :meth:`OperationStore.release`."""
        return await self._run(self._statements.release(claim, reason))

    async def resolve_unknown(
        self, key: str, fence: Fence, resolution: Resolution, *, lease: Lease | None = None
    ) -> Operation:
        """See :meth:`OperationStore.resolve_unknown`."""
        return await self._run(
            self._statements.resolve_unknown(key, fence, resolution, lease=lease)
        )

    async def get(self, key: str) -> Operation | None:
        """See :meth:`OperationStore.get`."""
        return await self._run(self._statements.get(key))

    async def list_operations(
        self, state: str | None = None, *, after: Cursor | None = None, limit: int = 100
    ) -> Page:
        """See :meth:`OperationStore.list_operations`."""
        return await self._run(self._statements.page(state, after, limit))

    async def iter_operations(
        self, state: str | None = None, *, page_size: int = 100
    ) -> AsyncIterator[Operation]:
        """See :meth:`OperationStore.iter_operations`."""
        after: Cursor | None = None
        while True:
            page = await self.list_operations(state, after=after, limit=page_size)
            for operation in page.operations:
                yield operation
            if page.next_cursor is None:
                return
            after = page.next_cursor

    async def history(self, key: str) -> list[Step]:
        """See :meth:`OperationStore.history`."""
        return await self._run(self._statements.history(key))

    async def expire(self, *, limit: int = 100) -> list[Operation]:
        """See :meth:`OperationStore.expire`."""
        return await self._run(self._statements.expire(limit))

    async def prune(
        self,
        *,
        older_than: timedelta | None = None,
        batch: int = 1000,
        max_batches: int = 1000,
    ) -> PruneResult:
        """See :meth:`OperationStore.prune`."""
        removed = 0
        for _ in range(max_batches):
            done = await self._run(self._statements.prune(batch, older_than))
            removed += done.removed
            if not done.is_more:
                return PruneResult(removed=removed, is_more=False)
        return PruneResult(removed=removed, is_more=True)

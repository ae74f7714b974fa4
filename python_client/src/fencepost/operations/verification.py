"""What the original's decision record wants verified before a database is used, run against one.

Everything is done as the application would do it: by its own principals, its own client where it
gives one, and from separate connections. The class is one that is kept for this; see
docs/runbook.md for how an admin makes it.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final, TypeVar
from uuid import uuid4

import psycopg

from fencepost.errors import FencepostError, Illegal, KernelError, Refused, Stale
from fencepost.session import connect

from .base import OperationStore
from .evidence import Check
from .records import ABSENT, Claim, Completed, Failed, State, Unknown
from .runner import REPLAYED, RESOLVED, Context, EffectRunner, run_queue_effect
from .store import Store

T = TypeVar("T")

RIVALS: Final = 8
_SHORT: Final = timedelta(seconds=1)
_LONG: Final = timedelta(seconds=30)
_PATIENCE: Final = 20.0

OpenStore = Callable[[], AbstractContextManager[OperationStore]]


class NotAsPromised(FencepostError):
    """A check found something else than it must."""


@dataclass
class Findings:
    """Which checks passed, and which did not, with why."""

    passed: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    remedies: dict[str, str] = field(default_factory=dict)
    """By the name of a check that failed: what to do, in the form of a check's name."""

    def fail(self, name: str, why: str, remedy: str) -> None:
        """Say that a check failed, why, and what to do."""
        self.failed[name] = why
        self.remedies[name] = remedy

    def look(self, checks: dict[str, Callable[[], None]]) -> None:
        """Make *checks*, one after the other."""
        for name, check in checks.items():
            try:
                check()
            except (NotAsPromised, KernelError, psycopg.errors.InsufficientPrivilege) as error:
                self.failed[name] = str(error)
            else:
                self.passed.append(name)

    def check(self, **facts: str) -> Check:
        """Return them as evidence."""
        failed = [
            f"{name}:{self.remedies[name]}" if name in self.remedies else name
            for name in self.failed
        ]
        return Check.of(self.passed, failed, **facts)


def psycopg_stores(conninfo: str, campaign_class: str, **named: Any) -> OpenStore:
    """Return what opens a store over a new connection of psycopg."""

    @contextmanager
    def opened() -> Iterator[OperationStore]:
        connection = connect(conninfo)
        try:
            yield Store(connection, campaign_class, **named)
        finally:
            connection.close()

    return opened


class Verification:
    """The checks, on one class.

    :param stores: opens a store over a connection of its own, as a worker of the class.
    :param reapers: likewise as a reaper.
    :param patience: how many seconds a lease of one second may take to be over.
    """

    def __init__(
        self, stores: OpenStore, reapers: OpenStore, *, patience: float = _PATIENCE
    ) -> None:
        self._patience = patience
        self._stores = stores
        self._reapers = reapers
        self._run = uuid4().hex[:12]
        self._count = 0

    def postgres(self) -> Findings:
        """Check what one connection can show."""
        with self._stores() as store, self._reapers() as reaper:
            found = Findings()
            found.look({"prune:bounded": lambda: self._prune(store, reaper)})
            # Their leases run out while the other checks are made.
            unstarted = self._short(store)
            started = self._short(store, is_started=True)
            found.look(
                {
                    "claim:repeat": lambda: self._repeat(store),
                    "conflict:reveals-nothing": lambda: self._conflict(store),
                    "replay:object": lambda: self._replay(store, {"a": [1, None, "x"]}),
                    "replay:null": lambda: self._replay(store, None),
                    "replay:absent": lambda: self._replay(store, ABSENT),
                    "unknown:diagnostic-kept": lambda: self._unknown(store),
                    "unknown:stale-fence": lambda: self._stale_fence(store),
                    "unknown:resolved": lambda: self._resolved(store),
                    "aba:incarnation": lambda: self._aba(store),
                    "lease:reclaimed-unstarted": lambda: self._reclaimed(store, unstarted),
                    "lease:started-is-unknown": lambda: self._started(store, reaper, started),
                }
            )
        return found

    def integration(self) -> Findings:
        """Check what takes several connections at the same time."""
        with self._stores() as store:
            short = self._short(store)
        found = Findings()
        found.look(
            {
                "claim:atomic": self._atomic,
                "token:stranger-refused": self._stranger,
                "resolve:once": self._resolved_once,
                "claim:atomic-takeover": lambda: self._atomic_takeover(short),
            }
        )
        return found

    def queue(self) -> Findings:
        """Check the runner: one effect, whatever becomes of its acknowledgement."""
        with self._stores() as store:
            found = Findings()
            found.look(
                {
                    "queue:authoritative": lambda: self._acknowledged(store),
                    "queue:ambiguous-kept": lambda: self._unacknowledged(store),
                }
            )
        return found

    # -- one connection ----------------------------------------------------------------------------

    def _repeat(self, store: OperationStore) -> None:
        key, token = self._key(), uuid4()
        first = store.claim(key, "f", token=token, lease_for=_LONG)
        again = store.claim(key, "f", token=token, lease_for=_LONG)
        _expect(first.is_owner and again.is_owner, "the same claim is not the owner's twice")
        _expect(first.fence == again.fence, "a repeat made another life of the key")
        _expect(not store.claim(key, "f").is_owner, "a second claim became owner")
        store.fail(again, "verification")

    def _conflict(self, store: OperationStore) -> None:
        key = self._key()
        store.complete(store.claim(key, "f"), {"secret": True})
        answer = store.claim(key, "another")
        _expect(answer.status.value == "conflict", f"not a conflict: {answer.status.value}")
        told = answer.operation
        shown = (told.incarnation, told.revision, told.principal, told.label, told.reason)
        _expect(shown == (None,) * len(shown), "a conflict tells who or which write")
        _expect(told.result is ABSENT, "a conflict tells the result")

    def _replay(self, store: OperationStore, result: Any) -> None:
        key = self._key()
        store.complete(store.claim(key, "f"), result)
        answer = store.claim(key, "f")
        _expect(answer.status.value == "replay", f"not a replay: {answer.status.value}")
        same = (answer.operation.result, answer.operation.has_result)
        _expect(same == (result, result is not ABSENT), "another result came back")

    def _unknown(self, store: OperationStore) -> None:
        key = self._key()
        self._made_unknown(store, key)
        answer = store.claim(key, "f")
        _expect(answer.status.value == "unknown", f"not unknown: {answer.status.value}")
        _expect(answer.operation.diagnostic == {"seen": 1}, "the diagnostic is gone")
        self._close(store, key)

    def _stale_fence(self, store: OperationStore) -> None:
        key = self._key()
        claim = store.claim(key, "f")
        self._made_unknown(store, key, claim)
        try:
            store.resolve_unknown(key, claim.fence, Failed(reason="verification"))
        except Stale:
            self._close(store, key)
            return
        raise NotAsPromised("a fence of before was taken")

    def _resolved(self, store: OperationStore) -> None:
        key = self._key()
        self._made_unknown(store, key)
        found = store.get(key)
        _expect(found is not None, "the operation is gone")
        assert found is not None  # noqa: S101 - for mypy; said above
        store.resolve_unknown(key, found.fence, Completed(result=[1], reason="seen there"))
        answer = store.claim(key, "f")
        _expect(answer.status.value == "replay", f"not a replay: {answer.status.value}")
        _expect(answer.operation.result == [1], "another result came back")

    def _reclaimed(self, store: OperationStore, first: Claim | None) -> None:
        if first is None:
            raise NotAsPromised("there is no lease to take over")
        second = self._until(lambda: store.claim(first.key, "f"), lambda claim: claim.is_owner)
        _expect(first.token != second.token, "the claim was not a new one")
        try:
            store.complete(first)
        except Refused:
            store.fail(second, "verification")
            return
        raise NotAsPromised("an owner of before could complete it")

    def _started(self, store: OperationStore, reaper: OperationStore, claim: Claim | None) -> None:
        if claim is None:
            raise NotAsPromised("there is no lease to outlive")
        key = claim.key
        # By the reaper, or by whoever claims it next.
        self._until(
            lambda: (reaper.expire(), store.claim(key, "f"))[1],
            lambda claim: claim.status.value == "unknown",
        )
        self._close(store, key)

    def _aba(self, store: OperationStore) -> None:
        key = self._key()
        first = store.claim(key, "f")
        store.release(first)
        second = store.claim(key, "f")
        _expect(first.fence.incarnation != second.fence.incarnation, "a new life has the old name")
        try:
            store.complete(first)
        except Refused:
            store.fail(second, "verification")
            return
        raise NotAsPromised("an owner of another life could complete it")

    def _prune(self, store: OperationStore, reaper: OperationStore) -> None:
        reaper.prune()
        kept, gone = self._key(), [self._key() for _ in range(5)]
        self._made_unknown(store, kept)
        for key in gone:
            store.complete(store.claim(key, "f"))
        first = reaper.prune(batch=3, max_batches=1)
        _expect((first.removed, first.is_more) == (3, True), f"{first} instead of 3 of 5")
        second = reaper.prune(batch=3, max_batches=1)
        _expect((second.removed, second.is_more) == (2, False), f"{second} instead of 2 of 2")
        _expect(all(store.get(key) is None for key in gone), "what was pruned is still there")
        _expect(store.get(kept) is not None, "what is unknown was pruned")
        self._close(store, kept)

    # -- several connections -----------------------------------------------------------------------

    def _atomic(self) -> None:
        key = self._key()
        claims = self._rush(lambda store: store.claim(key, "f"))
        winners = [claim for claim in claims if claim.is_owner]
        _expect(len(winners) == 1, f"{len(winners)} of {RIVALS} are the owner")
        with self._stores() as store:
            store.fail(winners[0], "verification")

    def _atomic_takeover(self, claim: Claim | None) -> None:
        if claim is None:
            raise NotAsPromised("there is no lease to take over")
        key = claim.key
        claims = self._until(
            lambda: self._rush(lambda rival: rival.claim(key, "f")),
            lambda found: any(claim.is_owner for claim in found),
        )
        winners = [claim for claim in claims if claim.is_owner]
        _expect(len(winners) == 1, f"{len(winners)} of {RIVALS} took it over")
        with self._stores() as store:
            store.fail(winners[0], "verification")

    def _stranger(self) -> None:
        key = self._key()
        with self._stores() as store, self._stores() as other:
            claim = store.claim(key, "f")
            seen = other.claim(key, "f")  # its own token, with the fence that everybody sees
            try:
                other.complete(seen, "forged")
            except Refused:
                store.complete(claim, "true")
                return
        raise NotAsPromised("another token could complete it")

    def _resolved_once(self) -> None:
        key = self._key()
        with self._stores() as store:
            self._made_unknown(store, key)
            found = store.get(key)
            assert found is not None  # noqa: S101 - made above
        numbers = iter(range(RIVALS))

        def resolve(rival: OperationStore) -> int | None:
            mine = next(numbers)
            try:
                rival.resolve_unknown(key, found.fence, Completed(result=mine, reason="seen"))
            except (Illegal, Stale):
                return None
            return mine

        won = [each for each in self._rush(resolve) if each is not None]
        _expect(len(won) == 1, f"{len(won)} of {RIVALS} reconciled it")
        with self._stores() as store:
            ended = store.get(key)
        _expect(ended is not None and ended.result == won[0], "another result is recorded")

    # -- the runner --------------------------------------------------------------------------------

    def _acknowledged(self, store: OperationStore) -> None:
        runner, sent, key = EffectRunner(store), queue.SimpleQueue[str](), self._key()

        def once() -> str:
            return run_queue_effect(
                runner,
                key,
                "f",
                message="m",
                enqueue=lambda message, _: sent.put(message),
                on_acknowledgement=lambda _, __: Completed(result={"size": sent.qsize()}),
            ).state

        _expect((once(), once()) == (State.COMPLETED, REPLAYED), "it was not replayed")
        _expect(sent.qsize() == 1, f"{sent.qsize()} messages were sent")

    def _unacknowledged(self, store: OperationStore) -> None:
        runner, sent, key = EffectRunner(store), queue.SimpleQueue[str](), self._key()

        def lose(message: str, _: Context) -> None:
            sent.put(message)
            raise ConnectionResetError("the acknowledgement did not arrive")

        def once() -> str:
            return run_queue_effect(
                runner,
                key,
                "f",
                message="m",
                enqueue=lose,
                on_acknowledgement=lambda _, __: Unknown(reason="never asked"),
            ).state

        _expect((once(), once()) == (State.UNKNOWN, State.UNKNOWN), "it is not unknown")
        _expect(sent.qsize() == 1, f"{sent.qsize()} messages were sent")
        done = runner.recover(
            key, lambda _: Completed(result={"size": sent.qsize()}, reason="seen")
        )
        _expect(done.state == RESOLVED, "it could not be reconciled")
        _expect(once() == REPLAYED, "it was not replayed after that")

    # -- small things ------------------------------------------------------------------------------

    def _key(self) -> str:
        self._count += 1
        return f"verify:{self._run}:{self._count:03d}"

    def _short(self, store: OperationStore, *, is_started: bool = False) -> Claim | None:
        """Return a claim whose lease is soon over; ``None`` where it could not be had."""
        try:
            claim = store.claim(self._key(), "f", lease_for=_SHORT)
            if is_started:
                store.start(claim)
        except KernelError:
            return None
        return claim

    def _made_unknown(self, store: OperationStore, key: str, claim: Any = None) -> None:
        store.mark_unknown(claim or store.claim(key, "f"), "verification", {"seen": 1})

    def _close(self, store: OperationStore, key: str) -> None:
        """Leave nothing unknown behind."""
        found = store.get(key)
        if found is not None and found.operation_state == State.UNKNOWN:
            store.resolve_unknown(key, found.fence, Failed(reason="verification"))

    def _until(self, look: Callable[[], T], is_there: Callable[[T], bool]) -> T:
        """Look until it is there."""
        pause = threading.Event()
        for _ in range(int(self._patience / 0.05)):
            found = look()
            if is_there(found):
                return found
            pause.wait(0.05)
        raise NotAsPromised(f"not within {self._patience:.0f} s")

    def _rush(self, act: Callable[[OperationStore], T]) -> list[T]:
        """Let every rival act at the same time, over a connection of his own."""
        with ExitStack() as opened:
            stores = [opened.enter_context(self._stores()) for _ in range(RIVALS)]
            start = threading.Barrier(RIVALS)
            found: list[T] = []
            raised: list[BaseException] = []

            def go(store: OperationStore) -> None:
                start.wait()
                try:
                    found.append(act(store))
                except Exception as error:  # noqa: BLE001 - raised below, in this thread
                    raised.append(error)

            threads = [threading.Thread(target=go, args=(store,)) for store in stores]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            if raised:
                raise raised[0]
            return found


def server_facts(conninfo: str) -> dict[str, str]:
    """Return the server's version, the isolation that a session gets, and the host."""
    with psycopg.connect(conninfo) as connection:
        row = connection.execute(
            "select current_setting('server_version'), current_setting('transaction_isolation')"
        ).fetchone()
        assert row is not None  # noqa: S101 - a select without from
        host = connection.info.host
    return {
        "host": "localhost" if not host or host.startswith("/") else host,
        "serverVersion": str(row[0])[:64],
        "isolation": str(row[1]),
    }


def _expect(truth: object, otherwise: str) -> None:
    if not truth:
        raise NotAsPromised(otherwise)

"""Moving a ref of a Git repository, as an operation of a campaign.

A push is one ``git push --atomic`` of two refs, each only from the value that was read before: the
ref itself, and the campaign's fence, which gets a value that was never used. What a push did is
never concluded from git's answer, only from reading the ref. Whoever finds a push of which nobody
knows how it ended moves the fence first: from then on a late push is refused, and what the ref
holds is how it ended.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Protocol, TypeVar
from uuid import UUID, uuid4

from fencepost import clock
from fencepost.checkout import ZERO, Git, GitError
from fencepost.errors import OperationOpen, Refused
from fencepost.records import Lease

from .records import Claim, ClaimStatus, Completed, Failed, Fence, Resolution, State, StillUnknown
from .store import Store

T = TypeVar("T")

PUSH: Final = "git.push"
"""The kind of operation that a worker's push is."""
PROMOTE: Final = "promote"
"""The kind of operation that moves the target's own ref."""

_PUSHES = 4
_OPEN_FOR = 60.0
_ORDINALS = 100


class Call(Protocol):
    """Calls the kernel as the holder of the lease."""

    def __call__(self, function: Callable[[Store], T], /) -> T:
        """Let *function* use a store of the campaign's class."""


class NotMoved(Exception):
    """The ref does not hold the commit, and no push on its way can make it.

    :ivar held: what was read last.
    :ivar output: what git said of the last push.
    """

    def __init__(self, held: Held, output: str) -> None:
        super().__init__(output or f"the ref holds {held.value or 'nothing'}")
        self.held = held
        self.output = output


class InDoubt(Exception):
    """Nobody knows whether an operation took effect, and the target gives no answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """What a repository held when it was read."""

    value: str | None
    """Of the ref; ``None``: there is no such ref."""
    fence: str
    """Of the campaign's fence; forty zeros: there is none yet."""
    has_landed: bool
    """Whether the ref shows the commit: holds it, or leads to it where that is enough."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A ref of a repository, and the fence that moves with it."""

    repository: str
    ref: str
    fence: str

    @property
    def target(self) -> str:
        """What the kernel calls it."""
        return f"{self.repository}#{self.ref}"


class Push:
    """One commit's way into one ref: recorded before, read back after.

    :param call: calls the kernel under *lease*.
    :param kind: :data:`PUSH` or :data:`PROMOTE`.
    :param read: reads what the repository holds.
    :param require_lease: raises where the lease has run out: no effect is begun then.
    :param wait: waits, in seconds, unless the lease is lost.
    """

    def __init__(
        self,
        call: Call,
        lease: Lease,
        git: Git,
        place: Place,
        commit: str,
        *,
        kind: str,
        read: Callable[[], Held],
        require_lease: Callable[[], None],
        wait: Callable[[float], object],
    ) -> None:
        self._call = call
        self._lease = lease
        self._git = git
        self._place = place
        self._commit = commit
        self._kind = kind
        self._read = read
        self._require_lease = require_lease
        self._wait = wait

    def move(self, held: Held) -> Held:
        """Bring the commit into the ref in the place of what was *held*; return what is held then.

        Nothing is pushed where the commit has landed already: then only that is recorded.

        :raises NotMoved: it is not there, and the operation has failed.
        :raises InDoubt: an earlier push of this lease, or another one to this ref, is not known to
            have ended.
        :raises GitError: the ref could not be read; the operation is unknown.
        """
        claim = self._when_free(lambda: self._begin(held))
        if claim is None:
            return held
        self._when_free(lambda: self._call(lambda store: store.start(claim)))
        is_pushed = False
        output = ""
        try:
            before = held
            for pushed in range(_PUSHES):
                if held.has_landed or held.value != before.value or held.fence != before.fence:
                    break
                if pushed:
                    self._wait(0.5 * 2.0**pushed)
                self._require_lease()
                is_pushed = True
                output = self._git.push_fenced(
                    self._place.repository,
                    self._commit,
                    ref=self._place.ref,
                    expected=before.value or ZERO,
                    fence=self._place.fence,
                    fence_was=before.fence,
                )
                held = self._read()
            if not held.has_landed and is_pushed:
                held = close(self._git, self._place, self._read, self._require_lease)
        except BaseException as error:
            self._give_up(claim, error, is_pushed=is_pushed)
            raise
        if held.has_landed:
            self._call(lambda store: store.complete(claim, read_back=shown(self._commit, held)))
            return held
        reason = f"the ref holds {held.value or 'nothing'}: {output}"[:1000]
        self._call(lambda store: store.fail(claim, reason))
        raise NotMoved(held, output)

    def _when_free(self, step: Callable[[], T]) -> T:
        """Take a step that the kernel refuses while another push to the same ref is under way."""
        deadline = clock.now() + _OPEN_FOR
        pause = 0.5
        while True:
            try:
                return step()
            except OperationOpen as error:
                if clock.now() >= deadline:
                    raise InDoubt(str(error)) from error
            self._wait(pause)
            self._require_lease()
            pause = min(8.0, 2 * pause)

    def _begin(self, held: Held) -> Claim | None:
        """Record the intent; ``None`` where it has been carried out already."""
        for ordinal in range(1, _ORDINALS + 1):
            token = uuid4()
            claim = self._call(
                partial(
                    Store.begin,
                    lease=self._lease,
                    fingerprint=self._commit,
                    kind=self._kind,
                    target=self._place.target,
                    ordinal=ordinal,
                    token=token,
                    expected={
                        "before": held.value,
                        "after": {"commit": self._commit},
                        "fence": held.fence,
                    },
                )
            )
            if claim.status is ClaimStatus.OWNER:
                return claim
            if claim.status is not ClaimStatus.REPLAY:
                message = f"an earlier push of {self._commit} is {claim.status}"
                raise InDoubt(message)
            if claim.operation.operation_state == State.COMPLETED:
                return None
        message = f"{_ORDINALS} pushes of {self._commit} have failed in one attempt"
        raise InDoubt(message)

    def _give_up(self, claim: Claim, error: BaseException, *, is_pushed: bool) -> None:
        """Say what is known of an operation that is left in the middle."""
        reason = f"left in the middle: {error}"[:1000]
        # Refused where the lease is lost: the kernel has made it unknown by itself.
        with suppress(Refused):
            if is_pushed:
                self._call(lambda store: store.mark_unknown(claim, reason))
            else:
                self._call(lambda store: store.fail(claim, reason))


def shown(commit: str, held: Held) -> dict[str, str | None]:
    """Return the read-back of a ref that shows *commit*."""
    return {"commit": commit, "ref": held.value, "fence": held.fence}


def close(
    git: Git, place: Place, read: Callable[[], Held], require_lease: Callable[[], None]
) -> Held:
    """Move the fence, so that no push made before can land any more, and read once more.

    :raises GitError: the fence could not be moved: nothing is known then.
    """
    for _ in range(_PUSHES):
        require_lease()
        fence = git.remote_refs(place.repository, place.fence).get(place.fence, ZERO)
        if git.advance(place.repository, place.fence, fence):
            return read()
    raise GitError("push", None, f"the fence {place.fence} could not be moved")


def reconcile(
    call: Call,
    lease: Lease,
    operations: Sequence[dict[str, Any]],
    look: Callable[[str, str], Held],
) -> None:
    """Find out how the pushes ended of which nobody knows, and record it.

    :param operations: as a brief or bundle lists them.
    :param look: given the operation's target and its commit, closes the fence and reads the ref.
    :raises InDoubt: one of them is no push, or its repository gives no answer; it stays unknown.
    """
    doubts: list[str] = []
    for operation in operations:
        resolution = _found(operation, look)
        call(
            partial(
                Store.resolve_unknown,
                key=operation["operation_key"],
                fence=Fence(UUID(operation["incarnation"]), operation["revision"]),
                resolution=resolution,
                lease=lease,
            )
        )
        if isinstance(resolution, StillUnknown):
            doubts.append(resolution.reason)
    if doubts:
        raise InDoubt("; ".join(doubts))


def _found(operation: dict[str, Any], look: Callable[[str, str], Held]) -> Resolution:
    """Return how one of them ended."""
    commit = ((operation.get("expected") or {}).get("after") or {}).get("commit")
    if operation["kind"] not in {PUSH, PROMOTE} or not isinstance(commit, str):
        return StillUnknown(reason=f"this client cannot read what {operation['kind']} did")
    try:
        held = look(operation["target"], commit)
    except GitError as error:
        return StillUnknown(reason=f"{operation['target']} gives no answer: {error}"[:1000])
    if held.has_landed:
        return Completed(read_back=shown(commit, held), reason="found in the ref")
    return Failed(reason=f"the ref holds {held.value or 'nothing'}, and the fence was moved")

"""How an accepted result gets into the target's ref, or is found not to fit it any more."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Protocol, TypeVar

from . import checkout, clock
from .checkout import ZERO, Git, GitError, Interrupted
from .console import Console, clock_time
from .doorbell import Ring
from .errors import Forbidden
from .interrupt import Interrupt
from .lease_keeper import LeaseKeeper
from .operations import git as pushes
from .operations.git import PROMOTE, Held, InDoubt, NotMoved, Place, Push
from .polling import Step
from .records import Bundle, Lease
from .verifier import Verifier

T = TypeVar("T")

_READS = timedelta(seconds=60)


class Call(Protocol):
    """Calls the kernel as this verifier."""

    def __call__(self, function: Callable[[Verifier], T], /) -> T:
        """Let *function* call the kernel."""


class LeaseLost(Exception):
    """The promotion may not go on: somebody else may be at it."""


class Promotion:
    """Promotes one accepted result, whoever began to and however far that went.

    *Landed* means that the result is reachable from the ref: somebody may have pushed on top of it
    since. What earlier holders left in doubt is found out first.

    :param call: calls the kernel as this verifier.
    :param operate: calls the functions for operations.
    :param ring: is told what was answered.
    :param folder: where to make the git repository that this needs.
    :param objects: repositories whose objects need not be fetched again.
    """

    def __init__(
        self,
        call: Call,
        operate: pushes.Call,
        lease: Lease,
        bundle: Bundle,
        *,
        keeper: LeaseKeeper,
        stop: Interrupt,
        console: Console,
        ring: Ring,
        folder: Path,
        objects: tuple[Path, ...] = (),
    ) -> None:
        self._call = call
        self._operate = operate
        self._lease = lease
        self._bundle = bundle
        self._keeper = keeper
        self._stop = stop
        self._console = console
        self._ring = ring
        repository, ref = checkout.location(bundle.location)
        fence = checkout.fence_ref(bundle.campaign_class, bundle.campaign_id)
        self._place = Place(repository=repository, ref=ref, fence=fence)
        self._pushed_ref = str(bundle.result.get("pushed_ref", ""))
        self._commit = str(bundle.result.get("commit", ""))
        self._git = Git(folder, objects=objects, interrupt=stop)

    def conclude(self) -> Step:
        """Read, push if that is to be done, read back, and record what was found.

        :return: ``TROUBLE`` if nothing could be concluded; the lease is left to run out then.
        :raises Refused: the kernel did not accept the record, as after a lost lease.
        """
        try:
            pushes.reconcile(self._operate, self._lease, self._bundle.operations, self._look)
            return self._conclude()
        except (LeaseLost, Interrupted):
            if self._stop and not self._keeper.is_lost:
                return self._stuck(
                    f"stopped: {self._stop.reason}",
                    "nothing, where another verifier runs: it finds out how this ended",
                )
            self._console.event("lost", self._lease, reason=self._keeper.why_lost)
            return Step.DONE
        except InDoubt as error:
            return self._stuck(str(error), "make the target readable, or call resolve_operation")
        except Forbidden:
            wanted = f"duty verifier, kind {PROMOTE}, target {self._place.target}"
            return self._stuck(f"no authority for {wanted}", "let an admin call kernel.authorise")
        except GitError as error:
            return self._stuck(str(error), "make the repository reachable for the verifier")

    def _conclude(self) -> Step:
        held = self._read()
        if held.value is None:
            return self._outdate(f"{self._place.ref} does not exist any more")
        if not held.has_landed and not self._git.is_ancestor(held.value, self._commit):
            return self._outdate(f"{self._place.ref} holds {held.value}, not an ancestor")
        self._require_lease()
        self._console.event("pushing", self._lease, ref=self._place.ref, old=held.value)
        push = Push(
            self._operate,
            self._lease,
            self._git,
            self._place,
            self._commit,
            kind=PROMOTE,
            read=self._read,
            require_lease=self._require_lease,
            wait=self._stop.wait,
        )
        try:
            moved = push.move(held)
        except NotMoved as error:
            value = error.held.value or "nothing"
            if error.was_moved:
                return self._outdate(f"{self._place.ref} was moved back to {value}")
            if error.held.value != held.value:
                return self._outdate(f"{self._place.ref} was moved to {value}")
            return self._stuck(error.output, _remedy(error.output))
        return self._promote(moved)

    def _look(self, target: str, commit: str) -> Held:
        """Find out how a push ended that somebody left in doubt."""
        place = self._place.another(target)
        if place == self._place and commit == self._commit:
            return pushes.close(self._git, self._place, self._read, self._require_lease)
        return pushes.close(
            self._git, place, lambda: self._read_other(place, commit), self._require_lease
        )

    def _read_other(self, place: Place, commit: str) -> Held:
        """Read a ref to which an earlier attempt pushed."""
        held = self._git.remote_refs(place.repository, place.ref, place.fence)
        if place.ref in held:
            self._git.fetch(place.repository, place.ref)
        value = self._git.value(place.ref) if place.ref in held else None
        is_there = value is not None and self._git.value(commit) is not None
        return Held(
            value=value,
            fence=held.get(place.fence, ZERO),
            has_landed=is_there and self._git.is_ancestor(commit, str(value)),
        )

    def _read(self) -> Held:
        """Read target and fence, and fetch what they hold; try again for a while if that fails."""
        deadline = clock.now() + _READS.total_seconds()
        pause = 1.0
        while True:
            try:
                return self._read_once()
            except GitError:
                if clock.now() + pause > deadline:
                    raise
                self._stop.wait(pause)
                self._require_lease()
                pause *= 2

    def _read_once(self) -> Held:
        place = self._place
        wanted = (place.ref, place.fence, self._pushed_ref)
        held = self._git.remote_refs(place.repository, *wanted)
        fetched = [name for name in (place.ref, self._pushed_ref) if name in held]
        if fetched:
            self._git.fetch(place.repository, *fetched)
        # Not what `held` says: the ref may have moved in between, and this is what was fetched.
        value = self._git.value(place.ref) if place.ref in held else None
        is_known = self._git.value(self._commit) is not None
        if value is not None and not is_known:
            message = f"{self._pushed_ref} does not lead to {self._commit} any more"
            raise GitError("fetch", None, message)
        return Held(
            value=value,
            fence=held.get(place.fence, ZERO),
            has_landed=value is not None and self._git.is_ancestor(self._commit, value),
        )

    def _require_lease(self) -> None:
        """Refuse to begin an effect without a lease that has not run out."""
        if self._keeper.is_lost or clock.now() >= self._keeper.lease.runs_out_at:
            raise LeaseLost

    def _promote(self, held: Held) -> Step:
        self._keeper.stop()
        receipt = self._call(lambda verifier: verifier.promote(self._lease))
        self._console.event(
            "promoted", self._lease, state=receipt.state, ref=self._place.ref, value=held.value
        )
        return Step.DONE

    def _outdate(self, reason: str) -> Step:
        """Say that the result does not fit. No push is on its way that could make that untrue."""
        self._keeper.stop()
        receipt = self._call(lambda verifier: verifier.outdate(self._lease, reason=reason))
        self._ring(receipt)
        self._console.event("outdated", self._lease, state=receipt.state, reason=reason)
        return Step.DONE

    def _stuck(self, output: str, remedy: str) -> Step:
        """Conclude nothing: the ref holds what it held, and a person has to look."""
        self._keeper.stop()
        self._console.event(
            "stuck",
            self._lease,
            ref=self._place.ref,
            git=output,
            remedy=remedy,
            lease_expires=clock_time(self._keeper.lease.lease_expires_at),
        )
        return Step.TROUBLE


def _remedy(output: str) -> str:
    """Return what to do about a repository that says no to a push of the right value."""
    said = output.lower()
    if "checked out" in said:
        return "use a bare repository as target, or check out another branch there"
    if "hook" in said:
        return "let the repository's hook accept what the verifier pushes"
    if "atomic" in said:
        return "use a git server that can push atomically"
    return "let the verifier's account write the target's ref and refs/fencepost/"

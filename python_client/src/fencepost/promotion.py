"""How an accepted result gets into the target's ref, or is found not to fit it any more."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from . import checkout, clock
from .checkout import ZERO, Git, GitError, Interrupted
from .console import Console, clock_time
from .doorbell import Ring
from .interrupt import Interrupt
from .lease_keeper import LeaseKeeper
from .polling import Step
from .records import Bundle, Lease, Receipt
from .verifier import Verifier

Call = Callable[[Callable[[Verifier], Receipt]], Receipt]

_PUSHES = 3
_READS = timedelta(seconds=60)


class LeaseLost(Exception):
    """The promotion may not go on: somebody else may be at it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Refs:
    """What the target's repository held when it was read."""

    value: str | None
    """Of the target's ref; ``None``: there is no such ref."""
    fence: str
    has_landed: bool
    """Whether the result is reachable from the target's ref."""


class Promotion:
    """Promotes one accepted result, whoever began to and however far that went.

    What a push did is never concluded from git's answer to it, only from reading the ref. *Landed*
    means that the result is reachable from the ref: somebody may have pushed on top of it since.

    :param call: calls the kernel as this verifier.
    :param ring: is told what was answered.
    :param folder: where to make the git repository that this needs.
    :param objects: repositories whose objects need not be fetched again.
    """

    def __init__(
        self,
        call: Call,
        lease: Lease,
        bundle: Bundle,
        *,
        keeper: LeaseKeeper,
        lost: Interrupt,
        console: Console,
        ring: Ring,
        folder: Path,
        objects: tuple[Path, ...] = (),
    ) -> None:
        self._call = call
        self._lease = lease
        self._keeper = keeper
        self._lost = lost
        self._console = console
        self._ring = ring
        self._repository, self._ref = checkout.location(bundle.location)
        self._fence = checkout.fence_ref(bundle.campaign_class, bundle.campaign_id)
        self._pushed_ref = str(bundle.result.get("pushed_ref", ""))
        self._commit = str(bundle.result.get("commit", ""))
        self._git = Git(folder, objects=objects, interrupt=lost)

    def conclude(self) -> Step:
        """Read, push if that is to be done, read back, and record what was found.

        :return: ``TROUBLE`` if nothing could be concluded; the lease is left to run out then.
        :raises Refused: the kernel did not accept the record, as after a lost lease.
        """
        try:
            return self._conclude()
        except (LeaseLost, Interrupted):
            self._console.event("lost", self._lease, reason=self._keeper.why_lost)
            return Step.DONE
        except GitError as error:
            return self._stuck(str(error), "make the repository reachable for the verifier")

    def _conclude(self) -> Step:
        output = ""
        refs = self._read()
        for pushed in range(_PUSHES + 1):
            if refs.has_landed:
                return self._promote(refs, old_value=str(refs.value), fence_value=refs.fence)
            if refs.value is None:
                return self._outdate(f"{self._ref} does not exist any more")
            if not self._git.is_ancestor(refs.value, self._commit):
                return self._outdate(f"{self._ref} holds {refs.value}, not an ancestor")
            if pushed == _PUSHES:
                break
            if pushed:
                self._lost.wait(0.5 * 2.0**pushed)
            self._require_lease()
            self._console.event("pushing", self._lease, ref=self._ref, old=refs.value)
            push = self._git.push_fenced(
                self._repository,
                self._commit,
                ref=self._ref,
                expected=refs.value,
                fence=self._fence,
                fence_was=refs.fence,
            )
            output = push.output
            before, refs = refs, self._read()
            if refs.has_landed:
                return self._promote(refs, old_value=str(before.value), fence_value=refs.fence)
            if refs.value != before.value:
                return self._outdate(f"{self._ref} was moved to {refs.value or 'nothing'}")
        return self._stuck(output, _remedy(output))

    def _read(self) -> _Refs:
        """Read target and fence, and fetch what they hold; try again for a while if that fails."""
        deadline = clock.now() + _READS.total_seconds()
        pause = 1.0
        while True:
            try:
                return self._read_once()
            except GitError:
                if clock.now() + pause > deadline:
                    raise
                self._lost.wait(pause)
                self._require_lease()
                pause *= 2

    def _read_once(self) -> _Refs:
        wanted = (self._ref, self._fence, self._pushed_ref)
        held = self._git.remote_refs(self._repository, *wanted)
        fetched = [name for name in (self._ref, self._pushed_ref) if name in held]
        if fetched:
            self._git.fetch(self._repository, *fetched)
        # Not what `held` says: the ref may have moved in between, and this is what was fetched.
        value = self._git.value(self._ref) if self._ref in held else None
        is_known = self._git.value(self._commit) is not None
        if value is not None and not is_known:
            message = f"{self._pushed_ref} does not lead to {self._commit} any more"
            raise GitError("fetch", None, message)
        return _Refs(
            value=value,
            fence=held.get(self._fence, ZERO),
            has_landed=value is not None and self._git.is_ancestor(self._commit, value),
        )

    def _require_lease(self) -> None:
        """Refuse to begin an effect without a lease that has not run out."""
        if self._keeper.is_lost or clock.now() >= self._keeper.lease.runs_out_at:
            raise LeaseLost

    def _promote(self, refs: _Refs, *, old_value: str, fence_value: str) -> Step:
        self._keeper.stop()
        receipt = self._call(
            lambda verifier: verifier.promote(
                self._lease,
                old_value=old_value,
                new_value=self._commit,
                fence_value=fence_value,
                read_back=str(refs.value),
            )
        )
        self._console.event(
            "promoted", self._lease, state=receipt.state, ref=self._ref, value=refs.value
        )
        return Step.DONE

    def _outdate(self, reason: str) -> Step:
        """Say that the result does not fit, once no push on its way can make that untrue."""
        if not self._advance_fence():
            return self._stuck(
                "the fence ref could not be advanced", "let the verifier write refs/fencepost/"
            )
        refs = self._read()
        if refs.has_landed:
            return self._promote(refs, old_value=str(refs.value), fence_value=refs.fence)
        self._keeper.stop()
        receipt = self._call(lambda verifier: verifier.outdate(self._lease, reason=reason))
        self._ring(receipt)
        self._console.event("outdated", self._lease, state=receipt.state, reason=reason)
        return Step.DONE

    def _advance_fence(self) -> bool:
        """Move the fence to a value never used before, so that a push made earlier is refused."""
        for _ in range(_PUSHES):
            self._require_lease()
            fence = self._git.remote_refs(self._repository, self._fence).get(self._fence, ZERO)
            if self._git.advance(self._repository, self._fence, fence):
                return True
        return False

    def _stuck(self, output: str, remedy: str) -> Step:
        """Conclude nothing: the ref holds what it held, and a person has to look."""
        self._keeper.stop()
        self._console.event(
            "stuck",
            self._lease,
            ref=self._ref,
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

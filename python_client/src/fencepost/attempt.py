"""What ``fencepost worker`` does: claims a campaign and makes one attempt at it."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar
from uuid import UUID, uuid4

import psycopg

from . import checkout, clock, environment, runner, supervisor, text
from .checkout import ZERO, Git, GitError, Interrupted, Snapshot, Unusable, Workspace
from .confinement import Confinement
from .connection import Link
from .console import Console, clock_time
from .doorbell import Ring, silent
from .errors import (
    Expired,
    FencepostError,
    Forbidden,
    Limit,
    OperationOpen,
    Paused,
    Refused,
    Repeated,
    ServerUnreachable,
)
from .interrupt import Interrupt, Overdue
from .lease_keeper import LeaseKeeper
from .looking import Look
from .operations import git as pushes
from .operations.git import PUSH, Held, InDoubt, NotMoved, Place, Push
from .operations.store import Store
from .polling import Step
from .records import Assignment, Lease
from .runner import Run
from .worker import Worker

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Submission:
    """The attempt made something: hand it in."""

    fingerprint: str
    approach: str | None
    result: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Failure:
    """The attempt did not succeed: say why, so that the next one differs."""

    reason: str
    approach: str | None = None
    fingerprint: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Release:
    """No attempt was made, or it was cut short from outside: give the campaign back."""

    reason: str
    is_trouble: bool = False


_Ending = _Submission | _Failure | _Release


class Attempts:
    """Attempts at the campaigns of one class, one after the other.

    :param link: the connection, as a worker.
    :param command: what to run; its first word is found on PATH, or from the clone's top folder.
    :param lease_for: how long a lease is; the class's default if ``None``.
    :param pass_env: names of variables that the command gets beside the usual ones.
    :param confinement: what the command is kept from.
    :param interrupt: when set, the command is stopped and the campaign given back.
    :param ring: is told what was answered, to wake those who can go on with it.
    """

    def __init__(
        self,
        link: Link,
        *,
        campaign_class: str,
        command: Sequence[str],
        console: Console,
        interrupt: Interrupt,
        label: str | None = None,
        lease_for: timedelta | None = None,
        pass_env: Sequence[str] = (),
        confinement: Confinement | None = None,
        patience: timedelta | None = None,
        ring: Ring = silent,
    ) -> None:
        self._link = link
        self._class = campaign_class
        self._command = list(command)
        self._console = console
        self._interrupt = interrupt
        self._label = label
        self._lease_for = lease_for
        self._pass_env = list(pass_env)
        self._confinement = confinement or Confinement()
        self._patience = patience
        self._ring = ring
        self._token: UUID | None = None
        self._look = Look(link, campaign_class, interrupt=interrupt, patience=patience)

    def due_in(self) -> float | None:
        """Return in how many seconds there will be something to claim, where that is known."""
        return self._look.due_in()

    def step(self) -> Step:
        """Claim a campaign, if there may be one, and make one attempt.

        :raises Forbidden: the principal is not enrolled in the class as worker.
        :raises ServerUnreachable: the server is gone and did not come back.
        """
        if not self._look.is_worth_a_claim():
            return Step.NOTHING
        lease = self._claim()
        found = self._look.after(has_lease=lease is not None)
        if lease is None:
            return found
        self._console.event("claimed", lease, expires=clock_time(lease.lease_expires_at))
        with Interrupt() as lost, LeaseKeeper(self._link, self._renew, lease, lost) as keeper:
            root: Path | None = None
            try:
                try:
                    root = Path(tempfile.mkdtemp(prefix="fencepost-"))
                    ending = self._attempt(lease, root, keeper, lost)
                except OSError as error:
                    ending = _Release(reason=f"the worker's machine: {error}", is_trouble=True)
                return self._conclude(lease, keeper, ending)
            except Refused as error:
                self._console.event("lost", lease, reason=error)
                return Step.DONE
            except ServerUnreachable:
                raise
            except BaseException:
                self._give_back(lease, keeper)
                raise
            finally:
                if root is not None:
                    supervisor.discard(root)

    def _claim(self) -> Lease | None:
        """Claim with a token that is kept until it has brought a lease, whatever happens between.

        Also where there was no row: a call whose connection was lost may only now be committed.
        """
        if self._token is None:
            self._token = uuid4()
        lease = self._link.call(
            lambda connection: Worker(connection, label=self._label).claim(
                self._class, token=self._token, lease_for=self._lease_for
            ),
            patience=self._patience,
            unless=self._interrupt,
        )
        if lease is not None:
            self._token = None
        return lease

    def _renew(self, connection: psycopg.Connection[Any], lease: Lease) -> Lease:
        return Worker(connection).renew(lease, lease_for=self._lease_for)

    def _call(self, function: Callable[[Worker], T]) -> T:
        return self._link.call(
            lambda connection: function(Worker(connection)),
            patience=self._patience,
            unless=self._interrupt,
        )

    def _operate(self, function: Callable[[Store], T]) -> T:
        return self._link.call(
            lambda connection: function(Store(connection, self._class, label=self._label)),
            patience=self._patience,
            unless=self._interrupt,
        )

    def _attempt(self, lease: Lease, root: Path, keeper: LeaseKeeper, lost: Interrupt) -> _Ending:
        """Do the work; no transaction is open meanwhile."""
        with Interrupt(lost, self._interrupt) as stop:
            assignment = self._call(lambda worker: worker.brief(lease))
            try:
                repository, ref = checkout.location(assignment.location)
                workspace = Workspace(root, interrupt=stop)
                self._reconcile(lease, assignment, keeper, workspace.store)
                base = workspace.clone(repository, ref)
            except InDoubt as error:
                return _Release(reason=f"an earlier effect is in doubt: {error}", is_trouble=True)
            except GitError as error:
                return _Release(reason=f"the clone could not be made: {error}", is_trouble=True)
            except Interrupted as error:
                return _Release(reason=f"the worker was stopped: {error}")
            # In a folder of its own: where only the file were mounted, it could not be replaced.
            approach = root / "said" / "approach"
            brief = _write_brief(root / "brief.json", assignment, base)
            scrubbed = environment.scrubbed(root, also=self._pass_env) | {
                "FENCEPOST_BRIEF": str(brief),
                "FENCEPOST_APPROACH": str(approach),
            }
            approach.parent.mkdir(mode=0o700)
            approach.touch()
            self._console.event("running", lease, base=base[:12], command=self._command[0])
            run = runner.run(
                self._command,
                folder=workspace.files,
                environment=scrubbed,
                time_limit=lease.attempt_limit,
                interrupt=stop,
                check=keeper.check,
                discard=root,
                confinement=self._confinement,
                writable=[*environment.folders(root), approach.parent],
                readable=[brief],
            )
            if run.exit_code is not None and run.exit_code < 0:
                # Whoever stops a service signals all its processes: the worker's own signal may
                # be a moment late.
                stop.wait(0.3)
            if run.stopped is not None or (stop and not run.is_success):
                return _Release(reason=f"the worker was stopped: {stop.reason}")
        if run.errno is not None:
            return _Release(reason=f"the command {run}", is_trouble=True)
        said = _approach(approach)
        # The work is done. Who is told to stop now has the time to hand it in that a command has.
        with Overdue(self._interrupt, runner.GRACE) as overdue, Interrupt(lost, overdue) as stop:
            return self._outcome(lease, assignment, workspace, run, said, keeper, stop)

    def _reconcile(
        self, lease: Lease, assignment: Assignment, keeper: LeaseKeeper, git: Git
    ) -> None:
        """Find out how the pushes of earlier attempts ended of which nobody knows."""
        repository, ref = checkout.location(assignment.location)
        fence = checkout.fence_ref(assignment.campaign_class, assignment.campaign_id)
        own = Place(repository=repository, ref=ref, fence=fence)

        def look(target: str, commit: str) -> Held:
            place = own.another(target)
            return pushes.close(
                git, place, lambda: _held(git, place, commit), lambda: _require(keeper)
            )

        pushes.reconcile(self._operate, lease, assignment.operations, look)

    def _outcome(  # noqa: PLR0917 - what an attempt knows at its end
        self,
        lease: Lease,
        assignment: Assignment,
        workspace: Workspace,
        run: Run,
        approach: str | None,
        keeper: LeaseKeeper,
        stop: Interrupt,
    ) -> _Ending:
        """Look at what the command left, and hand it over if it is a success."""
        try:
            snapshot = workspace.snapshot(_message(assignment, approach), interrupt=stop)
        except (Unusable, GitError) as error:
            summary = str(error) if run.is_success else str(run)
            return _Failure(reason=text.reason(summary, run.tail), approach=approach)
        except Interrupted as error:
            return _Release(reason=f"the result was not handed in: {error}")
        fingerprint = snapshot.fingerprint if snapshot else None
        if not run.is_success or snapshot is None:
            summary = f"{run}, but nothing was changed" if run.is_success else str(run)
            return _Failure(
                reason=text.reason(summary, run.tail), approach=approach, fingerprint=fingerprint
            )
        if snapshot.fingerprint in assignment.refused_fingerprints:
            return _Failure(
                reason=text.reason("the same change did not succeed before", run.tail),
                approach=approach,
                fingerprint=fingerprint,
            )
        return self._push(lease, assignment, workspace, snapshot, approach, keeper, stop)

    def _push(  # noqa: PLR0917 - likewise
        self,
        lease: Lease,
        assignment: Assignment,
        workspace: Workspace,
        snapshot: Snapshot,
        approach: str | None,
        keeper: LeaseKeeper,
        stop: Interrupt,
    ) -> _Ending:
        """Put the commit where a verifier finds it."""
        repository, ref = checkout.location(assignment.location)
        pushed_ref = checkout.attempt_ref(
            assignment.campaign_class, assignment.campaign_id, assignment.attempt_no
        )
        place = Place(
            repository=repository,
            ref=pushed_ref,
            fence=checkout.fence_ref(assignment.campaign_class, assignment.campaign_id),
        )
        push = Push(
            self._operate,
            lease,
            snapshot.git,
            place,
            snapshot.commit,
            kind=PUSH,
            read=lambda: _held(snapshot.git, place, snapshot.commit),
            require_lease=lambda: _require(keeper),
            wait=stop.wait,
        )
        try:
            push.move(_vacant(snapshot.git, place, snapshot.commit))
        except Interrupted as error:
            return _Release(reason=f"the result was not handed in: {error}")
        except NotMoved as error:
            return _Release(reason=_why_not(place, error), is_trouble=True)
        except (GitError, InDoubt) as error:
            return _Release(reason=f"the result could not be pushed: {error}", is_trouble=True)
        except (Expired, Limit, OperationOpen, Paused) as error:
            return _Release(reason=f"the result may not be pushed now: {error}", is_trouble=True)
        except Forbidden:
            reason = f"no authority for duty worker, kind {PUSH}, target {place.target}"
            return _Release(reason=f"{reason}: see kernel.authorise", is_trouble=True)
        return _Submission(
            fingerprint=snapshot.fingerprint,
            approach=approach,
            result={
                "repository": repository,
                "ref": ref,
                "base": workspace.base,
                "commit": snapshot.commit,
                "pushed_ref": pushed_ref,
            },
        )

    def _conclude(self, lease: Lease, keeper: LeaseKeeper, ending: _Ending) -> Step:
        """Record how the attempt ended, unless the lease is lost: then there is nothing to say."""
        if keeper.is_lost:
            self._console.event("lost", lease, reason=keeper.why_lost)
            return Step.DONE
        keeper.stop()
        if isinstance(ending, _Submission):
            try:
                self._submit(lease, ending)
            except Repeated as error:
                ending = _Failure(
                    reason=str(error), approach=ending.approach, fingerprint=ending.fingerprint
                )
            else:
                return Step.DONE
        if isinstance(ending, _Failure):
            failure = ending
            receipt = self._call(
                lambda worker: worker.fail(
                    lease,
                    reason=failure.reason,
                    approach=failure.approach,
                    fingerprint=failure.fingerprint,
                )
            )
            self._ring(receipt)
            self._console.event("failed", lease, state=receipt.state, reason=_first(failure.reason))
            return Step.DONE
        reason = text.reason(ending.reason)
        receipt = self._call(lambda worker: worker.release(lease, reason=reason))
        self._ring(receipt)
        self._console.event("released", lease, state=receipt.state, reason=reason)
        return Step.TROUBLE if ending.is_trouble else Step.DONE

    def _submit(self, lease: Lease, submission: _Submission) -> None:
        receipt = self._call(
            lambda worker: worker.submit(
                lease,
                fingerprint=submission.fingerprint,
                approach=submission.approach,
                result=submission.result,
            )
        )
        self._ring(receipt)
        self._console.event(
            "submitted",
            lease,
            state=receipt.state,
            commit=submission.result["commit"],
            ref=submission.result["pushed_ref"],
            duplicate=receipt.duplicate or None,
        )

    def _give_back(self, lease: Lease, keeper: LeaseKeeper) -> None:
        """After an error of this program: the campaign need not wait for the lease to run out."""
        if keeper.is_lost:
            return
        keeper.stop()
        try:
            self._call(lambda worker: worker.release(lease, reason="an error in the worker"))
        except (FencepostError, psycopg.Error) as error:
            self._console.event("error", lease, reason=f"could not release: {error}")


def _held(git: Git, place: Place, commit: str) -> Held:
    """Read the ref of a result, which nobody but its attempt writes."""
    held = git.remote_refs(place.repository, place.ref, place.fence)
    value = held.get(place.ref)
    return Held(value=value, fence=held.get(place.fence, ZERO), has_landed=value == commit)


def _vacant(git: Git, place: Place, commit: str) -> Held:
    """Read the ref before the push; there must be nothing but *commit* in it.

    :raises NotMoved: it holds something else.
    """
    held = _held(git, place, commit)
    if held.value is not None and not held.has_landed:
        raise NotMoved(held, "")
    return held


def _require(keeper: LeaseKeeper) -> None:
    """Refuse to begin an effect without a lease that has not run out."""
    if keeper.is_lost or clock.now() >= keeper.lease.runs_out_at:
        raise Interrupted(keeper.why_lost or "the lease has run out")


def _why_not(place: Place, error: NotMoved) -> str:
    """Return why a result is not in its ref."""
    if error.held.value is None:
        return f"the result could not be pushed: {error}"
    return (
        f"{place.ref} exists already and holds {error.held.value}: another ledger, or an earlier "
        f"one, uses this repository with the same class name; delete "
        f"{place.ref.rsplit('/', 2)[0]}/… there or use another class name"
    )


def _write_brief(path: Path, assignment: Assignment, base: str) -> Path:
    """Write what the command is to know; the token and the generation are not among it."""
    repository, ref = checkout.location(assignment.location)
    brief = {
        "class": assignment.campaign_class,
        "campaign": assignment.campaign_id,
        "attempt_no": assignment.attempt_no,
        "attempt_limit_s": assignment.attempt_limit.total_seconds(),
        "target": assignment.target,
        "repository": repository,
        "ref": ref,
        "base": base,
        "desired_state": assignment.desired_state,
        "observation": assignment.observation,
        "acceptance": assignment.acceptance,
        "attempts": assignment.attempts,
        "refused_fingerprints": assignment.refused_fingerprints,
        "previous_campaign": assignment.previous_campaign_id,
    }
    path.write_text(json.dumps(brief, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
    return path


def _approach(path: Path) -> str | None:
    """Read what the command says it tried, whatever it made of that file."""
    content = checkout.read_strange(path, 1024 * 1024)
    approach = text.head(text.harmless(content).strip()) if content else ""
    return approach or None


def _message(assignment: Assignment, approach: str | None) -> str:
    """Return the commit's message: what was tried, and where it comes from."""
    campaign = f"{assignment.campaign_class}/{assignment.campaign_id}"
    title, _, rest = (approach or "").partition("\n")
    title = title if 0 < len(title) <= 72 else f"Attempt {assignment.attempt_no} of {campaign}"
    body = rest if title in (approach or "") else approach or ""
    trailers = f"Fencepost-Campaign: {campaign}\nFencepost-Attempt: {assignment.attempt_no}\n"
    return "\n\n".join(part for part in (title, body.strip(), trailers) if part)


def _first(reason: str) -> str:
    return reason.partition("\n")[0]

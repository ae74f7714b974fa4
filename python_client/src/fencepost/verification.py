"""What ``fencepost verifier`` does: judges submissions in a clone of its own, and promotes."""

from __future__ import annotations

import os
import shlex
import signal
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TypeVar
from uuid import UUID, uuid4

import psycopg

from . import checkout, environment, runner, supervisor, text
from .checkout import STORE, Git, GitError, Interrupted, Workspace
from .confinement import Confinement
from .connection import Link
from .console import Console
from .doorbell import Ring, silent
from .errors import Refused
from .evidence import EvidenceFile
from .interrupt import Interrupt, Overdue
from .lease_keeper import LeaseKeeper
from .looking import Look
from .operations.store import Store
from .polling import Step
from .promotion import Promotion
from .records import Bundle, Lease, Receipt
from .runner import Run
from .verifier import Verdict, Verifier

T = TypeVar("T")

_READS = 3


class _Rejected(Exception):
    """The submission is not what it has to be."""


class _CannotJudge(Exception):
    """Nothing can be said of the submission, through no proven fault of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Judgement:
    """A verdict before it is recorded."""

    verdict: Verdict
    reason: str | None = None
    fingerprint: str | None = None
    command: str | None = None
    exit_code: int | None = None
    evidence_uri: str | None = None
    evidence_sha256: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Acceptance:
    """What the target's acceptance says, checked."""

    command: list[str]
    time_limit: timedelta
    protected: list[str]


class Verifications:
    """Judges and promotes the submissions of one class, one after the other.

    :param link: the connection, as a verifier.
    :param evidence: the folder for what the acceptance commands print.
    :param lease_for: how long a lease is; the class's default if ``None``.
    :param pass_env: names of variables that the acceptance command gets beside the usual ones.
    :param confinement: what the acceptance command is kept from.
    :param interrupt: when set, the acceptance command is stopped and the verifier abstains. A
        promotion that has begun has ``runner.GRACE`` to come to its end.
    :param ring: is told what was answered, to wake those who can go on with it.
    """

    def __init__(
        self,
        link: Link,
        *,
        campaign_class: str,
        evidence: Path,
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
        self._evidence = evidence
        self._console = console
        self._interrupt = interrupt
        self._label = label
        self._lease_for = lease_for
        self._pass_env = list(pass_env)
        self._confinement = confinement or Confinement()
        self._patience = patience
        self._ring = ring
        self._look = Look(link, campaign_class, interrupt=interrupt, patience=patience)
        self._promotion_token: UUID | None = None
        self._verification_token: UUID | None = None

    def due_in(self) -> float | None:
        """Return in how many seconds there will be something to claim, where that is known."""
        return self._look.due_in()

    def step(self) -> Step:
        """Finish a promotion that somebody left, or judge a submission, if there may be one.

        :raises Forbidden: the principal is not enrolled in the class as verifier.
        :raises ServerUnreachable: the server is gone and did not come back.
        """
        if not self._look.is_worth_a_claim():
            return Step.NOTHING
        lease = self._claim_promotion()
        if lease is not None:
            self._look.after(has_lease=True)
            self._console.event("claimed", lease, to="promote")
            return self._under(lease, self._finish)
        lease = self._claim_verification()
        found = self._look.after(has_lease=lease is not None)
        if lease is None:
            return found
        if lease.state == "promoting":  # the answer to a repeated claim whose verdict is given
            return self._under(lease, self._finish)
        self._console.event("claimed", lease, to="verify")
        return self._under(lease, self._verify)

    def _claim_promotion(self) -> Lease | None:
        self._promotion_token = token = self._promotion_token or uuid4()
        lease = self._link.call(
            lambda connection: Verifier(connection, label=self._label).claim_promotion(
                self._class, token=token, lease_for=self._lease_for
            ),
            patience=self._patience,
            unless=self._interrupt,
        )
        if lease is not None:  # as in fencepost.attempt
            self._promotion_token = None
        return lease

    def _claim_verification(self) -> Lease | None:
        self._verification_token = token = self._verification_token or uuid4()
        lease = self._link.call(
            lambda connection: Verifier(connection, label=self._label).claim_verification(
                self._class, token=token, lease_for=self._lease_for
            ),
            patience=self._patience,
            unless=self._interrupt,
        )
        if lease is not None:  # as in fencepost.attempt
            self._verification_token = None
        return lease

    def _renew(self, connection: psycopg.Connection[object], lease: Lease) -> Lease:
        return Verifier(connection).renew(lease, lease_for=self._lease_for)

    def _call(self, function: Callable[[Verifier], T]) -> T:
        return self._link.call(
            lambda connection: function(Verifier(connection)),
            patience=self._patience,
            unless=self._interrupt,
        )

    def _operate(self, function: Callable[[Store], T]) -> T:
        return self._link.call(
            lambda connection: function(Store(connection, self._class, label=self._label)),
            patience=self._patience,
            unless=self._interrupt,
        )

    def _under(
        self, lease: Lease, work: Callable[[Lease, LeaseKeeper, Interrupt, Path], Step]
    ) -> Step:
        """Do *work* in a fresh folder while the lease is kept."""
        with Interrupt() as lost, LeaseKeeper(self._link, self._renew, lease, lost) as keeper:
            root: Path | None = None
            try:
                root = Path(tempfile.mkdtemp(prefix="fencepost-"))
                return work(lease, keeper, lost, root)
            except Refused as error:
                event = "lost" if error.code in {"stale", "not_holder", "illegal"} else "error"
                self._console.event(event, lease, outcome=error.code, reason=error)
                return Step.DONE if event == "lost" else Step.TROUBLE
            except (GitError, OSError) as error:
                self._console.event("error", lease, reason=error)
                return Step.TROUBLE
            finally:
                if root is not None:
                    supervisor.discard(root)

    def _finish(self, lease: Lease, keeper: LeaseKeeper, lost: Interrupt, root: Path) -> Step:
        """Promote what was accepted before."""
        bundle = self._call(lambda verifier: verifier.bundle(lease))
        return self._promote(lease, bundle, keeper, lost, root)

    def _promote(
        self,
        lease: Lease,
        bundle: Bundle,
        keeper: LeaseKeeper,
        lost: Interrupt,
        root: Path,
        *objects: Path,
    ) -> Step:
        with Overdue(self._interrupt, runner.GRACE) as overdue, Interrupt(lost, overdue) as stop:
            promotion = Promotion(
                self._call,
                self._operate,
                lease,
                bundle,
                keeper=keeper,
                stop=stop,
                console=self._console,
                ring=self._ring,
                # Made now, after whatever was run here has ended: nothing was planted in it.
                folder=Path(tempfile.mkdtemp(prefix="promotion-", dir=root)) / "promotion.git",
                objects=objects,
            )
            return promotion.conclude()

    def _verify(self, lease: Lease, keeper: LeaseKeeper, lost: Interrupt, root: Path) -> Step:
        """Judge a submission, and promote it if it is accepted and the class says so."""
        bundle = self._call(lambda verifier: verifier.bundle(lease))
        with Interrupt(lost, self._interrupt) as stop:
            judgement = self._examine(bundle, root, keeper, stop)
        if keeper.is_lost:
            self._console.event("lost", lease, reason=keeper.why_lost)
            return Step.DONE
        goes_on = judgement.verdict == "accepted" and bundle.promotes
        if not goes_on:
            keeper.stop()
        receipt = self._judge(lease, bundle, judgement)
        if goes_on and receipt.state == "promoting":
            # Who could write to the store could give the history of the target another shape there.
            objects = [root / STORE] if self._confinement.hides_the_client else []
            return self._promote(lease, bundle, keeper, lost, root, *objects)
        return Step.TROUBLE if judgement.verdict == "unverifiable" else Step.DONE

    def _judge(self, lease: Lease, bundle: Bundle, judgement: _Judgement) -> Receipt:
        receipt = self._call(
            lambda verifier: verifier.judge(
                lease,
                verdict=judgement.verdict,
                bundle_sha256=bundle.bundle_sha256,
                fingerprint=judgement.fingerprint,
                command=judgement.command,
                exit_code=judgement.exit_code,
                reason=judgement.reason,
                evidence_uri=judgement.evidence_uri,
                evidence_sha256=judgement.evidence_sha256,
            )
        )
        self._ring(receipt)
        self._console.event(
            judgement.verdict,
            lease,
            state=receipt.state,
            commit=bundle.result.get("commit"),
            exit_code=judgement.exit_code,
            reason=judgement.reason and judgement.reason.partition("\n")[0],
            evidence=judgement.evidence_uri,
            duplicate=receipt.duplicate or None,
        )
        return receipt

    def _examine(
        self, bundle: Bundle, root: Path, keeper: LeaseKeeper, stop: Interrupt
    ) -> _Judgement:
        """Look at the submission, run the acceptance on it, and write down what was seen."""
        fingerprint: str | None = None
        acceptance: _Acceptance | None = None
        try:
            workspace = Workspace(root, interrupt=stop)
            with EvidenceFile(self._evidence, bundle) as evidence:
                evidence.note(
                    f"campaign {bundle.campaign_class}/{bundle.campaign_id}, "
                    f"attempt {bundle.attempt_no}, target {bundle.target}"
                )
                evidence.note(f"bundle SHA-256 {bundle.bundle_sha256.hex()}")
                evidence.note(f"result {checkout.without_credentials(str(bundle.result))}")
                run: Run | None = None
                try:
                    acceptance = _acceptance(bundle)
                    base, commit = self._fetch(bundle, workspace, stop)
                    fingerprint = _inspect(bundle, workspace.store, base, commit, acceptance)
                    run = self._run(
                        acceptance, workspace, commit, keeper=keeper, stop=stop, evidence=evidence
                    )
                    _require_judgeable(run, acceptance, workspace.store, base, commit)
                    reason = None if run.is_success else text.reason(f"acceptance: {run}", run.tail)
                except _Rejected as error:
                    reason = text.reason(str(error))
                evidence.note(f"\n{'accepted' if reason is None else f'rejected: {reason}'}")
                stored = evidence.finish()
        except _CannotJudge as error:
            return _Judgement(verdict="unverifiable", reason=text.reason(str(error)))
        except Interrupted:
            reason = text.reason(f"the verifier was stopped before a verdict: {stop.reason}")
            return _Judgement(verdict="unverifiable", reason=reason)
        except (GitError, OSError) as error:
            return _Judgement(verdict="unverifiable", reason=text.reason(f"verifier: {error}"))
        return _Judgement(
            verdict="accepted" if reason is None else "rejected",
            reason=reason,
            fingerprint=fingerprint,
            command=text.head(shlex.join(acceptance.command)) if run and acceptance else None,
            exit_code=_exit_code(run) if run else None,
            evidence_uri=stored.uri,
            evidence_sha256=stored.sha256,
        )

    def _fetch(self, bundle: Bundle, workspace: Workspace, stop: Interrupt) -> tuple[str, str]:
        """Fetch target and submission; return BASE and the commit, both known to be there."""
        repository, ref = checkout.location(bundle.location)
        result = bundle.result
        base, commit, pushed_ref = (result.get(key) for key in ("base", "commit", "pushed_ref"))
        if not all(isinstance(value, str) for value in (base, commit, pushed_ref)):
            raise _Rejected("the result does not name base, commit and pushed_ref")
        base, commit, pushed_ref = str(base), str(commit), str(pushed_ref)
        if not checkout.SHA.match(base) or not checkout.SHA.match(commit):
            raise _Rejected("base or commit of the result is not a full SHA")
        expected_ref = checkout.attempt_ref(
            bundle.campaign_class, bundle.campaign_id, bundle.attempt_no
        )
        if pushed_ref != expected_ref:
            raise _Rejected(f"the result was not pushed to {expected_ref}")
        git = workspace.store
        for remaining in reversed(range(_READS)):
            try:
                held = git.remote_refs(repository, ref, pushed_ref)
                for name in (ref, pushed_ref):
                    if name not in held:
                        raise _CannotJudge(f"{name} does not exist in {repository}")
                git.fetch(repository, ref, pushed_ref)
                break
            except GitError as error:
                if remaining == 0:
                    raise _CannotJudge(f"the repository cannot be read: {error}") from error
                stop.wait(0.5 * 2.0 ** (_READS - remaining))
        if git.value(pushed_ref) != commit:
            raise _Rejected(f"{pushed_ref} does not hold the submitted commit {commit}")
        _require_fork(git, str(git.value(ref)), ref, base, commit)
        return base, commit

    def _run(
        self,
        acceptance: _Acceptance,
        workspace: Workspace,
        commit: str,
        *,
        keeper: LeaseKeeper,
        stop: Interrupt,
        evidence: EvidenceFile,
    ) -> Run:
        """Run the acceptance command on the submitted commit as it is."""
        workspace.check_out(commit)
        evidence.note(f"running on {commit}: {shlex.join(acceptance.command)}\n")
        run = runner.run(
            acceptance.command,
            folder=workspace.files,
            environment=environment.scrubbed(workspace.root, also=self._pass_env),
            time_limit=acceptance.time_limit,
            interrupt=stop,
            check=keeper.check,
            output=evidence.file,
            discard=workspace.root,
            confinement=self._confinement,
            writable=environment.folders(workspace.root),
        )
        if run.exit_code is not None and run.exit_code < 0:
            stop.wait(0.3)  # a signal to all processes of a service reaches this one a bit later
        if run.stopped is not None or (stop and not run.is_success):
            raise Interrupted(run.stopped or stop.reason)
        evidence.note(f"\n{run}, {run.seconds:.1f} s")
        return run


def _acceptance(bundle: Bundle) -> _Acceptance:
    """Take the acceptance apart; the kernel checked it when the target was defined."""
    command = bundle.acceptance.get("command")
    limit = bundle.acceptance.get("time_limit_s", 600)
    protected = bundle.acceptance.get("protected", [])
    if (
        not isinstance(command, list)
        or not command
        or not all(isinstance(word, str) for word in command)
        or not isinstance(limit, int | float)
        or not isinstance(protected, list)
    ):
        raise _CannotJudge("the target's acceptance has no command that can be run")
    return _Acceptance(
        command=command,
        time_limit=timedelta(seconds=limit),
        protected=[str(path) for path in protected],
    )


def _require_fork(git: Git, value: str, ref: str, base: str, commit: str) -> None:
    """Insist that *base* is where the commit left the history of the ref, which may have moved on.

    What is judged is the difference from the base. A worker that could choose another one, a commit
    of its own or one from before the protected paths were what they are, could hide a change.

    :param value: the commit that the ref holds.
    """
    if git.value(base) is None or not git.is_ancestor(base, value):
        raise _Rejected(f"base {base} is not part of the history of {ref}")
    if not git.is_ancestor(base, commit):
        raise _Rejected(f"the submitted commit {commit} does not build on its base {base}")
    if commit == value:
        return  # somebody put it there meanwhile: what is judged is what the target holds
    forks = git.forks(value, commit)
    if commit in forks and commit != base:
        # An old state of the target may well pass, and says nothing about the present one.
        raise _Rejected(f"the submitted commit {commit} is part of the history of {ref} already")
    if forks != [base]:
        raise _Rejected(
            f"base {base} is not where the submitted commit left the history of {ref}: "
            f"that is {', '.join(forks)}"
        )


def _inspect(bundle: Bundle, git: Git, base: str, commit: str, acceptance: _Acceptance) -> str:
    """Check what can be told without running anything; return the patch id."""
    try:
        git.require_bounded(base, commit)
    except checkout.Unusable as error:
        raise _Rejected(str(error)) from error
    violation = checkout.protected_violation(git, base, commit, acceptance.protected)
    if violation is not None:
        raise _Rejected(violation)
    try:
        fingerprint = git.patch_id(base, commit)
    except checkout.Unusable as error:
        raise _Rejected(str(error)) from error
    if not fingerprint:
        raise _Rejected("the submission changes nothing")
    if fingerprint != bundle.fingerprint:
        raise _Rejected(
            f"the submission's patch id is {fingerprint}, not the fingerprint "
            f"{bundle.fingerprint} that was submitted"
        )
    if fingerprint in bundle.refused_fingerprints:
        raise _Rejected("the same change did not succeed before")
    return fingerprint


def _require_judgeable(run: Run, acceptance: _Acceptance, git: Git, base: str, commit: str) -> None:
    """Tell a command that the submission broke from one that this verifier cannot run."""
    if run.errno is None:
        return
    program = acceptance.command[0]
    if "/" in program and not program.startswith("/"):
        path = os.path.normpath(program)
        if checkout.protected_violation(git, base, commit, [path]) is not None:
            raise _Rejected(f"the submission changed {path}, which now {run}")
    raise _CannotJudge(f"the acceptance command {run}")


def _exit_code(run: Run) -> int | None:
    """Return the exit code as a shell would: 124 at the time limit, 128 and the signal's number."""
    if run.timed_out:
        return 124
    if run.exceeded is not None:
        return 128 + signal.SIGKILL
    if run.exit_code is not None and run.exit_code < 0:
        return 128 - run.exit_code
    return run.exit_code

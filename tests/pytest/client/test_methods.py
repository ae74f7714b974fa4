"""Each method is one short transaction, and says plainly what the kernel answered."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import TYPE_CHECKING
from uuid import uuid4

import psycopg
import pytest
from psycopg import IsolationLevel
from psycopg.pq import TransactionStatus

from fencepost import (
    ArgumentMalformed,
    ArgumentOutOfRange,
    ArgumentTooLong,
    BundleMismatch,
    ConnectionBusy,
    Forbidden,
    Illegal,
    Lease,
    NoEvidence,
    NotHolder,
    Reaper,
    Repeated,
    Stale,
    UnknownClass,
    VerdictContradictsExitCode,
    Verifier,
    Worker,
    WrongIsolation,
    clock,
)
from tests.pytest.client.conftest import REF
from tests.pytest.moved import moved

if TYPE_CHECKING:
    from tests.pytest.client.conftest import World
    from tests.pytest.conftest import Connection, MakePrincipal

CLASS = "upkeep"
EVIDENCE = {"evidence_uri": "file:///x", "evidence_sha256": b"\1" * 32}


@pytest.fixture
def connection(world: World) -> Connection:
    """Return the worker's connection, with a campaign open."""
    world.open_campaign()
    return world.connect("worker")


@pytest.fixture
def worker(connection: Connection) -> Worker:
    """Return a worker."""
    return Worker(connection, label="here")


@pytest.fixture
def verifier(world: World) -> Verifier:
    """Return a verifier."""
    return Verifier(world.connect("verifier"), label="there")


def claimed(worker: Worker) -> Lease:
    lease = worker.claim(CLASS)
    assert lease is not None
    return lease


def submitted(worker: Worker, fingerprint: str = "f") -> None:
    worker.submit(
        claimed(worker),
        fingerprint=fingerprint,
        approach=None,
        result={"base": "1" * 40, "commit": "2" * 40},
    )


def judging(verifier: Verifier) -> Lease:
    lease = verifier.claim_verification(CLASS)
    assert lease is not None
    return lease


def test_a_claim_is_committed_and_the_connection_idle(
    world: World, worker: Worker, connection: Connection
) -> None:
    lease = claimed(worker)
    assert connection.info.transaction_status is TransactionStatus.IDLE
    assert world.campaign()["lease_label"] == "here"
    assert lease.state == "leased"
    assert lease.attempt_no == 1
    assert lease.attempt_limit == timedelta(hours=1)
    left = lease.runs_out_at - clock.now()
    assert 13 < left <= 15
    assert worker.claim(CLASS) is None


def test_a_claim_in_a_transaction_of_the_callers_is_refused_before_anything_happens(
    world: World, worker: Worker, connection: Connection
) -> None:
    connection.execute("select 1")
    with pytest.raises(ConnectionBusy):
        worker.claim(CLASS)
    connection.rollback()
    assert world.campaign()["state"] == "ready"


def test_autocommit_connections_serve_as_well(world: World) -> None:
    world.open_campaign()
    connection = world.people["worker"].connect(world.database, autocommit=True)
    assert Worker(connection).brief(claimed(Worker(connection))).target == "numbers"


def test_a_repeated_claim_is_the_same_lease(worker: Worker) -> None:
    token = uuid4()
    first = worker.claim(CLASS, token=token)
    again = worker.claim(CLASS, token=token)
    assert first is not None
    assert again is not None
    assert (again.campaign_id, again.generation) == (first.campaign_id, first.generation)
    assert not first.duplicate
    assert again.duplicate


def test_the_brief_says_what_was_tried(worker: Worker) -> None:
    first = claimed(worker)
    brief = worker.brief(first)
    assert brief.desired_state == {"answer": "right"}
    assert brief.attempts == []
    assert brief.observation is None
    worker.fail(first, reason="too hard", approach="by hand", fingerprint="f1")
    (earlier,) = worker.brief(claimed(worker)).attempts
    assert earlier["reason"] == "too hard"
    assert earlier["approach"] == "by hand"
    assert earlier["ending"] == "failed"


def test_renewing_counts_from_now(worker: Worker) -> None:
    lease = claimed(worker)
    renewed = worker.renew(lease, lease_for=timedelta(minutes=2))
    assert renewed.lease_expires_at > lease.lease_expires_at
    assert renewed.token == lease.token
    assert renewed.runs_out_at > lease.runs_out_at + 90


def test_a_refusal_is_raised_after_it_was_recorded(world: World, worker: Worker) -> None:
    lease = claimed(worker)
    worker.release(lease, reason="first")
    claimed(worker)
    with pytest.raises(Stale) as caught:
        worker.submit(lease, fingerprint="f", approach=None, result={})
    assert caught.value.receipt.outcome == "stale"
    assert caught.value.receipt.message
    rows = world.audit("select outcome, function from audit.refusals")
    assert rows == [{"outcome": "stale", "function": "submit"}]


def test_ending_twice_the_same_way_is_a_duplicate(worker: Worker) -> None:
    lease = claimed(worker)
    assert not worker.fail(lease, reason="r").duplicate
    assert worker.fail(lease, reason="r").duplicate
    with pytest.raises(Stale):
        worker.fail(lease, reason="another")


def test_another_token_is_not_the_holder(worker: Worker) -> None:
    lease = claimed(worker)
    other = Lease(**{name: getattr(lease, name) for name in Lease.__dataclass_fields__})
    object.__setattr__(other, "token", uuid4())
    with pytest.raises(NotHolder):
        worker.renew(other)


def test_misuse_has_its_own_classes(world: World, worker: Worker, connection: Connection) -> None:
    with pytest.raises(ArgumentMalformed):
        worker.claim("No Class")
    with pytest.raises(ArgumentOutOfRange) as caught:
        worker.claim(CLASS, lease_for=timedelta(days=2))
    assert caught.value.detail
    lease = claimed(worker)
    with pytest.raises(ArgumentTooLong):
        worker.fail(lease, reason="x" * 4097)
    connection.isolation_level = IsolationLevel.SERIALIZABLE
    with pytest.raises(WrongIsolation):
        worker.renew(lease)
    assert connection.info.transaction_status is TransactionStatus.IDLE
    with pytest.raises(UnknownClass):
        Reaper(world.connect("reaper")).reap("nowhere")


def test_who_is_not_enrolled_is_forbidden_and_who_has_no_role_has_no_privilege(
    world: World, verifier: Verifier
) -> None:
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        Worker(world.connect("verifier")).claim(CLASS)
    world.admin(
        """
        select * from kernel.dismiss(
            p_class => %(class)s, p_principal => %(name)s, p_duty => 'verifier'
        )
        """,
        {"class": CLASS, "name": world.people["verifier"].name},
    )
    with pytest.raises(Forbidden):
        verifier.claim_verification(CLASS)


def test_a_verdict_is_checked(worker: Worker, verifier: Verifier) -> None:
    submitted(worker)
    lease = judging(verifier)
    bundle = verifier.bundle(lease)
    digest = bundle.bundle_sha256
    assert bundle.fingerprint == "f"
    assert bundle.promotes
    with pytest.raises(BundleMismatch):
        verifier.judge(
            lease,
            verdict="accepted",
            bundle_sha256=digest,
            fingerprint="g",
            exit_code=0,
            **EVIDENCE,  # type: ignore[arg-type]
        )
    with pytest.raises(NoEvidence):
        verifier.judge(lease, verdict="rejected", bundle_sha256=digest, reason="r")
    with pytest.raises(VerdictContradictsExitCode):
        verifier.judge(
            lease, verdict="accepted", bundle_sha256=digest, fingerprint="f", exit_code=1
        )
    receipt = verifier.judge(
        lease,
        verdict="rejected",
        bundle_sha256=digest,
        reason="no",
        **EVIDENCE,  # type: ignore[arg-type]
    )
    assert receipt.state == "ready"
    with pytest.raises(Repeated):
        submitted(worker)


def test_promotion_goes_on_under_the_same_lease(
    world: World, worker: Worker, verifier: Verifier
) -> None:
    submitted(worker)
    lease = judging(verifier)
    digest = verifier.bundle(lease).bundle_sha256
    accepted = verifier.judge(
        lease,
        verdict="accepted",
        bundle_sha256=digest,
        fingerprint="f",
        command="true",
        exit_code=0,
        **EVIDENCE,  # type: ignore[arg-type]
    )
    assert accepted.state == "promoting"
    assert verifier.bundle(lease).result["commit"] == "2" * 40
    assert verifier.claim_promotion(CLASS) is None
    renewed = verifier.renew(lease)
    with pytest.raises(NoEvidence):
        verifier.promote(renewed)
    target = f"{world.repository}#{REF}"
    with pytest.raises(BundleMismatch):
        moved(world.connect("verifier"), renewed, target, "4" * 40)
    moved(world.connect("verifier"), renewed, target, "2" * 40)
    assert verifier.promote(renewed).state == "verified"
    assert verifier.promote(renewed).duplicate
    with pytest.raises((Stale, Illegal)):
        verifier.outdate(lease, reason="late")


def test_an_abstention_ends_nothing(world: World, worker: Worker, verifier: Verifier) -> None:
    submitted(worker)
    receipt = verifier.judge(judging(verifier), verdict="unverifiable", reason="no network")
    assert receipt.state == "attempted"
    assert world.attempt()["ending"] is None


def test_who_worked_is_offered_nothing_to_judge(
    world: World, principal: MakePrincipal, verifier: Verifier
) -> None:
    both = principal("c_both", "fencepost_worker", "fencepost_verifier")
    for duty in ("worker", "verifier"):
        world.enrol(both.name, duty)
    world.open_campaign()
    connection = both.connect(world.database)
    submitted(Worker(connection))
    assert Verifier(connection).claim_verification(CLASS) is None
    assert judging(verifier).attempt_no == 1


def test_the_reaper_gives_back_what_ran_out(world: World, worker: Worker) -> None:
    lease = worker.claim(CLASS, lease_for=timedelta(seconds=1))
    assert lease is not None
    reaper = Reaper(world.connect("reaper"))
    assert reaper.classes() == [CLASS]
    assert reaper.reap(CLASS) == []
    deadline = clock.now() + 10
    while not (found := reaper.reap(CLASS)):
        assert clock.now() < deadline
        time.sleep(0.05)
    (receipt,) = found
    assert clock.now() > lease.runs_out_at
    assert receipt.note == "lose"
    assert receipt.campaign_id == lease.campaign_id
    with pytest.raises(Stale):
        worker.renew(lease)

"""What every client must do, whichever way it reaches the kernel: see conftest.py."""

from __future__ import annotations

import inspect
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import psycopg
import pytest
from psycopg import IsolationLevel, sql
from psycopg.pq import TransactionStatus

from fencepost import (
    ArgumentOutOfRange,
    ConnectionBusy,
    KernelUnfit,
    NoEvidence,
    Reaper,
    Receipt,
    Refused,
    Stale,
    Verifier,
    Worker,
)
from fencepost.errors import KernelError, Misuse, Retry
from tests.pytest.client.conformance.conftest import BASE, COMMIT, SHA256
from tests.pytest.conftest import wait_for

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.pytest.client.conformance.conftest import Room
    from tests.pytest.client.proxy import Proxy
    from tests.pytest.conftest import Superuser

METHODS = [
    (role, name)
    for role in (Worker, Verifier, Reaper)
    for name, method in inspect.getmembers(role, inspect.isfunction)
    if not name.startswith("_")
]


# -- every method ----------------------------------------------------------------------------------


def test_a_worker_claims_is_briefed_renews_and_submits(room: Room) -> None:
    (campaign_id,) = room.open()
    token = uuid4()
    lease = room.worker.claim(room.klass, token=token, lease_for=timedelta(minutes=1))
    assert lease is not None
    assert (lease.campaign_class, lease.campaign_id) == (room.klass, campaign_id)
    assert (lease.state, lease.attempt_no, lease.token) == ("leased", 1, token)
    assert lease.attempt_limit == timedelta(hours=1)
    brief = room.worker.brief(lease)
    assert brief.desired_state == {"answer": "right"}
    assert brief.acceptance["command"] == ["true"]
    assert (brief.attempts, brief.observation, brief.refused_fingerprints) == ([], None, [])
    renewed = room.worker.renew(lease, lease_for=timedelta(minutes=5))
    assert renewed.lease_expires_at > lease.lease_expires_at
    assert renewed.runs_out_at > lease.runs_out_at
    receipt = room.submit(renewed)
    assert (receipt.outcome, receipt.moved, receipt.state) == ("ok", True, "attempted")
    assert room.worker.claim(room.klass) is None
    assert room.moves() == ["open", "claim", "submit"]
    labels = room.audit("select label from audit.attempts where class = %(class)s")
    assert labels == [{"label": "here"}]


def test_a_worker_fails_and_releases(room: Room) -> None:
    room.open()
    failed = room.worker.fail(room.claimed(), reason="too hard", approach="a", fingerprint="f1")
    assert failed.state == "ready"
    again = room.claimed()
    brief = room.worker.brief(again)
    assert [attempt["reason"] for attempt in brief.attempts] == ["too hard"]
    assert brief.refused_fingerprints == ["f1"]
    assert room.worker.release(again, reason="lunch").state == "ready"


def test_many_are_claimed_at_once_each_with_its_token(room: Room) -> None:
    assert room.worker.claim_many(room.klass, tokens=[uuid4()]) == []
    campaigns = room.open(3)
    tokens = [uuid4() for _ in range(4)]
    leases = room.worker.claim_many(room.klass, tokens=tokens[:2])
    assert [lease.campaign_id for lease in leases] == campaigns[:2]
    assert [lease.token for lease in leases] == tokens[:2]
    leases = room.worker.claim_many(room.klass, tokens=tokens)
    assert [lease.campaign_id for lease in leases] == campaigns
    assert [lease.duplicate for lease in leases] == [True, True, False]
    for lease in leases:
        assert room.worker.renew(lease).token == lease.token
    # The first lease ends; then a repeat has fewer rows than tokens, and none that names its own.
    room.submit(leases[0])
    leases = room.worker.claim_many(room.klass, tokens=tokens)
    assert [(lease.campaign_id, lease.token) for lease in leases] == [
        (campaigns[1], tokens[1]),
        (campaigns[2], tokens[2]),
    ]
    with pytest.raises(ArgumentOutOfRange):
        room.worker.claim_many(room.klass, tokens=[tokens[0]] * 2)


def test_a_verifier_judges_and_promotes(room: Room) -> None:
    assert room.verifier.claim_verification(room.klass) is None
    lease, bundle = room.verifying()
    assert (bundle.fingerprint, bundle.promotes) == ("f", True)
    assert bundle.result == {"base": BASE, "commit": COMMIT}
    assert room.verifier.renew(lease).token == lease.token
    assert room.accept(lease, bundle).state == "promoting"
    assert room.verifier.claim_promotion(room.klass) is None
    with pytest.raises(NoEvidence):
        room.verifier.promote(lease)
    room.moved(lease)
    assert room.verifier.promote(lease).state == "verified"


def test_a_verifier_rejects_abstains_and_outdates(room: Room) -> None:
    lease, bundle = room.verifying("f1")
    assert room.verifier.judge(lease, verdict="unverifiable", reason="no network").state == (
        "attempted"
    )
    again = room.verifier.claim_verification(room.klass)
    assert again is not None
    rejected = room.accept(again, bundle, verdict="rejected", exit_code=1, reason="red")
    assert rejected.state == "ready"
    room.submit(room.claimed(), "f2")
    third = room.verifier.claim_verification(room.klass)
    assert third is not None
    assert room.accept(third, room.verifier.bundle(third)).state == "promoting"
    assert room.verifier.outdate(third, reason="it moved").state == "ready"


def test_a_reaper_takes_back_a_promotion_which_another_claim_brings_to_its_end(room: Room) -> None:
    room.define_class(lease_default="1 second")
    room.promoting()
    room.define_class()
    assert room.reaper.is_reaper()
    assert room.klass in room.reaper.classes()
    found: list[Receipt] = []

    def reaps() -> bool:
        found.extend(room.reaper.reap(room.klass, limit=10))
        return bool(found)

    wait_for(reaps, "it is reaped", 20)
    assert [(receipt.note, receipt.state) for receipt in found] == [("lose_promotion", "accepted")]
    lease = room.verifier.claim_promotion(room.klass)
    assert lease is not None
    room.moved(lease)
    assert room.verifier.promote(lease).state == "verified"


def test_a_reaper_checkpoints(room: Room) -> None:
    room.submitted()
    first = room.reaper.checkpoint(room.klass)
    assert (first.campaign_class, first.checkpoint_no, first.event_count) == (room.klass, 1, 3)
    assert len(first.sha256) == 32
    room.open()
    second = room.reaper.checkpoint(room.klass)
    assert (second.checkpoint_no, second.event_count) == (2, 1)
    assert second.sha256 != first.sha256


def test_everybody_asks_for_version_classes_and_what_is_due(room: Room) -> None:
    assert room.worker.api_version() == room.verifier.api_version() == 1
    room.worker.require_fit_kernel()
    assert room.klass in room.worker.classes()
    assert room.worker.next_due(room.klass) is None
    room.open()
    due = room.worker.next_due(room.klass)
    assert due is not None
    assert due <= timedelta(0)
    assert room.verifier.next_due(room.klass) is None
    room.define_class(backoff_base="10 minutes", backoff_cap="10 minutes")
    room.worker.fail(room.claimed(), reason="r")
    due = room.worker.next_due(room.klass)
    assert due is not None
    assert timedelta(minutes=9) < due <= timedelta(minutes=10)


@pytest.mark.parametrize("way", ["sync", "async"], indirect=True)
def test_no_call_needs_a_search_path(room: Room) -> None:
    """What a pooler may have left in a session: a path that leads to nothing."""
    for connection in room.connections:
        connection.execute("set search_path = nowhere")
    lease, bundle = room.verifying()
    assert room.worker.next_due(room.klass) is None
    assert room.accept(lease, bundle).state == "promoting"
    room.verifier.renew(lease)
    assert room.klass in room.reaper.classes()
    assert room.reaper.reap(room.klass) == []


def test_a_ring_is_heard_by_who_listens(room: Room, superuser: Superuser) -> None:
    listener = superuser(room.way.database)
    listener.execute("listen fencepost")
    for who in (room.worker, room.verifier, room.reaper):
        who.ring(room.klass)
    heard = list(listener.notifies(timeout=20, stop_after=3))
    assert [notify.payload for notify in heard] == [room.klass] * 3


# -- every answer ----------------------------------------------------------------------------------


def stale(room: Room) -> None:
    room.open()
    lease = room.claimed()
    room.worker.release(lease)
    room.claimed()
    room.worker.renew(lease)


def not_holder(room: Room) -> None:
    room.open()
    room.worker.renew(replace(room.claimed(), token=uuid4()))


def illegal(room: Room) -> None:
    room.verifier.promote(room.verifying()[0])


def forbidden(room: Room) -> None:
    room.admin("dismiss", principal=room.people["worker"].name, duty="worker")
    room.worker.claim(room.klass)


def repeated(room: Room) -> None:
    room.open()
    room.worker.fail(room.claimed(), reason="r", fingerprint="f")
    room.submit(room.claimed(), "f")


def self_verdict(room: Room) -> None:
    lease, bundle = room.verifying()
    names = [sql.Identifier(room.people[duty].name) for duty in ("worker", "verifier")]
    room.god.execute(sql.SQL("grant {} to {}").format(*names))
    try:
        room.accept(lease, bundle)
    finally:
        room.god.execute(sql.SQL("revoke {} from {}").format(*names))


def same_family(room: Room) -> None:
    names = {duty: room.people[duty].name for duty in ("worker", "verifier")}
    try:
        for duty, name in names.items():
            room.admin("register_principal", principal=name, family=duty)
        room.define_class(separate_family=True)
        lease, bundle = room.verifying()
        room.admin("register_principal", principal=names["verifier"], family="worker")
        room.accept(lease, bundle)
    finally:
        for name in names.values():
            room.admin("register_principal", principal=name)


def bundle_mismatch(room: Room) -> None:
    lease, bundle = room.verifying()
    room.accept(lease, bundle, bundle_sha256=b"\2" * 32)


def no_evidence(room: Room) -> None:
    lease, bundle = room.verifying()
    room.accept(lease, bundle, evidence_uri=None, evidence_sha256=None)


def paused(room: Room) -> None:
    lease, bundle = room.verifying()
    room.admin("pause", reason="a look")
    room.accept(lease, bundle)


def KN101(room: Room) -> None:  # noqa: N802 - named as its code
    room.open()
    room.worker.fail(room.claimed(), reason=None)  # type: ignore[arg-type]


def KN102(room: Room) -> None:  # noqa: N802
    room.worker.claim("No Class")


def KN103(room: Room) -> None:  # noqa: N802
    room.open()
    room.worker.fail(room.claimed(), reason="x" * 4097)


def KN104(room: Room) -> None:  # noqa: N802
    room.worker.claim(room.klass, lease_for=timedelta(days=2))


def KN106(room: Room) -> None:  # noqa: N802
    room.reaper.reap("nowhere")


def KN108(room: Room) -> None:  # noqa: N802
    room.open()
    room.worker.renew(replace(room.claimed(), campaign_id=1_000_000))


def KN111(room: Room) -> None:  # noqa: N802
    room.worker_connection.set_isolation_level(IsolationLevel.SERIALIZABLE)
    room.worker.claim(room.klass)


def KN112(room: Room) -> None:  # noqa: N802
    room.worker_connection.set_read_only(True)
    room.worker.claim(room.klass)


def KN114(room: Room) -> None:  # noqa: N802
    lease, bundle = room.verifying()
    room.accept(lease, bundle, exit_code=1)


def cancelled(room: Room) -> None:  # 57014
    room.open()
    lease = room.claimed()
    with room.locked():
        room.when_it_waits("pg_cancel_backend")
        room.worker.renew(lease)


SCENARIOS: tuple[Callable[[Room], None], ...] = (
    *(stale, not_holder, illegal, forbidden, repeated, self_verdict, same_family),
    *(bundle_mismatch, no_evidence, paused),
    *(KN101, KN102, KN103, KN104, KN106, KN108, KN111, KN112, KN114),
)
ANSWERS = {scenario.__name__: scenario for scenario in SCENARIOS} | {"57014": cancelled}

ELSEWHERE = {
    # Only functions of admins and sensors say so.
    *("KN105", "KN107", "KN109", "KN110", "KN115"),
    # The functions for operations say so: tests/pytest/operations.
    *("expired", "limit", "operation_open", "KN116"),
    # A hand at the keyboard meets these.
    *("KN901", "KN902", "KN903"),
    # Every method commits before it returns, so that no lease is shown to an open transaction.
    "KN113",
    # Five seconds of waiting for each way; test_lost_answers.py waits once. A deadlock takes two
    # sessions that lock in different orders, which is what no function does.
    *("55P03", "40P01"),
}


def test_every_answer_is_asked_for_here_or_cannot_come() -> None:
    assert set(ANSWERS) | ELSEWHERE == set(KernelError.by_code)
    assert not set(ANSWERS) & ELSEWHERE


@pytest.mark.parametrize("code", ANSWERS)
def test_every_answer_is_raised_as_its_own_class_after_the_call_has_ended(
    room: Room, code: str
) -> None:
    wanted = KernelError.by_code[code]
    with pytest.raises(wanted) as caught:
        ANSWERS[code](room)
    assert type(caught.value) is wanted
    assert caught.value.code == code
    if isinstance(caught.value, Refused):
        assert caught.value.receipt.outcome == code
        assert caught.value.receipt.message
        assert room.refusals() == [code], "recorded, once"
    else:
        assert isinstance(caught.value, Misuse | Retry)
        assert isinstance(caught.value.__cause__, psycopg.Error)
        assert room.refusals() == []
    for connection in room.connections:
        assert connection.info.transaction_status is TransactionStatus.IDLE


# -- repeats ---------------------------------------------------------------------------------------


def test_the_same_call_again_is_a_duplicate_and_another_under_its_lease_is_stale(
    room: Room,
) -> None:
    room.open(2)
    token = uuid4()
    first, again = (room.worker.claim(room.klass, token=token) for _ in range(2))
    assert first is not None
    assert again is not None
    assert (first.duplicate, again.duplicate) == (False, True)
    assert again.generation == first.generation
    assert [room.submit(first).duplicate for _ in range(2)] == [False, True]
    with pytest.raises(Stale):
        room.submit(first, "g")
    other = room.claimed()
    assert [room.worker.fail(other, reason="r").duplicate for _ in range(2)] == [False, True]
    with pytest.raises(Stale):
        room.worker.release(other)


def test_an_answer_that_was_lost_is_given_again_and_the_call_has_happened_once(
    room: Room, proxy: Proxy
) -> None:
    way = room.way
    room.open(3)
    tokens = [uuid4(), uuid4(), uuid4(), uuid4()]

    lease = room.answered_twice(
        proxy, "worker", lambda c: way.worker(c).claim(room.klass, token=tokens[0])
    )
    assert lease is not None
    assert lease.duplicate
    leases = room.answered_twice(
        proxy, "worker", lambda c: way.worker(c).claim_many(room.klass, tokens=tokens[1:3])
    )
    assert [found.duplicate for found in leases] == [True, True]
    work: dict[str, Any] = {
        "fingerprint": "f",
        "approach": None,
        "result": {"base": BASE, "commit": COMMIT},
    }
    for call in (
        lambda c: way.worker(c).submit(lease, **work),
        lambda c: way.worker(c).fail(leases[0], reason="r"),
        lambda c: way.worker(c).release(leases[1], reason="r"),
    ):
        assert room.answered_twice(proxy, "worker", call).duplicate
    assert (
        room.answered_twice(proxy, "worker", lambda c: way.worker(c).renew(room.claimed())).outcome
        == "ok"
    )

    judging = room.answered_twice(
        proxy,
        "verifier",
        lambda c: way.verifier(c).claim_verification(room.klass, token=tokens[3]),
    )
    assert judging is not None
    assert judging.duplicate
    verdict: dict[str, Any] = {
        "verdict": "accepted",
        "bundle_sha256": room.verifier.bundle(judging).bundle_sha256,
        "fingerprint": "f",
        "exit_code": 0,
        "evidence_uri": "file:///x",
        "evidence_sha256": SHA256,
    }
    assert room.answered_twice(
        proxy, "verifier", lambda c: way.verifier(c).judge(judging, **verdict)
    ).duplicate
    room.moved(judging)
    assert room.answered_twice(
        proxy, "verifier", lambda c: way.verifier(c).promote(judging)
    ).duplicate
    assert room.moves()[:6] == [
        *("open", "claim", "submit", "claim_verification", "accept", "promote"),
    ]
    assert room.refusals() == []


# -- connections -----------------------------------------------------------------------------------


def arguments_for(method: Any) -> dict[str, Any]:
    """Return something for every argument that has to be given."""
    return {
        name: None
        for name, parameter in inspect.signature(method).parameters.items()
        if parameter.default is inspect.Parameter.empty and name != "self"
    }


def test_no_method_begins_in_a_transaction_of_the_callers(room: Room) -> None:
    room.open()
    lease = room.claimed()
    connection = room.worker_connection
    connection.execute("begin")
    someone = {
        Worker: room.way.worker(connection),
        Verifier: room.way.verifier(connection),
        Reaper: room.way.reaper(connection),
    }
    assert len(METHODS) > 25
    for role, name in METHODS:
        arguments = arguments_for(getattr(role, name))
        if "lease" in arguments:
            arguments["lease"] = lease
        if "tokens" in arguments:
            arguments["tokens"] = []
        with pytest.raises(ConnectionBusy):
            getattr(someone[role], name)(**arguments)
        assert connection.info.transaction_status is TransactionStatus.INTRANS, name
    connection.execute("rollback")


def test_a_connection_that_is_not_in_autocommit_serves_as_well(room: Room) -> None:
    room.open()
    room.worker_connection.set_autocommit(False)
    assert room.worker.next_due(room.klass) is not None
    assert room.worker.claim(room.klass) is not None
    room.worker.ring(room.klass)
    assert room.worker_connection.info.transaction_status is TransactionStatus.IDLE


def test_another_role_has_no_privilege(room: Room) -> None:
    connection = room.way.connect(room.people["verifier"])
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        room.way.worker(connection).claim(room.klass)
    assert not room.way.reaper(connection).is_reaper()
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        room.way.reaper(connection).reap(room.klass)


@pytest.mark.parametrize(("version", "said"), [(0, "too old"), (2, "too new")])
def test_a_kernel_of_another_version_is_named(room: Room, version: int, said: str) -> None:
    row = room.god.execute("select pg_get_functiondef('kernel.api_version()'::regprocedure)")
    was = (row.fetchone() or [""])[0]
    try:
        room.god.execute(was.replace("return 1;", f"return {version};"))
        with pytest.raises(KernelUnfit, match=said):
            room.worker.require_fit_kernel()
    finally:
        room.god.execute(was)
    room.worker.require_fit_kernel()


def test_a_database_without_a_kernel_is_named(room: Room) -> None:
    elsewhere = replace(room.way, database="postgres")
    connection = elsewhere.connect(room.people["worker"])
    with pytest.raises(KernelUnfit, match="no Fencepost kernel"):
        elsewhere.worker(connection).require_fit_kernel()

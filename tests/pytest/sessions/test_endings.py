"""Two calls that would end the same attempt, or the same lease, at once: one wins whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.pytest.sessions.conftest import Ledger, Session


def test_two_identical_submits_are_one(ledger: Ledger, submission: dict[str, Any]) -> None:
    (campaign,) = ledger.campaigns()
    before, after = ledger.session("worker"), ledger.session("worker")
    held = before.claimed()

    first = before.call("submit", **held, **submission)
    repeat = ledger.background(lambda: after.call("submit", **held, **submission))
    ledger.wait_until_blocked(after, before)
    before.commit()
    second = repeat.result()
    after.commit()

    assert (first["outcome"], first["duplicate"]) == ("ok", False)
    assert (second["outcome"], second["duplicate"]) == ("ok", True)
    assert ledger.moves(campaign) == ["open", "claim", "submit"]
    assert ledger.refusals() == []


def test_where_the_first_is_rolled_back_the_second_counts(
    ledger: Ledger, submission: dict[str, Any]
) -> None:
    (campaign,) = ledger.campaigns()
    before, after = ledger.session("worker"), ledger.session("worker")
    held = before.claimed()

    before.call("submit", **held, **submission)
    repeat = ledger.background(lambda: after.call("submit", **held, **submission))
    ledger.wait_until_blocked(after, before)
    before.rollback()
    second = repeat.result()
    after.commit()

    assert (second["outcome"], second["duplicate"]) == ("ok", False)
    assert ledger.moves(campaign) == ["open", "claim", "submit"]


@pytest.mark.parametrize(
    ("other", "arguments"),
    [
        ("submit", {"p_fingerprint": "another"}),
        ("fail", {"p_reason": "no"}),
        ("release", {}),
        ("renew", {}),
        ("brief", {}),
    ],
)
def test_another_call_under_the_same_lease_finds_it_ended(
    ledger: Ledger, submission: dict[str, Any], other: str, arguments: dict[str, Any]
) -> None:
    (campaign,) = ledger.campaigns()
    before, after = ledger.session("worker"), ledger.session("worker")
    held = before.claimed()
    given = held | (submission | arguments if other == "submit" else arguments)

    before.call("submit", **held, **submission)
    if other == "brief":  # reads, and so waits for nobody
        assert after.call("brief", **given)["outcome"] == "ok"
        after.commit()
        before.commit()
        answer = after.call("brief", **given)
    else:
        call = ledger.background(lambda: after.call(other, **given))
        ledger.wait_until_blocked(after, before)
        before.commit()
        answer = call.result()
    after.commit()

    assert answer["outcome"] == "stale"
    assert ledger.moves(campaign) == ["open", "claim", "submit"]
    assert ledger.refusals() == [(other, "stale")]


# The reaper and the holder


def expired(ledger: Ledger, worker: Session) -> dict[str, Any]:
    """Claim for a second, and wait until a reaper would take it: in a transaction undone."""
    held = worker.claimed(p_lease_for="1 second")
    looking = ledger.session("reaper")

    def is_reapable() -> bool:
        rows = looking.rows("reap")
        looking.rollback()
        return bool(rows)

    ledger.wait_for(is_reapable, "the lease has run out")
    return held


def test_a_submit_under_way_is_not_reaped(ledger: Ledger, submission: dict[str, Any]) -> None:
    (campaign,) = ledger.campaigns()
    worker, reaper = ledger.session("worker"), ledger.session("reaper")
    held = expired(ledger, worker)

    worker.call("submit", **held, **submission)
    assert reaper.rows("reap") == [], "it passes by, and does not wait"
    reaper.commit()
    worker.commit()

    assert reaper.rows("reap") == []
    reaper.commit()
    assert ledger.moves(campaign) == ["open", "claim", "submit"]


@pytest.mark.parametrize("end", ["commit", "rollback"])
def test_a_submit_that_meets_a_reaper(ledger: Ledger, submission: dict[str, Any], end: str) -> None:
    (campaign,) = ledger.campaigns()
    worker, reaper = ledger.session("worker"), ledger.session("reaper")
    held = expired(ledger, worker)

    (reaped,) = reaper.rows("reap")
    submit = ledger.background(lambda: worker.call("submit", **held, **submission))
    ledger.wait_until_blocked(worker, reaper)
    getattr(reaper, end)()
    answer = submit.result()
    worker.commit()

    assert (reaped["campaign_id"], reaped["note"]) == (campaign, "lose")
    if end == "commit":
        assert answer["outcome"] == "stale"
        assert ledger.moves(campaign) == ["open", "claim", "lose"]
        assert ledger.state(campaign) == "ready"
    else:
        assert answer["outcome"] == "ok"
        assert ledger.moves(campaign) == ["open", "claim", "submit"]
        assert ledger.state(campaign) == "attempted"


def test_a_renewal_under_way_is_not_reaped(ledger: Ledger) -> None:
    (campaign,) = ledger.campaigns()
    worker, reaper = ledger.session("worker"), ledger.session("reaper")
    held = expired(ledger, worker)

    renewed = worker.call("renew", **held, p_lease_for="1 minute")
    assert reaper.rows("reap") == []
    reaper.commit()
    worker.commit()
    assert reaper.rows("reap") == []
    reaper.commit()

    assert renewed["outcome"] == "ok"
    assert ledger.moves(campaign) == ["open", "claim"]


def test_two_reapers_take_each_lease_once(ledger: Ledger) -> None:
    first, second = ledger.campaigns(2)
    worker = ledger.session("worker")
    worker.claimed(p_lease_for="1 second")
    expired(ledger, worker)
    one, other = ledger.session("reaper"), ledger.session("reaper", 1)
    ledger.wait_for(lambda: reapable(one) == 2, "both leases have run out")

    (taken,) = one.rows("reap", p_limit=1)
    (left,) = other.rows("reap")
    other.commit()
    one.commit()

    assert {taken["campaign_id"], left["campaign_id"]} == {first, second}
    for campaign in (first, second):
        assert ledger.moves(campaign) == ["open", "claim", "lose"]


def reapable(reaper: Session) -> int:
    """Return how many leases the reaper would take, and take none."""
    rows = reaper.rows("reap")
    reaper.rollback()
    return len(rows)


# The admin and the holder


@pytest.mark.parametrize("act", ["cancel", "park"])
@pytest.mark.parametrize("end", ["commit", "rollback"])
def test_a_submit_that_meets_an_admin(
    ledger: Ledger, submission: dict[str, Any], act: str, end: str
) -> None:
    (campaign,) = ledger.campaigns()
    worker, admin = ledger.session("worker"), ledger.session("admin")
    held = worker.claimed()

    admin.call(act, p_campaign_id=campaign, p_generation=held["p_generation"])
    submit = ledger.background(lambda: worker.call("submit", **held, **submission))
    ledger.wait_until_blocked(worker, admin)
    getattr(admin, end)()
    answer = submit.result()
    worker.commit()

    if end == "commit":
        assert answer["outcome"] == "stale"
        assert ledger.moves(campaign) == ["open", "claim", act]
    else:
        assert answer["outcome"] == "ok"
        assert ledger.moves(campaign) == ["open", "claim", "submit"]


@pytest.mark.parametrize(("act", "state"), [("cancel", "cancelled"), ("park", "parked")])
def test_an_admin_that_meets_a_submit(
    ledger: Ledger, submission: dict[str, Any], act: str, state: str
) -> None:
    """What the admin saw still holds, generation and all: the act comes after the submission."""
    (campaign,) = ledger.campaigns()
    worker, admin = ledger.session("worker"), ledger.session("admin")
    held = worker.claimed()

    worker.call("submit", **held, **submission)
    call = ledger.background(
        lambda: admin.call(act, p_campaign_id=campaign, p_generation=held["p_generation"])
    )
    ledger.wait_until_blocked(admin, worker)
    worker.commit()
    answer = call.result()
    admin.commit()

    assert (answer["outcome"], answer["state"]) == ("ok", state)
    assert answer["generation"] == held["p_generation"] + 1
    assert ledger.moves(campaign) == ["open", "claim", "submit", act]


def test_two_verdicts_at_once_are_one(ledger: Ledger, submission: dict[str, Any]) -> None:
    (campaign,) = ledger.campaigns()
    worker = ledger.session("worker")
    worker.done("submit", **worker.claimed(), **submission)
    before, after = ledger.session("verifier"), ledger.session("verifier")
    held = before.claimed("claim_verification")
    bundle = before.done("bundle", **held)
    verdict = {
        "p_bundle_sha256": bundle["bundle_sha256"],
        "p_fingerprint": "f",
        "p_exit_code": 0,
        "p_evidence_uri": "file:///evidence",
        "p_evidence_sha256": b"e" * 32,
    }

    first = before.call("judge", **held, p_verdict="accepted", **verdict)
    repeat = ledger.background(lambda: after.call("judge", **held, p_verdict="accepted", **verdict))
    ledger.wait_until_blocked(after, before)
    before.commit()
    second = repeat.result()
    after.commit()
    third = after.call("judge", **held, p_verdict="rejected", p_reason="no", **verdict)
    after.commit()

    assert [(a["outcome"], a["duplicate"]) for a in (first, second, third)] == [
        ("ok", False),
        ("ok", True),
        ("stale", False),
    ]
    assert ledger.moves(campaign) == ["open", "claim", "submit", "claim_verification", "accept"]

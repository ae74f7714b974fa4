"""Two claims at once: two campaigns or one lease, and nobody waits who need not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest
from psycopg import DatabaseError

if TYPE_CHECKING:
    from tests.pytest.sessions.conftest import Ledger


def test_two_claims_take_two_campaigns_and_neither_waits(ledger: Ledger) -> None:
    first, second = ledger.campaigns(2)
    anna, ben = ledger.session("worker"), ledger.session("worker", 1)

    hers = anna.call("claim", p_token=uuid4())
    his = ben.call("claim", p_token=uuid4())  # while her transaction is open
    assert (hers["campaign_id"], his["campaign_id"]) == (first, second)

    ben.commit()
    anna.commit()
    assert (ledger.moves(first), ledger.moves(second)) == (["open", "claim"], ["open", "claim"])


def test_of_one_campaign_the_second_gets_no_row_and_does_not_wait(ledger: Ledger) -> None:
    (campaign,) = ledger.campaigns()
    anna, ben = ledger.session("worker"), ledger.session("worker", 1)

    anna.call("claim", p_token=uuid4())
    assert ben.rows("claim", p_token=uuid4()) == []
    ben.commit()

    anna.rollback()
    assert ben.call("claim", p_token=uuid4())["campaign_id"] == campaign
    ben.commit()
    assert ledger.moves(campaign) == ["open", "claim"]
    assert ledger.refusals() == []


def test_one_token_claimed_twice_at_once_is_one_lease(ledger: Ledger) -> None:
    """As when a client lost its connection and asks again while the first call is under way."""
    first, second = ledger.campaigns(2)
    before, after = ledger.session("worker"), ledger.session("worker")
    token = uuid4()

    granted = before.call("claim", p_token=token)
    repeat = ledger.background(lambda: after.call("claim", p_token=token))
    ledger.wait_until_blocked(after, before)
    before.commit()
    repeated = repeat.result()
    after.commit()

    assert (granted["outcome"], granted["duplicate"]) == ("ok", False)
    assert (repeated["outcome"], repeated["duplicate"]) == ("ok", True)
    for name in ("campaign_id", "generation", "lease_expires_at", "attempt_no"):
        assert repeated[name] == granted[name], name
    assert (ledger.moves(first), ledger.moves(second)) == (["open", "claim"], ["open"])
    assert ledger.state(second) == "ready"


def test_a_repeat_that_comes_too_early_is_not_lost(ledger: Ledger) -> None:
    """With no other campaign to try, it gets no row; with the same token it later gets the lease.

    So a client keeps its token until that has brought a lease.
    """
    (campaign,) = ledger.campaigns()
    before, after = ledger.session("worker"), ledger.session("worker")
    token = uuid4()

    granted = before.call("claim", p_token=token)
    assert after.rows("claim", p_token=token) == []
    after.commit()
    before.commit()
    repeated = after.call("claim", p_token=token)
    after.commit()

    assert (repeated["outcome"], repeated["duplicate"]) == ("ok", True)
    assert repeated["generation"] == granted["generation"]
    assert ledger.moves(campaign) == ["open", "claim"]


def test_where_the_first_call_came_to_nothing_the_repeat_counts(ledger: Ledger) -> None:
    first, second = ledger.campaigns(2)
    before, after = ledger.session("worker"), ledger.session("worker")
    token = uuid4()

    before.call("claim", p_token=token)
    repeat = ledger.background(lambda: after.call("claim", p_token=token))
    ledger.wait_until_blocked(after, before)
    before.rollback()
    granted = repeat.result()
    after.commit()

    assert (granted["outcome"], granted["duplicate"]) == ("ok", False)
    moves = {campaign: ledger.moves(campaign) for campaign in (first, second)}
    assert moves.pop(granted["campaign_id"]) == ["open", "claim"]
    assert [*moves.values()] == [["open"]]


def test_one_token_of_two_principals_is_never_shared(ledger: Ledger) -> None:
    first, second = ledger.campaigns(2)
    anna, ben = ledger.session("worker"), ledger.session("worker", 1)
    token = uuid4()

    anna.call("claim", p_token=token)
    attempt = ledger.background(lambda: ben.call("claim", p_token=token))
    ledger.wait_until_blocked(ben, anna)
    anna.commit()
    answer = attempt.result()
    ben.commit()

    assert answer["outcome"] == "not_holder"
    assert answer["campaign_id"] is None
    assert (ledger.moves(first), ledger.moves(second)) == (["open", "claim"], ["open"])
    assert ledger.refusals() == [("claim", "not_holder")]


@pytest.mark.parametrize(("claim", "content"), [("claim", "brief"),
                                                ("claim_verification", "bundle")])  # fmt: skip
def test_content_is_shown_once_the_claim_is_durable(
    ledger: Ledger, submission: dict[str, object], claim: str, content: str
) -> None:
    """Claim and roll back would else read everything, unlogged."""
    (campaign,) = ledger.campaigns()
    if claim == "claim_verification":
        worker = ledger.session("worker")
        worker.done("submit", **worker.claimed(), **submission)
    session = ledger.session("verifier" if claim == "claim_verification" else "worker")
    token = uuid4()

    lease = session.call(claim, p_token=token)
    held = {"p_campaign_id": campaign, "p_generation": lease["generation"], "p_token": token}
    with pytest.raises(DatabaseError) as raised:
        session.call(content, **held)
    session.rollback()
    assert raised.value.sqlstate == "KN113"
    assert session.call(content, **held)["outcome"] != "ok", "it was rolled back"
    session.commit()

    lease = session.done(claim, p_token=token)
    held["p_generation"] = lease["generation"]
    shown = session.done(content, **held)
    assert shown["campaign_id"] == campaign
    assert shown["acceptance"]["command"] == ["true"]


@pytest.mark.parametrize(
    ("duty", "claim"),
    [
        ("worker", "claim"),
        ("worker", "claim_many"),
        ("verifier", "claim_verification"),
        ("verifier", "claim_promotion"),
    ],
)
def test_a_claim_that_finds_nothing_writes_nothing(ledger: Ledger, duty: str, claim: str) -> None:
    """It has no transaction number: nothing is logged, flushed or locked for it."""
    ledger.define_class(seats=1, verification_limit=1)
    session = ledger.session(duty)
    token = {"p_tokens": [uuid4()]} if claim == "claim_many" else {"p_token": uuid4()}

    assert session.rows(claim, **token) == []
    session.rows("next_due")
    assert session.transaction_id() is None
    assert ledger.is_free()


def test_an_idle_reaper_writes_nothing_within_the_minute(ledger: Ledger) -> None:
    """It looks at what is leased and waits, finds nothing, and has no transaction number."""
    ledger.stop_clock()
    ledger.campaigns(2)
    ledger.session("worker").claimed()
    reaper = ledger.session("reaper")
    assert reaper.finished("reap") == []

    for _ in range(2):
        assert reaper.rows("reap") == []
        assert reaper.transaction_id() is None
        assert ledger.is_free()
        reaper.commit()
        ledger.tick("59 seconds")

    assert reaper.rows("reap") == []
    assert reaper.transaction_id() is not None  # it says that it is still there
    reaper.commit()
    assert ledger.look("select reaped_count from ledger.reaper_pass") == [(0,)]


def test_what_all_share_is_written_by_nobody_who_works(
    ledger: Ledger, submission: dict[str, Any]
) -> None:
    """No counter, no head of a queue: class, target, principal and enrolment stay as they are.

    A row that every claim had to update would make claims queue for it, and leave a dead version of
    itself with each, as long as some snapshot is held.
    """
    ledger.campaigns(3)
    worker, verifier = ledger.session("worker"), ledger.session("verifier")
    shared = """
        select 'class', c.ctid::text, c.xmin::text from ledger.class as c
        union all select 'target', t.ctid::text, t.xmin::text from ledger.target as t
        union all select 'principal', p.ctid::text, p.xmin::text from ledger.principal as p
        union all select 'enrolment', e.ctid::text, e.xmin::text from ledger.enrolment as e
        order by 1, 2
    """
    before = ledger.look(shared)

    worker.done("release", **worker.claimed())
    worker.done("fail", **worker.claimed(), p_reason="no")
    lease = worker.claimed()
    worker.done("renew", **lease)
    worker.done("submit", **lease, **submission)
    lease = verifier.claimed("claim_verification")
    verifier.done("judge", **lease, p_verdict="unverifiable", p_reason="no network")
    ledger.session("reaper").finished("reap")

    assert {row[0] for row in before} == {"class", "target", "principal", "enrolment"}
    assert ledger.look(shared) == before

"""A refused call, its transaction still open, keeps nobody who has the right to go on waiting."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest
from psycopg.types.json import Jsonb

if TYPE_CHECKING:
    from tests.pytest.sessions.conftest import Ledger

SUBMISSION = {"p_fingerprint": "f", "p_approach": None, "p_result": Jsonb({})}


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        ("brief", {}),
        ("renew", {}),
        ("submit", SUBMISSION),
        ("fail", {"p_reason": "no"}),
        ("release", {}),
    ],
)
@pytest.mark.parametrize("who", [0, 1])
def test_a_lease_that_is_not_held(
    ledger: Ledger, function: str, arguments: dict[str, Any], who: int
) -> None:
    """Another token of the same principal, or another principal with the right token."""
    (campaign,) = ledger.campaigns()
    holder, other = ledger.session("worker"), ledger.session("worker", who)
    held = holder.claimed()
    named = held | ({"p_token": uuid4()} if who == 0 else {})

    refused = other.call(function, **named, **arguments)
    assert refused["outcome"] == "not_holder"
    assert ledger.is_free()

    # While that is open, the holder does whatever the holder does.
    assert holder.done("brief", **held)["outcome"] == "ok"
    assert holder.done("renew", **held, p_lease_for="1 hour")["outcome"] == "ok"
    assert holder.done("submit", **held, **SUBMISSION)["outcome"] == "ok"
    other.commit()
    assert ledger.moves(campaign) == ["open", "claim", "submit"]
    assert ledger.refusals() == [(function, "not_holder")]


def test_a_lock_would_be_seen(ledger: Ledger) -> None:
    """The control: while the holder's own call is open, its campaign is not free."""
    ledger.campaigns()
    holder = ledger.session("worker")
    held = holder.claimed()
    assert ledger.is_free()

    holder.call("submit", **held, **SUBMISSION)
    assert not ledger.is_free()
    holder.rollback()
    assert ledger.is_free()


def test_a_generation_that_is_past(ledger: Ledger) -> None:
    (campaign,) = ledger.campaigns()
    ghost, holder = ledger.session("worker"), ledger.session("worker", 1)
    past = ghost.claimed()
    ghost.done("release", **past)
    held = holder.claimed()

    assert ghost.call("submit", **past, **SUBMISSION)["outcome"] == "stale"
    assert ledger.is_free()
    assert holder.done("submit", **held, **SUBMISSION)["outcome"] == "ok"
    ghost.commit()
    assert ledger.moves(campaign) == ["open", "claim", "release", "claim", "submit"]


@pytest.mark.parametrize("act", ["cancel", "park"])
def test_an_admin_who_saw_another_generation(ledger: Ledger, act: str) -> None:
    (campaign,) = ledger.campaigns()
    worker, admin = ledger.session("worker"), ledger.session("admin")
    held = worker.claimed()

    assert admin.call(act, p_campaign_id=campaign, p_generation=0)["outcome"] == "stale"
    assert ledger.is_free()
    assert worker.done("submit", **held, **SUBMISSION)["outcome"] == "ok"
    admin.commit()
    assert ledger.moves(campaign) == ["open", "claim", "submit"]


def test_a_report_of_somebody_elses_observation(ledger: Ledger) -> None:
    target = ledger.define_target()
    beginner, other = ledger.session("sensor"), ledger.session("sensor", 1)
    token = uuid4()
    beginner.done("begin_observation", p_target=target, p_token=token)

    arguments = {"p_target": target, "p_number": 1, "p_is_green": False}
    refused = other.call("report_observation", **arguments, p_token=token)
    assert refused["outcome"] == "not_holder"
    assert ledger.is_free()
    reported = beginner.done("report_observation", **arguments, p_token=token)
    other.commit()

    assert reported["moved"] is True
    assert ledger.moves(reported["campaign_id"]) == ["open"]


def test_who_is_not_enrolled(ledger: Ledger) -> None:
    (campaign,) = ledger.campaigns()
    worker, stranger = ledger.session("worker"), ledger.session("worker", 1)
    ledger.admin.done("dismiss", p_principal=ledger.person("worker", 1).name, p_duty="worker")

    assert stranger.call("claim", p_token=uuid4())["outcome"] == "forbidden"
    assert ledger.is_free()
    held = worker.claimed()
    assert worker.done("submit", **held, **SUBMISSION)["outcome"] == "ok"
    stranger.commit()
    assert ledger.moves(campaign) == ["open", "claim", "submit"]
    assert ledger.refusals() == [("claim", "forbidden")]


def test_many_refusals_of_one_principal_do_not_wait_for_each_other(ledger: Ledger) -> None:
    """Beyond the rate they are only counted, and the row that counts is nobody's bottleneck."""
    ledger.campaigns()
    first, second = ledger.session("worker"), ledger.session("worker")
    held = first.claimed()
    wrong = held | {"p_token": uuid4()}
    for _ in range(60):
        first.call("release", **wrong)
    first.commit()

    assert first.call("release", **wrong)["outcome"] == "not_holder"
    assert second.call("release", **wrong)["outcome"] == "not_holder"
    second.commit()
    first.commit()

    assert len(ledger.refusals()) == 60

"""Two observations of one target, interleaved."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import UUID, uuid4

import pytest

if TYPE_CHECKING:
    from tests.pytest.sessions.conftest import Ledger, Session


def report(
    sensor: Session, target: str, number: int, token: UUID, *, is_green: bool
) -> dict[str, Any]:
    """Report what was seen, and commit."""
    return sensor.done(
        "report_observation",
        p_target=target,
        p_number=number,
        p_token=token,
        p_is_green=is_green,
    )


def test_two_beginnings_take_two_numbers(ledger: Ledger) -> None:
    """The second waits for the first to have its number; only one of them is scheduled."""
    target = ledger.define_target()
    anna, ben = ledger.session("sensor"), ledger.session("sensor", 1)

    first = anna.call("begin_observation", p_target=target, p_token=uuid4())
    call = ledger.background(
        lambda: ben.call("begin_observation", p_target=target, p_token=uuid4())
    )
    ledger.wait_until_blocked(ben, anna)
    anna.commit()
    second = call.result()
    ben.commit()

    assert [(o["number"], o["is_scheduled"]) for o in (first, second)] == [(1, True), (2, False)]


def test_a_beginning_rolled_back_gives_its_number_and_slot_back(ledger: Ledger) -> None:
    target = ledger.define_target()
    anna, ben = ledger.session("sensor"), ledger.session("sensor", 1)

    anna.call("begin_observation", p_target=target, p_token=uuid4())
    call = ledger.background(
        lambda: ben.call("begin_observation", p_target=target, p_token=uuid4())
    )
    ledger.wait_until_blocked(ben, anna)
    anna.rollback()
    second = call.result()
    ben.commit()

    assert (second["number"], second["is_scheduled"]) == (1, True)


@pytest.mark.parametrize("is_green", [True, False])
def test_a_late_report_moves_nothing(ledger: Ledger, is_green: bool) -> None:  # noqa: FBT001
    """Begun first, reported last: a later look has spoken by then."""
    target = ledger.define_target(observe_every="1 second")
    early, late = ledger.session("sensor"), ledger.session("sensor", 1)
    tokens = uuid4(), uuid4()
    first = early.done("begin_observation", p_target=target, p_token=tokens[0])
    second = late.done("begin_observation", p_target=target, p_token=tokens[1])
    assert (first["number"], second["number"]) == (1, 2)

    spoken = report(late, target, 2, tokens[1], is_green=not is_green)
    answer = report(early, target, 1, tokens[0], is_green=is_green)

    assert (answer["moved"], answer["note"]) == (False, "superseded")
    if is_green:  # red had opened; the older green does not close
        assert spoken["moved"] is True
        assert ledger.moves(spoken["campaign_id"]) == ["open"]
    else:  # green had opened nothing; the older red does not either
        assert (spoken["moved"], spoken["campaign_id"]) == (False, None)
        assert answer["campaign_id"] is None


def test_two_reds_open_one_campaign(ledger: Ledger) -> None:
    target = ledger.define_target()
    anna, ben = ledger.session("sensor"), ledger.session("sensor", 1)
    tokens = uuid4(), uuid4()
    anna.done("begin_observation", p_target=target, p_token=tokens[0])
    ben.done("begin_observation", p_target=target, p_token=tokens[1])

    first = anna.call(
        "report_observation", p_target=target, p_number=1, p_token=tokens[0], p_is_green=False
    )
    call = ledger.background(
        lambda: ben.call(
            "report_observation", p_target=target, p_number=2, p_token=tokens[1], p_is_green=False
        )
    )
    ledger.wait_until_blocked(ben, anna)
    anna.commit()
    second = call.result()
    ben.commit()

    assert (first["moved"], second["moved"]) == (True, False)
    assert second["campaign_id"] == first["campaign_id"]
    assert ledger.moves(first["campaign_id"]) == ["open"]


def test_a_red_that_saw_none_open_opens_none_after_one_was_closed(ledger: Ledger) -> None:
    """What was looked at before the campaign is no news after it."""
    target = ledger.define_target()
    sensor, admin = ledger.session("sensor"), ledger.session("admin")
    token = uuid4()
    sensor.done("begin_observation", p_target=target, p_token=token)
    opened = admin.done("open_campaign", p_target=target, p_token=uuid4())
    admin.done("cancel", p_campaign_id=opened["campaign_id"], p_generation=0)

    answer = report(sensor, target, 1, token, is_green=False)

    assert (answer["moved"], answer["note"]) == (False, "superseded")
    assert ledger.moves(opened["campaign_id"]) == ["open", "cancel"]


def test_a_report_that_meets_an_admin_opens_nothing_twice(ledger: Ledger) -> None:
    """Both lock the target first, so neither deadlocks with the other."""
    target = ledger.define_target()
    sensor, admin = ledger.session("sensor"), ledger.session("admin")
    token = uuid4()
    sensor.done("begin_observation", p_target=target, p_token=token)

    opened = admin.call("open_campaign", p_target=target, p_token=uuid4())
    call = ledger.background(lambda: report(sensor, target, 1, token, is_green=False))
    ledger.wait_until_blocked(sensor, admin)
    admin.commit()
    answer = call.result()

    assert (answer["moved"], answer["campaign_id"]) == (False, opened["campaign_id"])
    assert ledger.moves(opened["campaign_id"]) == ["open"]

"""A class with N seats never has N + 1 worker leases, however many sessions claim at once."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest
from psycopg.types.json import Jsonb

from tests.pytest.sessions.conftest import POLICY
from tests.pytest.sessions.crowd import TARGETS, Crowd, reap, sense, verify, work

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

    from tests.pytest.sessions.conftest import Ledger, Session

# Nothing parks, and a lease that is left alone comes back in a second.
EVER_ON: dict[str, Any] = {"lease_default": "1 second"} | dict.fromkeys(
    [
        "attempt_budget", "loss_budget", "release_budget", "verification_loss_budget",
        "promotion_loss_budget", "abstain_budget",
    ],
    1000000,
)  # fmt: skip

# One statement, one snapshot: what is committed at one moment.
WATCH = """
select (select count(*) from ledger.campaign where class = %(class)s and state = 'leased'),
       (select count(*) from ledger.campaign
        where class = %(class)s and state in ('verifying', 'promoting')),
       (select seats from ledger.class where class = %(class)s),
       (select verification_limit from ledger.class where class = %(class)s),
       (select count(*) from ledger.seat
        where class = %(class)s and kind = 'work' and is_surplus),
       (select count(*) from ledger.seat
        where class = %(class)s and kind = 'verification' and is_surplus)
"""


def a_crowd(ledger: Ledger) -> Crowd:
    """Return eight sessions of workers and verifiers, two reapers and a sensor."""
    for name in TARGETS:
        ledger.define_target(name, observe_every="1 second")
    ledger.campaigns(12)
    crowd = Crowd(ledger)
    for number in range(5):
        crowd.does(work, ledger.session("worker", number % 3))
    for number in range(3):
        crowd.does(verify, ledger.session("verifier", number))
    for number in range(2):
        crowd.does(reap, ledger.session("reaper", number))
    crowd.does(sense, ledger.session("sensor"))
    return crowd


@pytest.mark.parametrize("seats", [1, 3])
def test_never_more_leases_than_seats(ledger: Ledger, seats: int) -> None:
    ledger.define_class(**EVER_ON, promotes=True, seats=seats, verification_limit=seats)
    crowd = a_crowd(ledger)
    most = [0, 0]

    def watch() -> None:
        leased, verified, *_ = ledger.look_named(WATCH, {"class": ledger.klass})
        most[0], most[1] = max(most[0], leased), max(most[1], verified)

    crowd.run(6, watch)
    assert most[0] <= seats, f"{most} leases; {crowd.done}"
    assert most[1] <= seats, f"{most} leases; {crowd.done}"
    assert most[0] == seats, f"they never all sat: {crowd.done}"
    assert_every_seat_comes_back(ledger, seats)


def changes(ledger: Ledger) -> Callable[[Session, random.Random], str]:
    """Return what an admin does who cannot make up his mind."""

    def change(session: Session, chance: random.Random) -> str:
        act = chance.randrange(10)
        if act < 7:
            policy = POLICY | EVER_ON | {
                "promotes": True,
                "seats": chance.choice([None, 1, 2, 4]),
                "verification_limit": chance.choice([None, 1, 2]),
            }  # fmt: skip
            session.finished("define_class", p_policy=Jsonb(policy))
        elif act < 8:
            session.finished("new_epoch", p_token=uuid4())
        else:
            duty = chance.choice(["worker", "verifier"])
            given = {"p_principal": ledger.person(duty).name, "p_duty": duty}
            session.finished("dismiss", **given)
            session.finished("enrol", **given)
        time.sleep(0.02)
        return f"change {act}"

    return change


def test_seats_that_come_and_go_under_way(ledger: Ledger) -> None:
    """Raised, lowered, given for the first time and taken away, with dismissals and new epochs."""
    ledger.define_class(**EVER_ON, promotes=True, seats=2)
    crowd = a_crowd(ledger)
    for _ in range(2):
        crowd.does(changes(ledger), ledger.session("admin"))

    def watch() -> None:
        leased, verified, seats, limit, surplus, surplus_limit = ledger.look_named(
            WATCH, {"class": ledger.klass}
        )
        assert seats is None or leased <= seats + surplus, (leased, seats, surplus)
        assert limit is None or verified <= limit + surplus_limit, (verified, limit, surplus_limit)

    crowd.run(10, watch)
    print(crowd.done)
    assert crowd.done["change 7"], crowd.done
    ledger.define_class(**EVER_ON, promotes=True, seats=3, verification_limit=3)
    assert_every_seat_comes_back(ledger, 3)


def assert_every_seat_comes_back(ledger: Ledger, seats: int) -> None:
    """See that, when everybody has gone, there are as many free seats as the class has."""
    reaper = ledger.session("reaper")
    ledger.clear()
    reaper.finished("reap")
    left = ledger.look(
        "select kind, count(*), count(campaign_id), bool_or(is_surplus) from ledger.seat "
        "group by kind order by kind"
    )
    assert left == [("verification", seats, 0, False), ("work", seats, 0, False)]


def test_a_claim_under_way_blocks_nobody(ledger: Ledger) -> None:
    """Its transaction open, its seat and its campaign locked; others go on without them."""
    ledger.define_class(seats=2, verification_limit=1)
    ledger.campaigns(3)
    target = ledger.define_target()
    idle, worker, other = (ledger.session("worker", number) for number in range(3))
    idle.call("claim", p_token=uuid4())

    held = worker.claimed()
    assert other.finished("claim", p_token=uuid4()) == [], "both seats are taken"
    worker.done("release", **held)
    worker.claimed()
    assert ledger.session("reaper").finished("reap") == []
    assert ledger.session("verifier").finished("claim_verification", p_token=uuid4()) == []
    ledger.session("sensor").done("begin_observation", p_target=target, p_token=uuid4())
    for act in ("pause", "resume"):
        ledger.admin.done(act)
    ledger.admin.done("open_campaign", p_target=target, p_token=uuid4())
    idle.rollback()
    assert other.finished("claim", p_token=uuid4()) != []


def test_workers_do_not_starve_verifiers(ledger: Ledger) -> None:
    """The limit of verifications is one of its own."""
    ledger.define_class(seats=1, verification_limit=1)
    ledger.campaigns(2)
    worker = ledger.session("worker")
    given = {"p_fingerprint": "f", "p_approach": None, "p_result": Jsonb({})}
    worker.done("submit", **worker.claimed(), **given)
    worker.claimed()

    assert ledger.session("verifier").claimed("claim_verification")
    assert ledger.session("verifier", 1).finished("claim_verification", p_token=uuid4()) == []

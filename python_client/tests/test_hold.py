"""What this machine makes of a lease that it keeps, by a clock that the test moves."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import psycopg
import pytest

from fencepost import Lease, LockNotAvailable, ServerUnreachable, Stale, clock
from fencepost.hold import Hold
from fencepost.records import Receipt

LENGTH = 9.0
LAST_TRY = 3.0
GONE = ServerUnreachable("nobody answers")


@dataclass
class Clock:
    """The machine's clock."""

    time: float = 1000.0

    def now(self) -> float:
        """Return the time."""
        return self.time


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Return the clock, which stands."""
    made = Clock()
    monkeypatch.setattr(clock, "now", made.now)
    return made


@pytest.fixture
def lease(at: Clock) -> Lease:
    """Return a lease that has just been granted."""
    return Lease(
        outcome="ok",
        campaign_class="repair",
        campaign_id=1,
        generation=1,
        state="leased",
        lease_expires_at=datetime.now(UTC),
        attempt_no=1,
        attempt_limit=timedelta(hours=1),
        lease_cap_at=datetime.now(UTC),
        token=uuid4(),
        runs_out_at=at.time + LENGTH,
    )


def test_it_is_renewed_at_a_third_of_what_is_left(at: Clock, lease: Lease) -> None:
    hold = Hold(lease)
    assert min(hold.until_next() for _ in range(100)) >= LENGTH / 3 * 0.9
    assert max(hold.until_next() for _ in range(100)) <= LENGTH / 3
    at.time += LENGTH
    assert hold.until_next() == pytest.approx(0.1)


def test_an_answer_may_take_as_long_as_the_lease_lasts(at: Clock, lease: Lease) -> None:
    hold = Hold(lease)
    at.time += 2
    assert hold.asks() == timedelta(seconds=LENGTH - 2)
    at.time = lease.runs_out_at - 0.1
    assert not hold.has_run_out()
    at.time = lease.runs_out_at
    assert hold.has_run_out()
    assert "ran out" in (hold.why_lost or "")


@pytest.mark.parametrize("error", [GONE, LockNotAvailable(psycopg.errors.LockNotAvailable("l"))])
def test_who_asked_in_vain_before_the_end_does_not_go_on_after_it(
    at: Clock, lease: Lease, error: Exception
) -> None:
    """However often it asked since, also if the last time was just after it."""
    hold = Hold(lease)
    at.time += 3
    hold.asks()
    assert not hold.failed(error)
    at.time = lease.runs_out_at + 0.05
    assert hold.asks() == timedelta(0)
    assert hold.has_run_out()
    assert not hold.has_run_out(), "it is said once"
    assert hold.why_lost is not None


def test_an_answer_ends_what_was_asked_in_vain(at: Clock, lease: Lease) -> None:
    hold = Hold(lease)
    hold.asks()
    assert not hold.failed(GONE)
    at.time += 5
    hold.asks()
    hold.renewed(replace(lease, runs_out_at=at.time + LENGTH))
    at.time = hold.lease.runs_out_at + 1
    assert not hold.has_run_out(), "nobody has asked for it yet"
    assert hold.why_lost is None


def test_who_slept_past_the_end_may_ask_once_more(at: Clock, lease: Lease) -> None:
    hold = Hold(lease)
    at.time = lease.runs_out_at + 100
    assert hold.asks() == timedelta(seconds=LAST_TRY)
    at.time += LAST_TRY
    assert not hold.has_run_out()
    at.time += 0.1
    assert hold.has_run_out()


def test_what_the_kernel_refuses_is_lost_at_once(at: Clock, lease: Lease) -> None:
    hold = Hold(lease)
    hold.asks()
    assert hold.failed(Stale(Receipt(outcome="stale", message="generation 1 is past")))
    assert hold.why_lost == "generation 1 is past"
    assert at.time < lease.runs_out_at


def test_what_failed_when_it_had_run_out_is_lost(at: Clock, lease: Lease) -> None:
    hold = Hold(lease)
    at.time = lease.runs_out_at + 1
    hold.asks()
    assert hold.failed(GONE)
    assert "nobody answers" in (hold.why_lost or "")

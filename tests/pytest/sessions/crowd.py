"""Many sessions at once: each in a thread of its own, and what they were told."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import psycopg
from psycopg.types.json import Jsonb

from tests.pytest.sessions.conftest import moved

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.pytest.sessions.conftest import Ledger, Session

EVIDENCE = {"p_evidence_uri": "file:///evidence", "p_evidence_sha256": b"e" * 32}


class Crowd:
    """Sessions that do something over and over, until the time is over or one of them fails."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self.done: Counter[str] = Counter()
        self.errors: list[str] = []
        self._over = threading.Event()
        self._threads: list[threading.Thread] = []

    def does(self, what: Callable[[Session, random.Random], str], session: Session) -> None:
        """Let a session do *what*, which returns the name of what it did."""
        chance = random.Random(len(self._threads))  # noqa: S311 - it shall be the same every time

        def loop() -> None:
            while not self._over.is_set():
                try:
                    self.done[what(session, chance)] += 1
                except psycopg.Error as error:
                    session.rollback()
                    self.errors.append(f"{what.__name__}: {error.sqlstate} {error}")
                    self._over.set()
                except BaseException as error:
                    self.errors.append(f"{what.__name__}: {error!r}")
                    self._over.set()
                    raise

        self._threads.append(threading.Thread(target=loop, daemon=True))

    def run(self, seconds: float, watch: Callable[[], None] | None = None) -> None:
        """Let all of them go on for so long; meanwhile *watch*, again and again."""
        for thread in self._threads:
            thread.start()
        until = time.monotonic() + seconds
        try:
            while time.monotonic() < until and not self._over.is_set():
                if watch is not None:
                    watch()
                time.sleep(0.002)
        finally:
            self._over.set()
            for thread in self._threads:
                thread.join(timeout=20)
        assert not self.errors, "\n".join(self.errors)


# What sessions do. Each ends its transaction.


def work(session: Session, chance: random.Random) -> str:
    """Claim, and end the attempt in one way or another; or walk away from it."""
    token = uuid4()
    leases = session.finished("claim", p_token=token, p_lease_for="1 second")
    if not leases or leases[0]["outcome"] != "ok":
        return f"claim: {leases[0]['outcome'] if leases else 'no row'}"
    held = {
        "p_campaign_id": leases[0]["campaign_id"],
        "p_generation": leases[0]["generation"],
        "p_token": token,
    }
    end = chance.choice(["submit"] * 6 + ["fail"] * 3 + ["release"] * 4 + ["renew", "walk away"])
    if end == "walk away":
        return end
    given: dict[str, Any] = {}
    if end == "submit":
        result = Jsonb({"base": "b", "commit": "c"})
        given = {"p_fingerprint": str(uuid4()), "p_approach": None, "p_result": result}
    elif end == "fail":
        given = {"p_reason": "no"}
    (answer,) = session.finished(end, **held, **given)
    return f"{end}: {answer['outcome']}"


def verify(session: Session, chance: random.Random) -> str:
    """Claim a verification or promotion, and judge, promote or walk away."""
    token = uuid4()
    function = chance.choice(["claim_verification", "claim_verification", "claim_promotion"])
    leases = session.finished(function, p_token=token, p_lease_for="1 second")
    if not leases or leases[0]["outcome"] != "ok":
        return f"{function}: {leases[0]['outcome'] if leases else 'no row'}"
    held = {
        "p_campaign_id": leases[0]["campaign_id"],
        "p_generation": leases[0]["generation"],
        "p_token": token,
    }
    (bundle,) = session.finished("bundle", **held)
    if bundle["outcome"] != "ok":
        return f"bundle: {bundle['outcome']}"
    if function == "claim_verification":
        verdict = chance.choice(["accepted", "accepted", "rejected", "unverifiable"])
        (answer,) = session.finished(
            "judge",
            **held,
            p_verdict=verdict,
            p_bundle_sha256=bundle["bundle_sha256"],
            p_fingerprint=bundle["fingerprint"],
            p_exit_code=0 if verdict == "accepted" else 1,
            p_reason=None if verdict == "accepted" else "no",
            **EVIDENCE,
        )
        if verdict != "accepted" or answer["outcome"] != "ok" or chance.random() < 0.1:
            return f"{verdict}: {answer['outcome']}"
    if chance.random() < 0.1:
        return "walk away from a promotion"
    move = moved(session, held, bundle["target"])
    if move != "ok":
        return f"move: {move}"
    if chance.random() < 0.1:
        return "walk away after the move"
    (answer,) = session.finished("promote", **held)
    return f"promote: {answer['outcome']}"


def reap(session: Session, chance: random.Random) -> str:
    """Pass over the class."""
    rows = session.finished("reap", p_limit=chance.choice([1, 100]))
    time.sleep(0.01)
    return "reap" if rows else "reap: no row"


def sense(session: Session, chance: random.Random) -> str:
    """Look at a target and report."""
    target = chance.choice(TARGETS)
    token = uuid4()
    (begun,) = session.finished("begin_observation", p_target=target, p_token=token)
    (answer,) = session.finished(
        "report_observation",
        p_target=target,
        p_number=begun["number"],
        p_token=token,
        p_is_green=chance.random() < 0.6,
    )
    return f"report: {answer['note']}"


TARGETS = [f"target {number}" for number in range(6)]

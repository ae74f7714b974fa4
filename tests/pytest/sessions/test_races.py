"""Whatever happens to one campaign at once: what the log says is what the sessions were told.

In every round a campaign is brought to some state, and then ten sessions do something with it in
the same instant: its holder twice, others, admins, reapers and sensors. None of them deadlocks or
is told to try again; what was answered as done is in the log, once each, and nothing else is; and
the rows are what the log makes of them.
"""

from __future__ import annotations

import random
import threading
from collections import Counter
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import psycopg
from psycopg.types.json import Jsonb

from tests.pytest.sessions.conftest import moved
from tests.pytest.sessions.crowd import EVIDENCE

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.pytest.sessions.conftest import Ledger, Session

ROUNDS = 150
NEVER = 1000000
SUBMISSION = {
    "p_fingerprint": "f",
    "p_approach": None,
    "p_result": Jsonb({"base": "b", "commit": "c"}),
}
POLICY = {
    "promotes": True,
    "lease_default": "1 minute",
    "attempt_budget": NEVER,
    "loss_budget": NEVER,
    "release_budget": NEVER,
    "verification_loss_budget": NEVER,
    "promotion_loss_budget": NEVER,
    "abstain_budget": NEVER,
}

# What the answer to a call that moved something says was done.
VERDICTS = {"accepted": "accept", "rejected": "reject", "unverifiable": "abstain"}


class Round:
    """A campaign in some state, and what ten sessions do with it at once."""

    def __init__(self, ledger: Ledger, chance: random.Random) -> None:
        self.ledger = ledger
        self.chance = chance
        self.worker = ledger.once("worker")
        self.verifier = ledger.once("verifier")
        self.target = ledger.define_target(f"target {uuid4()}", observe_every="1 second")
        self.admin = ledger.admin
        opened = self.admin.done("open_campaign", p_target=self.target, p_token=uuid4())
        self.campaign = opened["campaign_id"]
        self.told: list[str] = []
        self.errors: list[str] = []
        self.held: dict[str, Any] = {}
        self.sha256 = b"0" * 32

    def bring(self, state: str) -> None:
        """Bring the campaign there, and the clock to where its lease runs out."""
        if state == "ready":
            return
        self.held = self.worker.claimed()
        if state == "parked":
            self.admin.done("park", **self.seen())
        elif state != "leased":
            self.worker.done("submit", **self.held, **SUBMISSION)
        if state in {"verifying", "promoting", "verified"}:
            self.held = self.verifier.claimed("claim_verification")
            self.sha256 = self.verifier.done("bundle", **self.held)["bundle_sha256"]
        if state in {"promoting", "verified"}:
            self.verifier.done("judge", **self.held, **self.verdict("accepted"))
            moved(self.verifier, self.held, self.target)
        if state == "verified":
            self.verifier.done("promote", **self.held)
        self.ledger.tick("2 minutes")

    def seen(self) -> dict[str, Any]:
        """Return what names the campaign to an admin who has just looked."""
        ((generation,),) = self.ledger.look(
            "select generation from audit.campaigns where campaign_id = %s", self.campaign
        )
        return {"p_campaign_id": self.campaign, "p_generation": generation}

    def verdict(self, verdict: str) -> dict[str, Any]:
        """Return the arguments of a verdict."""
        return {
            "p_verdict": verdict,
            "p_bundle_sha256": self.sha256,
            "p_fingerprint": "f",
            "p_exit_code": 0 if verdict == "accepted" else 1,
            "p_reason": None if verdict == "accepted" else "no",
            **EVIDENCE,
        }

    def calls(self) -> list[tuple[Session, str, dict[str, Any], str | None]]:
        """Return who calls what, and the move that the call makes where its note names none."""
        once, chance, seen = self.ledger.once, self.chance, self.seen()
        under = self.held or {**seen, "p_token": uuid4()}
        verdict = chance.choice(sorted(VERDICTS))
        of_worker: list[tuple[str, dict[str, Any]]] = [
            ("submit", SUBMISSION), ("fail", {"p_reason": "no"}), ("release", {}), ("renew", {}),
        ]  # fmt: skip
        of_verifier: list[tuple[str, dict[str, Any]]] = [
            ("judge", self.verdict(verdict)), ("promote", {}),
            ("outdate", {"p_reason": "no"}), ("renew", {}),
        ]  # fmt: skip
        of_admin: list[tuple[str, dict[str, Any]]] = [
            ("cancel", {"p_reason": str(uuid4())}), ("park", {"p_reason": str(uuid4())}),
            ("redrive", {"p_reason": str(uuid4())}), ("set_priority", {"p_priority": 2}),
        ]  # fmt: skip
        made: list[tuple[Session, str, dict[str, Any], str | None]] = []
        for _ in range(2):
            function, given = chance.choice(of_worker)
            made.append((self.ledger.session_again("worker"), function, under | given, function))
            function, given = chance.choice(of_verifier)
            move = VERDICTS[verdict] if function == "judge" else function
            made.append((self.ledger.session_again("verifier"), function, under | given, move))
            function, given = chance.choice(of_admin)
            made.append((self.ledger.session_again("admin"), function, seen | given, function))
        made += [(once("reaper", number), "reap", {}, None) for number in range(2)]
        claim, duty = chance.choice(
            [("claim", "worker"), ("claim_verification", "verifier"),
             ("claim_promotion", "verifier")]
        )  # fmt: skip
        made.append((once(duty, 1), claim, {"p_token": uuid4()}, claim))
        token = uuid4()
        begun = once("sensor").done("begin_observation", p_target=self.target, p_token=token)
        report = {
            "p_target": self.target,
            "p_number": begun["number"],
            "p_token": token,
            "p_is_green": chance.random() < 0.5,
        }
        made.append((once("sensor"), "report_observation", report, None))
        return made

    def race(self) -> None:
        """Let all of them go at once."""
        calls = self.calls()
        barrier = threading.Barrier(len(calls))

        def call(session: Session, function: str, given: dict[str, Any], move: str | None) -> None:
            barrier.wait(timeout=20)
            try:
                for row in session.finished(function, **given):
                    if row["outcome"] == "ok" and row["moved"] and not row["duplicate"]:
                        self.told.append(move or row["note"])
            except psycopg.Error as error:
                session.rollback()
                self.errors.append(f"{function}: {error.sqlstate} {error}")

        threads = [threading.Thread(target=call, args=made) for made in calls]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=30)


def test_what_was_told_is_what_the_log_says(ledger: Ledger) -> None:
    chance = random.Random(1)  # noqa: S311 - the same rounds every time
    ledger.stop_clock()
    seen: Counter[str] = Counter()
    for number in range(ROUNDS):
        seats = chance.choice([None, 2])
        ledger.define_class(**POLICY, seats=seats, verification_limit=seats)
        one = Round(ledger, chance)
        state = chance.choice(
            ["ready", "leased", "leased", "attempted", "verifying", "promoting", "verified",
             "parked"]
        )  # fmt: skip
        one.bring(state)
        before = len(ledger.moves(one.campaign))
        one.race()

        what = f"round {number}, from {state}"
        assert not one.errors, f"{what}: {one.errors}"
        logged = [m for m in ledger.moves(one.campaign)[before:] if m != "set_priority"]
        assert Counter(logged) == Counter(one.told), f"{what}: told {one.told}, logged {logged}"
        assert ledger.look("select * from kernel.check(%s)", ledger.klass) == [], what
        seen.update(logged)
        ledger.clear()
    assert len(seen) > 12, f"too few kinds of moves were made: {seen}"


def test_a_claim_meets_its_own_repeat_and_a_dismissal(ledger: Ledger) -> None:
    """Not at once with define_class either: whoever comes first, nobody is left in a seat."""
    chance = random.Random(2)  # noqa: S311 - the same rounds every time
    ledger.stop_clock()
    for number in range(ROUNDS // 3):
        ledger.define_class(**POLICY, seats=chance.choice([None, 1, 3]))
        campaigns = ledger.campaigns(3)
        token = uuid4()
        worker = ledger.person("worker").name
        acts: list[Callable[[], object]] = [
            lambda: ledger.session_again("worker").finished("claim", p_token=token),  # noqa: B023
            lambda: ledger.session_again("worker").finished("claim", p_token=token),  # noqa: B023
            lambda: ledger.once("worker", 1).finished("claim", p_token=uuid4()),
            lambda: ledger.once("worker", 2).finished(
                "claim_many", p_tokens=[uuid4() for _ in range(2)]
            ),
            lambda: ledger.once("admin").finished(
                "dismiss", p_principal=worker, p_duty="worker"  # noqa: B023
            ),
            lambda: ledger.session_again("admin").finished(
                "define_class", p_policy=Jsonb(POLICY | {"seats": chance.choice([None, 1, 2])})
            ),
        ]  # fmt: skip
        errors = at_once(acts)
        assert not errors, f"round {number}: {errors}"
        ledger.once("reaper").finished("reap")
        ledger.admin.done("enrol", p_principal=worker, p_duty="worker")
        held = ledger.look(
            "select lease_principal, count(*) from audit.campaigns where campaign_id = any (%s) "
            "and lease_principal = %s group by lease_principal",
            campaigns,
            worker,
        )
        assert held == [], f"round {number}: who was dismissed holds {held}"
        ledger.clear()


def at_once(acts: list[Callable[[], object]]) -> list[str]:
    """Do all of it in the same instant; return what went wrong."""
    barrier = threading.Barrier(len(acts))
    errors: list[str] = []

    def do(act: Callable[[], object]) -> None:
        barrier.wait(timeout=20)
        try:
            act()
        except psycopg.Error as error:
            errors.append(f"{error.sqlstate} {error}")

    threads = [threading.Thread(target=do, args=(act,)) for act in acts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)
    return errors


def test_an_opening_meets_the_pruning_of_what_it_would_inherit_from(ledger: Ledger) -> None:
    """One of them comes first, and neither fails."""
    ledger.define_class(retention="0", reopen_within="1 day")
    outcomes: Counter[str] = Counter()
    for number in range(20):
        target = ledger.define_target(f"target {number}")
        opened = ledger.admin.done("open_campaign", p_target=target, p_token=uuid4())
        ledger.admin.done("cancel", p_campaign_id=opened["campaign_id"], p_generation=0)
        errors = at_once([
            lambda: ledger.once("admin").finished(
                "open_campaign", p_target=target, p_token=uuid4()  # noqa: B023
            ),
            lambda: ledger.session_again("admin").finished("prune"),
        ])  # fmt: skip
        assert not errors, f"round {number}: {errors}"
        ((previous,),) = ledger.look(
            "select previous_campaign_id from audit.campaigns where target = %s "
            "and closed_at is null",
            target,
        )
        outcomes["pruned first" if previous is None else "opened first"] += 1
        ledger.clear()
    print(outcomes)


def test_an_opening_waits_for_the_pruning_of_what_it_would_inherit_from(ledger: Ledger) -> None:
    ledger.define_class(retention="0", reopen_within="1 day")
    target = ledger.define_target()
    opened = ledger.admin.done("open_campaign", p_target=target, p_token=uuid4())
    ledger.admin.done("cancel", p_campaign_id=opened["campaign_id"], p_generation=0)
    pruning, opening = ledger.session("admin"), ledger.session("admin")

    assert pruning.call("prune")["note"].startswith("1 campaigns")
    call = ledger.background(
        lambda: opening.call("open_campaign", p_target=target, p_token=uuid4())
    )
    ledger.wait_until_blocked(opening, pruning)
    pruning.commit()
    assert call.result()["outcome"] == "ok"
    opening.commit()


def test_what_is_just_inherited_from_is_not_pruned(ledger: Ledger) -> None:
    ledger.define_class(retention="0", reopen_within="1 day")
    target = ledger.define_target()
    opened = ledger.admin.done("open_campaign", p_target=target, p_token=uuid4())
    ledger.admin.done("cancel", p_campaign_id=opened["campaign_id"], p_generation=0)
    pruning, opening = ledger.session("admin"), ledger.session("admin")

    opening.call("open_campaign", p_target=target, p_token=uuid4())
    assert pruning.call("prune")["note"].startswith("0 campaigns")
    opening.commit()
    pruning.commit()

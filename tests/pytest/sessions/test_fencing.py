"""The fence, for every function that is called under a generation, as the catalogue has them.

Each gets into the state where it would be carried out; then its generation passes, by the reaper,
by an admin who parks and redrives, or by an admin who cancels. Called with the old generation it is
stale, leaves one row more in the refusals and nothing else, and nobody's row or seat locked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import uuid4

import pytest
from psycopg.types.json import Jsonb

from tests.pytest.sessions.life import accepts, observed

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.pytest.sessions.conftest import Ledger, Session

RESULT = {"base": "b", "commit": "c"}
SUBMISSION = {"p_fingerprint": "f", "p_approach": None, "p_result": Jsonb(RESULT)}
OPERATION = {
    "p_operation_token": uuid4(),
    "p_kind": "http.post",
    "p_target": "https://service.invalid/",
    "p_fingerprint": "f",
    "p_expected": Jsonb({"after": {"commit": "c"}}),
}
EVIDENCE = {"p_evidence_uri": "file:///evidence", "p_evidence_sha256": b"e" * 32}


class Fenced(NamedTuple):
    """A function that is called under a generation: from which state, and with what else."""

    duty: str
    state: str
    arguments: dict[str, Any]


# What the catalogue must name, no more and no less.
FENCED = {
    "brief": Fenced("worker", "leased", {}),
    "submit": Fenced("worker", "leased", SUBMISSION),
    "fail": Fenced("worker", "leased", {"p_reason": "no"}),
    "release": Fenced("worker", "leased", {}),
    "renew": Fenced("worker", "leased", {}),
    "begin_operation": Fenced("worker", "leased", OPERATION),
    "bundle": Fenced("verifier", "verifying", {}),
    "judge": Fenced("verifier", "verifying", {"p_verdict": "unverifiable", "p_reason": "no"}),
    "promote": Fenced("verifier", "promoting", {}),
    "outdate": Fenced("verifier", "promoting", {"p_reason": "no"}),
    "cancel": Fenced("admin", "leased", {}),
    "park": Fenced("admin", "leased", {}),
    "redrive": Fenced("admin", "parked", {}),
    "set_priority": Fenced("admin", "leased", {"p_priority": 2}),
    "allow_repeat": Fenced("admin", "leased", {"p_fingerprint": "f", "p_reason": "why not"}),
}
UNDER_A_TOKEN = [name for name, fenced in FENCED.items() if fenced.duty != "admin"]

GRANTS = "takes a lease that nobody has: it locks what is due, and its token names what it took"
OBSERVES = "a target has no generation: number and token of an observation are its fence"
OPERATES = "its token is that of one incarnation of the operation, which is the operation's fence"
FINDS = "acts on no campaign that the caller saw: it locks what it finds due, and judges that"
GOVERNS = "sets what the class is, for every campaign alike; an admin means it whenever it arrives"
READS = "writes nothing, but the refusal of who may not read"
# What else can write, with what stands in the generation's place, and why that is enough.
UNFENCED = {
    "claim": ({"p_token"}, GRANTS),
    "claim_many": ({"p_tokens"}, GRANTS),
    "claim_verification": ({"p_token"}, GRANTS),
    "claim_promotion": ({"p_token"}, GRANTS),
    "begin_observation": ({"p_token"}, OBSERVES),
    "report_observation": ({"p_number", "p_token"}, OBSERVES),
    "start_operation": ({"p_operation_token"}, OPERATES),
    "renew_operation": ({"p_operation_token"}, OPERATES),
    "complete_operation": ({"p_operation_token"}, OPERATES),
    "fail_operation": ({"p_operation_token"}, OPERATES),
    "release_operation": ({"p_operation_token"}, OPERATES),
    "mark_operation_unknown": ({"p_operation_token"}, OPERATES),
    "resolve_operation": (
        {"p_incarnation", "p_revision"},
        "incarnation and revision, as a reconciler read them, are the operation's fence",
    ),
    "open_campaign": ({"p_token"}, "there is no campaign yet; its token names what it opened"),
    "reap": (set[str](), FINDS),
    "expire_operations": (set[str](), FINDS),
    "prune": (set[str](), FINDS),
    "prune_operations": (set[str](), FINDS),
    "new_epoch": ({"p_token"}, "raises every generation of the class, whichever it is"),
    "dismiss": (set[str](), "takes what the principal holds, under whichever generation"),
    "enrol": (set[str](), GOVERNS),
    "authorise": (set[str](), GOVERNS),
    "deauthorise": (set[str](), GOVERNS),
    "define_class": (set[str](), GOVERNS),
    "define_target": (set[str](), GOVERNS),
    "pause": (set[str](), GOVERNS),
    "resume": (set[str](), GOVERNS),
    "retire_class": (set[str](), "not while a campaign or an operation of the class is open"),
    "retire_target": (set[str](), "not while a campaign of the target is open"),
    "register_principal": (set[str](), "a principal belongs to no class, and to no campaign"),
    "report_denial": (
        {"p_session_id", "p_line_no", "p_denied_at"},
        "acts on no campaign: a line of the server's log is what it is, and is recorded once",
    ),
    "checkpoint": (set[str](), "digests what is logged, and adds to that only its own row"),
    "check": (set[str](), READS),
    "get_operation": (set[str](), READS),
    "list_operations": (set[str](), READS),
    "operation_history": (set[str](), READS),
    "api_version": (set[str](), READS),
    "classes": (set[str](), READS),
    "exercise_report": (set[str](), READS),
    "explain": (set[str](), READS),
    "health": (set[str](), READS),
    "next_due": (set[str](), READS),
    "ring": (set[str](), "notifies, and writes no row"),
}


def test_every_function_under_a_generation_is_here(ledger: Ledger) -> None:
    named = ledger.look(
        """
        select p.proname, array_position(p.proargnames, 'p_token') is not null
        from pg_proc as p
        where p.pronamespace = 'kernel'::regnamespace
          and array_position(p.proargnames, 'p_generation') is not null
        """
    )
    assert {row[0] for row in named} == set(FENCED)
    assert {row[0] for row in named if row[1]} == set(UNDER_A_TOKEN)


def test_every_other_function_that_can_write_needs_no_generation(ledger: Ledger) -> None:
    """What is volatile can write: it is fenced, or listed with what it has instead, and why."""
    writing = dict(
        ledger.look(
            """
            select p.proname, coalesce(p.proargnames, '{}')
            from pg_proc as p
            where p.pronamespace = 'kernel'::regnamespace and p.provolatile = 'v'
            """
        )
    )
    assert set(writing) == set(FENCED) | set(UNFENCED)
    assert not set(FENCED) & set(UNFENCED)
    assert {
        name for name, (instead, _) in UNFENCED.items() if not instead <= set(writing[name])
    } == set()
    assert all(why for _, why in UNFENCED.values())


class Case:
    """A campaign that is brought to where a function is called, and its generation."""

    def __init__(self, ledger: Ledger, function: str) -> None:
        self.ledger = ledger
        self.function = function
        self.fenced = FENCED[function]
        (self.campaign,) = ledger.campaigns()
        self.worker = ledger.once("worker")
        self.verifier = ledger.once("verifier")
        self.holder = ledger.once(self.fenced.duty)
        self.held = self.brought()

    def brought(self) -> dict[str, Any]:
        """Bring it there; return what names it in the call."""
        held = self.worker.claimed()
        state = self.fenced.state
        if state == "parked":
            self.act("park", held["p_generation"])
            return self.named(held["p_generation"] + 1)
        if self.fenced.duty == "admin":
            return self.named(held["p_generation"])
        if state == "leased":
            return held
        self.worker.done("submit", **held, **SUBMISSION)
        held = self.verifier.claimed("claim_verification")
        if state == "promoting":
            bundle = self.verifier.done("bundle", **held)
            self.verifier.done(
                "judge",
                **held,
                p_verdict="accepted",
                p_bundle_sha256=bundle["bundle_sha256"],
                p_fingerprint="f",
                p_exit_code=0,
                **EVIDENCE,
            )
        return held

    def named(self, generation: int) -> dict[str, Any]:
        """Return what names the campaign to an admin."""
        return {"p_campaign_id": self.campaign, "p_generation": generation}

    def act(self, function: str, generation: int) -> int:
        """Let an admin act, for a reason that no other call gives; return the generation then."""
        receipt = self.ledger.admin.done(
            function, **self.named(generation), p_reason=f"so that {self.function} is late"
        )
        return int(receipt["generation"])

    def present(self) -> tuple[str, int]:
        """Return the campaign's state and generation."""
        ((state, generation),) = self.ledger.look(
            "select state, generation from audit.campaigns where campaign_id = %s", self.campaign
        )
        return state, generation

    def take_again(self) -> None:
        """Let others take the campaign, where it is to be had: a later generation is held."""
        state, _ = self.present()
        if state == "ready":
            self.ledger.once("worker", 1).claimed()
        elif state == "attempted":
            self.ledger.once("verifier", 1).claimed("claim_verification")
        elif state == "accepted":
            self.ledger.once("verifier", 1).claimed("claim_promotion")

    def refused(self, outcome: str, who: Session, held: dict[str, Any]) -> None:
        """Make the call, and see that it is refused and does nothing but say so."""
        what = f"{self.function} under {held}, {self.present()}"
        refused(self.ledger, what, outcome, who, (self.function, held | self.fenced.arguments))


def refused(
    ledger: Ledger, what: str, outcome: str, who: Session, call: tuple[str, dict[str, Any]]
) -> None:
    """Make a call, and see that it is refused and does nothing but say so."""
    function, arguments = call
    before = ledger.dump()
    answer = who.call(function, **arguments)
    assert answer["outcome"] == outcome, f"{what}: {answer}"
    assert not answer["moved"], what
    assert not answer["duplicate"], what
    assert ledger.is_free(), f"{what} keeps something locked"
    who.commit()
    after = ledger.dump()
    (row,) = after.pop("refusal") - before.pop("refusal")
    assert f'"outcome": "{outcome}"' in row, what
    assert f'"function": "{function}"' in row, what
    assert after == before, what


def lose(case: Case) -> None:
    """Let the reaper take the lease; where an admin acts on what he saw, park and redrive."""
    if case.fenced.state == "parked":
        case.act("redrive", case.present()[1])
        return
    case.ledger.wait_for(
        lambda: case.ledger.once("reaper").finished("reap"), "the lease ran out", within=10
    )


def redrive(case: Case) -> None:
    """Let an admin park and redrive it."""
    generation = case.present()[1]
    if case.fenced.state != "parked":
        generation = case.act("park", generation)
    case.act("redrive", generation)


def cancel(case: Case) -> None:
    """Let an admin cancel it."""
    case.act("cancel", case.present()[1])


@pytest.mark.parametrize("passes", [redrive, cancel, lose])
def test_a_generation_that_is_past_is_stale(ledger: Ledger, passes: Callable[[Case], None]) -> None:
    lease = "1 second" if passes is lose else "15 minutes"
    ledger.define_class(promotes=True, seats=1, verification_limit=1, lease_default=lease)
    for function in FENCED:
        case = Case(ledger, function)
        passes(case)
        ledger.define_class(promotes=True, seats=1, verification_limit=1)
        case.take_again()
        case.refused("stale", case.holder, case.held)
        ledger.clear()
        ledger.define_class(promotes=True, seats=1, verification_limit=1, lease_default=lease)


@pytest.mark.parametrize("who", ["another principal", "another token"])
def test_a_lease_of_somebody_else_is_not_held(ledger: Ledger, who: str) -> None:
    ledger.define_class(promotes=True, seats=1, verification_limit=1)
    for function in UNDER_A_TOKEN:
        case = Case(ledger, function)
        if who == "another token":
            case.refused("not_holder", case.holder, case.held | {"p_token": uuid4()})
        else:
            other = ledger.once(case.fenced.duty, 1)
            case.refused("not_holder", other, case.held)
        ledger.clear()


@pytest.mark.parametrize("function", UNDER_A_TOKEN)
def test_who_was_dismissed_holds_nothing(ledger: Ledger, function: str) -> None:
    """In the middle of the lease; and the loss is not counted."""
    ledger.define_class(promotes=True, seats=1, verification_limit=1)
    case = Case(ledger, function)
    name = ledger.person(case.fenced.duty).name
    assert ledger.admin.done("dismiss", p_principal=name, p_duty=case.fenced.duty)["moved"]

    case.refused("forbidden", case.holder, case.held)
    counts = ledger.look(
        "select loss_count, verification_loss_count, promotion_loss_count from audit.campaigns"
    )
    assert counts == [(0, 0, 0)]
    case.take_again()
    ledger.admin.done("enrol", p_principal=name, p_duty=case.fenced.duty)
    case.refused("stale", case.holder, case.held)


# -- every state in which the move is not legal ----------------------------------------------------

# The moves of the one function that is named like none of its own.
VERDICTS = {"accept", "reject", "abstain"}
# What moves nothing is done in the states to which these moves lead, which grant a lease.
UNDER_A_LEASE = {
    "brief": {"claim"},
    "renew": {"claim", "claim_verification", "claim_promotion"},
    "begin_operation": {"claim", "claim_verification", "claim_promotion"},
    "bundle": {"claim_verification", "claim_promotion"},
}


class Lease(NamedTuple):
    """A lease that somebody has or had."""

    who: Session
    generation: int
    token: object


class Way:
    """How a campaign comes to a state by real calls, and the leases that it had on its way.

    Worker and verifier are enrolled for each other's duty: nobody is refused for want of one.
    """

    def __init__(self, ledger: Ledger, **policy: object) -> None:
        self.ledger = ledger
        ledger.define_class(seats=1, verification_limit=1, **policy)
        ledger.tick("1 hour")
        (self.campaign,) = ledger.campaigns()
        self.worker, self.verifier = ledger.once("worker"), ledger.once("verifier")
        self.leases: list[Lease] = []

    def present(self) -> tuple[str, int]:
        """Return the campaign's state and generation."""
        ((state, generation),) = self.ledger.look(
            "select state, generation from audit.campaigns where campaign_id = %s", self.campaign
        )
        return state, generation

    def taken(self, who: Session, function: str) -> dict[str, Any]:
        """Let somebody take the campaign."""
        held = who.claimed(function)
        assert held["p_campaign_id"] == self.campaign
        self.leases.append(Lease(who, held["p_generation"], held["p_token"]))
        return held

    def leased(self) -> dict[str, Any]:
        return self.taken(self.worker, "claim")

    def attempted(self) -> None:
        self.worker.done("submit", **self.leased(), **SUBMISSION)

    def verifying(self) -> dict[str, Any]:
        self.attempted()
        return self.taken(self.verifier, "claim_verification")

    def judged(self) -> dict[str, Any]:
        """Let it be accepted."""
        held = self.verifying()
        accepts(self.verifier, held)
        return held

    def acted(self, function: str) -> None:
        """Let an admin act, for a reason that no other call gives."""
        self.ledger.admin.done(
            function,
            p_campaign_id=self.campaign,
            p_generation=self.present()[1],
            p_reason="to get there",
        )

    def seen_green(self) -> None:
        """Let a sensor find its target as it should be."""
        self.ledger.tick("1 hour")
        ((target,),) = self.ledger.look(
            "select target from audit.campaigns where campaign_id = %s", self.campaign
        )
        observed(self.ledger.once("sensor"), target, is_green=True)


def opened(ledger: Ledger) -> Way:
    return Way(ledger)


def claimed(ledger: Ledger) -> Way:
    way = Way(ledger)
    way.leased()
    return way


def released(ledger: Ledger) -> Way:
    way = Way(ledger)
    way.worker.done("release", **way.leased(), p_reason="to get there")
    return way


def submitted(ledger: Ledger) -> Way:
    way = Way(ledger)
    way.attempted()
    return way


def abstained(ledger: Ledger) -> Way:
    way = Way(ledger)
    way.verifier.done("judge", **way.verifying(), p_verdict="unverifiable", p_reason="to get there")
    return way


def in_verification(ledger: Ledger) -> Way:
    way = Way(ledger)
    way.verifying()
    return way


def in_promotion(ledger: Ledger) -> Way:
    way = Way(ledger, promotes=True)
    way.judged()
    return way


def promotion_left(ledger: Ledger) -> Way:
    way = in_promotion(ledger)
    way.acted("park")
    way.acted("redrive")
    return way


def promotion_taken(ledger: Ledger) -> Way:
    way = promotion_left(ledger)
    way.taken(way.verifier, "claim_promotion")
    return way


def accepted_for_good(ledger: Ledger) -> Way:
    way = Way(ledger)
    way.judged()
    return way


def seen_green_after(ledger: Ledger) -> Way:
    way = accepted_for_good(ledger)
    way.seen_green()
    return way


def seen_green_before(ledger: Ledger) -> Way:
    way = released(ledger)
    way.seen_green()
    return way


def parked(ledger: Ledger) -> Way:
    way = claimed(ledger)
    way.acted("park")
    return way


def parked_by_failure(ledger: Ledger) -> Way:
    way = Way(ledger, attempt_budget=1)
    way.worker.done("fail", **way.leased(), p_reason="to get there")
    return way


def cancelled(ledger: Ledger) -> Way:
    way = claimed(ledger)
    way.acted("cancel")
    return way


WAYS: dict[Callable[[Ledger], Way], str] = {
    opened: "ready",
    released: "ready",
    claimed: "leased",
    submitted: "attempted",
    abstained: "attempted",
    in_verification: "verifying",
    in_promotion: "promoting",
    promotion_taken: "promoting",
    promotion_left: "accepted",
    accepted_for_good: "verified",
    parked: "parked",
    parked_by_failure: "parked",
    seen_green_after: "confirmed",
    seen_green_before: "lapsed",
    cancelled: "cancelled",
}


def legal(ledger: Ledger) -> dict[str, set[str]]:
    """Return in which states each function under a generation is legal, by the table of moves."""
    moves = ledger.look("select transition, from_state, to_state, lease from ledger.transition")

    def states(function: str) -> set[str]:
        if function in UNDER_A_LEASE:
            grants = UNDER_A_LEASE[function]
            return {to for name, _, to, lease in moves if name in grants and lease == "takes"}
        names = VERDICTS if function == "judge" else {function}
        return {state for name, state, *_ in moves if name in names}

    return {function: states(function) for function in FENCED}


def documented(way: Way, function: str, lease: Lease | None, generation: int) -> str:
    """Return what a call is answered whose state is not one for it.

    To an admin (ledger.refuse_act): stale where the campaign has another generation, illegal where
    it is in a state for which there is no such act. Under a lease (ledger.refuse_lease): stale
    where the generation is another one, or was the caller's and has ended in another way;
    not_holder where it is or was somebody else's; illegal where the lease is the caller's but the
    state is not one for this move, or where nobody ever held this generation. And one thing more
    (kernel.judge): the lease goes on after an acceptance; another verdict under it is stale.
    """
    state, present = way.present()
    if generation != present:
        return "stale"
    of = [each for each in way.leases if each.generation == present]
    # A campaign that was withdrawn has another generation; so has one whose lease was lost.
    if FENCED[function].duty == "admin" or not of:
        return "illegal"
    if of != [lease]:
        return "not_holder"
    has_judged = state == "promoting" and way.ledger.look(
        "select from ledger.verdict where campaign_id = %s and generation = %s",
        way.campaign,
        present,
    )
    if state in ("leased", "verifying", "promoting") and not (function == "judge" and has_judged):
        return "illegal"
    return "stale"


def test_every_state_is_come_to(ledger: Ledger) -> None:
    states = ledger.look(
        "select from_state from ledger.transition union select to_state from ledger.transition"
    )
    assert {state for (state,) in states} - {"none"} == set(WAYS.values())
    allowed = legal(ledger)
    assert all(allowed.values())
    assert allowed["brief"] == {"leased"}
    assert allowed["bundle"] == {"verifying", "promoting"}
    assert allowed["renew"] == allowed["begin_operation"] == {"leased", "verifying", "promoting"}
    # Only there is nothing to refuse for its state.
    assert {name for name, states in allowed.items() if states >= set(WAYS.values())} == set()


@pytest.mark.parametrize("comes", WAYS, ids=lambda comes: comes.__name__)
def test_where_the_move_is_not_legal_it_is_refused(
    ledger: Ledger, comes: Callable[[Ledger], Way]
) -> None:
    """Whoever had a lease calls in its own generation and in the present one, an admin likewise."""
    ledger.stop_clock()
    ledger.enrol_also("worker", "verifier")
    ledger.enrol_also("verifier", "worker")
    way = comes(ledger)
    state, present = way.present()
    assert state == WAYS[comes]
    # What it is called with is nobody's repeat.
    other = {
        "submit": {"p_fingerprint": "another"},
        "cancel": {"p_reason": "another"},
        "park": {"p_reason": "another"},
    }
    count = 0
    for function, states in legal(ledger).items():
        if state in states:
            continue
        fenced = FENCED[function]
        leases: list[Lease | None] = list(way.leases) or [None]
        for lease in leases if fenced.duty != "admin" else leases[-1:]:
            for generation in {present, lease.generation if lease else present}:
                ledger.tick("2 seconds")  # fewer refusals a minute than are counted only
                arguments: dict[str, Any] = {"p_campaign_id": way.campaign}
                arguments |= {"p_generation": generation} | fenced.arguments
                arguments |= other.get(function, {})
                who = ledger.admin
                if fenced.duty != "admin":
                    who = lease.who if lease else way.worker
                    arguments["p_token"] = lease.token if lease else uuid4()
                if function == "begin_operation":
                    arguments["p_operation_token"] = uuid4()
                outcome = documented(way, function, lease, generation)
                what = f"{function} {comes.__name__} under {generation} of {present}, {lease}"
                refused(ledger, what, outcome, who, (function, arguments))
                count += 1
    assert count > 0

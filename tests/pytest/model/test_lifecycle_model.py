"""Random lives of campaigns, by all roles over many connections, against the rules in Python.

Every step is one call of a kernel function by one principal, over one of its connections, committed
or undone. The rules (rules.py) say what must be answered and what the class must look like after
it; the ledger says what was answered and what it looks like. Time stands still but for the steps
that move it: the copy of the ledger that is tested reads its clock from a table.

The lives are the same in every run, 10,000 steps, so that a failure is never a matter of luck.
FENCEPOST_MODEL_STEPS takes as many steps as it says, of lives that are drawn anew.
"""

from __future__ import annotations

import os
from collections import Counter
from contextlib import ExitStack, closing
from copy import deepcopy
from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from uuid import UUID

import psycopg
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test
from psycopg import sql
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

from tests.pytest.conftest import PROJECT
from tests.pytest.invariants import broken
from tests.pytest.model.rules import (
    BUDGETS,
    Answer,
    Campaign,
    Policy,
    Refused,
    Rules,
    Target,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from tests.pytest.conftest import Connection, MakePrincipal, Superuser

DRAWN_ANEW = os.environ.get("FENCEPOST_MODEL_STEPS")
STEPS = int(DRAWN_ANEW or 10000)
STEPS_OF_A_LIFE = 125
BEGIN = int(datetime(2026, 9, 1, tzinfo=UTC).timestamp())

# Who there is: the groups of each, and its model family.
PEOPLE: dict[str, tuple[tuple[str, ...], str | None]] = {
    "anna": (("worker",), "red"),
    "ben": (("worker",), "blue"),
    "cleo": (("worker", "verifier", "sensor"), None),
    "dora": (("verifier",), "blue"),
    "emil": (("verifier",), "green"),
    "finn": (("sensor",), None),
    "gina": (("reaper",), None),
    "hugo": (("admin",), None),
    "iris": (("admin",), None),
}
WORKERS = ["anna", "ben", "cleo"]
VERIFIERS = ["cleo", "dora", "emil"]
SENSORS = ["cleo", "finn"]
ADMINS = ["hugo", "iris"]
TARGETS = ["north", "south", "west"]
FINGERPRINTS = [f"fingerprint {number}" for number in range(5)]
SHA256 = b"e" * 32
EVIDENCE = {"p_evidence_uri": "file:///e", "p_evidence_sha256": SHA256}

# Every move that a life can make: the run is worth nothing if it never made one of them.
TRANSITIONS = {
    "abstain", "accept", "allow_repeat", "cancel", "claim", "claim_promotion",
    "claim_verification", "confirm", "contradict", "expire", "fail", "lapse", "lose",
    "lose_promotion", "lose_verification", "new_epoch", "open", "outdate", "park", "promote",
    "redrive", "reject", "release", "set_priority", "submit",
}  # fmt: skip

CLOCK = """
create schema testing;
create table testing.clock (now timestamptz not null);
insert into testing.clock values (to_timestamp({begin}));
grant usage on schema testing to fencepost_owner;
grant select on testing.clock to fencepost_owner;
create or replace function ledger.clock() returns timestamptz language sql volatile
    set search_path = pg_catalog, pg_temp
    as $fn$ select c.now from testing.clock as c $fn$
"""

LOOK = """
select (
    select coalesce(json_agg(json_build_array(
        c.campaign_id, c.target, c.state, c.generation, c.priority, c.attempt_count,
        c.failure_count, c.loss_count, c.release_count, c.verification_loss_count,
        c.promotion_loss_count, extract(epoch from c.next_attempt_at)::bigint, c.parked_for,
        c.previous_campaign_id, c.event_count, c.lease_principal,
        extract(epoch from c.lease_expires_at)::bigint, extract(epoch from c.closed_at)::bigint,
        (select coalesce(json_agg(a.ending order by a.attempt_no), '[]')
         from ledger.attempt as a
         where a.class = c.class and a.campaign_id = c.campaign_id)
    ) order by c.campaign_id), '[]')
    from ledger.campaign as c
    where c.class = %(class)s
), (
    select json_agg(json_build_array(
        t.target, t.observation_no, extract(epoch from t.next_slot_at)::bigint,
        extract(epoch from t.slot_begun_at)::bigint, t.retired_at is not null
    ) order by t.target)
    from ledger.target as t
    where t.class = %(class)s
)
"""

Row = dict[str, Any]
Known = tuple[Rules, "list[Held]", list[tuple[str, str, int]], list[tuple[str, str, int]]]
Method = TypeVar("Method", bound="Callable[..., None]")


class Call(NamedTuple):
    """Over which of its connections somebody calls, and whether the call is rolled back."""

    session: int = 0
    undo: bool = False


class Held(NamedTuple):
    """What names a lease that was granted at some time."""

    campaign: Campaign
    generation: int
    person: str
    token: int
    function: str

    @property
    def is_present(self) -> bool:
        """Whether it is held, under this generation."""
        return self.campaign.lease is not None and self.campaign.generation == self.generation


class World:
    """A ledger with its people, their connections, and the clock's hand."""

    def __init__(
        self, database: str, principal: MakePrincipal, god: Connection, opened: ExitStack
    ) -> None:
        self.god = god
        self.database = database
        god.execute(CLOCK.format(begin=BEGIN))
        self.now = BEGIN
        self.lives = 0
        self.steps = 0
        self.calls: Counter[tuple[str, str]] = Counter()
        self.names: dict[str, str] = {}
        self.sessions: dict[str, list[psycopg.Connection[Row]]] = {}
        for person, (duties, _) in PEOPLE.items():
            made = principal(person, *(f"fencepost_{duty}" for duty in duties))
            self.names[person] = made.name
            self.sessions[person] = [
                opened.enter_context(
                    closing(
                        psycopg.connect(
                            made.conninfo(database), autocommit=True, row_factory=dict_row
                        )
                    )
                )
                for _ in range(2)
            ]
        for person, (duties, family) in PEOPLE.items():
            if {"worker", "verifier", "sensor"} & set(duties):
                self.sessions["hugo"][0].execute(
                    "select kernel.register_principal(p_principal => %s, p_family => %s)",
                    (self.names[person], family),
                )

    def refusals(self) -> int:
        """Return how many calls were refused, with those that were counted only."""
        row = self.god.execute(
            "select coalesce(sum(1 + suppressed), 0)::bigint from ledger.refusal"
        ).fetchone()
        assert row is not None
        return int(row[0])

    def set_clock(self, now: int) -> None:
        """Move the ledger's clock."""
        self.now = now
        self.god.execute("update testing.clock set now = to_timestamp(%s)", (now,))

    def call(self, person: str, call: Call, function: str, given: dict[str, object]) -> list[Row]:
        """Call a kernel function as somebody."""
        connection = self.sessions[person][call.session]
        query = sql.SQL("select * from kernel.{}({})").format(
            sql.Identifier(function),
            sql.SQL(", ").join(
                sql.SQL("{} => {}").format(sql.Identifier(name), sql.Placeholder(name))
                for name in given
            ),
        )
        self.steps += 1
        with ExitStack() as opened:
            if call.undo:
                opened.enter_context(connection.transaction(force_rollback=True))
            return connection.execute(query, given).fetchall()


def _s(length: int) -> str:
    """Write a length of time for a policy."""
    return f"{length} seconds"


def policy_for_sql(policy: Policy) -> Jsonb:
    """Write a policy as define_class wants it."""
    lengths = {
        "lease_default", "lease_min", "lease_max", "lease_cap", "verify_within", "promote_within",
        "backoff_base", "backoff_cap", "reopen_within", "priority_step", "retention",
    }  # fmt: skip
    written = {
        name: _s(value) if name in lengths else value for name, value in asdict(policy).items()
    }
    return Jsonb(written | {"backoff_jitter": 0})


calls = st.builds(Call, st.integers(0, 1), st.integers(0, 19).map(lambda number: number == 0))
pick = st.integers(0, 10**6)
admins = st.sampled_from(ADMINS)
aim = st.sampled_from(["right"] * 9 + ["principal", "token", "newer", "older", "any"])


MOVES: dict[str, dict[str, st.SearchStrategy[Any]]] = {}
WEIGHTS = {
    "go_on": 60,
    "time_goes_by": 3,
    "claim_again": 6,
    "new_epoch": 1,
    "retire_target": 1,
    "dismiss": 1,
}


def move(**drawn: st.SearchStrategy[Any]) -> Callable[[Method], Method]:
    """Say what a method of Life is called with; it is one of the moves that are drawn."""

    def known(method: Method) -> Method:
        MOVES[method.__name__] = drawn
        return method

    return known


class Life(RuleBasedStateMachine):
    """A class from its making on, for as long as hypothesis likes."""

    def __init__(self, world: World) -> None:
        super().__init__()
        self.world = world
        world.lives += 1
        self.klass = f"life_{world.lives}"
        self.refused_before = world.refusals()
        self.tokens = 0
        self.leases: list[Held] = []
        self.model = Rules(Policy(), {}, {}, set(), world.now)
        self.begun: list[tuple[str, str, int]] = []
        self.openings: list[tuple[str, str, int]] = []

    # -- the making --------------------------------------------------------------------------------

    @initialize(
        promotes=st.booleans(),
        separate_family=st.sampled_from([False, False, True]),
        needs_evidence=st.sampled_from([False, False, True]),
        seats=st.sampled_from([None, None, 1, 2]),
        limit=st.sampled_from([None, None, 1]),
        budget=st.sampled_from([1, 2, 3, 5]),
    )
    def make(
        self,
        *,
        promotes: bool,
        separate_family: bool,
        needs_evidence: bool,
        seats: int | None,
        limit: int | None,
        budget: int,
    ) -> None:
        """Define the class, its targets and who acts in it."""
        policy = Policy(
            promotes=promotes,
            separate_family=separate_family,
            needs_evidence=needs_evidence,
            seats=seats,
            verification_limit=limit,
            attempt_budget=budget,
            loss_budget=max(budget, 2),
            verify_within=700,
            promote_within=300,
        )
        self.model.policy = policy
        self.model.families = {person: family for person, (_, family) in PEOPLE.items()}
        admin = self.world.sessions["hugo"][0]
        admin.execute(
            "select kernel.define_class(p_class => %s, p_policy => %s)",
            (self.klass, policy_for_sql(policy)),
        )
        admin.execute(
            "select kernel.authorise(p_class => %s, p_duty => 'verifier', "
            "p_kind => 'promote', p_target => '*')",
            (self.klass,),
        )
        for number, name in enumerate(TARGETS):
            target = Target(name, (120, 300, 900)[number], 60, (0, 0, 30)[number], self.world.now)
            self.model.targets[name] = target
            admin.execute(
                "select kernel.define_target(p_class => %s, p_target => %s, p_location => '{}', "
                'p_desired_state => \'{}\', p_acceptance => \'{"command": ["true"]}\', '
                "p_policy => %s)",
                (
                    self.klass,
                    name,
                    Jsonb({
                        "observe_every": _s(target.observe_every),
                        "observe_within": _s(target.observe_within),
                        "settle": _s(target.settle),
                    }),
                ),
            )  # fmt: skip
        for person, (duties, _) in PEOPLE.items():
            for duty in {"worker", "verifier", "sensor"} & set(duties):
                self.model.enrolled.add((person, duty))
                admin.execute(
                    "select kernel.enrol(p_class => %s, p_principal => %s, p_duty => %s)",
                    (self.klass, self.world.names[person], duty),
                )

    # -- a step ------------------------------------------------------------------------------------

    def step(
        self,
        person: str,
        call: Call,
        function: str,
        given: Mapping[str, object],
        rules: Callable[[], Answer | list[Answer] | None],
    ) -> None:
        """Make a call, and compare what it answers and leaves behind with what the rules say."""
        before = deepcopy(self.known()) if call.undo else None
        try:
            said = rules()
            expected = said if isinstance(said, list) else [] if said is None else [said]
        except Refused as refused:
            self.model.refusals += 1
            expected = [Answer(refused.outcome)]
        rows = self.world.call(person, call, function, {"p_class": self.klass, **given})
        outcome = expected[0].outcome if expected else "no row"
        self.world.calls[function, outcome] += 1
        self.compare(f"{function} by {person}, {given}", rows, expected)
        if before is not None:
            self.model, self.leases, self.begun, self.openings = before
        self.look(f"after {function} by {person}, {given}{', undone' if call.undo else ''}")

    def compare(self, what: str, rows: list[Row], expected: list[Answer]) -> None:
        """Compare the rows of an answer with the answers that the rules give."""
        for row, answer in zip(rows, expected, strict=False):
            if answer.campaign is not None and answer.campaign.number < 0:
                answer.campaign.number = row["campaign_id"]  # as only the ledger can number it
        found = sorted((self.of_row(row) for row in rows), key=str)
        wanted = sorted((self.of_answer(answer) for answer in expected), key=str)
        assert found == wanted, f"{what}\n the ledger: {found}\n the rules:  {wanted}"

    def of_row(self, row: Row) -> tuple[object, ...]:
        """Return what is compared of a row."""
        if row["outcome"] != "ok":
            return (row["outcome"], row["duplicate"], row["moved"])
        expires_at = row["lease_expires_at"]
        return (
            "ok",
            row["duplicate"],
            row["moved"],
            row["note"],
            row["campaign_id"],
            row["generation"],
            row["state"],
            None if expires_at is None else int(expires_at.timestamp()),
            row.get("number"),
            row.get("is_scheduled"),
        )

    def of_answer(self, answer: Answer) -> tuple[object, ...]:
        """Return what is compared of an answer."""
        if answer.outcome != "ok":
            return (answer.outcome, False, False)
        campaign = None if answer.campaign is None else answer.campaign.number
        stands = (answer.generation, answer.state, answer.expires_at)
        if answer.duplicate and answer.note is not None:  # a repeated report: no more than the id
            stands = (None, None, None)
        return (
            "ok",
            answer.duplicate,
            answer.moved,
            answer.note,
            campaign,
            *stands,
            answer.number,
            answer.is_scheduled,
        )

    def look(self, what: str) -> None:
        """Compare the class as it stands with what the rules say."""
        found = self.world.god.execute(LOOK, {"class": self.klass}).fetchone()
        names = self.world.names
        campaigns = [
            [
                c.number, c.target, c.state, c.generation, c.priority, len(c.attempts), c.failures,
                c.losses, c.releases, c.verification_losses, c.promotion_losses, c.next_at,
                c.parked_for, None if c.previous is None else c.previous.number, c.event_count,
                None if c.lease is None else names[c.lease.principal],
                None if c.lease is None else c.lease.expires_at,
                c.closed_at, [attempt.ending for attempt in c.attempts],
            ]
            for c in self.model.campaigns
        ]  # fmt: skip
        targets = [
            [t.name, len(t.observations), t.next_slot_at, t.slot_begun_at, t.is_retired]
            for t in sorted(self.model.targets.values(), key=lambda target: target.name)
        ]
        wanted = (campaigns, targets)
        assert found == wanted, f"{what}\n the ledger: {found}\n the rules:  {wanted}"

    def teardown(self) -> None:
        """See that all refusals were counted, and that the invariants hold of what is left."""
        refused = self.world.refusals() - self.refused_before
        assert refused == self.model.refusals, f"{refused} refusals, not {self.model.refusals}"
        complaints = broken(self.world.god, PROJECT)
        assert not complaints, "\n".join(complaints)

    def known(self) -> Known:
        """Return what a call may change of what is known here."""
        return self.model, self.leases, self.begun, self.openings

    # -- what the rules below share ----------------------------------------------------------------

    def token(self) -> int:
        """Return a token that nobody has used."""
        self.tokens += 1
        return self.tokens

    def lease(self, number: int, how: str, *functions: str) -> Held | None:
        """Choose what names a lease: one that is held, as a rule, or a wrong one."""
        mine = [lease for lease in self.leases if lease.function in functions]
        held = [lease for lease in mine if lease.is_present]
        chosen = held if held and how != "any" else mine
        if not chosen:
            return None
        lease = chosen[number % len(chosen)]
        if how == "principal":
            others = WORKERS if lease.function == "claim" else VERIFIERS
            other = others[(others.index(lease.person) + 1) % len(others)]
            return lease._replace(person=other)
        if how == "token":
            return lease._replace(token=self.token())
        return lease._replace(generation=lease.generation + {"newer": 1, "older": -1}.get(how, 0))

    def lease_of(self, campaign: Campaign | None) -> Held | None:
        """Return the lease under which a campaign is held."""
        return next((x for x in self.leases if x.campaign is campaign and x.is_present), None)

    def forward(self, to: int) -> None:
        """Move the clock on, not back."""
        self.model.now = max(self.world.now, to)
        self.world.set_clock(self.model.now)

    def campaign(self, number: int, *, is_parked: bool) -> Campaign | None:
        """Choose a campaign: one that is open, or parked, as a rule."""
        campaigns = [
            c for c in self.model.campaigns if (c.state == "parked" if is_parked else c.is_open)
        ]
        if not campaigns or number % 8 == 0:
            campaigns = self.model.campaigns
        return campaigns[number % len(campaigns)] if campaigns else None

    # -- time --------------------------------------------------------------------------------------

    @move(by=st.sampled_from([1, 5, 11, 25, 45, 61, 130, 310, 700, 700, 1900, 8000]))
    def time_goes_by(self, *, by: int) -> None:
        self.forward(self.world.now + by)

    @move(number=pick)
    def a_lease_runs_out(self, *, number: int) -> None:
        leases = [c.lease for c in self.model.campaigns if c.lease is not None]
        if leases:
            self.forward(leases[number % len(leases)].expires_at)

    @move(number=pick)
    def a_backoff_is_over(self, *, number: int) -> None:
        waits = [c.next_at for c in self.model.campaigns if c.is_open]
        if waits:
            self.forward(waits[number % len(waits)])

    # -- claims ------------------------------------------------------------------------------------

    def claim_by(
        self,
        function: str,
        person: str,
        call: Call,
        *,
        lease_for: int | None = None,
        used: int | None = None,
    ) -> None:
        """Claim, with a token that nobody has used, as a rule."""
        token = self.token() if used is None else used

        def claimed() -> Answer | None:
            answer = self.model.claim(function, person, token, lease_for)
            if answer is not None and not answer.duplicate and answer.campaign is not None:
                campaign = answer.campaign
                self.leases.append(Held(campaign, campaign.generation, person, token, function))
            return answer

        given: dict[str, object] = {"p_token": UUID(int=token)}
        if lease_for is not None:
            given["p_lease_for"] = _s(lease_for)
        self.step(person, call, function, given, claimed)

    @move(which=pick, how=aim, call=calls, other=st.integers(0, 9))
    def claim_again(self, *, which: int, how: str, call: Call, other: int) -> None:
        """Repeat a claim, or use its token for one of another kind, or of somebody else."""
        if how in {"right", "any", "principal"} and self.leases:
            held = [x for x in self.leases if x.campaign.lease is not None and how != "any"]
            lease = (held or self.leases)[which % len(held or self.leases)]
            function = ["claim", "claim_verification", "claim_promotion"][other % 3]
            function = lease.function if other else function
            people = WORKERS if function == "claim" else VERIFIERS
            person = lease.person if lease.person in people else people[0]
            if how == "principal":
                person = people[(people.index(person) + 1) % len(people)]
            self.claim_by(function, person, call, used=lease.token)

    @move(
        person=st.sampled_from(WORKERS),
        call=calls,
        lease_for=st.sampled_from([None, 30, 400]),
    )
    def claim(self, *, person: str, call: Call, lease_for: int | None) -> None:
        self.claim_by("claim", person, call, lease_for=lease_for)

    @move(person=st.sampled_from(WORKERS), call=calls, count=st.integers(1, 3))
    def claim_many(self, *, person: str, call: Call, count: int) -> None:
        tokens = [self.token() for _ in range(count)]

        def claimed() -> list[Answer]:
            answers = self.model.claim_many(person, tokens, None)
            for token, answer in zip(tokens, answers, strict=False):
                campaign = answer.campaign
                assert campaign is not None
                self.leases.append(Held(campaign, campaign.generation, person, token, "claim"))
            return answers

        given: dict[str, object] = {"p_tokens": [UUID(int=token) for token in tokens]}
        self.step(person, call, "claim_many", given, claimed)

    @move(
        person=st.sampled_from(VERIFIERS),
        call=calls,
        lease_for=st.sampled_from([None, 30, 400]),
    )
    def claim_verification(self, *, person: str, call: Call, lease_for: int | None) -> None:
        self.claim_by("claim_verification", person, call, lease_for=lease_for)

    @move(person=st.sampled_from(VERIFIERS), call=calls)
    def claim_promotion(self, *, person: str, call: Call) -> None:
        self.claim_by("claim_promotion", person, call)

    # -- under a lease -----------------------------------------------------------------------------

    def say(
        self,
        held: Held,
        call: Call,
        function: str,
        given: Mapping[str, object],
        rules: Callable[[Campaign, tuple[int, str, int]], Answer],
    ) -> None:
        """Make a call under a lease."""
        named = {
            "p_campaign_id": held.campaign.number,
            "p_generation": held.generation,
            "p_token": UUID(int=held.token),
        }
        under = (held.generation, held.person, held.token)
        self.step(
            held.person, call, function, {**named, **given}, lambda: rules(held.campaign, under)
        )

    @move(which=pick, how=aim, call=calls)
    def see_brief(self, *, which: int, how: str, call: Call) -> None:
        held = self.lease(which, how, "claim")
        if held is not None:
            self.say(held, call, "brief", {}, self.model.brief)

    @move(which=pick, how=aim, call=calls)
    def see_bundle(self, *, which: int, how: str, call: Call) -> None:
        held = self.lease(which, how, "claim_verification", "claim_promotion")
        if held is not None:
            self.say(held, call, "bundle", {}, self.model.bundle)

    @move(which=pick, how=aim, call=calls, lease_for=st.sampled_from([None, 1, 600]))
    def renew(self, *, which: int, how: str, call: Call, lease_for: int | None) -> None:
        held = self.lease(which, how, "claim", "claim_verification", "claim_promotion")
        if held is not None:
            given: dict[str, object] = {} if lease_for is None else {"p_lease_for": _s(lease_for)}
            model = self.model
            self.say(held, call, "renew", given, lambda c, u: model.renew(c, u, lease_for))

    @move(
        which=pick,
        how=aim,
        call=calls,
        fingerprint=st.sampled_from(FINGERPRINTS),
        evidence=st.booleans(),
    )
    def submit(self, *, which: int, how: str, call: Call, fingerprint: str, evidence: bool) -> None:
        held = self.lease(which, how, "claim")
        if held is not None:
            self.submit_under(held, call, fingerprint, evidence=evidence)

    def submit_under(self, held: Held, call: Call, fingerprint: str, *, evidence: bool) -> None:
        """Submit."""
        given = {
            "p_fingerprint": fingerprint,
            "p_approach": None,
            "p_result": Jsonb({"base": "b", "commit": fingerprint}),
        } | (EVIDENCE if evidence else {})
        model = self.model
        self.say(
            held,
            call,
            "submit",
            given,
            lambda c, u: model.submit(c, u, fingerprint, fingerprint, evidence=evidence),
        )

    @move(which=pick, how=aim, call=calls, fingerprint=st.sampled_from([None, *FINGERPRINTS[:3]]))
    def fail(self, *, which: int, how: str, call: Call, fingerprint: str | None) -> None:
        held = self.lease(which, how, "claim")
        if held is not None:
            self.fail_under(held, call, fingerprint)

    def fail_under(self, held: Held, call: Call, fingerprint: str | None) -> None:
        """Fail."""
        given = {"p_reason": "no", "p_fingerprint": fingerprint}
        model = self.model
        self.say(held, call, "fail", given, lambda c, u: model.fail(c, u, fingerprint))

    @move(which=pick, how=aim, call=calls, reason=st.sampled_from("ab"))
    def release(self, *, which: int, how: str, call: Call, reason: str) -> None:
        held = self.lease(which, how, "claim")
        if held is not None:
            model = self.model
            self.say(
                held,
                call,
                "release",
                {"p_reason": reason},
                lambda c, u: model.release(c, u, reason),
            )

    @move(
        which=pick,
        how=aim,
        call=calls,
        verdict=st.sampled_from(["accepted"] * 3 + ["rejected", "unverifiable"]),
        fingerprint=st.sampled_from([None] * 5 + FINGERPRINTS[:2]),
        digest=st.integers(0, 9),
        evidence=st.integers(0, 9),
    )
    def judge(
        self,
        *,
        which: int,
        how: str,
        call: Call,
        verdict: str,
        fingerprint: str | None,
        digest: int,
        evidence: int,
    ) -> None:
        held = self.lease(which, how, "claim_verification")
        if held is not None:
            self.judge_under(
                held, call, verdict, fingerprint, digest=digest > 0, evidence=evidence > 0
            )

    def judge_under(
        self,
        held: Held,
        call: Call,
        verdict: str,
        fingerprint: str | None = None,
        *,
        digest: bool = True,
        evidence: bool = True,
    ) -> None:
        """Judge; *digest* says whether by the bundle's own digest, *fingerprint* None its own."""
        own = fingerprint or held.campaign.attempt.fingerprint or "none"
        made = self.world.god.execute(
            "select sha256 from ledger.bundle where class = %s and campaign_id = %s "
            "order by attempt_no desc limit 1",
            (self.klass, held.campaign.number),
        ).fetchone()
        is_its = digest and made is not None
        bundle = made[0] if made is not None and digest else SHA256
        given = {
            "p_verdict": verdict,
            "p_bundle_sha256": bundle,
            "p_fingerprint": own,
            "p_command": "true",
            "p_exit_code": 0 if verdict == "accepted" else 1,
            "p_reason": None if verdict == "accepted" else "no",
        } | (EVIDENCE if evidence else {})
        model = self.model
        self.say(
            held,
            call,
            "judge",
            given,
            lambda c, u: model.judge(
                c, u, verdict, own, digest=bundle, is_its=is_its, evidence=evidence
            ),
        )

    @move(which=pick, how=aim, call=calls)
    def move_result(self, *, which: int, how: str, call: Call) -> None:
        held = self.lease(which, how, "claim", "claim_verification", "claim_promotion")
        if held is not None:
            self.move_result_under(held, call)

    def move_result_under(self, held: Held, call: Call) -> None:
        """Move a result to its target: an operation, in transactions that are never undone."""
        committed, person, campaign = Call(call.session), held.person, held.campaign
        commit = campaign.attempts[-1].commit if campaign.attempts else None
        token = UUID(int=self.token())
        try:
            status = self.model.begin_move(campaign, (held.generation, person, held.token))
            outcome = "ok"
        except Refused as refused:
            self.model.refusals += 1
            status, outcome = None, refused.outcome
        given: dict[str, object] = {
            "p_class": self.klass,
            "p_operation_token": token,
            "p_kind": "promote",
            "p_target": f"target:{campaign.target}",
            "p_fingerprint": commit or "none",
            "p_campaign_id": campaign.number,
            "p_generation": held.generation,
            "p_token": UUID(int=held.token),
            "p_expected": Jsonb({"before": "b", "after": {"commit": commit}, "fence": "f"}),
        }
        (row,) = self.world.call(person, committed, "begin_operation", given)
        self.world.calls["begin_operation", row["outcome"]] += 1
        what = f"begin_operation by {person}, {given}"
        assert (row["outcome"], row["status"]) == (outcome, status), f"{what}: {row}"
        if status == "owner":
            named = {
                "p_class": self.klass,
                "p_operation_key": row["operation_key"],
                "p_operation_token": token,
            }
            (row,) = self.world.call(person, committed, "start_operation", named)
            assert row["outcome"] == "ok", f"{what}, started: {row}"
            named["p_read_back"] = Jsonb({"commit": commit, "more": True})
            (row,) = self.world.call(person, committed, "complete_operation", named)
            assert row["operation_state"] == "completed", f"{what}, completed: {row}"
            campaign.attempt.is_moved = True
        self.look(f"after {what}")

    @move(which=pick, how=aim, call=calls)
    def promote(self, *, which: int, how: str, call: Call) -> None:
        held = self.lease(which, how, "claim_verification", "claim_promotion")
        if held is not None:
            self.promote_under(held, call)

    def promote_under(self, held: Held, call: Call) -> None:
        """Promote."""
        self.say(held, call, "promote", {}, self.model.promote)

    @move(which=pick, how=aim, call=calls, reason=st.sampled_from("ab"))
    def outdate(self, *, which: int, how: str, call: Call, reason: str) -> None:
        held = self.lease(which, how, "claim_verification", "claim_promotion")
        if held is not None:
            self.outdate_under(held, call, reason)

    def outdate_under(self, held: Held, call: Call, reason: str) -> None:
        """Outdate."""
        model = self.model
        self.say(
            held, call, "outdate", {"p_reason": reason}, lambda c, u: model.outdate(c, u, reason)
        )

    # -- the reaper and the sensors ----------------------------------------------------------------

    @move(call=calls)
    def reap(self, *, call: Call) -> None:
        self.step("gina", call, "reap", {}, self.model.reap)

    @move(person=st.sampled_from(SENSORS), call=calls, place=st.sampled_from(TARGETS), old=pick)
    def begin_observation(self, *, person: str, call: Call, place: str, old: int) -> None:
        token = self.begun[old % len(self.begun)][2] if self.begun and not old % 9 else self.token()

        def begun() -> Answer:
            answer = self.model.begin_observation(person, place, token)
            if not answer.duplicate:
                self.begun.append((place, person, token))
            return answer

        given: dict[str, object] = {"p_target": place, "p_token": UUID(int=token)}
        self.step(person, call, "begin_observation", given, begun)

    @move(which=pick, how=aim, call=calls, is_green=st.booleans())
    def report_observation(self, *, which: int, how: str, call: Call, is_green: bool) -> None:
        waiting = [
            (target, observation)
            for target in self.model.targets.values()
            for observation in target.observations
            if observation.report is None or how == "any"
        ]
        if not waiting:
            return
        target, observation = waiting[-1 - which % len(waiting[-4:])]
        person, token = observation.principal, observation.token
        if how == "principal":
            person = SENSORS[(SENSORS.index(person) + 1) % len(SENSORS)]
        elif how == "token":
            token = self.token()
        given: dict[str, object] = {
            "p_target": target.name,
            "p_number": observation.number,
            "p_token": UUID(int=token),
            "p_is_green": is_green,
        }
        self.step(
            person,
            call,
            "report_observation",
            given,
            lambda: self.model.report_observation(
                person, target.name, observation.number, token, is_green=is_green
            ),
        )

    @move(
        person=st.sampled_from(SENSORS),
        call=calls,
        place=st.sampled_from(TARGETS),
        is_green=st.booleans(),
    )
    def observe(self, *, person: str, call: Call, place: str, is_green: bool) -> None:
        """Wait for the slot, begin and report: what a sensor does all day."""
        slot_at = self.model.targets[place].next_slot_at
        self.forward(slot_at)
        self.begin_observation(person=person, call=Call(call.session), place=place, old=1)
        observations = self.model.targets[place].observations
        if observations and observations[-1].principal == person:
            observation = observations[-1]
            given: dict[str, object] = {
                "p_target": place,
                "p_number": observation.number,
                "p_token": UUID(int=observation.token),
                "p_is_green": is_green,
            }
            self.step(
                person,
                Call(call.session),
                "report_observation",
                given,
                lambda: self.model.report_observation(
                    person, place, observation.number, observation.token, is_green=is_green
                ),
            )

    # -- people ------------------------------------------------------------------------------------

    @move(person=st.sampled_from(ADMINS), call=calls, place=st.sampled_from(TARGETS), old=pick)
    def open_campaign(self, *, person: str, call: Call, place: str, old: int) -> None:
        if self.openings and not old % 6:
            _, who, token = self.openings[old % len(self.openings)]
            person = who if old % 4 else person
            place = self.openings[old % len(self.openings)][0] if old % 5 else place
        else:
            token = self.token()
        self.openings.append((place, person, token))
        given: dict[str, object] = {"p_target": place, "p_token": UUID(int=token)}
        self.step(
            person,
            call,
            "open_campaign",
            given,
            lambda: self.model.open_campaign(person, place, token),
        )

    def act(
        self,
        which: int,
        how: str,
        act: tuple[str, str, Call, Mapping[str, object]],
        rules: Callable[[Campaign, int, str], Answer],
    ) -> None:
        """Do to a campaign what an admin does, in the generation that he saw, as a rule."""
        function, person, call, given = act
        campaign = self.campaign(which, is_parked=function == "redrive")
        if campaign is not None:
            generation = campaign.generation + {"older": -1, "any": -1, "newer": 1}.get(how, 0)
            named = {"p_campaign_id": campaign.number, "p_generation": generation}
            self.step(
                person,
                call,
                function,
                {**named, **given},
                lambda: rules(campaign, generation, person),
            )

    @move(which=pick, how=aim, person=admins, call=calls, quiet_for=st.sampled_from([0, 0, 200]))
    def cancel(self, *, which: int, how: str, person: str, call: Call, quiet_for: int) -> None:
        given: dict[str, object] = {"p_quiet_for": _s(quiet_for)}
        model = self.model
        self.act(
            which,
            how,
            ("cancel", person, call, given),
            lambda c, g, who: model.cancel(c, g, who, quiet_for),
        )

    @move(which=pick, how=aim, person=admins, call=calls)
    def park(self, *, which: int, how: str, person: str, call: Call) -> None:
        self.act(which, how, ("park", person, call, {}), self.model.park)

    @move(
        which=pick,
        how=aim,
        person=admins,
        call=calls,
        budgets=st.sampled_from(
            [
                None,
                None,
                (),
                ("attempt",),
                ("loss", "release"),
                ("verification_loss", "abstain"),
                BUDGETS,
            ]
        ),
    )
    def redrive(
        self, *, which: int, how: str, person: str, call: Call, budgets: tuple[str, ...] | None
    ) -> None:
        given: dict[str, object] = {"p_budgets": None if budgets is None else list(budgets)}
        model = self.model
        self.act(
            which,
            how,
            ("redrive", person, call, given),
            lambda c, g, who: model.redrive(c, g, who, budgets),
        )

    @move(which=pick, how=aim, person=admins, call=calls, priority=st.integers(0, 3))
    def set_priority(self, *, which: int, how: str, person: str, call: Call, priority: int) -> None:
        given: dict[str, object] = {"p_priority": priority}
        model = self.model
        self.act(
            which,
            how,
            ("set_priority", person, call, given),
            lambda c, g, who: model.set_priority(c, g, who, priority),
        )

    @move(
        which=pick,
        how=aim,
        person=admins,
        call=calls,
        fingerprint=st.sampled_from(FINGERPRINTS[:3]),
    )
    def allow_repeat(
        self, *, which: int, how: str, person: str, call: Call, fingerprint: str
    ) -> None:
        given: dict[str, object] = {"p_fingerprint": fingerprint, "p_reason": "why not"}
        model = self.model
        self.act(
            which,
            how,
            ("allow_repeat", person, call, given),
            lambda c, g, who: model.allow_repeat(c, g, who, fingerprint),
        )

    @move(person=admins, call=calls, old=pick)
    def new_epoch(self, *, person: str, call: Call, old: int) -> None:
        known = sorted(self.model.epochs)
        token = known[old % len(known)] if known and old % 3 else self.token()
        given: dict[str, object] = {"p_token": UUID(int=token)}
        self.step(person, call, "new_epoch", given, lambda: self.model.new_epoch(person, token))

    @move(call=calls, is_paused=st.sampled_from([True, False, False]))
    def pause(self, *, call: Call, is_paused: bool) -> None:
        self.step(
            "iris",
            call,
            "pause" if is_paused else "resume",
            {},
            lambda: self.model.set_paused(is_paused=is_paused),
        )

    @move(
        call=calls,
        seats=st.sampled_from([None, 1, 2, 3]),
        limit=st.sampled_from([None, 1, 2]),
        budget=st.sampled_from([2, 3, 5]),
        separate_family=st.sampled_from([False, False, True]),
    )
    def define_class(
        self,
        *,
        call: Call,
        seats: int | None,
        limit: int | None,
        budget: int,
        separate_family: bool,
    ) -> None:
        policy = replace(
            self.model.policy,
            seats=seats,
            verification_limit=limit,
            attempt_budget=budget,
            separate_family=separate_family,
        )
        self.step(
            "hugo",
            call,
            "define_class",
            {"p_policy": policy_for_sql(policy)},
            lambda: self.model.define_class(policy),
        )

    @move(person=st.sampled_from([*WORKERS, *VERIFIERS, *SENSORS]), call=calls, which=pick)
    def dismiss(self, *, person: str, call: Call, which: int) -> None:
        duties = PEOPLE[person][0]
        duty = duties[which % len(duties)]
        given: dict[str, object] = {"p_principal": self.world.names[person], "p_duty": duty}
        if which % 3 == 0:
            self.step("iris", call, "dismiss", given, lambda: self.model.dismiss(person, duty))

    @move(call=calls, which=pick)
    def enrol(self, *, call: Call, which: int) -> None:
        missing = [
            (person, duty)
            for person in sorted({*WORKERS, *VERIFIERS, *SENSORS})
            for duty in PEOPLE[person][0]
            if (person, duty) not in self.model.enrolled or which % 50 == 0
        ]
        if missing:
            person, duty = missing[which % len(missing)]
            given: dict[str, object] = {"p_principal": self.world.names[person], "p_duty": duty}
            self.step("iris", call, "enrol", given, lambda: self.model.enrol(person, duty))

    @move(call=calls, place=st.sampled_from(TARGETS), which=st.integers(0, 9))
    def retire_target(self, *, call: Call, place: str, which: int) -> None:
        if not which and place == "west":
            self.step(
                "hugo",
                call,
                "retire_target",
                {"p_target": place},
                lambda: self.model.retire_target(place),
            )

    # -- what comes next, as a rule ----------------------------------------------------------------

    @move(which=pick, call=calls)
    def go_on(self, *, which: int, call: Call) -> None:
        """Do what brings a target's campaign on, so that lives get far."""
        place = TARGETS[which % len(TARGETS)]
        chance = which // len(TARGETS) % 24
        campaign = self.model.open_of(place)
        lease = self.lease_of(campaign)
        if campaign is None:
            if chance % 2:
                self.observe(person="finn", call=call, place=place, is_green=False)
            else:
                self.open_campaign(person="iris", call=call, place=place, old=1)
        elif campaign.lease is not None and (lease is None or chance == 0):
            self.forward(campaign.lease.expires_at)
            self.step("gina", call, "reap", {}, self.model.reap)
        elif campaign.state == "ready" and chance == 1:
            self.observe(person="finn", call=call, place=place, is_green=True)
        elif campaign.state in {"attempted", "accepted"} and chance == 0:
            self.forward(campaign.phase_since + self.model.policy.verify_within)
            self.step("gina", call, "reap", {}, self.model.reap)
        elif campaign.state in {"ready", "attempted", "accepted"}:
            self.forward(campaign.next_at)
            if self.model.is_paused:
                self.step(
                    "iris", call, "resume", {}, lambda: self.model.set_paused(is_paused=False)
                )
            function, people = {
                "ready": ("claim", WORKERS),
                "attempted": ("claim_verification", VERIFIERS),
            }.get(campaign.state, ("claim_promotion", VERIFIERS))
            person = people[chance % len(people)]
            self.claim_by(function, person, call)
        elif campaign.state == "leased":
            assert lease is not None
            if chance > 18:
                self.fail_under(lease, call, FINGERPRINTS[chance % 3])
            else:
                fingerprint = FINGERPRINTS[chance % len(FINGERPRINTS)]
                self.submit_under(lease, call, fingerprint, evidence=True)
        elif campaign.state == "verifying":
            assert lease is not None
            verdict = {1: "unverifiable", 2: "unverifiable", 3: "rejected", 4: "rejected"}
            self.judge_under(lease, call, verdict.get(chance, "accepted"))
        elif campaign.state == "promoting":
            assert lease is not None
            if chance < 4:
                self.outdate_under(lease, call, "a")
            elif chance < 8:
                self.forward(campaign.lease.expires_at if campaign.lease else 0)
                self.step("gina", call, "reap", {}, self.model.reap)
            elif not campaign.attempt.is_moved:
                self.move_result_under(lease, call)
            else:
                self.promote_under(lease, call)
        elif campaign.state == "verified":
            person = SENSORS[chance % len(SENSORS)]
            self.observe(person=person, call=call, place=place, is_green=chance > 6)
        else:
            generation = campaign.generation
            given = {
                "p_campaign_id": campaign.number,
                "p_generation": generation,
                "p_budgets": None,
            }
            self.step(
                "hugo",
                call,
                "redrive",
                given,
                lambda: self.model.redrive(campaign, generation, "hugo", None),
            )

    # -- the one rule ------------------------------------------------------------------------------

    @rule(data=st.data())
    def one_of_the_moves(self, data: st.DataObject) -> None:
        """Draw a move and what it is made with: of many rules hypothesis leaves some out."""
        name = data.draw(st.sampled_from(CHANCES))
        getattr(self, name)(**data.draw(st.fixed_dictionaries(MOVES[name]), label=name))


CHANCES = [name for name in MOVES for _ in range(WEIGHTS.get(name, 2))]


@pytest.fixture
def people() -> Iterator[ExitStack]:
    """Yield what closes everybody's connections at the end."""
    with ExitStack() as opened:
        yield opened


def live(world: World, steps: int) -> None:
    """Let one class after another live, about *steps* steps in all."""
    run_state_machine_as_test(
        lambda: Life(world),  # type: ignore[arg-type]
        settings=settings(
            max_examples=max(1, steps // 100),
            stateful_step_count=STEPS_OF_A_LIFE,
            deadline=None,
            derandomize=not DRAWN_ANEW,
            database=None,
            phases=[Phase.generate],  # a life is not made shorter by leaving steps out
            suppress_health_check=list(HealthCheck),
            print_blob=True,
        ),
    )


@pytest.mark.timeout(900)
def test_the_ledger_does_what_the_rules_say(
    database: str, principal: MakePrincipal, superuser: Superuser, people: ExitStack
) -> None:
    world = World(database, principal, superuser(database), people)
    live(world, STEPS)

    made: dict[str, int] = dict(
        world.god.execute(
            "select transition, count(*) from ledger.campaign_event group by transition"
        ).fetchall()
    )
    print(f"{world.steps} steps in {world.lives} lives: {made}\n{world.calls}")
    assert world.steps >= STEPS
    if STEPS >= 10000:
        assert set(made) == TRANSITIONS

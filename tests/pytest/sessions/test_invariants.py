"""Every invariant of tests/invariants.sql finds the fault that it is there for.

In a ledger in which much has happened, and from which then every trigger, check and unique index
was taken, a superuser plants one fault at a time. It is named by the sentence that it breaks, and
by no other than those that must follow from it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, LiteralString, NamedTuple
from uuid import uuid4

import pytest
from psycopg.types.json import Jsonb

from tests.pytest.conftest import PROJECT
from tests.pytest.invariants import broken, invariants
from tests.pytest.sessions.conftest import RESULT, Ledger, moved

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.pytest.conftest import MakePrincipal, Superuser
    from tests.pytest.sessions.conftest import Session

EVIDENCE = {"p_evidence_uri": "file:///evidence", "p_evidence_sha256": b"e" * 32}
SHOWN = {"commit": RESULT["commit"]}

UNGUARDED = """
do $do$
declare
    v_statement text;
begin
    for v_statement in
        select format('alter table %s disable trigger all', c.oid::regclass)
        from pg_class as c
        where c.relnamespace = 'ledger'::regnamespace and c.relkind = 'r'
    loop
        execute v_statement;
    end loop;
    for v_statement in
        select format('alter table %s drop constraint if exists %I cascade',
                      k.conrelid::regclass, k.conname)
        from pg_constraint as k
        where k.connamespace = 'ledger'::regnamespace
          and k.conrelid <> 0
          and k.contype in ('c', 'f', 'u', 'p')
    loop
        execute v_statement;
    end loop;
    for v_statement in
        select format('drop index %s', i.indexrelid::regclass)
        from pg_index as i
        join pg_class as c on c.oid = i.indrelid
        where c.relnamespace = 'ledger'::regnamespace and i.indisunique
    loop
        execute v_statement;
    end loop;
end
$do$
"""


class Plant(NamedTuple):
    """A fault: how the sentence begins that names it, what else must follow, and how it is made."""

    sentence: str
    follow: tuple[str, ...]
    statement: LiteralString


CHECK = "What kernel.check looks for"
NUMBERED = "An operation's events are numbered from 1"
PROMOTION = "A promotion is a verifier's"
PLANTS = (
    Plant(
        "At most one campaign of a target",
        (CHECK,),
        "update ledger.campaign set target = (select target from ledger.campaign"
        " where state = 'verifying') where state = 'leased'",
    ),
    Plant(
        "A lease is whole while it is held",
        (),
        "update ledger.campaign set lease_expires_at = lease_granted_at where state = 'leased'",
    ),
    Plant(
        "A lease is whole while it is held",
        (),
        "update ledger.campaign set lease_xid = null where state = 'leased'",
    ),
    Plant(
        "A lease is whole while it is held",
        (),
        "update ledger.campaign set lease_label = 'left over' where state = 'ready'",
    ),
    Plant(
        "No token is held twice",
        (),
        "update ledger.campaign set lease_token_sha256 = (select lease_token_sha256"
        " from ledger.campaign where state = 'promoting') where state = 'leased'",
    ),
    Plant(
        "Whoever holds a lease is enrolled",
        (),
        "delete from ledger.enrolment where principal = (select lease_principal"
        " from ledger.campaign where state = 'leased')",
    ),
    Plant(
        "Whoever holds a lease is enrolled",
        (),
        "update ledger.enrolment set duty = 'sensor' where duty = 'verifier'",
    ),
    Plant(
        "Events are numbered from 1",
        (CHECK,),
        "update ledger.campaign_event set event_no = 0 where event_no = 1 and campaign_id ="
        " (select campaign_id from ledger.campaign where state = 'lapsed')",
    ),
    Plant(
        "Events are numbered from 1",
        (CHECK, "The newest event says what the row says"),
        "update ledger.campaign set event_count = event_count + 1 where state = 'leased'",
    ),
    Plant(
        "Each event begins where the one before ended",
        (CHECK,),
        "update ledger.campaign_event set at = at - interval '1 day' where transition = 'submit'"
        " and campaign_id = (select campaign_id from ledger.campaign where state = 'confirmed')",
    ),
    Plant(
        "Each event begins where the one before ended",
        (),
        "update ledger.campaign_event set epoch = 1 where transition = 'submit'"
        " and campaign_id = (select campaign_id from ledger.campaign where state = 'confirmed')",
    ),
    Plant(
        "Each event begins where the one before ended",
        (CHECK,),
        "update ledger.campaign_event set to_state = 'parked' where transition = 'release'",
    ),
    Plant(
        "The newest event says what the row says",
        (CHECK,),
        "update ledger.campaign set next_attempt_at = next_attempt_at + interval '1 second'"
        " where state = 'ready'",
    ),
    Plant(
        "The newest event says what the row says",
        (CHECK,),
        "update ledger.campaign set state = 'accepted' where state = 'verified'",
    ),
    Plant(
        "No campaign has a lower generation",
        (),
        "update ledger.attempt set promotion_generation = 1000 where ending = 'outdated'",
    ),
    Plant(
        "A closed campaign was closed by its last event",
        (CHECK,),
        "update ledger.campaign set closed_at = closed_at + interval '1 second'"
        " where state = 'cancelled'",
    ),
    Plant(
        "A closed campaign was closed by its last event",
        (CHECK,),
        "update ledger.campaign set closed_at = opened_at where state = 'ready'",
    ),
    Plant(
        CHECK,
        (),
        "update ledger.attempt set approach = 'another' where ending = 'confirmed'",
    ),
    Plant(
        "A class with N seats has at most N leases",
        ("A class has as many seats",),
        "update ledger.class set verification_limit = 1",
    ),
    Plant(
        "A class has as many seats",
        (),
        "delete from ledger.seat where kind = 'work' and campaign_id is null",
    ),
    Plant(
        "Who sits in a seat holds a lease",
        (),
        "update ledger.seat set campaign_id = null where kind = 'work'",
    ),
    Plant(
        "Who sits in a seat holds a lease",
        (),
        "update ledger.seat set campaign_id = (select campaign_id from ledger.campaign"
        " where state = 'confirmed') where kind = 'work' and campaign_id is null",
    ),
    Plant(
        "A campaign's attempts are numbered from 1",
        (CHECK,),
        "update ledger.campaign set attempt_count = attempt_count + 1 where state = 'cancelled'",
    ),
    Plant(
        "A campaign's attempts are numbered from 1",
        (CHECK,),
        "update ledger.attempt set generation = generation + 1 where ending = 'failed'",
    ),
    Plant(
        "Only a campaign's newest attempt lives",
        (),
        "update ledger.attempt set ending = null, ended_at = null where ending = 'withdrawn'",
    ),
    Plant(
        "Each attempt ended once",
        (),
        "update ledger.attempt set ending = 'lost' where ending = 'failed'",
    ),
    Plant(
        "An attempt is withdrawn by nobody but an admin",
        (),
        "update ledger.attempt set ended_at = ended_at + interval '1 second'"
        " where ending = 'withdrawn'",
    ),
    Plant(
        "Nobody judges a campaign that he worked on",
        (CHECK,),
        "update ledger.verdict as v set principal = a.principal from ledger.attempt as a"
        " where v.verdict = 'unverifiable' and a.campaign_id = v.campaign_id"
        " and a.attempt_no = v.attempt_no",
    ),
    Plant(
        "Nobody judges a campaign that he worked on",
        (),
        "update ledger.verdict as v set principal_oid = a.principal_oid from ledger.attempt as a"
        " where v.verdict = 'unverifiable' and a.campaign_id = v.campaign_id"
        " and a.attempt_no = v.attempt_no",
    ),
    Plant(
        "Where families are to be separate",
        (CHECK,),
        "update ledger.campaign set separate_family = true where state = 'confirmed'",
    ),
    Plant(
        "A verdict is on a submitted attempt and its bundle",
        (),
        "update ledger.bundle set made_at = made_at - interval '1 day'",
    ),
    Plant(
        "A verdict is on a submitted attempt and its bundle",
        (CHECK, PROMOTION),
        "update ledger.attempt set result = '{}' where ending = 'confirmed'",
    ),
    Plant(
        "A verdict is on a submitted attempt and its bundle",
        (CHECK,),
        "update ledger.bundle set content = content || '{\"more\": true}'",
    ),
    Plant(
        "A verdict is on a submitted attempt and its bundle",
        (CHECK,),
        "update ledger.verdict set exit_code = 1 where verdict = 'accepted'",
    ),
    Plant(
        "A verdict is on a submitted attempt and its bundle",
        (CHECK,),
        "update ledger.verdict set fingerprint = 'another' where verdict = 'accepted'",
    ),
    Plant(
        "Each verdict is one event",
        (CHECK,),
        "delete from ledger.verdict where verdict = 'unverifiable'",
    ),
    Plant(
        "What is past its verdict was accepted",
        (CHECK,),
        "update ledger.verdict set verdict = 'rejected' where verdict = 'accepted'"
        " and campaign_id = (select campaign_id from ledger.campaign where state = 'promoting')",
    ),
    Plant(
        "What is past its verdict was accepted",
        (CHECK,),
        "update ledger.verdict set verdict = 'unverifiable' where verdict = 'rejected'",
    ),
    Plant(
        "Nothing is promoted before an accepted verdict",
        (),
        "update ledger.attempt set promoted_at = begun_at where ending = 'confirmed'",
    ),
    Plant(
        "Nothing is promoted before an accepted verdict",
        (),
        "update ledger.attempt set promoted_at = null where ending = 'confirmed'",
    ),
    Plant(
        "Confirmed and contradicted is only by an observation",
        (),
        "update ledger.observation set slot_at = null where note = 'confirm'",
    ),
    Plant(
        "Confirmed and contradicted is only by an observation",
        (),
        "update ledger.observation set is_green = true where note = 'contradict'",
    ),
    Plant(
        "Confirmed and contradicted is only by an observation",
        (),
        "update ledger.observation set begun_at = begun_at - interval '1 day'"
        " where note = 'confirm'",
    ),
    Plant(
        "Confirmed and contradicted is only by an observation",
        (),
        "update ledger.observation set seen_generation = 0 where note = 'confirm'",
    ),
    Plant(
        "Confirmed and contradicted is only by an observation",
        (CHECK,),
        "update ledger.attempt set principal = (select principal from ledger.observation"
        " where note = 'confirm') where ending = 'confirmed'",
    ),
    Plant(
        "Lapsed is only what a scheduled green observation",
        (),
        "update ledger.observation set is_green = false where note = 'lapse'",
    ),
    Plant(
        "Lapsed is only what a scheduled green observation",
        (),
        "update ledger.observation set slot_at = null where note = 'lapse'",
    ),
    Plant(
        "A campaign that an observation opened",
        (),
        "update ledger.observation set is_green = true where note = 'open'",
    ),
    Plant(
        "Nothing is moved by an observation after",
        (),
        "update ledger.observation set reported_at = reported_at + interval '1 day'"
        " where note = 'open' and observation_no = 1",
    ),
    Plant(
        "A target's observations are numbered",
        (),
        "update ledger.target set observation_no = 1 where target = 'green'",
    ),
    Plant(
        "A target's observations are numbered",
        (),
        "update ledger.target set next_slot_at = next_slot_at - interval '1 day'",
    ),
    Plant(
        "A campaign inherits from an earlier one",
        (CHECK,),
        "update ledger.campaign set previous_campaign_id = (select campaign_id"
        " from ledger.campaign where state = 'lapsed') where previous_campaign_id is not null",
    ),
    Plant(
        "Failures are counted",
        (CHECK,),
        "update ledger.campaign set failure_count = failure_count + 1 where state = 'verifying'",
    ),
    Plant(
        "Failures are counted",
        (),
        "update ledger.campaign set loss_count = loss_count + 1 where state = 'verifying'",
    ),
    Plant(
        "An operation of a campaign is pending only under the lease",
        (),
        "update ledger.operation set generation = generation - 1"
        " where state = 'pending' and kind = 'git.push'",
    ),
    Plant(
        "An operation of a campaign is pending only under the lease",
        (),
        "update ledger.operation set attempt_no = attempt_no + 1"
        " where state = 'pending' and kind = 'git.push'",
    ),
    Plant(
        "An operation of a campaign is pending only under the lease",
        (),
        "update ledger.operation set duty = 'verifier'"
        " where state = 'pending' and kind = 'git.push'",
    ),
    Plant(
        "An operation of a campaign is pending only under the lease",
        (NUMBERED,),
        "update ledger.operation set principal = 'another'"
        " where state = 'pending' and kind = 'promote'",
    ),
    Plant(
        "What is verified, confirmed or lapsed has no operation",
        (),
        "update ledger.operation set campaign_id = (select campaign_id from ledger.campaign"
        " where state = 'verified') where state = 'unknown' and kind = 'git.push'",
    ),
    Plant(
        "What is verified, confirmed or lapsed has no operation",
        (),
        "update ledger.operation set campaign_id = (select campaign_id from ledger.campaign"
        " where state = 'confirmed') where state = 'unknown' and kind = 'git.push'",
    ),
    Plant(
        "What is verified, confirmed or lapsed has no operation",
        ("An operation of a campaign is pending only under the lease",),
        "update ledger.operation set campaign_id = (select campaign_id from ledger.campaign"
        " where state = 'lapsed') where state = 'pending' and kind = 'git.push'",
    ),
    Plant(
        "What is verified, confirmed or lapsed has no operation",
        (),
        "update ledger.class set retired_at = ledger.clock()",
    ),
    Plant(
        "At most one promotion to a place",
        (),
        "insert into ledger.operation select * from ledger.operation"
        " where state = 'pending' and started_at is not null and kind = 'promote'",
    ),
    Plant(
        PROMOTION,
        (),
        "update ledger.operation set duty = 'worker'"
        " where state = 'completed' and kind = 'promote'",
    ),
    Plant(
        PROMOTION,
        (),
        "update ledger.operation set target = target || ' itself' where kind = 'promote'",
    ),
    Plant(
        PROMOTION,
        (),
        """update ledger.operation set expected = expected || '{"after": {"commit": "another"}}'"""
        " where state = 'pending' and kind = 'promote'",
    ),
    Plant(
        PROMOTION,
        (),
        "update ledger.operation set kind = 'git.push'"
        " where state = 'pending' and kind = 'promote'",
    ),
    Plant(
        "What was promoted was moved by an operation of that attempt",
        (),
        "update ledger.operation set started_at = null"
        " where state = 'completed' and kind = 'promote'",
    ),
    Plant(
        "What was promoted was moved by an operation of that attempt",
        (CHECK, NUMBERED),
        "update ledger.operation set state = 'failed'"
        " where state = 'completed' and kind = 'promote'",
    ),
    Plant(
        "What was promoted was moved by an operation of that attempt",
        (PROMOTION,),
        "update ledger.operation set attempt_no = attempt_no + 1"
        " where state = 'completed' and kind = 'promote'",
    ),
    Plant(
        "What was promoted was moved by an operation of that attempt",
        (),
        "update ledger.campaign_event set detail = detail - 'operation'"
        " where transition = 'promote' and campaign_id ="
        " (select campaign_id from ledger.campaign where state = 'confirmed')",
    ),
    Plant(
        "What was promoted was moved by an operation of that attempt",
        (),
        "update ledger.campaign_event as e set detail = e.detail"
        " || jsonb_build_object('operation', o.operation_key) from ledger.operation as o"
        " where o.state = 'completed' and o.kind = 'promote' and o.campaign_id <> e.campaign_id"
        " and e.transition = 'promote'"
        " and e.campaign_id = (select campaign_id from ledger.campaign where state = 'confirmed')",
    ),
    Plant(
        "What was promoted was moved by an operation of that attempt",
        (PROMOTION,),
        "update ledger.operation set kind = 'git.push'"
        " where state = 'completed' and kind = 'promote'",
    ),
    Plant(
        "What is completed shows what was expected",
        (),
        "update ledger.operation set read_back = null"
        " where state = 'completed' and kind = 'git.push'",
    ),
    Plant(
        "What is completed shows what was expected",
        (),
        """update ledger.operation set read_back = '{"commit": "another"}'"""
        " where state = 'completed' and kind = 'promote'",
    ),
    Plant(
        "What is completed shows what was expected",
        (),
        "update ledger.operation set started_at = begun_at where state = 'released'",
    ),
    Plant(
        NUMBERED,
        (CHECK,),
        "update ledger.operation_event set event_no = 0 where event_no = 1 and operation_key in"
        " (select operation_key from ledger.operation where state = 'failed')",
    ),
    Plant(
        NUMBERED,
        (CHECK, "Each of them begins where the one before ended"),
        "delete from ledger.operation_event where event = 'start' and operation_key in"
        " (select operation_key from ledger.operation where state = 'failed')",
    ),
    Plant(
        NUMBERED,
        (CHECK,),
        "update ledger.operation set event_count = event_count + 1 where state = 'failed'",
    ),
    Plant(
        NUMBERED,
        (CHECK,),
        "delete from ledger.operation_event where event = 'fail'",
    ),
    Plant(
        NUMBERED,
        (CHECK,),
        "update ledger.operation set state = 'failed' where state = 'unknown'",
    ),
    Plant(
        NUMBERED,
        (CHECK,),
        "update ledger.operation set incarnation = gen_random_uuid() where state = 'failed'",
    ),
    Plant(
        NUMBERED,
        (CHECK,),
        "update ledger.operation set revision = revision + 1 where state = 'unknown'",
    ),
    Plant(
        NUMBERED,
        (),
        "update ledger.operation set last_event = 'release' where state = 'unknown'",
    ),
    Plant(
        NUMBERED,
        (),
        "update ledger.operation set principal = 'another' where state = 'failed'",
    ),
    Plant(
        NUMBERED,
        (),
        "update ledger.operation set token_sha256 = 'another' where state = 'pending'",
    ),
    Plant(
        NUMBERED,
        (),
        "update ledger.operation set updated_at = updated_at + interval '1 second'"
        " where state = 'failed'",
    ),
    Plant(
        "Each of them begins where the one before ended",
        (CHECK,),
        "update ledger.operation_event set from_state = 'unknown' where event = 'complete'",
    ),
    Plant(
        "Each of them begins where the one before ended",
        (CHECK,),
        "update ledger.operation_event set to_state = 'unknown' where event = 'start'"
        " and operation_key in (select operation_key from ledger.operation where state = 'failed')",
    ),
    Plant(
        "Each of them begins where the one before ended",
        (CHECK,),
        "with begun as (update ledger.operation_event as e set revision = 2"
        " from ledger.operation as o where o.operation_key = e.operation_key"
        " and o.state = 'pending' and o.event_count = 1)"
        " update ledger.operation set revision = 2 where state = 'pending' and event_count = 1",
    ),
    Plant(
        "Each of them begins where the one before ended",
        (CHECK,),
        "with failed as (update ledger.operation_event set revision = revision + 1"
        " where event = 'fail')"
        " update ledger.operation set revision = revision + 1 where last_event = 'fail'",
    ),
    Plant(
        "Each of them begins where the one before ended",
        (),
        "update ledger.operation_event as e set incarnation = o.incarnation"
        " from ledger.operation as o"
        " where o.operation_key = e.operation_key and e.incarnation <> o.incarnation",
    ),
    Plant(
        "Each of them begins where the one before ended",
        (),
        "update ledger.operation_event as e set incarnation = gen_random_uuid()"
        " from ledger.operation as o"
        " where o.operation_key = e.operation_key and o.state = 'failed' and e.event = 'begin'",
    ),
    Plant(
        "No history outlives its operation",
        (CHECK,),
        "delete from ledger.operation where state = 'failed'",
    ),
    Plant(
        "A refusal is never ok",
        (),
        "update ledger.refusal set outcome = 'KN101'",
    ),
    Plant(
        "A refusal is never ok",
        (),
        "update ledger.refusal set outcome = 'ok'",
    ),
    Plant(
        "Of a campaign that was pruned",
        (CHECK,),
        "insert into ledger.attempt (class, campaign_id, attempt_no, generation, principal,"
        " principal_oid, token_sha256, begun_at) select class, campaign_id, 1, 1, 'x', 1, 'x',"
        " opened_at from ledger.tombstone",
    ),
    Plant(
        "Of a campaign that was pruned",
        (CHECK,),
        "update ledger.tombstone set final_state = 'ready'",
    ),
    Plant(
        "Of a campaign that was pruned",
        (),
        "update ledger.operation set campaign_id = (select campaign_id from ledger.tombstone)"
        " where state = 'failed'",
    ),
    Plant(
        "Whatever an admin made of a class",
        (),
        "delete from ledger.config_event where action = 'define_target'",
    ),
    Plant(
        "Whatever an admin made of a class",
        (),
        "delete from ledger.config_event where action = 'enrol'",
    ),
    Plant(
        "Whatever an admin made of a class",
        (),
        "update ledger.config_event set action = 'deauthorise' where action = 'authorise'",
    ),
)


class Lives:
    """A ledger in which every kind of thing has happened, in time that is told."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        ledger.stop_clock()
        self.policy: dict[str, Any] = {"lease_default": "1 hour", "retention": "1 day"}
        self.worker = ledger.once("worker")
        self.verifier = ledger.once("verifier")
        self.sensor = ledger.once("sensor")

    def live(self) -> None:
        """Let it all happen."""
        ledger = self.ledger
        ledger.define_class(**self.policy)
        self.authorised("git.push", "/srv/*", is_standalone=False)
        self.authorised("http.post", "https://*", is_standalone=True)
        ledger.campaigns()
        self.pushing(self.claimed(), "pruned")
        ledger.clear()
        ledger.tick("2 days")
        assert ledger.admin.done("prune")["note"].startswith("1 campaigns")
        ledger.define_class(**self.policy, promotes=True, seats=2, verification_limit=3)

        for name, is_green in (("green", True), ("back", False)):
            self.target(name)
            self.seen(name, is_green=False)
            self.promoted()
            self.seen(name, is_green=is_green)
        self.parked(self.worker.claimed())
        self.target("lapsing")
        self.seen("lapsing", is_green=False)
        self.seen("lapsing", is_green=True)

        self.open()
        held = self.accepted(self.submitted())
        self.done(self.verifier, "outdate", held, p_reason="moved")
        ledger.clear()

        self.open()
        self.done(self.worker, "fail", self.claimed(), p_reason="no")
        self.done(self.worker, "release", self.claimed())
        lost = self.started(self.pushing(self.claimed(), "lost"))
        ledger.tick("2 hours")
        assert [row["note"] for row in ledger.once("reaper").finished("reap")] == ["lose"]
        self.resolved(lost)
        held = self.submitted("rejected")
        self.judged(held, p_verdict="rejected", p_exit_code=1, p_reason="no", **EVIDENCE)
        held = self.submitted()
        self.done(self.verifier, "judge", held, p_verdict="unverifiable", p_reason="no")
        attempted = held["p_campaign_id"]
        # What waits there is not to be taken by the next.
        parked = self.parked({"p_campaign_id": attempted, "p_generation": self.now(attempted)})

        self.open()
        held = self.accepted(self.submitted())
        self.started(self.promoting(held), self.verifier)
        self.open()
        self.submitted()
        self.open()
        self.promoted()
        ledger.admin.done("redrive", p_campaign_id=attempted, p_generation=parked)
        ledger.tick("1 second")
        self.open()
        held = self.claimed()
        refused = self.worker.call("submit", **held | {"p_token": uuid4()}, **self.submission("x"))
        self.worker.commit()
        assert refused["outcome"] == "not_holder"
        self.operations(held)
        self.seen("green", is_green=False)
        self.sensor.done("begin_observation", p_target="back", p_token=uuid4())

    def now(self, campaign: int) -> int:
        """Return a campaign's generation."""
        ((generation,),) = self.ledger.look(
            "select generation from audit.campaigns where campaign_id = %s", campaign
        )
        return int(generation)

    def target(self, name: str) -> None:
        self.ledger.define_target(name, observe_every="1 second")

    def open(self) -> None:
        self.ledger.campaigns()
        self.ledger.tick("1 second")

    def done(self, who: Any, function: str, held: dict[str, Any], **arguments: object) -> None:
        who.done(function, **held, **arguments)
        self.ledger.tick("1 second")

    def claimed(self) -> dict[str, Any]:
        held = self.worker.claimed()
        self.ledger.tick("1 second")
        return held

    @staticmethod
    def submission(fingerprint: str) -> dict[str, Any]:
        return {
            "p_fingerprint": fingerprint,
            "p_approach": "a",
            "p_result": Jsonb(RESULT),
        }

    def submitted(self, fingerprint: str = "f") -> dict[str, Any]:
        """Let a worker submit, and a verifier take it; return his lease."""
        self.done(self.worker, "submit", self.claimed(), **self.submission(fingerprint))
        held = self.verifier.claimed("claim_verification")
        self.ledger.tick("1 second")
        return held

    def judged(self, held: dict[str, Any], **verdict: object) -> None:
        bundle = self.verifier.done("bundle", **held)
        self.done(
            self.verifier,
            "judge",
            held,
            p_bundle_sha256=bundle["bundle_sha256"],
            **verdict,
        )

    def accepted(self, held: dict[str, Any]) -> dict[str, Any]:
        self.judged(held, p_verdict="accepted", p_fingerprint="f", p_exit_code=0, **EVIDENCE)
        return held

    def promoted(self) -> None:
        held = self.accepted(self.submitted())
        assert moved(self.verifier, held, self.target_of(held), RESULT["commit"]) == "ok"
        self.ledger.tick("1 second")
        self.done(self.verifier, "promote", held)

    def target_of(self, held: dict[str, Any]) -> str:
        """Return the target of a lease's campaign."""
        ((target,),) = self.ledger.look(
            "select target from audit.campaigns where campaign_id = %s",
            held["p_campaign_id"],
        )
        return str(target)

    # External operations

    def authorised(self, kind: str, target: str, *, is_standalone: bool) -> None:
        self.ledger.admin.done(
            "authorise",
            p_duty="worker",
            p_kind=kind,
            p_target=target,
            p_is_standalone=is_standalone,
        )

    def begun(self, who: Session, kind: str, target: str, **more: object) -> dict[str, Any]:
        """Begin an operation; return what names it in its owner's calls."""
        token = uuid4()
        row = who.done(
            "begin_operation",
            p_operation_token=token,
            p_kind=kind,
            p_target=target,
            p_fingerprint="f",
            **more,
        )
        assert row["status"] == "owner"
        self.ledger.tick("1 second")
        return {"p_operation_key": row["operation_key"], "p_operation_token": token}

    def pushing(self, held: dict[str, Any], name: str) -> dict[str, Any]:
        """Let the worker begin to push something."""
        expected = Jsonb({"after": SHOWN})
        return self.begun(self.worker, "git.push", f"/srv/{name}", p_expected=expected, **held)

    def promoting(self, held: dict[str, Any]) -> dict[str, Any]:
        """Let the verifier begin to move what was accepted."""
        expected = Jsonb({"before": "b", "after": SHOWN, "fence": "f"})
        target = f"target:{self.target_of(held)}"
        return self.begun(self.verifier, "promote", target, p_expected=expected, **held)

    def posting(self, key: str) -> dict[str, Any]:
        """Let the worker begin an operation without a campaign."""
        return self.begun(self.worker, "http.post", f"https://service.invalid/{key}", p_key=key)

    def started(self, operation: dict[str, Any], who: Session | None = None) -> dict[str, Any]:
        self.done(who or self.worker, "start_operation", operation)
        return operation

    def resolved(self, operation: dict[str, Any]) -> None:
        """Let an admin find out that what is unknown did not take effect."""
        key = operation["p_operation_key"]
        ((state, incarnation, revision),) = self.ledger.look(
            "select state, incarnation, revision from ledger.operation where operation_key = %s",
            key,
        )
        assert state == "unknown"
        fence = {
            "p_operation_key": key,
            "p_incarnation": incarnation,
            "p_revision": revision,
        }
        self.done(
            self.ledger.admin,
            "resolve_operation",
            fence,
            p_state="failed",
            p_reason="not there",
        )

    def operations(self, held: dict[str, Any]) -> None:
        """Let there be an operation in every state, under a worker's lease and without one."""
        self.pushing(held, "pending")
        self.done(self.worker, "release_operation", self.pushing(held, "released"))
        operation = self.started(self.pushing(held, "completed"))
        self.done(self.worker, "complete_operation", operation, p_read_back=Jsonb(SHOWN))
        operation = self.started(self.pushing(held, "failed"))
        self.done(self.worker, "fail_operation", operation, p_reason="no")
        operation = self.started(self.pushing(held, "unknown"))
        self.done(self.worker, "mark_operation_unknown", operation, p_reason="no answer")

        self.done(self.worker, "release_operation", self.posting("again"))
        operation = self.started(self.posting("again"))
        self.done(self.worker, "complete_operation", operation, p_result=Jsonb({}))
        self.begun(
            self.worker,
            "http.post",
            "https://service.invalid/taken",
            p_key="taken",
            p_lease_for="1 minute",
        )
        self.ledger.tick("2 minutes")
        self.posting("taken")

    def parked(self, held: dict[str, Any]) -> int:
        named = {name: held[name] for name in ("p_campaign_id", "p_generation")}
        generation = int(self.ledger.admin.done("park", **named)["generation"])
        self.ledger.tick("1 second")
        return generation

    def seen(self, target: str, *, is_green: bool) -> None:
        token = uuid4()
        self.ledger.tick("2 seconds")
        begun = self.sensor.done("begin_observation", p_target=target, p_token=token)
        named = {"p_target": target, "p_number": begun["number"], "p_token": token}
        self.ledger.tick("1 second")
        moved = self.sensor.done("report_observation", **named, p_is_green=is_green)["moved"]
        assert moved
        self.ledger.tick("1 second")


@pytest.fixture
def lives(scratch_database: str, principal: MakePrincipal, superuser: Superuser) -> Iterator[Lives]:
    """Yield a ledger that may be spoiled."""
    ledger = Ledger(scratch_database, principal, superuser)
    lives = Lives(ledger)
    lives.live()
    yield lives
    ledger.close()


def test_each_sentence_names_the_fault_that_is_planted(
    lives: Lives, scratch_database: str, superuser: Superuser
) -> None:
    connection = superuser(scratch_database)
    assert {state for (state,) in lives.ledger.look("select state from ledger.campaign")} == {
        *("ready", "leased", "attempted", "verifying", "promoting", "verified"),
        *("confirmed", "cancelled", "lapsed"),
    }
    assert {state for (state,) in lives.ledger.look("select state from ledger.operation")} == {
        *("pending", "completed", "failed", "unknown", "released"),
    }
    assert broken(connection, PROJECT) == []
    connection.execute(UNGUARDED)
    assert broken(connection, PROJECT) == []

    connection.autocommit = False
    wrong = []
    for plant in PLANTS:
        planted = connection.execute(plant.statement).rowcount
        found = {complaint.split("\n")[0] for complaint in broken(connection, PROJECT)}
        connection.rollback()
        expected = {sentence(beginning) for beginning in (plant.sentence, *plant.follow)}
        if planted == 0 or found != expected:
            wrong.append(f"{plant.statement}: {planted} rows, found {sorted(found)}")
    assert not wrong, "\n".join(wrong)
    assert broken(connection, PROJECT) == []


def test_each_sentence_has_its_fault() -> None:
    planted = {sentence(plant.sentence) for plant in PLANTS}
    assert planted == {invariant.sentence for invariant in invariants(PROJECT)}


def sentence(beginning: str) -> str:
    """Return the one sentence of the invariants that begins like this."""
    (found,) = (i.sentence for i in invariants(PROJECT) if i.sentence.startswith(beginning))
    return found

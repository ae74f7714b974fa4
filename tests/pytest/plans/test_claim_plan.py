"""What a poll costs where much is waiting and more is done: 100,000 ready, 1,000,000 closed.

The ledger is filled set-wise, its triggers off, since what is tested is how it is read. Every call
is made as its principal makes it, often enough that the server settles on a plan for good; what it
reads is counted by the server: blocks of the whole call, with every statement in it, the entries
taken of each index, and the tables that were read as a whole. It is counted with a tenth of all
that, too: what a call takes of an index is the same.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, LiteralString, NamedTuple
from uuid import uuid4

import pytest
from psycopg import sql

if TYPE_CHECKING:
    from tests.pytest.conftest import Connection, MakePrincipal, Principal, Superuser

READY = 100_000
CLOSED = 1_000_000

LEASED = 500
WAITING = 20_000
"""For a verdict, and as many for a promotion."""
LITTLE = 10
"""What there is of all that at first: a tenth."""

TABLES = ("target", "campaign", "campaign_event", "attempt", "bundle", "verdict")

FILL = """
create function pg_temp.fill(
    p_class text, p_from integer, p_count integer, p_state text, p_priority integer,
    p_next_at timestamptz, p_step interval
) returns void language sql as $fn$
    insert into ledger.target
        (class, target, location, desired_state, acceptance, observe_every, observe_within, settle,
         next_slot_at)
    select p_class, 'target ' || n, '{}', '{}', '{}', '1 day', '10 minutes', '0',
           now() + n * interval '1 second'
    from generate_series(p_from, p_from + p_count - 1) as n
    on conflict do nothing;

    insert into ledger.campaign
        (class, target, state, priority, opened_at, opened_by, desired_state, acceptance, promotes,
         separate_family, needs_evidence, generation, attempt_count, next_attempt_at, phase_since,
         closed_at, event_count, last_transition, last_at, lease_principal, lease_principal_oid,
         lease_token_sha256, lease_granted_at, lease_expires_at, lease_xid)
    select p_class, 'target ' || n, p_state, p_priority, now(), 'postgres', '{"state": "green"}',
           '{"command": ["make", "test"]}', false, false, false, 1,
           (p_state <> 'ready')::integer, p_next_at + n * p_step, now(),
           case when p_state = 'confirmed' then now() end, 1, 'open', now(),
           case when p_state = 'leased' then w.principal end,
           case when p_state = 'leased' then w.principal_oid end,
           case when p_state = 'leased' then sha256(n::text::bytea) end,
           case when p_state = 'leased' then now() end,
           case when p_state = 'leased' then p_next_at + n * p_step end,
           case when p_state = 'leased' then '1'::xid8 end
    from generate_series(p_from, p_from + p_count - 1) as n
    cross join (select * from ledger.enrolment where duty = 'worker') as w;
$fn$;
"""

FILL_THE_REST = """
insert into ledger.attempt
    (class, campaign_id, attempt_no, generation, principal, principal_oid, token_sha256, begun_at,
     submitted_at, submitted_sha256, fingerprint, result, ended_at, ending)
select c.class, c.campaign_id, 1, 1, w.principal, w.principal_oid,
       sha256(c.campaign_id::text::bytea), now(),
       now(), sha256('a'), 'f', '{}',
       case when c.state = 'confirmed' then now() end,
       case when c.state = 'confirmed' then 'confirmed' end
from ledger.campaign as c
cross join (select * from ledger.enrolment where duty = 'worker') as w
where c.attempt_count = 1 and c.campaign_id > %(last)s;
insert into ledger.bundle (class, campaign_id, attempt_no, content, sha256, made_at)
select c.class, c.campaign_id, 1, '{"location": {}}', sha256('b'), now()
from ledger.campaign as c
where c.state in ('accepted', 'confirmed') and c.campaign_id > %(last)s;
insert into ledger.verdict
    (class, campaign_id, attempt_no, generation, verdict, principal, principal_oid, token_sha256,
     fingerprint, exit_code, evidence_uri, evidence_sha256, judged_at, content_sha256)
select b.class, b.campaign_id, 1, 2, 'accepted', v.principal, v.principal_oid,
       sha256(b.campaign_id::text::bytea), 'f', 0, 'file:///srv/x', sha256('e'), now(), sha256('c')
from ledger.bundle as b
cross join (select * from ledger.enrolment where duty = 'verifier') as v
where b.campaign_id > %(last)s;
insert into ledger.campaign_event
    (class, campaign_id, event_no, transition, from_state, to_state, generation, by_principal,
     is_late, next_attempt_at, at, epoch, xid)
select c.class, c.campaign_id, 1, 'open', 'none', 'ready', 0, 'postgres', false, now(), now(), 0,
       '1'::xid8
from ledger.campaign as c
where c.campaign_id > %(last)s;
"""


class Cost(NamedTuple):
    """What the server counted of one call."""

    blocks: int
    rows: int
    taken: dict[str, int]  # of each of the campaigns' indexes that was read, how many entries
    scans: set[str]  # large tables that were read as a whole


class Heap:
    """A ledger with much in it, and who polls it."""

    def __init__(self, god: Connection, people: dict[str, Principal]) -> None:
        self.god = god
        self.people = people
        self.last = 0  # the newest campaign that is filled in

    def set_triggers(self, state: LiteralString) -> None:
        """Let the ledger's triggers fire, or not."""
        for table in TABLES:
            self.god.execute(
                sql.SQL("alter table ledger.{} {} trigger all").format(
                    sql.Identifier(table), sql.SQL(state)
                )
            )

    def fill(self, state: str, count: int, **given: Any) -> None:
        """Add campaigns, each on a target of its own."""
        arguments = {"priority": 0, "at": "-1 day", "step": "1 millisecond", "from": 1} | given
        self.god.execute(
            "select pg_temp.fill('heap', %(from)s, %(count)s, %(state)s, %(priority)s, "
            "now() + %(at)s::interval, %(step)s::interval)",
            arguments | {"state": state, "count": count},
        )

    def fill_all(self, parts: int, begin: int) -> None:
        """Add one of so many parts of everything, its targets numbered from *begin*."""
        self.set_triggers("disable")
        ready = READY // parts
        self.fill("ready", ready, **{"from": begin})
        for _ in range(CLOSED // READY):
            self.fill("confirmed", ready, **{"from": begin})
        begin += ready
        for state, count in (("attempted", WAITING), ("accepted", WAITING), ("leased", LEASED)):
            self.fill(state, count // parts, **{"from": begin},
                      at="1 hour" if state == "leased" else "-1 day")  # fmt: skip
            begin += count // parts
        for statement in FILL_THE_REST.split(";\n")[:-1]:
            self.god.execute(statement.encode(), {"last": self.last})
        row = self.god.execute("select max(campaign_id) from ledger.campaign").fetchone()
        assert row is not None
        self.last = row[0]
        self.tidy()

    def tidy(self) -> None:
        """Let the triggers fire again, and the planner know what there is."""
        self.set_triggers("enable")
        self.god.execute(
            sql.SQL("vacuum (analyze) {}").format(
                sql.SQL(", ").join(sql.Identifier("ledger", table) for table in TABLES)
            )
        )

    def cost(self, duty: str, call: str, times: int = 8) -> list[Cost]:
        """Call a function as somebody who has the duty; return what each call cost."""
        name = sql.Identifier(self.people[duty].name)
        self.god.execute(sql.SQL("set session authorization {}").format(name))
        try:
            costs = [self.once(call) for _ in range(times)]
        finally:
            self.god.execute("reset session authorization")
        return costs[2:]  # the first two fill the session's own caches

    def once(self, call: str) -> Cost:
        """Call once, in a transaction that is committed."""
        self.god.execute("select pg_stat_force_next_flush()")  # or what was counted before stays
        with self.god.transaction():
            explained = self.god.execute(
                "explain (analyze, buffers, format json) select * from kernel."
                + re.sub("TOKEN", lambda _: f"'{uuid4()}'", call)
            ).fetchone()
            assert explained is not None
            plan = explained[0] if isinstance(explained[0], list) else json.loads(explained[0])
            top = plan[0]["Plan"]
            taken = self.god.execute(
                """
                select i.relname, pg_stat_get_xact_tuples_returned(i.oid)
                from pg_class as i
                where i.relnamespace = (select oid from pg_namespace where nspname = 'ledger')
                  and i.relkind = 'i'
                  and i.relname like 'campaign\\_%'
                  and i.relname not like 'campaign\\_event\\_%'
                  and pg_stat_get_xact_numscans(i.oid) > 0
                """
            ).fetchall()
            scanned = self.god.execute(
                "select t.relname from pg_stat_xact_all_tables as t "
                "where t.schemaname = 'ledger' and t.seq_scan > 0"
            ).fetchall()
        return Cost(
            blocks=top["Shared Hit Blocks"] + top["Shared Read Blocks"],
            rows=top["Actual Rows"],
            taken=dict(taken),
            scans={name for (name,) in scanned} & BIG,
        )


BIG = set(TABLES)


@pytest.fixture
def heap(scratch_database: str, principal: MakePrincipal, superuser: Superuser) -> Heap:
    """Return a ledger with a tenth of 1,000,000 closed campaigns and 100,000 ready ones."""
    god = superuser(scratch_database)
    people = {
        duty: principal(duty, f"fencepost_{duty}")
        for duty in ("worker", "verifier", "sensor", "reaper", "admin")
    }
    with people["admin"].connect(scratch_database, autocommit=True) as admin:
        admin.execute("select kernel.define_class('heap', '{\"verification_limit\": 1000}')")
        for duty in ("worker", "verifier", "sensor"):
            name = people[duty].name
            admin.execute("select kernel.register_principal(%s)", (name,))
            admin.execute("select kernel.enrol('heap', %s, %s)", (name, duty))
    god.execute("set synchronous_commit = off")
    god.execute(FILL)
    made = Heap(god, people)
    made.fill_all(LITTLE, begin=1)
    return made


CALLS = {
    "claim": ("worker", "claim('heap', TOKEN)"),
    "claim_many": ("worker", "claim_many('heap', array[TOKEN, TOKEN, TOKEN]::uuid[])"),
    "claim_verification": ("verifier", "claim_verification('heap', TOKEN)"),
    "claim_promotion": ("verifier", "claim_promotion('heap', TOKEN)"),
    "reap": ("reaper", "reap('heap')"),
    "next_due of a worker": ("worker", "next_due('heap')"),
    "next_due of a verifier": ("verifier", "next_due('heap')"),
    "next_due of a sensor": ("sensor", "next_due('heap')"),
}
# Blocks that a call may touch, everything counted: the policy, the enrolment, the triggers, the
# event, and the index down to the one row.
MOST_BLOCKS = {
    "claim": 400,
    "claim_many": 1000,
    "claim_verification": 500,
    "claim_promotion": 500,
    "reap": 2500,  # it looks at each of 500 live leases, and whether its holder is enrolled
    "next_due of a worker": 150,
    "next_due of a verifier": 150,
    "next_due of a sensor": 150,
}


# The index of the campaigns whose head is what a claim takes.
HEADS = {
    "claim": "campaign_ready_ix",
    "claim_many": "campaign_ready_ix",
    "claim_verification": "campaign_attempted_ix",
    "claim_promotion": "campaign_accepted_ix",
}
BY_KEY = {"campaign_pk", "campaign_lease_uq"}
MORE = 4
"""Entries that a call may take beyond those of a tenth: what is not due, once a priority."""


@pytest.mark.timeout(900)
def test_no_poll_reads_more_than_its_rows(heap: Heap) -> None:
    measured = {}
    measured["a tenth"] = {what: heap.cost(*call) for what, call in CALLS.items()}
    heap.fill_all(1, begin=READY)
    measured["all"] = {what: heap.cost(*call) for what, call in CALLS.items()}
    # A crowd with a head start, none of it due.
    heap.set_triggers("disable")
    for number, state in enumerate(("ready", "attempted", "accepted"), start=3):
        heap.fill(state, READY, priority=3, at="1 day", **{"from": number * READY})
    heap.tidy()
    measured["a crowd in backoff"] = {what: heap.cost(*call) for what, call in CALLS.items()}

    for name, costs in measured.items():
        for what, seen in costs.items():
            print(f"{name}, {what}: {max(cost.blocks for cost in seen)} blocks, "
                  f"{max(cost.rows for cost in seen)} rows, entries {seen[-1].taken}")  # fmt: skip
    complaints = [
        f"{name}, {what}: {cost}"
        for name, costs in measured.items()
        for what, seen in costs.items()
        for cost in seen
        if cost.scans or cost.blocks > MOST_BLOCKS[what]
    ]
    assert not complaints, "\n".join(complaints)
    for name, costs in measured.items():
        for what, head in HEADS.items():
            for cost in costs[what]:
                assert set(cost.taken) == BY_KEY | {head}, f"{name}, {what}: {cost}"
                assert cost.rows == (3 if what == "claim_many" else 1), f"{name}, {what}: {cost}"
        for what in CALLS.keys() - {"reap"}:  # which looks at every live lease
            for cost in costs[what]:
                few = measured["a tenth"][what][0].taken
                more = {i: n for i, n in cost.taken.items() if n > few.get(i, 0) + MORE}
                assert not more, f"{name}, {what}: {more} beyond {few}"


def test_no_function_takes_a_name_beside_a_text(database: str, superuser: Superuser) -> None:
    """The collation of a name would be that of the text too, and no index on text would serve."""
    mixed = (
        superuser(database)
        .execute(
            """
        select p.oid::regprocedure::text
        from pg_proc as p
        where p.pronamespace in ('kernel'::regnamespace, 'ledger'::regnamespace)
          and 'name'::regtype = any (p.proargtypes::oid[])
          and 'text'::regtype = any (p.proargtypes::oid[])
        """
        )
        .fetchall()
    )
    assert mixed == []

"""What a call costs where 100,000 operations are kept: what it needs of them, and no more.

They are filled in set-wise, the triggers off, since what is tested is how they are read. What a
call reads is counted by the server, with every statement in it.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, LiteralString, NamedTuple
from uuid import uuid4

import pytest
from psycopg import sql
from psycopg.types.json import Jsonb

if TYPE_CHECKING:
    from tests.pytest.conftest import Connection, MakePrincipal, Principal, Superuser

MANY = 100_000

# Of ten, five are completed, two failed, one released, one unknown, and one pending until later.
FILL = """
insert into ledger.operation
    (class, operation_key, incarnation, revision, state, duty, kind, target, ordinal, fingerprint,
     principal, principal_oid, token_sha256, begun_at, begun_xid, lease_expires_at, reason,
     created_at, updated_at, event_count, last_event)
select 'heap', 'key ' || n, gen_random_uuid(), 1, s.state, 'worker', 'http.post',
       'https://service.invalid/', 1, 'f', w.principal, w.principal_oid, sha256(n::text::bytea),
       now(), '3', case when s.state = 'pending' then now() + interval '1 hour' end,
       case when s.state in ('failed', 'unknown') then 'so' end,
       now() - n * interval '1 second', now() - n * interval '1 second', 1, 'begin'
from generate_series(1, %(many)s) as n
cross join (select * from ledger.enrolment where duty = 'worker') as w
cross join lateral (
    select case n %% 10 when 0 then 'pending' when 1 then 'unknown' when 2 then 'released'
                        when 3 then 'failed' when 4 then 'failed' else 'completed' end as state
) as s
"""
FILL_THE_REST = """
insert into ledger.operation_event
    (class, operation_key, event_no, incarnation, revision, event, from_state, to_state,
     by_principal, owner, token_sha256, is_late, at, epoch, xid)
select o.class, o.operation_key, 1, o.incarnation, 1, 'begin', 'none', 'pending', o.principal,
       o.principal, o.token_sha256, false, o.created_at, 0, '3'
from ledger.operation as o
"""
TABLES = ("operation", "operation_event")


class Cost(NamedTuple):
    """What the server counted of one call."""

    blocks: int
    rows: int
    scans: list[str]  # tables of operations that were read as a whole


class Heap:
    """A ledger with many operations, and who calls."""

    def __init__(self, god: Connection, people: dict[str, Principal]) -> None:
        self.god = god
        self.people = people

    def set_triggers(self, state: LiteralString) -> None:
        """Let the triggers of operations fire, or not."""
        for table in TABLES:
            self.god.execute(
                sql.SQL("alter table ledger.{} {} trigger all").format(
                    sql.Identifier(table), sql.SQL(state)
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
        with self.god.transaction():
            explained = self.god.execute(
                "explain (analyze, buffers, format json) select * from kernel."
                + call.replace("TOKEN", str(uuid4()))
            ).fetchone()
            assert explained is not None
            plan = explained[0] if isinstance(explained[0], list) else json.loads(explained[0])
            top: dict[str, Any] = plan[0]["Plan"]
            scanned = self.god.execute(
                "select t.relname from pg_stat_xact_all_tables as t "
                "where t.schemaname = 'ledger' and t.seq_scan > 0 and t.relname = any (%s)",
                (list(TABLES),),
            ).fetchall()
        return Cost(
            blocks=top["Shared Hit Blocks"] + top["Shared Read Blocks"],
            rows=top["Actual Rows"],
            scans=[name for (name,) in scanned],
        )


@pytest.fixture
def heap(scratch_database: str, principal: MakePrincipal, superuser: Superuser) -> Heap:
    """Return a ledger with 100,000 operations, none of it old enough to go."""
    god = superuser(scratch_database)
    people = {duty: principal(duty, f"fencepost_{duty}") for duty in ("worker", "reaper", "admin")}
    with people["admin"].connect(scratch_database, autocommit=True) as admin:
        admin.execute("select kernel.define_class('heap')")
        name = people["worker"].name
        admin.execute("select kernel.register_principal(%s)", (name,))
        admin.execute("select kernel.enrol('heap', %s, 'worker')", (name,))
        admin.execute("select kernel.authorise('heap', 'worker', 'http.post', 'https://*', true)")
        admin.execute("select kernel.authorise('heap', 'worker', 'git.push', 'r#*')")
        admin.execute(
            "select kernel.define_target('heap', 'target', '{}', '{}', %s)",
            (Jsonb({"command": ["true"]}),),
        )
        admin.execute("select kernel.open_campaign('heap', 'target', gen_random_uuid())")
    made = Heap(god, people)
    god.execute("set synchronous_commit = off")
    made.set_triggers("disable")
    god.execute(FILL, {"many": MANY})
    god.execute(FILL_THE_REST)
    for table in TABLES:
        god.execute(
            sql.SQL("alter table ledger.{} enable trigger all").format(sql.Identifier(table))
        )
    god.execute("vacuum (analyze) ledger.operation, ledger.operation_event")
    god.execute("select pg_stat_force_next_flush()")  # what filled it was read as a whole
    return made


POST = "p_kind => 'http.post', p_target => 'https://service.invalid/', p_fingerprint => 'f'"
CALLS = {
    "begin anew": (
        "worker",
        f"begin_operation('heap', 'TOKEN', {POST}, p_key => 'TOKEN')",
    ),
    "begin what is completed": (
        "worker",
        f"begin_operation('heap', 'TOKEN', {POST}, p_key => 'key 77777')",
    ),
    "get": ("worker", "get_operation('heap', 'key 77777')"),
    "history": ("worker", "operation_history('heap', 'key 77777')"),
    "a page by key": ("worker", "list_operations('heap', p_after_key => 'key 5', p_limit => 20)"),
    "the first page of a state": ("worker", "list_operations('heap', 'unknown', p_limit => 20)"),
    "a page in the midst of a state": (
        "worker",
        "list_operations('heap', 'completed', 'key 5', now() - interval '12 hours', 20)",
    ),
    "prune, nothing is old": ("reaper", "prune_operations('heap')"),
    "expire, nothing has run out": ("reaper", "expire_operations('heap')"),
}
# Blocks that a call may touch, everything counted: the enrolment, the authority, the triggers, the
# event, and the index down to the rows.
MOST_BLOCKS = 200


@pytest.mark.timeout(300)
def test_no_call_reads_more_operations_than_it_is_about(heap: Heap) -> None:
    found = {what: heap.cost(*call) for what, call in CALLS.items()}
    for what, seen in found.items():
        print(f"{what}: {max(cost.blocks for cost in seen)} blocks, "
              f"{max(cost.rows for cost in seen)} rows")  # fmt: skip
    complaints = [
        f"{what}: {cost}"
        for what, seen in found.items()
        for cost in seen
        if cost.scans or cost.blocks > MOST_BLOCKS
    ]
    assert not complaints, "\n".join(complaints)
    assert {cost.rows for cost in found["a page in the midst of a state"]} == {20}


@pytest.mark.timeout(300)
def test_nor_does_what_is_of_a_campaign(heap: Heap) -> None:
    """Its operations are found by the campaign, among 100,000 of no campaign."""
    god, token = heap.god, uuid4()
    worker = sql.Identifier(heap.people["worker"].name)
    god.execute(sql.SQL("set session authorization {}").format(worker))
    claimed = god.execute(
        "select campaign_id, generation from kernel.claim('heap', %s)", (token,)
    ).fetchone()
    god.execute("reset session authorization")
    assert claimed is not None
    begin = (
        "begin_operation('heap', 'TOKEN', p_kind => 'git.push', p_target => 'r#TOKEN', "
        f"p_fingerprint => 'f', p_campaign_id => {claimed[0]}, p_generation => {claimed[1]}, "
        f"p_token => '{token}', p_expected => "
        """'{"after": {"commit": "c"}}')"""
    )
    brief = f"brief('heap', {claimed[0]}, {claimed[1]}, '{token}')"
    for call in (begin, brief):
        seen = heap.cost("worker", call)
        print(f"{call[:5]}: {max(cost.blocks for cost in seen)} blocks")
        assert not [cost for cost in seen if cost.scans or cost.blocks > MOST_BLOCKS], seen


@pytest.mark.timeout(300)
def test_what_is_old_is_pruned_by_its_age_in_one_call(heap: Heap) -> None:
    """D09: 10,000 of them, with no look at those that stay."""
    heap.set_triggers("disable")
    heap.god.execute(
        "update ledger.operation set updated_at = updated_at - interval '60 days' "
        "where substr(operation_key, 5)::integer > 90000"
    )
    heap.set_triggers("enable")
    heap.god.execute("vacuum (analyze) ledger.operation")
    heap.god.execute("select pg_stat_force_next_flush()")
    name = sql.Identifier(heap.people["reaper"].name)
    heap.god.execute(sql.SQL("set session authorization {}").format(name))
    cost = heap.once("prune_operations('heap', 100)")
    pruned = heap.god.execute("select removed, is_more from kernel.prune_operations('heap', 5000)")
    assert pruned.fetchone() == (5000, True)
    pruned = heap.god.execute("select removed, is_more from kernel.prune_operations('heap', 5000)")
    assert pruned.fetchone() == (2900, False)
    heap.god.execute("reset session authorization")
    print(f"a hundred: {cost.blocks} blocks")
    assert not cost.scans
    # Each of the hundred, its event, the keys of both and what the trigger asks; not the 100,000.
    assert cost.blocks < 100 * 80

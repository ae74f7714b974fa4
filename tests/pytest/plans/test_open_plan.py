"""What an opening reads where one target of the class has nearly all of its campaigns."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.pytest.conftest import Connection, MakePrincipal, Superuser

CLOSED = 100_000
MOST_BLOCKS = 300

DEFINE = "select kernel.define_target('heap', %s, '{}', '{}', '{\"command\": [\"true\"]}')"

# As if the target had been opened and closed so often; set-wise, its triggers off.
BUSY = """
insert into ledger.campaign
    (class, target, state, opened_at, opened_by, desired_state, acceptance, promotes,
     separate_family, needs_evidence, generation, next_attempt_at, phase_since, closed_at,
     event_count, last_transition, last_at)
select 'heap', 'busy', 'cancelled', now(), 'postgres', '{}', '{}', false, false, false, 1, now(),
       now(), now(), 2, 'cancel', now()
from generate_series(1, %s::integer)
"""


def blocks(admin: Connection, target: str) -> int:
    """Open a campaign on a new target; return how many blocks were read for it."""
    admin.execute(
        "select kernel.define_target('heap', %s, '{}', '{}', '{\"command\": [\"true\"]}')",
        (target,),
    )
    row = admin.execute(
        "explain (analyze, buffers, format json) "
        "select * from kernel.open_campaign('heap', %s, gen_random_uuid())",
        (target,),
    ).fetchone()
    assert row is not None
    plan = row[0][0]["Plan"]
    return int(plan["Shared Hit Blocks"] + plan["Shared Read Blocks"])


def test_an_opening_reads_nothing_of_another_target(
    scratch_database: str, principal: MakePrincipal, superuser: Superuser
) -> None:
    """By the plan that the server settles on when it is asked often."""
    god = superuser(scratch_database)
    with principal("admin", "fencepost_admin").connect(scratch_database, autocommit=True) as admin:
        admin.execute("select kernel.define_class('heap', '{\"reopen_within\": \"0\"}')")
        admin.execute(DEFINE, ("busy",))
        god.execute("alter table ledger.campaign disable trigger all")
        god.execute(BUSY, (CLOSED,))
        god.execute("alter table ledger.campaign enable trigger all")
        god.execute("vacuum (analyze) ledger.campaign")

        admin.execute("set plan_cache_mode = force_generic_plan")
        found = [blocks(admin, f"quiet {number}") for number in range(4)]

    # The first fills the session's own caches. All campaigns of the class would be thousands.
    print(found)
    assert max(found[1:]) <= MOST_BLOCKS, found

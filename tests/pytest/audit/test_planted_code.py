"""A superuser's audit runs nobody's code: what was planted is named, and neither read nor planned.

Who owns the schema plants a function in every place from which PostgreSQL calls one when a
statement is planned or carried out. The function takes back the session's own role and reads a file
that only a superuser may; the server's log says that it ran.
"""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

import psycopg
import pytest

from tests.pytest.audit.conftest import document, run
from tests.pytest.conftest import PROJECT

if TYPE_CHECKING:
    from pathlib import Path

    from tests.pytest.conftest import Principal

STRIKE = """
    create schema planted;
    grant usage on schema planted to public;
    create function planted.strike(p_through text) returns integer language plpgsql immutable as $$
    begin
        perform pg_catalog.set_config('role', 'none', true);
        raise log 'STRUCK through %, in release %', p_through,
            pg_catalog.pg_read_file('PG_VERSION');
        return 1;
    exception
        when insufficient_privilege then
            return 1;
    end $$;
"""


@dataclass(frozen=True)
class Plant:
    """Where code is planted, what runs it, and what an audit says of it."""

    through: str
    statements: str
    struck_by: str
    """What a superuser may do without a thought; in a transaction that is rolled back."""
    rule: str
    object: str
    untried: str = ""
    """What the audit says that it left out."""
    by: str = "fencepost_owner"
    """Who plants it; an event trigger is a superuser's, and what it calls need not be."""

    def __str__(self) -> str:
        return self.through


OPEN = "grant usage on schema ledger to fencepost_worker;"
AS_WORKER = "set local role fencepost_worker;"

PLANTS = [
    Plant(
        "view",
        "alter table ledger.transition rename to kept;"
        "create view ledger.transition as"
        " select k.*, planted.strike('view') as struck from ledger.kept as k",
        "select to_jsonb(t) from ledger.transition as t",
        "tables/unexpected",
        "ledger.kept",
        "ledger.transition (other than deployed: ",
    ),
    Plant(
        "child",
        "create table planted.child () inherits (ledger.transition);"
        "create index on planted.child (transition) where planted.strike('child') > 0",
        "select to_jsonb(t) from ledger.transition as t",
        "tables/inherits",
        "planted.child",
    ),
    Plant(
        "policy",
        "alter table ledger.transition enable row level security, force row level security;"
        "create policy struck on ledger.transition using (planted.strike('policy') > 0)",
        "set local role fencepost_owner; explain select from ledger.transition",
        "tables/row_security",
        "ledger.transition",
        "ledger.transition (other than deployed: row_security)",
    ),
    Plant(
        "index",
        f"{OPEN} create index struck on ledger.seat (class) where planted.strike('index') > 0",
        f"{AS_WORKER} explain select from ledger.seat",
        "tables/unexpected_index",
        "struck on ledger.seat",
        "ledger.seat (other than deployed: indexes)",
    ),
    Plant(
        "statistics",
        f"{OPEN} create statistics planted.struck on (planted.strike('statistics') + 1), class"
        " from ledger.seat",
        f"{AS_WORKER} explain select from ledger.seat",
        "tables/unexpected_index",
        "planted.struck on ledger.seat",
        "ledger.seat (other than deployed: statistics)",
    ),
    Plant(
        "default",
        f"{OPEN} alter table ledger.seat alter column seat_no"
        " set default planted.strike('default')",
        f"{AS_WORKER} explain insert into ledger.seat default values",
        "tables/column",
        "ledger.seat.seat_no",
        "ledger.seat (other than deployed: columns)",
    ),
    Plant(
        "rule",
        f"{OPEN} create rule struck as on delete to ledger.seat do instead"
        " select planted.strike('rule')",
        f"{AS_WORKER} explain delete from ledger.seat",
        "tables/rewrite_rule",
        "struck on ledger.seat",
        "ledger.seat (other than deployed: rules)",
    ),
    Plant(
        "a view of auditors",
        "create or replace view audit.config as select c.* from ledger.config_event as c"
        " where planted.strike('a view of auditors') > 0;"
        "grant usage on schema audit to fencepost_worker;"
        "grant select on audit.config to fencepost_worker",
        f"{AS_WORKER} explain select from audit.config",
        "tables/view",
        "audit.config",
        "audit.config (other than deployed: ",
    ),
    Plant(
        "function",
        "create or replace function kernel.next_due(p_class text) returns timestamptz"
        " language sql immutable as $$ select case when planted.strike('function') > 0"
        " then null::timestamptz end $$;"
        "grant execute on function kernel.next_due(text) to fencepost_collector",
        "set local role fencepost_collector; explain select kernel.next_due(null)",
        "functions/altered",
        "kernel.next_due(p_class text)",
        "kernel.next_due(p_class text) (other than deployed: ",
    ),
    Plant(
        "another function",
        "create function kernel.unheard_of() returns integer language sql immutable as"
        " $$ select planted.strike('another function') $$;"
        "grant execute on function kernel.unheard_of() to fencepost_worker",
        f"{AS_WORKER} explain select kernel.unheard_of()",
        "functions/unexpected",
        "kernel.unheard_of()",
        "kernel.unheard_of() (it was not deployed)",
    ),
    Plant(
        "domain",
        "create domain planted.checked as text check (planted.strike('domain') > 0);"
        "create function kernel.of_checked(planted.checked) returns integer language sql"
        " as 'select 1';"
        "grant execute on function kernel.of_checked(planted.checked) to fencepost_worker",
        f"{AS_WORKER} explain select kernel.of_checked(null::planted.checked)",
        "functions/unexpected",
        "kernel.of_checked(planted.checked)",
        "kernel.of_checked(planted.checked) (it was not deployed)",
    ),
    Plant(
        "type",
        "create domain planted.checked as text check (planted.strike('type') > 0);"
        "alter type kernel.receipt add attribute struck planted.checked",
        """select (jsonb_populate_record(null::kernel.receipt, '{"struck": "now"}')).struck""",
        "tables/type",
        "kernel.receipt",
        "(it rests on kernel.receipt, which is not as deployed)",
    ),
    Plant(
        "child of a table under a view",
        "create table planted.child () inherits (ledger.config_event);"
        "create index on planted.child ((1))"
        " where planted.strike('child of a table under a view') > 0;"
        "grant usage on schema audit to fencepost_worker;"
        "grant select on audit.config to fencepost_worker",
        f"{AS_WORKER} explain select from audit.config",
        "tables/inherits",
        "planted.child",
        "audit.config (a relation that it may read is not as deployed)",
    ),
    Plant(
        "trigger",
        f"{OPEN} grant insert on ledger.seat to fencepost_worker;"
        "create function planted.fire() returns trigger language plpgsql as"
        " $$ begin perform planted.strike('trigger'); return null; end $$;"
        "create trigger a_struck before insert on ledger.seat execute function planted.fire()",
        # The ledger's own trigger comes after it, and refuses.
        "do $$ begin insert into ledger.seat default values;"
        " exception when others then null; end $$",
        "triggers/unexpected",
        "a_struck on ledger.seat",
        "ledger.seat (other than deployed: triggers)",
    ),
    Plant(
        "event trigger",
        "create function planted.watch() returns event_trigger language plpgsql as"
        " $$ begin perform planted.strike('event trigger'); end $$;"
        "create event trigger struck on ddl_command_end execute function planted.watch();"
        "alter function planted.watch() owner to fencepost_owner;"
        "grant temporary on database {database} to fencepost_worker",
        f"{AS_WORKER} create temporary table made (one integer)",
        "triggers/event",
        "event trigger struck",
        "event trigger struck would call planted.watch() of fencepost_owner, who is no superuser",
        by="superuser",
    ),
    Plant(
        "operator",
        "create function planted.same(name, name) returns boolean language sql as"
        " $$ select planted.strike('operator') > 0 $$;"
        "create operator planted.= (leftarg = name, rightarg = name, function = planted.same);"
        "alter database {database} set search_path = planted, pg_catalog",
        "set local search_path = planted, pg_catalog;"
        "select count(*) from pg_catalog.pg_namespace where nspname = current_user",
        "database/settings",
        "database {database}",
        by="deployer",
    ),
    Plant(
        "search_path",
        "create function planted.set_config(text, text, boolean) returns text language sql as"
        " $$ select planted.strike('search_path')::text $$;"
        "alter database {database} set search_path = planted, pg_catalog",
        "set local search_path = planted, pg_catalog; select set_config('a.b', 'c', true)",
        "database/settings",
        "database {database}",
        by="deployer",
    ),
]


def struck(log: Path, since: int, plant: Plant) -> bool:
    """Return whether the server's log says that the planted code ran as a superuser."""
    return f"STRUCK through {plant.through}, in release" in log.read_bytes()[since:].decode()


@pytest.fixture
def planted(scratch_database: str, deployer: Principal, plant: Plant) -> str:
    """Return a database in which its owner planted something."""
    hand = (
        psycopg.connect(dbname=scratch_database)
        if plant.by == "superuser"
        else deployer.connect(scratch_database)
    )
    hand.execute(STRIKE)
    hand.execute("grant all on schema planted to fencepost_owner")
    if plant.by == "fencepost_owner":
        hand.execute("set role fencepost_owner")
    hand.execute(plant.statements.replace("{database}", scratch_database).encode())
    hand.commit()
    hand.close()
    return scratch_database


@pytest.mark.parametrize("plant", PLANTS, ids=str)
def test_planted_code_does_not_run_and_is_named(plant: Plant, planted: str, cluster: Path) -> None:
    log = cluster / "server.log"

    before = len(log.read_bytes())
    found = document(run(None, planted, "--format", "json"))
    proved = subprocess.run(
        ["pg_prove", "--verbose", "-d", planted, "audit/tap.sql"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        cwd=PROJECT,
    ).stdout

    assert not struck(log, before, plant)
    named = plant.object.replace("{database}", planted)
    assert (plant.rule, named) in {(each["rule"], each["object"]) for each in found["findings"]}
    assert found["failed"] == []
    assert "\nnot ok" in proved
    assert "Parse errors" not in proved
    if plant.untried:
        assert any(plant.untried in each["reason"] for each in found["not_seen"])
        assert plant.untried in proved

    # Had somebody looked by hand, it would have run.
    with psycopg.connect(dbname=planted) as careless:
        careless.execute(plant.struck_by.encode())
        careless.rollback()
    assert struck(log, before, plant)

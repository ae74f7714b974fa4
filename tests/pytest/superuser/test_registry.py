"""What the deployer has put in a superuser's way does not run, and the superuser is told of it.

The deployer owns the database: schemas of any name are his to make, and its settings his to set.
Each plant makes an accomplice a superuser as soon as a superuser runs it. sqitch by itself, given a
registry and a psql, does run it: a plant that never bears proves nothing.
"""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from psycopg import sql

from tests.pytest.plan.sqitch import environment, run, sqitch
from tests.pytest.superuser.conftest import PLAN

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.pytest.conftest import Connection, MakePrincipal, Principal, Superuser

BARE = ("sqitch", "deploy", "--registry", "sqitch_superuser", "--client", "psql")
"""sqitch on this plan, without what superuser/sqitch looks at first."""

REMEDY = "drop schema sqitch_superuser cascade"

TRAP = """
create schema trap;
grant usage on schema trap to public;
create function trap.spring() returns void language plpgsql as $$
begin
    if (select r.rolsuper from pg_catalog.pg_roles as r where r.rolname = session_user) then
        perform pg_catalog.set_config('role', 'none', true);
        alter role {accomplice} superuser;
    end if;
end $$;
create function trap.before_row() returns trigger language plpgsql as $$
begin perform trap.spring(); return new; end $$;
"""


IN_THE_PATH = """
create function trap.holds(text) returns boolean language plpgsql as $$
begin perform trap.spring(); return true; end $$;
create domain trap.text as pg_catalog.text check (trap.holds(value));
alter database {database} set search_path = trap, pg_catalog;
"""
"""The registry's own columns are made of what the path finds under their type's name."""


@dataclass(frozen=True)
class Plant:
    """What the deployer does before a superuser comes."""

    name: str
    statements: str
    found: str
    """What the superuser is told, besides the remedy; empty where it does no harm."""
    begins: bool = True
    """Whether the deployer has begun to deploy the superuser's plan, which leaves its registry."""

    def __str__(self) -> str:
        return self.name


PLANTS = [
    Plant(
        "a trigger in the registry",
        """
        create trigger sprung before insert or update on sqitch_superuser.changes
        for each row execute function trap.before_row();
        create trigger sprung before insert or update on sqitch_superuser.events
        for each row execute function trap.before_row();
        """,
        "trigger sprung on table sqitch_superuser.changes",
    ),
    Plant(
        "a rule in the registry",
        """
        create rule sprung as on insert to sqitch_superuser.events do also select trap.spring();
        """,
        "rule sprung on table sqitch_superuser.events",
    ),
    Plant(
        "a check in the registry",
        """
        create function trap.holds(text) returns boolean language plpgsql as $$
        begin perform trap.spring(); return true; end $$;
        alter table sqitch_superuser.events add constraint sprung check (trap.holds(note));
        """,
        "constraint sprung on table sqitch_superuser.events uses function trap.holds(text)",
    ),
    Plant(
        "a schema of the registry's name",
        f"create schema sqitch_superuser; {IN_THE_PATH}",
        "schema sqitch_superuser belongs to deployer",
        begins=False,
    ),
    Plant("a search_path of the database's", IN_THE_PATH, "", begins=False),
    Plant(
        "a role of the database's",
        f"{IN_THE_PATH} alter database {{database}} set role = deployer;",
        "",
        begins=False,
    ),
]


@dataclass(frozen=True)
class Trap:
    """A database in which the deployer has laid a trap, and whoever comes by."""

    database: str
    deployer: Principal
    deployers: Connection
    root: Principal
    gods: Connection
    """The superuser's own, elsewhere."""
    accomplice: str

    def plant(self, plant: Plant) -> None:
        if plant.begins:
            begun = self.bare(self.deployer, *BARE)
            assert "deployer is no superuser" in begun.stdout
        self.deployers.execute(plant.statements.replace("{database}", self.database).encode())

    def bare(self, who: Principal, *command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*command, "--target", f"db:pg:{self.database}"],
            check=False,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=PLAN,
            env=environment(who, self.database),
        )

    def deploys(self) -> subprocess.CompletedProcess[str]:
        """Deploy the superuser's plan, as the howto says."""
        return run(self.root, self.database, "deploy", "--verify", plan=PLAN)

    def bore(self) -> bool:
        row = self.gods.execute(
            "select rolsuper from pg_roles where rolname = %s", (self.accomplice,)
        ).fetchone()
        assert row is not None
        return bool(row[0])


@pytest.fixture
def trap(
    plain_database: str,
    deployer: Principal,
    root: Principal,
    principal: MakePrincipal,
    superuser: Superuser,
) -> Iterator[Trap]:
    """Yield the trap; what it made of the accomplice is taken from him in the end."""
    accomplice = principal("accomplice").name
    deployers = deployer.connect(plain_database, autocommit=True)
    deployers.execute(TRAP.format(accomplice=accomplice).encode())
    gods = superuser()
    yield Trap(plain_database, deployer, deployers, root, gods, accomplice)
    gods.execute(sql.SQL("alter role {} nosuperuser").format(sql.Identifier(accomplice)))


@pytest.mark.parametrize("plant", PLANTS, ids=str)
def test_what_the_deployer_planted_is_not_run(
    plant: Plant, trap: Trap, superuser: Superuser
) -> None:
    trap.plant(plant)

    done = trap.deploys()

    assert not trap.bore()
    assert done.returncode == (2 if plant.found else 0), done.stdout
    if plant.found:
        assert plant.found in done.stdout
        assert REMEDY in done.stdout
        superuser(trap.database).execute(REMEDY.encode())
        again = trap.deploys()
        assert again.returncode == 0, again.stdout
        assert not trap.bore()


@pytest.mark.parametrize("plant", PLANTS, ids=str)
def test_sqitch_by_itself_would_run_it(plant: Plant, trap: Trap) -> None:
    trap.plant(plant)

    done = trap.bare(trap.root, *BARE)

    assert trap.bore(), done.stdout


@pytest.mark.parametrize("plant", PLANTS, ids=str)
def test_sqitch_as_it_is_configured_stops(plant: Plant, trap: Trap) -> None:
    trap.plant(plant)

    done = trap.bare(trap.root, "sqitch", "deploy")

    assert done.returncode != 0
    assert "run-superuser/sqitch-instead" in done.stdout
    assert not trap.bore()


@pytest.mark.parametrize(
    ("statement", "found"),
    [
        ("grant create on schema sqitch_superuser to deployer", "deployer may create in schema"),
        (
            "grant trigger on sqitch_superuser.changes to deployer",
            "deployer may trigger in table changes",
        ),
        (
            "alter table sqitch_superuser.tags owner to deployer",
            "table sqitch_superuser.tags belongs to deployer",
        ),
        (
            (
                "create function sqitch_superuser.now() returns text language sql"
                " as 'select null'; alter function sqitch_superuser.now() owner to deployer"
            ),
            "function sqitch_superuser.now() belongs to deployer",
        ),
        (
            (
                "create schema trap; create function trap.now() returns timestamptz language sql"
                " as 'select pg_catalog.now()';"
                " alter table sqitch_superuser.events alter committed_at set default trap.now()"
            ),
            "default value for column committed_at of table sqitch_superuser.events uses function",
        ),
        (
            (
                "create schema trap; create domain trap.note as text;"
                " alter table sqitch_superuser.changes alter note type trap.note"
            ),
            "column note of table sqitch_superuser.changes uses type trap.note",
        ),
    ],
)
def test_a_registry_that_somebody_was_let_into_is_refused(
    database: str, superuser: Superuser, root: Principal, statement: str, found: str
) -> None:
    sqitch(root, database, "verify", plan=PLAN)
    superuser(database).execute(statement.encode())

    refused = run(root, database, "verify", plan=PLAN)

    assert refused.returncode == 2
    assert found in refused.stdout
    assert REMEDY in refused.stdout


def test_a_record_that_was_dropped_is_made_anew(
    database: str, superuser: Superuser, root: Principal
) -> None:
    superuser(database).execute("alter schema sqitch_superuser owner to deployer")
    refused = run(root, database, "verify", plan=PLAN)
    # A shell is given no name that the deployer chose.
    anew = "\\setenv PGDATABASE :DBNAME\n\\! superuser/sqitch deploy --log-only --target db:pg:\n"
    assert (refused.returncode, anew in refused.stdout) == (2, True), refused.stdout

    superuser(database).execute(REMEDY.encode())
    sqitch(root, database, "deploy", "--log-only", plan=PLAN)

    assert "Verify successful" in sqitch(root, database, "verify", plan=PLAN)
    sqitch(root, database, "revert", "-y", plan=PLAN)


def test_the_kernel_s_registry_is_named_and_would_run_as_a_superuser(trap: Trap) -> None:
    trap.deployers.execute(
        "create trigger sprung before insert on sqitch.events"
        " for each row execute function trap.before_row()"
    )

    refused = trap.deploys()

    assert refused.returncode == 2
    assert "schema sqitch: trigger sprung on table sqitch.events" in refused.stdout
    assert not trap.bore()
    sqitch(trap.root, trap.database, "revert", "-y", "--to", "@HEAD^")
    assert trap.bore(), "the kernel's plan, run by a superuser, runs it"


def test_the_deployer_gets_no_registry(
    plain_database: str, deployer: Principal, superuser: Superuser
) -> None:
    refused = run(deployer, plain_database, "deploy", "--verify", plan=PLAN)

    assert refused.returncode != 0
    assert (
        superuser(plain_database)
        .execute("select from pg_namespace where nspname ~ 'sqitch_superuser'")
        .fetchall()
        == []
    )


@pytest.mark.parametrize(
    "statements",
    [
        # A view runs what it calls as who reads it.
        "create view ledger.footing as select 'dedicated' as footing from trap.sprung()",
        # A cast is in no schema: no search_path keeps it out.
        """
        create type trap.word as (word text);
        create function trap.said(trap.word) returns text language plpgsql as $$
        begin perform trap.spring(); return 'dedicated'; end $$;
        create cast (trap.word as text) with function trap.said(trap.word) as implicit;
        create table ledger.footing (footing trap.word);
        insert into ledger.footing values (row('dedicated'));
        """,
    ],
    ids=["a view", "a cast"],
)
def test_what_stands_in_the_footing_s_place_is_not_read(
    statements: str, trap: Trap, superuser: Superuser
) -> None:
    trap.deployers.execute(
        """
        create function trap.sprung() returns setof integer language plpgsql as $$
        begin perform trap.spring(); return next 1; end $$;
        grant create on schema trap to fencepost_owner;
        set role fencepost_owner;
        alter table ledger.footing rename to footing_as_it_was;
        """
    )
    trap.deployers.execute(statements.encode())
    naive = superuser(trap.database)
    naive.execute("set search_path = pg_catalog, pg_temp")

    refused = trap.deploys()

    assert refused.returncode == 2
    assert "ledger.footing is not the table that the kernel has" in refused.stdout
    assert "HINT:  See who may become fencepost_owner" in refused.stdout
    assert not trap.bore()
    naive.execute("select (select f.footing from ledger.footing as f) <> 'dedicated'")
    assert trap.bore(), "read by a superuser, it runs"


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("deploy",),
        ("deploy", "--target", "somewhere"),
        ("deploy", "--target", "db:pg:"),
        ("deploy", "--target", "db:pg:host=elsewhere"),
        ("deploy", "--target", "db:pg:my ledger"),
        ("deploy", "--target", "db:pg:ledger", "--registry", "sqitch"),
        ("deploy", "--target", "db:pg:ledger", "--client", "psql"),
        ("--chdir", "..", "deploy", "--target", "db:pg:ledger"),
    ],
)
def test_it_takes_one_database_and_its_own_registry(
    root: Principal, arguments: tuple[str, ...]
) -> None:
    done = subprocess.run(
        [PLAN / "sqitch", *arguments],
        check=False,
        capture_output=True,
        text=True,
        env={**environment(root, "postgres"), "PGDATABASE": ""},
    )

    assert (done.returncode, done.stdout) == (64, "")
    assert done.stderr.startswith("usage: superuser/sqitch COMMAND --target db:pg:DATABASE")

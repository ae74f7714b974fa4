"""A database of the ledger's own is closed to everybody else; a shared one stays as it is."""

from __future__ import annotations

import secrets
import subprocess
from typing import TYPE_CHECKING, LiteralString

import psycopg
import pytest
from psycopg import sql

from tests.pytest.conftest import DUTIES
from tests.pytest.plan.sqitch import (
    DATABASE_PRIVILEGES,
    PROJECT,
    deploy,
    dump,
    environment,
    run,
    sqitch,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.pytest.conftest import Connection, MakePrincipal, Principal, Superuser

# A hand writes it where its trigger is off, which alone would be found.
OFF = "alter table ledger.footing disable trigger footing_10_not_by_hand"
ON = "alter table ledger.footing enable always trigger footing_10_not_by_hand"

# The footing stands when the schemas do; what comes after it has no part in it.
FOOTING = ("--to", "foundation/footing")
SHARED = (*FOOTING, "--set", "footing=shared")


@pytest.fixture
def shared_database(empty_database: str, template: str, deployer: Principal) -> str:
    """Return a database that a ledger shares with others."""
    deployed = deploy(deployer, empty_database, *SHARED)
    assert deployed.returncode == 0, deployed.stdout
    return empty_database


def what_each_may(connection: Connection) -> dict[str, str]:
    """Return what PostgreSQL says to each thing that anybody may do in a new database."""
    answers = {}
    for what, statement in {
        "a temporary table": "create temporary table mine ()",
        "a function of public's": "select public.anybody()",
        "a table in public": "create table public.mine ()",
        "a schema": "create schema mine",
    }.items():
        try:
            connection.execute(statement.encode())
            answers[what] = "done"
        except psycopg.Error as error:
            answers[what] = error.diag.message_primary or ""
    return answers


def anybody(connection: Connection) -> None:
    connection.execute("create function public.anybody() returns int return 1")


def test_who_is_in_no_group_does_not_get_in(
    database: str, shared_database: str, principal: MakePrincipal
) -> None:
    stranger = principal("stranger")

    with pytest.raises(psycopg.OperationalError, match=f'denied for database "{database}"'):
        stranger.connect(database)

    stranger.connect(shared_database)


def test_a_member_that_does_not_inherit_does_not_get_in(
    database: str, principal: MakePrincipal, superuser: Superuser
) -> None:
    member = principal("member", "fencepost_worker")
    member.connect(database)
    name = sql.Identifier(member.name)
    connection = superuser()
    # From 16 on the membership says whether it is inherited, before that the role.
    connection.execute(sql.SQL("revoke fencepost_worker from {}").format(name))
    connection.execute(sql.SQL("alter role {} noinherit").format(name))
    connection.execute(sql.SQL("grant fencepost_worker to {}").format(name))

    with pytest.raises(psycopg.OperationalError, match=f'denied for database "{database}"'):
        member.connect(database)


@pytest.mark.parametrize("group", DUTIES)
def test_a_member_gets_in_and_makes_nothing(
    database: str, shared_database: str, principal: MakePrincipal, superuser: Superuser, group: str
) -> None:
    member = principal("member", f"fencepost_{group}")
    anybody(superuser(database))
    anybody(superuser(shared_database))

    assert what_each_may(member.connect(database, autocommit=True)) == {
        "a temporary table": (
            f'permission denied to create temporary tables in database "{database}"'
        ),
        "a function of public's": "permission denied for schema public",
        "a table in public": "permission denied for schema public",
        "a schema": f"permission denied for database {database}",
    }
    # What the pinned search_path of every function is for: here others may make things.
    assert what_each_may(member.connect(shared_database, autocommit=True)) == {
        "a temporary table": "done",
        "a function of public's": "done",
        "a table in public": "permission denied for schema public",
        "a schema": f"permission denied for database {shared_database}",
    }


@pytest.mark.parametrize("value", ["sharde", "", "Shared", "x'; drop schema kernel; --"])
def test_a_footing_that_is_none_is_refused_by_name(
    empty_database: str, template: str, deployer: Principal, superuser: Superuser, value: str
) -> None:
    refused = deploy(deployer, empty_database, *FOOTING, "--set", f"footing={value}")

    assert refused.returncode == 2
    assert f'ERROR:  footing "{value}" is none' in refused.stdout
    assert (
        "HINT:  Deploy with --set footing=dedicated or --set footing=shared."
        in refused.stdout.splitlines()
    )
    left = superuser(empty_database).execute(
        "select count(*) from pg_namespace where nspname in ('kernel', 'ledger', 'audit')"
    )
    assert left.fetchone() == (0,)


def test_a_shared_database_keeps_its_privileges(
    empty_database: str, template: str, deployer: Principal, superuser: Superuser
) -> None:
    before = superuser(empty_database).execute(DATABASE_PRIVILEGES).fetchall()

    deployed = deploy(deployer, empty_database, *SHARED)

    assert deployed.returncode == 0, deployed.stdout
    assert superuser(empty_database).execute(DATABASE_PRIVILEGES).fetchall() == before


def test_into_a_shared_database_the_groups_are_let_in_where_public_is_not(
    empty_database: str, template: str, deployer: Principal, superuser: Superuser
) -> None:
    connection = superuser(empty_database)
    connection.execute(f'revoke connect on database "{empty_database}" from public'.encode())
    before = connection.execute(DATABASE_PRIVILEGES).fetchall()

    deployed = deploy(deployer, empty_database, *SHARED)

    assert deployed.returncode == 0, deployed.stdout
    groups = [(f"fencepost_{group}", "CONNECT", False) for group in DUTIES]
    assert set(connection.execute(DATABASE_PRIVILEGES).fetchall()) == {*before, *groups}


@pytest.mark.parametrize("is_open", [True, False])
def test_a_shared_database_may_be_somebody_else_s(
    empty_database: str,
    template: str,
    deployer: Principal,
    superuser: Superuser,
    is_open: bool,  # noqa: FBT001
) -> None:
    connection = superuser(empty_database)
    database = sql.Identifier(empty_database)
    connection.execute(sql.SQL("alter database {} owner to postgres").format(database))
    connection.execute(sql.SQL("grant create, connect on database {} to deployer").format(database))
    if not is_open:
        connection.execute(sql.SQL("revoke connect on database {} from public").format(database))
    empty = dump(empty_database)

    deployed = deploy(deployer, empty_database, *SHARED)

    if not is_open:
        assert deployed.returncode == 2
        hint = "HINT:  Its owner runs first: "
        (said,) = (line for line in deployed.stdout.splitlines() if line.startswith(hint))
        connection.execute(said.removeprefix(hint).encode())
        deployed = deploy(deployer, empty_database, *SHARED)
    assert deployed.returncode == 0, deployed.stdout
    sqitch(deployer, empty_database, "verify")
    sqitch(deployer, empty_database, "revert", "-y")
    assert is_open is (dump(empty_database) == empty)


def test_a_schema_public_that_is_somebody_else_s_is_closed_by_its_owner_first(
    empty_database: str, template: str, deployer: Principal, superuser: Superuser
) -> None:
    connection = superuser(empty_database)
    connection.execute("alter schema public owner to postgres")

    refused = deploy(deployer, empty_database, *FOOTING)

    assert refused.returncode == 2
    assert "ERROR:  PUBLIC still may use schema public" in refused.stdout
    assert "DETAIL:  It belongs to postgres." in refused.stdout.splitlines()
    hint = "HINT:  Its owner runs first: "
    (said,) = (line for line in refused.stdout.splitlines() if line.startswith(hint))
    connection.execute(said.removeprefix(hint).encode())
    empty = dump(empty_database)

    deployed = deploy(deployer, empty_database, *FOOTING)

    assert deployed.returncode == 0, deployed.stdout
    sqitch(deployer, empty_database, "revert", "-y")
    assert dump(empty_database) == empty


@pytest.mark.parametrize("names", [["database"], ["schema public"], ["database", "schema public"]])
@pytest.mark.usefixtures("template")  # made the groups
def test_what_another_than_the_owner_gave_public_is_taken_back_by_that_role_first(
    empty_database: str,
    deployer: Principal,
    principal: MakePrincipal,
    superuser: Superuser,
    names: list[str],
) -> None:
    """A REVOKE of the owner's takes nothing of it, and says nothing."""
    connection = superuser(empty_database)
    helpers = [principal("helper_1").name, principal("helper_2").name]
    objects = [
        sql.SQL("database {}").format(sql.Identifier(empty_database))
        if name == "database"
        else sql.SQL(name)
        for name in names
    ]
    for each in objects:
        for helper in map(sql.Identifier, helpers):
            may = sql.SQL("grant all on {} to {} with grant option").format(each, helper)
            connection.execute(may)
            connection.execute(sql.SQL("set role {}").format(helper))
            connection.execute(sql.SQL("grant all on {} to public").format(each))
            connection.execute("reset role")

    refused = deploy(deployer, empty_database, *FOOTING)

    assert refused.returncode == 2
    said = refused.stdout.splitlines()
    assert any("ERROR:  PUBLIC still has what another than the owner gave it" in x for x in said)
    (detail,) = (line for line in said if line.startswith("DETAIL:  It was given by "))
    for each in objects:
        assert detail.count(each.as_string(connection).replace('"', "")) == len(helpers)
    hint = "HINT:  Who may become that role, as a superuser may, runs first: "
    (line,) = (line for line in said if line.startswith(hint))
    connection.execute(line.removeprefix(hint).encode())
    for each in objects:
        for helper in map(sql.Identifier, helpers):
            connection.execute(sql.SQL("revoke all on {} from {}").format(each, helper))

    deployed = deploy(deployer, empty_database, *FOOTING)

    assert deployed.returncode == 0, deployed.stdout
    assert "Verify successful" in sqitch(deployer, empty_database, "verify")


def test_a_schema_public_that_is_somebody_else_s_stays_so_in_a_shared_database(
    empty_database: str, template: str, deployer: Principal, superuser: Superuser
) -> None:
    connection = superuser(empty_database)
    connection.execute("alter schema public owner to postgres")
    connection.execute("grant create on schema public to public")

    deployed = deploy(deployer, empty_database, *SHARED)

    assert deployed.returncode == 0, deployed.stdout


def test_what_cannot_be_given_back_stops_the_revert(
    empty_database: str, template: str, deployer: Principal, superuser: Superuser
) -> None:
    connection = superuser(empty_database)
    name = sql.Identifier(empty_database)
    deployed = deploy(deployer, empty_database, *FOOTING)
    assert deployed.returncode == 0, deployed.stdout
    connection.execute(sql.SQL("alter database {} owner to postgres").format(name))
    connection.execute(sql.SQL("grant connect on database {} to deployer").format(name))

    refused = run(deployer, empty_database, "revert", "-y")

    assert refused.returncode == 2
    hint = "HINT:  Revert as who owns the database and its schema public."
    assert hint in refused.stdout.splitlines()
    assert "Verify successful" in sqitch(deployer, empty_database, "verify")


@pytest.mark.parametrize(
    "before",
    [
        pytest.param("select", id="as it is made"),
        pytest.param("revoke temporary on database {} from public", id="without temporary"),
        pytest.param("revoke all on database {} from public", id="closed"),
        pytest.param("grant create on database {} to public", id="open"),
        pytest.param("grant connect on database {} to fencepost_worker", id="a group is in"),
        pytest.param("grant create on schema public to public", id="as before 15"),
        pytest.param("revoke all on schema public from public", id="public is closed"),
        pytest.param("drop schema public", id="no public"),
    ],
)
@pytest.mark.parametrize("footing", ["dedicated", "shared"])
@pytest.mark.usefixtures("template")  # made the groups
def test_what_was_is_restored(
    empty_database: str,
    deployer: Principal,
    superuser: Superuser,
    before: LiteralString,
    footing: str,
) -> None:
    connection = superuser(empty_database)
    connection.execute(sql.SQL(before).format(sql.Identifier(empty_database)))
    privileges = connection.execute(DATABASE_PRIVILEGES).fetchall()
    empty = dump(empty_database)

    deployed = deploy(deployer, empty_database, *FOOTING, "--set", f"footing={footing}")
    while_deployed = connection.execute(DATABASE_PRIVILEGES).fetchall()
    sqitch(deployer, empty_database, "revert", "-y")

    assert deployed.returncode == 0, deployed.stdout
    of_public = [entry for entry in while_deployed if entry[0] == "public"]
    had = [entry for entry in privileges if entry[0] == "public"]
    assert of_public == ([] if footing == "dedicated" else had)
    assert connection.execute(DATABASE_PRIVILEGES).fetchall() == privileges
    assert dump(empty_database) == empty


@pytest.mark.parametrize(
    "altered",
    [
        "revoke all on database {} from public, fencepost_worker",
        "grant temporary on database {} to fencepost_worker",
        "grant connect on database {} to fencepost_worker with grant option",
        f"{OFF}; update ledger.footing set footing = 'dedicated'; {ON}",
        f"{OFF}; delete from ledger.footing; {ON}",
    ],
)
def test_what_is_altered_of_a_shared_database_is_found(
    shared_database: str, deployer: Principal, superuser: Superuser, altered: str
) -> None:
    assert "Verify successful" in sqitch(deployer, shared_database, "verify")
    superuser(shared_database).execute(altered.format(f'"{shared_database}"').encode())

    verified = run(deployer, shared_database, "verify")

    assert verified.returncode == 2
    (line,) = (line for line in verified.stdout.splitlines() if "* foundation/footing" in line)
    assert "ERROR: " in line


def test_a_dedicated_database_cannot_be_called_shared(
    scratch_database: str, superuser: Superuser
) -> None:
    """Who would have the verification look away has to leave what was taken untold as well."""
    with pytest.raises(psycopg.errors.CheckViolation, match="takes_nothing_when_shared"):
        superuser(scratch_database).execute("update ledger.footing set footing = 'shared'")


# -- a database of any name ------------------------------------------------------------------------


@pytest.fixture
def named_database(maintenance: Connection, name: str) -> Iterator[str]:
    """Yield a database of this name, and something that makes it the only one."""
    unique = f"{name} {secrets.token_hex(4)}"
    identifier = sql.Identifier(unique)
    maintenance.execute(sql.SQL("create database {} owner deployer").format(identifier))
    yield unique
    maintenance.execute(sql.SQL("drop database {} with (force)").format(identifier))


@pytest.mark.parametrize("name", ["my ledger", "a=b", """dbname=it's "my" \\ %20/ledger"""])
@pytest.mark.usefixtures("template")
def test_a_database_of_any_name_is_named_by_its_variable(
    named_database: str, deployer: Principal, superuser: Superuser
) -> None:
    """As docs/howto/deploy-with-sqitch.md says: sqitch reads a name in its target as options."""
    connection = superuser(named_database)

    def by_variable(*arguments: str) -> str:
        finished = subprocess.run(
            ["sqitch", *arguments, "--target", "db:pg:"],
            check=False,
            capture_output=True,
            text=True,
            cwd=PROJECT,
            env=environment(deployer, named_database),
        )
        assert finished.returncode == 0, finished.stdout + finished.stderr
        return finished.stdout

    before = connection.execute(DATABASE_PRIVILEGES).fetchall()

    by_variable("deploy", "--verify")

    assert "Verify successful" in by_variable("verify")
    admitted = [entry[0] for entry in connection.execute(DATABASE_PRIVILEGES).fetchall()]
    assert {*admitted} == {"deployer", *(f"fencepost_{duty}" for duty in DUTIES)}
    by_variable("revert", "-y")
    assert connection.execute(DATABASE_PRIVILEGES).fetchall() == before

"""Revert restores exactly, and one database of a cluster does not disturb another."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.pytest.plan.sqitch import DATABASE_PRIVILEGES, PROJECT, dump, environment, sqitch

if TYPE_CHECKING:
    from tests.pytest.conftest import MakePrincipal, Principal, Superuser


def schema(database: str) -> str:
    """Dump what is the same after every deployment: all but the ledger's own birth certificate."""
    return dump(database, "--exclude-table-data", "ledger.origin")


def deploy(database: str) -> None:
    subprocess.run([PROJECT / "tools" / "deploy", database], check=True, capture_output=True)


def test_deploy_revert_and_deploy_again(empty_database: str, deployer: Principal) -> None:
    empty = dump(empty_database)

    deploy(empty_database)
    deployed = schema(empty_database)
    sqitch(deployer, empty_database, "revert", "-y")
    reverted = dump(empty_database)
    deploy(empty_database)

    assert "kernel.claim(" in deployed
    assert reverted == empty
    assert schema(empty_database) == deployed


@pytest.mark.parametrize("footing", ["dedicated", "shared"])
def test_what_was_is_restored_also_when_the_ledger_has_rows(
    empty_database: str, deployer: Principal, principal: MakePrincipal, footing: str
) -> None:
    empty = dump(empty_database)

    sqitch(deployer, empty_database, "deploy", "--verify", "--set", f"footing={footing}")
    with principal("anna", "fencepost_admin").connect(empty_database) as admin:
        admin.execute("select kernel.define_class(p_class => 'repo')")
    deployed = dump(empty_database)
    sqitch(deployer, empty_database, "revert", "-y")

    assert deployed != empty
    assert dump(empty_database) == empty


def test_a_second_database_does_not_disturb_the_first(
    database: str, empty_database: str, deployer: Principal, superuser: Superuser
) -> None:
    memberships = """
        select roleid::regrole::text, member::regrole::text, grantor::regrole::text, admin_option
        from pg_auth_members order by 1, 2, 3
    """
    roles = "select rolname from pg_roles where rolname like 'fencepost\\_%' order by 1"
    first = dump(database)
    before = superuser().execute(memberships).fetchall()
    had = superuser().execute(roles).fetchall()

    deploy(empty_database)
    assert dump(database) == first
    sqitch(deployer, empty_database, "revert", "-y")

    assert dump(database) == first
    assert superuser().execute(memberships).fetchall() == before
    assert superuser().execute(roles).fetchall() == had
    assert len(had) == 8
    assert "Verify successful" in sqitch(deployer, database, "verify")


def test_two_deployments_at_once_leave_one(
    empty_database: str, deployer: Principal, database: str
) -> None:
    both = [
        subprocess.Popen(
            ["sqitch", "deploy", "--verify", "--target", f"db:pg:{empty_database}"],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=PROJECT,
            env=environment(deployer, empty_database),
        )
        for _ in range(2)
    ]
    shown = [process.communicate()[0] for process in both]

    # sqitch locks the database, and lets the other wait. With nothing left to do it exits with 1 or
    # 0, depending on when it sees that.
    assert {process.returncode for process in both} <= {0, 1}, shown
    assert sum("+ watch/refusals" in text for text in shown) == 1
    assert sum("Nothing to deploy (up-to-date)" in text for text in shown) == 1
    assert "Verify successful" in sqitch(deployer, empty_database, "verify")
    # In which order an object's privileges were given says nothing.
    assert sorted(schema(empty_database).splitlines()) == sorted(schema(database).splitlines())


def test_the_deployer_owns_the_database_and_no_kernel_object(
    database: str, superuser: Superuser
) -> None:
    owners = superuser(database).execute(
        """
        select p.proowner::regrole::text
        from pg_proc as p join pg_namespace as n on n.oid = p.pronamespace
        where n.nspname in ('kernel', 'ledger', 'audit')
        union
        select c.relowner::regrole::text
        from pg_class as c join pg_namespace as n on n.oid = c.relnamespace
        where n.nspname in ('kernel', 'ledger', 'audit')
        """
    )
    assert owners.fetchall() == [("fencepost_owner",)]


def test_a_copy_has_the_template_s_privileges(
    template: str, database: str, superuser: Superuser
) -> None:
    owner = "select datdba::regrole::text from pg_database where datname = current_database()"

    for query in (DATABASE_PRIVILEGES, owner):
        assert superuser(database).execute(query).fetchall() == (
            superuser(template).execute(query).fetchall()
        )

"""Revert restores exactly, and one database of a cluster does not disturb another."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.pytest.conftest import MakePrincipal, Principal, Superuser

PROJECT = Path(__file__).resolve().parents[3]

DATABASE_PRIVILEGES = """
    select coalesce(r.rolname, 'public'), a.privilege_type, a.is_grantable
    from pg_catalog.pg_database as d
    cross join pg_catalog.aclexplode(
        coalesce(d.datacl, pg_catalog.acldefault('d', d.datdba))
    ) as a
    left join pg_catalog.pg_roles as r on r.oid = a.grantee
    where d.datname = current_database()
    order by 1, 2
"""


def dump(database: str, *options: str) -> str:
    """Dump *database* with this major's own program, its name and the random lines aside.

    With --create, so that the privileges on the database itself are compared as well.
    """
    text = subprocess.run(
        ["pg_dump", "--create", "--exclude-schema", "sqitch", *options, database],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    text = re.sub(r"(?m)^\\(?:un)?restrict .*\n", "", text)
    return text.replace(database, "the_database")


def schema(database: str) -> str:
    """Dump what is the same after every deployment: all but the ledger's own birth certificate."""
    return dump(database, "--exclude-table-data", "ledger.origin")


def deploy(database: str) -> None:
    subprocess.run([PROJECT / "tools" / "deploy", database], check=True, capture_output=True)


def sqitch(principal: Principal, database: str, *arguments: str) -> str:
    """Run sqitch on *database* as *principal*; return what it printed."""
    result = subprocess.run(
        ["sqitch", *arguments, "--target", f"db:pg:{database}"],
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=PROJECT,
        env=sqitch_environment(principal, database),
    )
    assert result.returncode == 0, result.stdout
    return result.stdout


def sqitch_environment(principal: Principal, database: str) -> dict[str, str]:
    return principal.environment(database) | {
        "SQITCH_FULLNAME": principal.name,
        "SQITCH_EMAIL": f"{principal.name}@localhost",
    }


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


@pytest.mark.parametrize("public_has_temporary", [True, False])
def test_public_is_given_back_what_it_had_also_when_the_ledger_has_rows(
    empty_database: str,
    deployer: Principal,
    principal: MakePrincipal,
    superuser: Superuser,
    public_has_temporary: bool,  # noqa: FBT001
) -> None:
    connection = superuser(empty_database)
    if not public_has_temporary:
        connection.execute(f'revoke temporary on database "{empty_database}" from public')
    temporary = ("public", "TEMPORARY", False)
    before = connection.execute(DATABASE_PRIVILEGES).fetchall()
    empty = dump(empty_database)
    assert (temporary in before) is public_has_temporary

    deploy(empty_database)
    while_deployed = connection.execute(DATABASE_PRIVILEGES).fetchall()
    with principal("anna", "fencepost_admin").connect(empty_database) as admin:
        admin.execute("select kernel.define_class(p_class => 'repo')")
    sqitch(deployer, empty_database, "revert", "-y")

    assert while_deployed == [entry for entry in before if entry != temporary]
    assert connection.execute(DATABASE_PRIVILEGES).fetchall() == before
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
            env=sqitch_environment(deployer, empty_database),
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
    assert schema(empty_database) == schema(database)


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

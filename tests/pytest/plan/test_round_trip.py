"""Revert restores exactly, and one database of a cluster does not disturb another."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.pytest.conftest import Principal, Superuser

PROJECT = Path(__file__).resolve().parents[3]


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


def deploy(database: str) -> None:
    subprocess.run([PROJECT / "tools" / "deploy", database], check=True, capture_output=True)


def revert(database: str, deployer: Principal) -> None:
    subprocess.run(
        ["sqitch", "revert", "-y", "--target", f"db:pg:{database}"],
        check=True,
        capture_output=True,
        cwd=PROJECT,
        env=deployer.environment(database),
    )


def test_deploy_and_revert_leave_the_database_as_it_was(
    empty_database: str, deployer: Principal
) -> None:
    empty = dump(empty_database)

    deploy(empty_database)
    deployed = dump(empty_database, "--schema-only")
    revert(empty_database, deployer)

    assert dump(empty_database) == empty
    assert "kernel.claim(" in deployed

    deploy(empty_database)
    assert dump(empty_database, "--schema-only") == deployed


def test_a_second_database_does_not_disturb_the_first(
    database: str, empty_database: str, deployer: Principal, superuser: Superuser
) -> None:
    memberships = """
        select roleid::regrole::text, member::regrole::text, grantor::regrole::text, admin_option
        from pg_auth_members order by 1, 2, 3
    """
    first = dump(database)
    before = superuser().execute(memberships).fetchall()

    deploy(empty_database)
    assert dump(database) == first
    revert(empty_database, deployer)

    assert dump(database) == first
    assert superuser().execute(memberships).fetchall() == before
    verified = subprocess.run(
        ["sqitch", "verify", "--target", f"db:pg:{database}"],
        check=False,
        capture_output=True,
        text=True,
        cwd=PROJECT,
        env=deployer.environment(database),
    )
    assert verified.returncode == 0, verified.stdout + verified.stderr


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
    acl = """
        select d.datdba::regrole::text, array(select unnest(d.datacl)::text order by 1)
        from pg_database as d where d.datname = %s
    """
    connection = superuser()

    assert connection.execute(acl, (database,)).fetchone() == (
        connection.execute(acl, (template,)).fetchone()
    )

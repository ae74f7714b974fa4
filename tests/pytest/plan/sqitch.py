"""What the tests of the plans run: sqitch as a principal, and dumps that can be compared."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.pytest.conftest import Principal

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


def environment(principal: Principal, database: str) -> dict[str, str]:
    """Return an environment in which sqitch works as *principal*, under its name."""
    return principal.environment(database) | {
        "SQITCH_FULLNAME": principal.name,
        "SQITCH_EMAIL": f"{principal.name}@localhost",
    }


def run(
    principal: Principal, database: str, *arguments: str, plan: Path = PROJECT
) -> subprocess.CompletedProcess[str]:
    """Run sqitch on *database* as *principal*, in the folder of its plan."""
    own = plan / "sqitch"
    return subprocess.run(
        [own if own.exists() else "sqitch", *arguments, "--target", f"db:pg:{database}"],
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=plan,
        env=environment(principal, database),
    )


def sqitch(principal: Principal, database: str, *arguments: str, plan: Path = PROJECT) -> str:
    """Run sqitch, which must succeed; return what it printed."""
    result = run(principal, database, *arguments, plan=plan)
    assert result.returncode == 0, result.stdout
    return result.stdout


def deploy(
    principal: Principal, database: str, *arguments: str
) -> subprocess.CompletedProcess[str]:
    """Deploy the plan into *database* as *principal*, every change verified."""
    return run(principal, database, "deploy", "--verify", *arguments)


def dump(database: str, *options: str) -> str:
    """Dump *database* but for sqitch's own record, which says when it was deployed."""
    return dump_all(database, "--exclude-schema", "sqitch*", *options)


def dump_all(database: str, *options: str) -> str:
    """Dump *database* with this major's own program, its name and the random lines aside.

    With --create, so that the privileges on the database itself are compared as well.
    """
    text = subprocess.run(
        ["pg_dump", "--create", *options, database],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    text = re.sub(r"(?m)^\\(?:un)?restrict .*\n", "", text)
    return text.replace(database, "the_database")

"""tools/principal: a LOGIN role, its groups, its passfile."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.pytest.conftest import MakePrincipal, Superuser

TOOL = Path(__file__).resolve().parents[3] / "tools" / "principal"


def test_a_principal_may_log_in_and_nothing_else(
    principal: MakePrincipal, superuser: Superuser
) -> None:
    anna = principal("anna", "pg_read_all_settings")

    row = (
        superuser()
        .execute(
            """
            select r.rolcanlogin, r.rolinherit, r.rolsuper or r.rolcreaterole or r.rolcreatedb,
                   array(select m.roleid::regrole::text from pg_auth_members as m
                         where m.member = r.oid)
            from pg_roles as r where r.rolname = %s
            """,
            (anna.name,),
        )
        .fetchone()
    )

    assert row == (True, True, False, ["pg_read_all_settings"])


def test_made_again_it_has_a_new_password(principal: MakePrincipal) -> None:
    anna = principal("anna")
    before = anna.passfile.read_text()

    subprocess.run([TOOL, anna.name], check=True, capture_output=True)

    assert anna.passfile.read_text() != before
    anna.connect("postgres")


@pytest.mark.parametrize("name", ["", "Anna", "a b", "x'; drop role postgres; --", "../up", "1st"])
def test_a_name_that_would_need_quotes_is_refused(cluster: Path, name: str) -> None:
    refused = subprocess.run([TOOL, name], capture_output=True, text=True, check=False)
    assert refused.returncode == 64
    assert sorted(path.name for path in (cluster / "pass").iterdir() if not path.name.strip()) == []


def test_an_unknown_group_leaves_no_role(superuser: Superuser, cluster: Path) -> None:
    refused = subprocess.run(
        [TOOL, "half_made", "no_such_group"], capture_output=True, text=True, check=False
    )

    assert refused.returncode == 69
    assert not (cluster / "pass" / "half_made").exists()
    left = superuser().execute("select from pg_roles where rolname = 'half_made'").fetchall()
    assert left == []

"""A released change is reworked: the plan names it twice, and both versions are deployed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from contextlib import closing
from typing import TYPE_CHECKING

import psycopg
import pytest

from tests.pytest.plan.sqitch import PROJECT, dump, sqitch

if TYPE_CHECKING:
    from pathlib import Path

    from tests.pytest.conftest import Principal

CHANGE = "foundation/digest"
RELEASED = "The SHA-256 (32 bytes) of what a call said"
REWORKED = "The fingerprint (32 bytes) of what a call said"
COMMENT = "select obj_description('ledger.digest(jsonb)'::regprocedure)"

NAMED = {"SQITCH_FULLNAME": "Maintainer", "SQITCH_EMAIL": "maintainer@localhost"}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a copy of what is deployed and of the client, with a release and a change after it."""
    copy = tmp_path / "project"
    for part in ("deploy", "revert", "verify", "tools", "python_client/src"):
        shutil.copytree(PROJECT / part, copy / part)
    for name in ("sqitch.plan", "sqitch.conf", "python_client/pyproject.toml"):
        shutil.copy(PROJECT / name, copy / name)
    for name in ("python_client/hatch_build.py", "python_client/README.md"):
        shutil.copy(PROJECT / name, copy / name)
    ran(copy, "sqitch", "tag", "v0.1.0", "--note", "the first")
    ran(copy, "tools/rework", CHANGE, "Say what it is.")
    script = copy / "deploy" / f"{CHANGE}.sql"
    text = script.read_text()
    assert RELEASED in text
    script.write_text(text.replace(RELEASED, REWORKED))
    return copy


def ran(folder: Path, *command: str, **environment: str) -> str:
    done = subprocess.run(
        command,
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=folder,
        env=os.environ | NAMED | environment,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def written(client: Path, schema: str = "kernel") -> str:
    """Return the schema as one text, as the client at this place has it."""
    code = (
        "from fencepost.operations import schema;"
        f" print(schema.create_postgres_durable_operation_schema_sql({schema!r}), end='')"
    )
    return ran(client, sys.executable, "-c", code, PYTHONPATH=str(client))


def comment(database: str) -> str:
    with closing(psycopg.connect(dbname=database)) as connection:
        row = connection.execute(COMMENT).fetchone()
    assert row is not None
    return str(row[0])


def test_both_versions_are_deployed_and_reverted(
    empty_database: str, deployer: Principal, project: Path
) -> None:
    empty = dump(empty_database)

    sqitch(deployer, empty_database, "deploy", "--verify", "--to", "@v0.1.0", plan=project)
    assert comment(empty_database).startswith(RELEASED)
    sqitch(deployer, empty_database, "deploy", "--verify", plan=project)
    assert comment(empty_database).startswith(REWORKED)
    assert "Verify successful" in sqitch(deployer, empty_database, "verify", plan=project)

    sqitch(deployer, empty_database, "revert", "-y", "--to", "@v0.1.0", plan=project)
    assert comment(empty_database).startswith(RELEASED)
    sqitch(deployer, empty_database, "revert", "-y", plan=project)
    assert dump(empty_database) == empty


def test_one_text_makes_what_sqitch_deploys(
    empty_database: str, template: str, deployer: Principal, project: Path
) -> None:
    text = written(project / "python_client/src")
    with closing(deployer.connect(empty_database, autocommit=True)) as connection:
        connection.execute(text.encode())

    assert text.index(f"\n-- {CHANGE}@v0.1.0\n") < text.index(f"\n-- {CHANGE}\n")
    assert comment(empty_database).startswith(REWORKED)
    assert comment(template).startswith(RELEASED)
    assert (
        text.count("\n-- foundation/")
        == written(PROJECT / "python_client/src").count("\n-- foundation/") + 1
    )


def test_an_installed_client_has_both_versions(project: Path, tmp_path: Path) -> None:
    ran(
        project / "python_client",
        *(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)),
    )
    (wheel,) = tmp_path.glob("*.whl")
    installed = tmp_path / "installed"
    shutil.unpack_archive(wheel, installed, "zip")

    assert written(installed, "payments") == written(project / "python_client/src", "payments")


def test_a_version_that_was_not_kept_is_named(project: Path) -> None:
    (project / "reworked" / "deploy" / f"{CHANGE}@v0.1.0.sql").unlink()

    with pytest.raises(AssertionError, match=f"{CHANGE} was reworked, and no script of it is kept"):
        written(project / "python_client/src")


def test_what_was_released_is_kept_as_it_was(project: Path) -> None:
    for kind in ("deploy", "revert", "verify"):
        kept = project / "reworked" / kind / f"{CHANGE}@v0.1.0.sql"
        assert kept.read_text() == (PROJECT / kind / f"{CHANGE}.sql").read_text()
    first = (project / "revert" / f"{CHANGE}.sql").read_text().splitlines()[0]
    assert first == f"-- Revert fencepost:{CHANGE} from pg"
    again = subprocess.run(
        ["tools/rework", CHANGE, "Again, before a release."],
        check=False,
        capture_output=True,
        text=True,
        cwd=project,
        env=os.environ | NAMED,
    )
    assert again.returncode != 0
    assert "without an intervening tag" in again.stderr

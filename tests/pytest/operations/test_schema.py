"""The schema as one text: it makes a kernel, under whatever name, and nothing runs it by itself."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pglast
import psycopg
import pytest

from fencepost.operations import (
    Completed,
    EffectRunner,
    InvalidArgument,
    create_postgres_durable_operation_schema_sql,
    schema,
)
from tests.pytest.operations.conftest import GROUPS, Office

if TYPE_CHECKING:
    from tests.pytest.conftest import MakePrincipal, Principal, Superuser

PROJECT = Path(__file__).resolve().parents[3]

NAMES = """
select n.nspname, c.relname, c.relkind::text, obj_description(c.oid, 'pg_class')
from pg_catalog.pg_class as c
join pg_catalog.pg_namespace as n on n.oid = c.relnamespace
where n.nspname = any (%s) and c.relkind in ('r', 'v', 'i', 'c')
union all
select n.nspname, p.proname, p.prokind::text, array_to_string(p.proacl, ' ')
from pg_catalog.pg_proc as p
join pg_catalog.pg_namespace as n on n.oid = p.pronamespace
where n.nspname = any (%s)
order by 1, 2, 3, 4
"""


def people(principal: MakePrincipal) -> dict[str, Principal]:
    return {name: principal(name, f"fencepost_{group}") for name, group in GROUPS.items()}


@pytest.mark.parametrize("name", ["payments", "kernel"])
def test_one_string_makes_a_kernel_that_works(
    empty_database: str, principal: MakePrincipal, deployer: Principal, name: str
) -> None:
    with closing(deployer.connect(empty_database, autocommit=True)) as connection:
        connection.execute(create_postgres_durable_operation_schema_sql(name).encode())
        row = connection.execute("select current_user, session_user").fetchone()
        assert row == ("deployer", "deployer")
    office = Office(empty_database, people(principal), "invoices", schema=name)
    office.define()
    runner = EffectRunner(office.store())
    assert runner.run("k", "f", lambda _: Completed(result={"n": 1})).state == "completed"
    replay = EffectRunner(office.store("rival")).run("k", "f", lambda _: Completed())
    assert (replay.state, replay.result) == ("replayed", {"n": 1})
    assert len(office.store().history("k")) == 3


def test_under_another_name_it_is_what_sqitch_deploys(
    empty_database: str, deployer: Principal, template: str, superuser: Superuser
) -> None:
    """Every table, index, view, type and function, with its comment and its privileges."""
    with closing(deployer.connect(empty_database, autocommit=True)) as connection:
        connection.execute(create_postgres_durable_operation_schema_sql("payments").encode())
    with closing(psycopg.connect(dbname=template, autocommit=True)) as connection:
        schemas = ["kernel", "ledger", "audit"]
        wanted = connection.execute(NAMES, (schemas, schemas)).fetchall()
    names = {"payments": "kernel", "payments_ledger": "ledger", "payments_audit": "audit"}
    found = superuser(empty_database).execute(NAMES, ([*names], [*names])).fetchall()

    def plain(about: str | None) -> str | None:
        for new, old in sorted(names.items(), reverse=True):
            about = about.replace(f"{new}.", f"{old}.") if about else about
        return about

    assert sorted((names[row[0]], *row[1:3], plain(row[3]) or "") for row in found) == sorted(
        (*row[:3], row[3] or "") for row in wanted
    )


@pytest.mark.parametrize("footing", ["shared", "dedicated"])
def test_the_application_s_database_is_closed_only_if_that_was_said(
    empty_database: str, principal: MakePrincipal, deployer: Principal, footing: str
) -> None:
    text = create_postgres_durable_operation_schema_sql("payments", footing=footing)
    with closing(deployer.connect(empty_database, autocommit=True)) as connection:
        connection.execute(text.encode())
    stranger, worker = principal("stranger"), principal("worker", "fencepost_worker")

    worker.connect(empty_database)
    if footing == "shared":
        stranger.connect(empty_database)
    else:
        with pytest.raises(psycopg.OperationalError, match="permission denied for database"):
            stranger.connect(empty_database)


@pytest.mark.parametrize("footing", ["", "Shared", "x'; drop schema public; --"])
def test_a_footing_that_is_none_is_refused(footing: str) -> None:
    with pytest.raises(InvalidArgument, match="is no footing: shared or dedicated"):
        create_postgres_durable_operation_schema_sql(footing=footing)


def test_nothing_of_the_old_names_is_left_where_they_are_names(
    empty_database: str, deployer: Principal, superuser: Superuser
) -> None:
    with closing(deployer.connect(empty_database, autocommit=True)) as connection:
        connection.execute(create_postgres_durable_operation_schema_sql("payments").encode())
    left = (
        superuser(empty_database)
        .execute(
            r"""
            select p.oid::regprocedure::text,
                   regexp_matches(p.prosrc, '\y(?:kernel|ledger|audit)\.\w+', 'g')
            from pg_catalog.pg_proc as p
            where p.pronamespace in ('payments'::regnamespace, 'payments_ledger'::regnamespace)
            union all
            select p.oid::regprocedure::text,
                   regexp_matches(p.prosrc, '''(?:kernel|ledger|audit)''', 'g')
            from pg_catalog.pg_proc as p
            where p.pronamespace in ('payments'::regnamespace, 'payments_ledger'::regnamespace)
            """
        )
        .fetchall()
    )
    assert left == []


def test_it_runs_inside_a_transaction_of_the_applications(
    empty_database: str, deployer: Principal
) -> None:
    text = create_postgres_durable_operation_schema_sql("payments")
    with closing(deployer.connect(empty_database)) as connection:
        connection.execute(text.encode())
        connection.rollback()
        found = connection.execute(
            "select count(*) from pg_namespace where nspname ~ 'payments'"
        ).fetchone()
        assert found == (0,)
        connection.rollback()
        connection.execute(text.encode())
        row = connection.execute("select current_user").fetchone()
        assert row == ("deployer",)
        connection.commit()
        path = connection.execute("show search_path").fetchone()
        assert path == ('"$user", public',)


def test_it_has_no_transaction_of_its_own() -> None:
    kinds = [
        type(statement.stmt).__name__
        for statement in pglast.parse_sql(create_postgres_durable_operation_schema_sql("payments"))
    ]
    assert "TransactionStmt" not in kinds
    assert kinds.count("CreateSchemaStmt") == 3


@pytest.mark.parametrize(
    "name", ["", "Payments", "pg_payments", "a b", 'x"y', "x;drop", "1st", "x" * 57, "ß", "x\n"]
)
def test_a_name_that_is_none_is_refused(name: str) -> None:
    with pytest.raises(InvalidArgument):
        create_postgres_durable_operation_schema_sql(name)


def test_the_constant_is_the_kernel_as_it_is() -> None:
    assert (
        create_postgres_durable_operation_schema_sql("kernel")
    ) == schema.POSTGRES_DURABLE_OPERATION_SCHEMA_SQL


def test_it_follows_the_plan() -> None:
    text = create_postgres_durable_operation_schema_sql()
    order = [text.index(f"\n-- {change}\n") for change in schema.changes()]
    assert order == sorted(order)
    scripts = {
        str(path.relative_to(PROJECT / "deploy").with_suffix(""))
        for path in (PROJECT / "deploy").rglob("*.sql")
    }
    assert {change for change in schema.changes() if "@" not in change} == scripts


def test_no_script_has_a_second_copy(tmp_path: Path) -> None:
    """They are in a wheel, and in the repository only below ``deploy/``."""
    tracked = subprocess.run(
        ["git", "ls-files", "python_client"],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    assert not [name for name in tracked if name.endswith((".sql", "sqitch.plan"))]
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)],
        cwd=PROJECT / "python_client",
        capture_output=True,
        check=True,
    )
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "installed")
    code = (
        "from fencepost.operations import schema; "
        "print(schema.create_postgres_durable_operation_schema_sql('payments'), end='')"
    )
    made = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": str(tmp_path / "installed")},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert made.stdout == create_postgres_durable_operation_schema_sql("payments")


def test_the_adapter_never_runs_it() -> None:
    """Neither it nor what it is made of knows the module."""
    package = PROJECT / "python_client/src/fencepost/operations"
    for name in ("adapter", "base", "statements", "records", "runner", "store"):
        assert "schema import" not in (package / f"{name}.py").read_text(encoding="utf-8")

"""Databases and principals for tests that need several real sessions.

Run below ``tools/with-postgres`` (``make test-pytest`` does). The plan is deployed once, by a role
that is no superuser; every test works on a copy of its own and may commit to it as it likes. Tests
act as LOGIN roles over connections of their own, each with its own password.
"""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
import time
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from typing import TYPE_CHECKING, Any, LiteralString, Protocol, TypeAlias

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo
from psycopg.rows import TupleRow

from tests.pytest.invariants import broken, is_kernel

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

PROJECT = Path(__file__).resolve().parents[2]

DUTIES = ("worker", "verifier", "reaper", "sensor", "admin", "auditor", "collector")
"""Every duty; its group role is fencepost_ and its name."""

Connection: TypeAlias = psycopg.Connection[TupleRow]


def wait_for(holds: Callable[[], object], what: str, within: float = 30) -> None:
    """Look until something holds; fail with *what* was waited for after *within* seconds."""
    deadline = time.monotonic() + within
    while not holds():
        assert time.monotonic() < deadline, f"waited {within:g} s in vain: {what}"
        time.sleep(0.02)


def pytest_configure() -> None:
    """Start every program with SIGINT and SIGTERM as they come from a terminal.

    A shell starts its background jobs with SIGINT ignored, and whatever they start inherits that:
    under such a job no program would end on SIGINT, and no test of that could pass.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if signal.getsignal(signal.SIGTERM) is signal.SIG_IGN:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


@pytest.fixture(autouse=True)
def _signals() -> None:
    """Blame whoever came before for a signal that this test's programs would inherit as ignored."""
    ignored = [
        number.name
        for number in (signal.SIGINT, signal.SIGTERM)
        if signal.getsignal(number) is signal.SIG_IGN
    ]
    assert not ignored, f"an earlier test has these ignored from now on: {ignored}"


@dataclass(frozen=True)
class Principal:
    """A LOGIN role of the cluster, with the password that only its passfile holds."""

    name: str
    passfile: Path
    _open: ExitStack = field(repr=False, compare=False)

    def conninfo(self, database: str) -> str:
        """Return what libpq needs to connect this principal to *database*."""
        return make_conninfo(
            host=os.environ["PGHOST"],
            port=os.environ["PGPORT"],
            user=self.name,
            dbname=database,
            passfile=str(self.passfile),
        )

    def environment(self, database: str) -> dict[str, str]:
        """Return an environment in which a program connects as this principal to *database*."""
        return os.environ | {
            "PGUSER": self.name,
            "PGDATABASE": database,
            "PGPASSFILE": str(self.passfile),
        }

    def connect(self, database: str, *, autocommit: bool = False) -> Connection:
        """Connect to *database*; the connection is closed at the end of the test."""
        connection = psycopg.connect(self.conninfo(database), autocommit=autocommit)
        return self._open.enter_context(closing(connection))


class MakePrincipal(Protocol):
    """What the fixture ``principal`` is."""

    def __call__(self, name: str, /, *groups: str) -> Principal: ...


class Superuser(Protocol):
    """What the fixture ``superuser`` is."""

    def __call__(self, database: str = "postgres", /) -> Connection: ...


# -- the cluster -----------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def cluster() -> Path:
    """Return the folder of the cluster that the tests run on."""
    folder = os.environ.get("FENCEPOST_CLUSTER")
    if folder is None:
        pytest.fail(
            "this test needs a server: run `make test-pytest`, or pytest below "
            "`tools/with-postgres 18 -- ...`",
            pytrace=False,
        )
    return Path(folder)


@pytest.fixture(scope="session")
def major(cluster: Path) -> int:
    """Return the server's major version."""
    return int(os.environ["FENCEPOST_MAJOR"])


@pytest.fixture(scope="session")
def maintenance(cluster: Path) -> Iterator[Connection]:
    """Yield the superuser's connection to database ``postgres``, for the fixtures' own use."""
    with closing(psycopg.connect(dbname="postgres", autocommit=True)) as connection:
        yield connection


# -- databases -------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def template(maintenance: Connection) -> Iterator[str]:
    """Yield a database with the whole plan deployed by ``deployer``, every change verified."""
    name = _unique("fencepost_template")
    deploy = subprocess.run(
        [PROJECT / "tools" / "deploy", name], capture_output=True, text=True, check=False
    )
    if deploy.returncode != 0:
        pytest.fail(f"sqitch deploy\n{deploy.stdout}{deploy.stderr}", pytrace=False)
    yield name
    _run(maintenance, "drop database {} with (force)", name)


@pytest.fixture
def scratch_database(maintenance: Connection, template: str) -> Iterator[str]:
    """Yield a copy of the template that the test may spoil."""
    name = _unique("fencepost_test")
    copy_database(maintenance, template, name)
    yield name
    _run(maintenance, "drop database {} with (force)", name)


@pytest.fixture
def database(scratch_database: str) -> Iterator[str]:
    """Yield a copy of the template that the test has for itself.

    Whatever the test did, the invariants of tests/invariants.sql hold of it afterwards.
    """
    yield scratch_database
    complaints = _broken_invariants(scratch_database)
    if complaints:
        pytest.fail("an invariant is broken\n" + "\n".join(complaints), pytrace=False)


@pytest.fixture
def empty_database(maintenance: Connection) -> Iterator[str]:
    """Yield a new database that belongs to ``deployer``."""
    name = _unique("fencepost_empty")
    _run(maintenance, "create database {} owner deployer", name)
    yield name
    _run(maintenance, "drop database {} with (force)", name)


def _broken_invariants(database: str) -> list[str]:
    """Return which invariants do not hold in *database*; none where it has no kernel any more."""
    with closing(psycopg.connect(dbname=database, autocommit=True)) as connection:
        return broken(connection, PROJECT) if is_kernel(connection) else []


def copy_database(connection: Connection, source: str, target: str) -> None:
    """Make *target*, which belongs to ``deployer``, of *source*, with its privileges."""
    _run(connection, "create database {} template {} owner deployer", target, source)
    copy_privileges(connection, source, target)


def copy_privileges(connection: Connection, source: str, target: str) -> None:
    """Give database *target* the privileges of *source*, which ``template`` does not copy."""
    _run(connection, "revoke all on database {} from public", target)
    granted = connection.execute(
        """
        select a.privilege_type, coalesce(r.rolname, 'public'), a.is_grantable
        from pg_catalog.pg_database as d
        cross join pg_catalog.aclexplode(
            coalesce(d.datacl, pg_catalog.acldefault('d', d.datdba))
        ) as a
        left join pg_catalog.pg_roles as r on r.oid = a.grantee
        where d.datname = %s
        """,
        (source,),
    ).fetchall()
    for privilege, grantee, is_grantable in granted:
        connection.execute(
            sql.SQL("grant {} on database {} to {} {}").format(
                sql.SQL(privilege),
                sql.Identifier(target),
                sql.SQL("public") if grantee == "public" else sql.Identifier(grantee),
                sql.SQL("with grant option" if is_grantable else ""),
            )
        )


# -- principals ------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def made_roles(maintenance: Connection) -> Iterator[list[str]]:
    """Yield a list of roles to drop at the end, when no database knows them any more."""
    names: list[str] = []
    yield names
    for name in names:
        _run(maintenance, "drop role {}", name)


@pytest.fixture(scope="session")
def principal_tool() -> Any:
    """Return tools/principal as a module: a test makes many, and a process for each takes long."""
    return tool("principal")


def tool(name: str) -> Any:
    """Return a program of tools/ as a module."""
    loader = SourceFileLoader(f"tools_{name}", str(PROJECT / "tools" / name))
    specification = spec_from_loader(loader.name, loader)
    assert specification is not None
    module = module_from_spec(specification)
    sys.modules[loader.name] = module  # where dataclasses look their own module up
    loader.exec_module(module)
    return module


@pytest.fixture
def principal(
    cluster: Path, maintenance: Connection, made_roles: list[str], principal_tool: Any
) -> Iterator[MakePrincipal]:
    """Yield a function that makes a LOGIN role, in the group roles named.

    The role's name is unique: it begins with the name given. ``principal("anna",
    "fencepost_worker")`` is a worker that may log in, and is enrolled in nothing yet.
    """
    with ExitStack() as opened:

        def make(name: str, /, *groups: str) -> Principal:
            unique, password = _unique(name), secrets.token_urlsafe(24)
            maintenance.execute(principal_tool.statements(unique, groups, password))
            made_roles.append(unique)
            passfile = principal_tool.write(cluster / "pass", unique, password)
            return Principal(unique, passfile, opened)

        yield make


@pytest.fixture
def deployer(cluster: Path) -> Iterator[Principal]:
    """Yield the principal that deploys: it may create roles, and is no superuser."""
    with ExitStack() as opened:
        yield Principal("deployer", cluster / "pass" / "deployer", opened)


@pytest.fixture
def superuser(cluster: Path) -> Iterator[Superuser]:
    """Yield a function that connects the superuser to a database, in autocommit."""
    with ExitStack() as opened:

        def connect(database: str = "postgres", /) -> Connection:
            connection = psycopg.connect(dbname=database, autocommit=True)
            return opened.enter_context(closing(connection))

        yield connect


# -- small things ----------------------------------------------------------------------------------


def _unique(name: str) -> str:
    return f"{name}_{secrets.token_hex(4)}"


def _run(connection: Connection, statement: LiteralString, *names: str) -> None:
    """Run *statement*, its placeholders filled with *names* as identifiers."""
    connection.execute(sql.SQL(statement).format(*map(sql.Identifier, names)))

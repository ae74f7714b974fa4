"""The two kernels' databases and roles, made once, and a copy of one for every attack."""

from __future__ import annotations

import secrets
import subprocess
from contextlib import ExitStack, closing, contextmanager
from typing import TYPE_CHECKING, Any, Protocol

import psycopg
import pytest
from psycopg import sql
from psycopg.types.json import Jsonb

from tests.pytest.attacks.kernels import (
    CAMPAIGNS,
    LOSSES,
    SEATS,
    SECRET,
    Deployed,
    Kernel,
    Naive,
)
from tests.pytest.attacks.scene import Scene
from tests.pytest.conftest import DUTIES, PROJECT, Principal, copy_database
from tests.pytest.own_server import Server, cluster, own_server

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from tests.pytest.conftest import Connection

# Databases and roles are made on a server of these tests' own.
__all__ = ["cluster"]

POLICY = {
    "lease_min": "1 second", "seats": SEATS, "loss_budget": LOSSES, "needs_evidence": True,
    "backoff_base": "1 minute", "reopen_within": "0",
}  # fmt: skip


class MakeScene(Protocol):
    """What the fixture ``scene_of`` is."""

    def __call__(self, kernel: str, /, *, changed: str = "") -> AbstractContextManager[Scene]: ...


class _Cast:
    """Roles with passwords, for as long as the attacks last."""

    def __init__(self, folder: Path, maintenance: Connection, tool: Any, opened: ExitStack) -> None:
        self._folder = folder / "pass"
        self._maintenance = maintenance
        self._tool = tool
        self._opened = opened
        self.people: dict[str, Principal] = {}

    def make(self, name: str, *groups: str) -> str:
        """Make a LOGIN role; return its name."""
        password = secrets.token_urlsafe(24)
        self._maintenance.execute(self._tool.statements(name, groups, password))
        passfile = self._tool.write(self._folder, name, password)
        self.people[name] = Principal(name, passfile, self._opened)
        return name

    def drop(self) -> None:
        """Drop them, and what they were granted on the server."""
        for name in self.people:
            role = sql.Identifier(name)
            self._maintenance.execute(sql.SQL("drop owned by {}").format(role))
            self._maintenance.execute(sql.SQL("drop role {}").format(role))


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """Yield a server on which more can be attacked than with its defaults."""
    with own_server(
        {"shared_preload_libraries": "pg_stat_statements", "max_prepared_transactions": "1"}
    ) as made:
        yield made


@pytest.fixture(scope="module")
def maintenance(server: Server) -> Iterator[Connection]:
    """Yield the superuser's connection to database ``postgres`` of that server."""
    with closing(psycopg.connect(dbname="postgres", autocommit=True)) as connection:
        yield connection


@pytest.fixture(scope="module")
def template(server: Server) -> str:
    """Return the database of that server with the whole plan deployed."""
    return server.template


@pytest.fixture(scope="module")
def cast(cluster: Path, maintenance: Connection, principal_tool: Any) -> Iterator[_Cast]:
    """Yield what makes the attackers' roles, and drops them."""
    with ExitStack() as opened:
        made = _Cast(cluster, maintenance, principal_tool, opened)
        yield made
        made.drop()


@contextmanager
def _database(maintenance: Connection, name: str, template: str | None = None) -> Iterator[str]:
    if template is None:  # with what PUBLIC has in a new one
        maintenance.execute(
            sql.SQL("create database {} owner deployer").format(sql.Identifier(name))
        )
    else:
        copy_database(maintenance, template, name)
    try:
        yield name
    finally:
        maintenance.execute(sql.SQL("drop database {} with (force)").format(sql.Identifier(name)))


@pytest.fixture(scope="module")
def naive(cast: _Cast, maintenance: Connection) -> Iterator[tuple[Kernel, str]]:
    """Yield the naive kernel, and the database that is copied for every attack on it."""
    names = {(duty, 0): cast.make(f"naive_{duty}") for duty in ("owner", *DUTIES)}
    names["worker", 1] = names["worker", 0]  # both log in as one
    names["rival", 0] = names["outsider", 0] = names["sensor", 0]
    with _database(maintenance, f"naive_{secrets.token_hex(4)}") as name:
        with closing(psycopg.connect(dbname=name, autocommit=True)) as god:
            god.execute(Naive.script.read_bytes())
        yield Naive(names), name


@pytest.fixture(scope="module")
def deployed(cast: _Cast, maintenance: Connection, template: str) -> Iterator[tuple[Kernel, str]]:
    """Yield the kernel that sqitch deployed, and the database that is copied for every attack."""
    unique = secrets.token_hex(4)
    names = {(duty, 0): cast.make(f"{duty}_{unique}", f"fencepost_{duty}") for duty in DUTIES}
    names["worker", 1] = names["rival", 0] = cast.make(f"worker1_{unique}", "fencepost_worker")
    names["outsider", 0] = cast.make(f"outsider_{unique}", "fencepost_worker")
    with _database(maintenance, f"guarded_{unique}", template) as name:
        admin = cast.people[names["admin", 0]]
        with closing(psycopg.connect(admin.conninfo(name), autocommit=True)) as connection:
            _people(connection, names)
        yield Deployed(names), name


@pytest.fixture(scope="module")
def hardened(
    deployed: tuple[Kernel, str], maintenance: Connection, spares: dict[str, str]
) -> Iterator[tuple[Kernel, str]]:
    """Yield the same, with what a superuser may deploy over it."""
    kernel, template = deployed
    with _database(maintenance, f"hardened_{secrets.token_hex(4)}", template) as name:
        subprocess.run(
            [PROJECT / "tools" / "deploy", "--superuser", name], check=True, capture_output=True
        )
        yield kernel, name
        if spare := spares.pop("hardened", None):
            _drop(maintenance, spare)
    # Its role belongs to the cluster, and other tests count roles.
    maintenance.execute("drop role if exists fencepost_watchdog")


def _people(admin: Connection, names: dict[tuple[str, int], str]) -> None:
    """Define the class that is attacked, and who works in it."""
    admin.execute("select kernel.define_class('guarded', %s)", (Jsonb(POLICY),))
    for duty, number in (("worker", 0), ("worker", 1), ("verifier", 0), ("sensor", 0)):
        admin.execute("select kernel.register_principal(%s)", (names[duty, number],))
        admin.execute("select kernel.enrol('guarded', %s, %s)", (names[duty, number], duty))
    policies: dict[str, dict[str, str]] = {f"target {i}": {} for i in range(1, CAMPAIGNS + 1)}
    six_hours_on = "select to_char(now() at time zone 'UTC' + interval '6 hours', 'HH24:MI')"
    row = admin.execute(six_hours_on).fetchone()
    assert row is not None
    nightly = {"observe_at": row[0], "time_zone": "UTC"}
    for target, policy in (policies | {"nightly": nightly}).items():
        admin.execute(
            "select kernel.define_target('guarded', %s, %s, %s, %s, %s)",
            (
                target,
                Jsonb({}),
                Jsonb({"is": f"{SECRET}-{target}"}),
                Jsonb({"command": ["true"]}),
                Jsonb(policy),
            ),
        )
        if target != "nightly":
            admin.execute(
                "select kernel.open_campaign('guarded', %s, gen_random_uuid())", (target,)
            )


@pytest.fixture(scope="module")
def spares(cast: _Cast, maintenance: Connection) -> Iterator[dict[str, str]]:
    """Yield the copies in which nothing was changed, by kernel."""
    kept: dict[str, str] = {}
    yield kept
    for database in kept.values():
        _drop(maintenance, database)


@pytest.fixture
def scene_of(
    request: pytest.FixtureRequest,
    cluster: Path,
    maintenance: Connection,
    cast: _Cast,
    spares: dict[str, str],
) -> MakeScene:
    """Return a function that makes a copy of a kernel's database, *changed* by a superuser.

    An attack that left nothing behind leaves its copy to the next one.
    """

    @contextmanager
    def make(kernel: str, /, *, changed: str = "") -> Iterator[Scene]:
        attacked, template = request.getfixturevalue(kernel)
        kept = spares.pop(kernel, None) if not changed else None
        database = kept or _copy(maintenance, template)
        clean = ""
        try:
            with closing(psycopg.connect(dbname=database, autocommit=True)) as god:
                if changed:
                    god.execute(changed.encode())
                before = None if changed else _fingerprint(god, attacked)
            scene = Scene(attacked, database, cast.people, cluster / "server.log")
            with closing(scene):
                yield scene
            with closing(psycopg.connect(dbname=database, autocommit=True)) as god:
                if not changed and _fingerprint(god, attacked) == before:
                    clean = database
        finally:
            if clean:
                spares[kernel] = clean
            else:
                _drop(maintenance, database)

    return make


def _copy(maintenance: Connection, template: str) -> str:
    name = f"attacked_{secrets.token_hex(4)}"
    copy_database(maintenance, template, name)
    _settings(maintenance, template, name)
    return name


def _drop(maintenance: Connection, database: str) -> None:
    maintenance.execute(sql.SQL("drop database {} with (force)").format(sql.Identifier(database)))


CATALOGUE = (
    "pg_class", "pg_proc", "pg_type", "pg_namespace", "pg_cast", "pg_operator", "pg_extension",
    "pg_largeobject_metadata", "pg_default_acl", "pg_trigger",
)  # fmt: skip


def _fingerprint(god: Connection, kernel: Kernel) -> object:
    """Return what is another after anything was written, granted or defined in a database."""
    tables = god.execute(
        "select c.oid::regclass::text from pg_class as c"
        " where c.relnamespace = %s::regnamespace and c.relkind = 'r'",
        (kernel.private,),
    ).fetchall()
    summed = "select count(*), sum(hashtextextended(t::text, 0)) from {} as t"
    queries = [
        *(summed.format(name) for (name,) in tables),
        *(f"{summed.format(name)} where t.oid >= 16384" for name in CATALOGUE),
    ]
    return god.execute(" union all ".join(queries).encode()).fetchall()


def _settings(maintenance: Connection, source: str, target: str) -> None:
    """Give database *target* the settings of *source*, which ``template`` does not copy."""
    found = maintenance.execute(
        "select unnest(s.setconfig) from pg_db_role_setting as s join pg_database as d"
        " on d.oid = s.setdatabase where d.datname = %s and s.setrole = 0",
        (source,),
    ).fetchall()
    for (setting,) in found:
        name, _, value = setting.partition("=")
        # A list is kept as it was written.
        given = sql.SQL(value) if name == "search_path" else sql.Literal(value)
        maintenance.execute(
            sql.SQL("alter database {} set {} = {}").format(
                sql.Identifier(target), sql.SQL(name), given
            )
        )

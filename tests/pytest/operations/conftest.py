"""A ledger with one class for operations without a campaign, and a principal for each duty."""

from __future__ import annotations

import secrets
import threading
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from psycopg import sql
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

from fencepost.operations import Store
from fencepost.session import connect
from tests.pytest.conftest import Principal, copy_database
from tests.pytest.invariants import broken
from tests.pytest.operations.bank import Bank

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fencepost.operations import Claim
    from tests.pytest.conftest import Connection

PROJECT = Path(__file__).resolve().parents[3]

KIND = "http.post"
TARGET = "bank"


@dataclass
class Office:
    """Everybody who has to do with the operations of one class."""

    database: str
    people: dict[str, Principal]
    campaign_class: str
    schema: str = "kernel"
    desk: Connection | None = None
    """The admin's connection."""

    def conninfo(self, name: str = "worker") -> str:
        """Return how somebody connects."""
        return self.people[name].conninfo(self.database)

    def connect(self, name: str = "worker", *, autocommit: bool = False) -> psycopg.Connection[Any]:
        """Return a new connection, as the client makes it."""
        connection = connect(self.conninfo(name))
        connection.autocommit = autocommit
        return self.people[name]._open.enter_context(closing(connection))

    def store(self, name: str = "worker", **named: Any) -> Store:
        """Return a store over a new connection."""
        options = {"kind": KIND, "target": TARGET, "schema": self.schema} | named
        return Store(self.connect(name), self.campaign_class, **options)

    def outlive(self, claim: Claim) -> None:
        """Return when a claim's lease is over by the server's clock."""
        with self.connect("rival", autocommit=True) as connection:
            is_over = False
            while not is_over:
                row = connection.execute(
                    "select clock_timestamp() > %s", (claim.operation.lease_expires_at,)
                ).fetchone()
                assert row is not None
                is_over = row[0]

    def admin(self, function: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Call a function as the admin, and return its one row."""
        named = ", ".join(f"p_{name} => %({name})s" for name in arguments)
        if self.desk is None:
            self.desk = self.people["admin"].connect(self.database, autocommit=True)
        with self.desk.cursor(row_factory=dict_row) as cursor:
            cursor.execute(f"select * from {self.schema}.{function}({named})".encode(), arguments)
            row = cursor.fetchone()
            assert row is not None
            assert row["outcome"] == "ok", row
            return row

    def define(self, **policy: object) -> None:
        """Define the class, let the two workers in, and authorise what they do."""
        self.admin("define_class", {"class": self.campaign_class, "policy": Jsonb(policy)})
        for name in ("worker", "rival"):
            principal = self.people[name].name
            self.admin("register_principal", {"principal": principal})
            self.admin(
                "enrol", {"class": self.campaign_class, "principal": principal, "duty": "worker"}
            )
        self.authorise(KIND, TARGET)

    def authorise(self, kind: str, target: str) -> None:
        """Allow workers a kind of operation without a campaign."""
        self.admin(
            "authorise",
            {
                "class": self.campaign_class,
                "duty": "worker",
                "kind": kind,
                "target": target,
                "is_standalone": True,
            },
        )


GROUPS = {"admin": "admin", "worker": "worker", "rival": "worker", "reaper": "reaper"}
"""Who there is, and of which group."""


@pytest.fixture(scope="session")
def agency(
    cluster: Path,
    maintenance: Connection,
    made_roles: list[str],
    template: str,
    principal_tool: Any,
) -> Iterator[Office]:
    """Yield an office without a class, in a database that the tests of this folder share.

    Every test has a class of its own, and a class is a namespace. The invariants hold at the end.
    """
    suffix = secrets.token_hex(4)
    database = f"fencepost_office_{suffix}"
    copy_database(maintenance, template, database)
    with ExitStack() as opened:
        people = {}
        for name, group in GROUPS.items():
            unique, password = f"{name}_{suffix}", secrets.token_urlsafe(24)
            maintenance.execute(
                principal_tool.statements(unique, (f"fencepost_{group}",), password)
            )
            passfile = principal_tool.write(cluster / "pass", unique, password)
            people[name] = Principal(unique, passfile, opened)
        desk = people["admin"].connect(database, autocommit=True)
        yield Office(database, people, "", desk=desk)
    with closing(psycopg.connect(dbname=database, autocommit=True)) as connection:
        complaints = broken(connection, PROJECT)
    maintenance.execute(sql.SQL("drop database {} with (force)").format(sql.Identifier(database)))
    for principal in people.values():
        maintenance.execute(sql.SQL("drop role {}").format(sql.Identifier(principal.name)))
    assert not complaints, "\n".join(complaints)


@pytest.fixture
def office(agency: Office) -> Iterator[Office]:
    """Yield the office with a class that the test has for itself."""
    with ExitStack() as opened:
        people = {
            name: Principal(each.name, each.passfile, opened)
            for name, each in agency.people.items()
        }
        name = f"payments-{secrets.token_hex(4)}"
        made = Office(agency.database, people, name, desk=agency.desk)
        made.define(operation_retention="0")
        yield made


@pytest.fixture
def store(office: Office) -> Store:
    """Return the worker's store."""
    return office.store()


@pytest.fixture
def bank() -> Iterator[Bank]:
    with Bank() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()

"""A database over which a superuser has deployed superuser/, and what it is like without."""

from __future__ import annotations

import secrets
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from psycopg import sql

from tests.pytest.conftest import Principal, copy_database
from tests.pytest.docs.conftest import players, stage
from tests.pytest.plan.sqitch import PROJECT, sqitch
from tests.pytest.sessions.conftest import ledger

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.pytest.conftest import Connection

__all__ = ["ledger", "players", "stage"]

PLAN = PROJECT / "superuser"


def copied(connection: Connection, template: str, name: str) -> str:
    """Copy a database, with its privileges; return the copy's name."""
    unique = f"{name}_{secrets.token_hex(4)}"
    copy_database(connection, template, unique)
    return unique


def dropped(connection: Connection, name: str) -> None:
    connection.execute(sql.SQL("drop database {} with (force)").format(sql.Identifier(name)))


@pytest.fixture(scope="session")
def root(cluster: Path) -> Iterator[Principal]:
    """Yield the superuser as a principal."""
    with ExitStack() as opened:
        yield Principal("postgres", cluster / "pass" / "postgres", opened)


@pytest.fixture(scope="module")
def watchdog(maintenance: Connection, template: str) -> Iterator[None]:
    """Remove the role of the watchdog in the end: it survives a revert, and others count roles."""
    yield
    maintenance.execute("drop role if exists fencepost_watchdog")


@pytest.fixture(scope="module")
def hardened_template(
    template: str, maintenance: Connection, root: Principal, watchdog: None
) -> Iterator[str]:
    """Yield a copy of the template with the whole of superuser/ deployed."""
    name = copied(maintenance, template, "hardened_template")
    sqitch(root, name, "deploy", "--verify", plan=PLAN)
    yield name
    dropped(maintenance, name)


@pytest.fixture
def database(hardened_template: str, maintenance: Connection) -> Iterator[str]:
    """Yield a copy of the hardened template: what these tests mean by the database."""
    name = copied(maintenance, hardened_template, "hardened")
    yield name
    dropped(maintenance, name)


@pytest.fixture
def plain_database(watchdog: None, scratch_database: str) -> str:
    """Return a copy of the template, without what a superuser does."""
    return scratch_database

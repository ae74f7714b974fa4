"""A ledger that is audited: deployed, closed to PUBLIC, and nothing else."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any, Protocol

import pytest
from psycopg import sql

from tests.pytest.conftest import DUTIES, PROJECT, tool

if TYPE_CHECKING:
    from tests.pytest.conftest import Connection, Principal


class Audit(Protocol):
    """What the fixture ``audited`` is."""

    def __call__(self, *arguments: str) -> subprocess.CompletedProcess[str]: ...


@pytest.fixture(scope="session")
def audit() -> Any:
    """Return tools/audit as a module."""
    return tool("audit")


@pytest.fixture
def closed(scratch_database: str, maintenance: Connection) -> str:
    """Return a ledger's database that only its clients may enter."""
    close(scratch_database, maintenance)
    return scratch_database


def close(database: str, connection: Connection) -> None:
    """Grant CONNECT to the groups in place of PUBLIC."""
    connection.execute(
        sql.SQL(
            "revoke connect on database {0} from public; grant connect on database {0} to {1}"
        ).format(
            sql.Identifier(database),
            sql.SQL(", ").join(sql.Identifier(f"fencepost_{duty}") for duty in DUTIES),
        )
    )


def run(
    principal: Principal | None, database: str, *arguments: str
) -> subprocess.CompletedProcess[str]:
    """Run tools/audit on *database*, as a principal or as the superuser."""
    return subprocess.run(
        [sys.executable, "tools/audit", "--dsn", f"dbname={database}", *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=PROJECT,
        env=None if principal is None else principal.environment(database),
    )

"""The audit as a module and as a command, and what reads its answers."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.pytest.conftest import PROJECT, tool

if TYPE_CHECKING:
    from tests.pytest.conftest import Principal


@pytest.fixture(scope="session")
def audit() -> Any:
    """Return tools/audit as a module."""
    return tool("audit")


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


def document(done: subprocess.CompletedProcess[str]) -> Any:
    """Return what an audit wrote as JSON."""
    assert done.stderr == ""
    return json.loads(done.stdout)


def serious(found: Any) -> set[tuple[str, str]]:
    """Return rule and object of what is medium or worse and not the test server's own."""
    return {
        (each["rule"], each["object"])
        for each in found["findings"]
        if each["severity"] in {"critical", "high", "medium"}
        and each["rule"] not in {"server/minor_release", "settings/durability"}
    }


def psql(database: str, statements: str) -> None:
    """Run statements as psql does, each for itself."""
    subprocess.run(
        ["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", database],
        input=statements,
        stdout=subprocess.DEVNULL,
        text=True,
        check=True,
        cwd=PROJECT,
    )

"""The audit as a module, and as a command."""

from __future__ import annotations

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

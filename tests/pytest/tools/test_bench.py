"""``python -m bench``: it runs, prints a table of each benchmark, and asserts no figure."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.pytest.conftest import Connection

PROJECT = Path(__file__).resolve().parents[3]
TINY = ("--claims", "16", "--renewals", "50", "--closed", "20", "--rounds", "1")


def bench(*arguments: str, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run it where a cluster is, or is not."""
    return subprocess.run(
        [sys.executable, "-m", "bench", *arguments],
        cwd=PROJECT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def no_principals(maintenance: Connection) -> Iterator[None]:
    """Remove the principals that it makes; their names are plain ones."""
    yield
    maintenance.execute("drop role admin, worker")


@pytest.mark.usefixtures("no_principals")
def test_every_benchmark_runs_and_prints_its_table(template: str, major: int) -> None:
    run = bench(*TINY, "--from", template, environment=dict(os.environ))
    assert run.returncode == 0, run.stderr
    assert run.stdout.startswith(f"PostgreSQL {major}.")
    tables = run.stdout.split("\n\n")[1:]
    assert [table.split()[0] for table in tables] == [
        *("Claims", "Renewals", "Claims", "Targets"),
    ]
    figures = [re.findall(r"\d+\.\d\d to \d+\.\d\d", table) for table in tables]
    assert [len(found) for found in figures] == [3, 1, 1, 2]


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        ((), 69, "make bench"),
        (("--claims", "0"), 64, "--claims"),
        (("nonsense",), 64, "nonsense"),
    ],
)
def test_called_wrongly_it_says_how(arguments: tuple[str, ...], status: int, said: str) -> None:
    environment = {name: text for name, text in os.environ.items() if name != "FENCEPOST_CLUSTER"}
    run = bench(*arguments, environment=environment)
    assert run.returncode == status
    assert said in run.stderr

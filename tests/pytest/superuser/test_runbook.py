"""What the runbook says of a session that keeps a lock works as it is written."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest

from tests.pytest.conftest import wait_for
from tests.pytest.docs.conftest import PEOPLE, blocks, service

if TYPE_CHECKING:
    from tests.pytest.conftest import Connection
    from tests.pytest.docs.conftest import Block, MakeStage, Stage

PROJECT = Path(__file__).resolve().parents[3]


def block_with(text: str) -> Block:
    """Return the one block of the runbook that has *text* in it."""
    (block,) = [one for one in blocks(PROJECT / "docs" / "runbook.md") if text in one.text]
    return block


@pytest.fixture
def scene(stage: MakeStage, database: str, cluster: Path) -> Stage:
    """Return a stage with a superuser on it, where two minutes are over after a second."""
    made = stage(*PEOPLE)
    made.instead = {"--evict-after 2m": "--evict-after 1s", "2 minutes": "1 second"}
    with Path(made.environment["PGSERVICEFILE"]).open("a", encoding="utf-8") as services:
        services.write(service("postgres", database, cluster))
    return made


@pytest.fixture
def idle(scene: Stage, maintenance: Connection) -> psycopg.Connection:
    """Return a worker's session that has left its transaction open for a second."""
    connection = psycopg.connect("service=worker_a")
    connection.execute("select kernel.api_version()")
    wait_for(
        lambda: maintenance.execute(
            "select from pg_stat_activity "
            "where pid = %s and xact_start < clock_timestamp() - interval '1.2 seconds'",
            (connection.info.backend_pid,),
        ).fetchall(),
        "no transaction that is old enough",
    )
    return connection


@pytest.mark.parametrize("how", ["--evict-after", "pg_terminate_backend"])
def test_a_session_that_keeps_a_lock_is_ended(
    scene: Stage, idle: psycopg.Connection, how: str
) -> None:
    scene.play(block_with(how))
    with pytest.raises(psycopg.errors.AdminShutdown):
        idle.execute("select kernel.api_version()")

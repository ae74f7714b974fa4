"""What the command says before it has a server."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from psycopg.conninfo import conninfo_to_dict

from fencepost.connection import SecretInTheOpen, conninfo

WORKER = ["worker", "--class", "c"]
NOWHERE = ["--dsn", "host=/nonexistent"]


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    return subprocess.run(
        [Path(sys.executable).with_name("fencepost"), *arguments],
        env=kept | environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "Usage"),
        (["nothing"], "No such command"),
        (["worker", "--", "true"], "--class"),
        (WORKER, "COMMAND"),
        ([*WORKER, "--", "no-such-program"], "no-such-program"),
        ([*WORKER, "--lease-for", "soon", "--", "true"], "not a duration"),
        ([*WORKER, "--dsn", "password=x", "--", "true"], "passfile"),
        ([*WORKER, "--dsn", "postgresql://u:p@h/d", "--", "true"], "passfile"),
        ([*WORKER, "--dsn", "no connection string", "--", "true"], "--dsn"),
        (["reaper", "--interval", "0"], "--interval"),
    ],
)
def test_wrong_usage_is_64_and_says_what_is_wrong(arguments: list[str], said: str) -> None:
    done = run(*arguments)
    assert done.returncode == 64, done.stderr
    assert said in done.stdout + done.stderr


def test_no_server_is_69() -> None:
    done = run("reaper", "--once", *NOWHERE)
    assert done.returncode == 69
    assert "no server" in done.stderr


def test_a_password_in_the_environment_is_64() -> None:
    done = run("reaper", "--once", *NOWHERE, PGPASSWORD="secret")
    assert done.returncode == 64
    assert "secret" not in done.stderr


def test_the_version_is_printed() -> None:
    assert run("--version").stdout.startswith("fencepost 0.")


def test_what_is_given_wins_over_the_clients_own_settings() -> None:
    made = conninfo_to_dict(
        conninfo(
            dsn="host=h connect_timeout=99",
            service="s",
            application="fencepost worker",
            environment={},
        )
    )
    assert made["connect_timeout"] == "99"
    assert made["service"] == "s"
    assert made["host"] == "h"
    with pytest.raises(SecretInTheOpen):
        conninfo(dsn=None, service=None, application="x", environment={"PGPASSWORD": "x"})

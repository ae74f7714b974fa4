"""No password and no connection string is in what the client prints, logs or is started with."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import socket
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.pytest.client.conftest import CLASS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.pytest.client.conftest import World

MARK = f"Zz{secrets.token_hex(12)}"
"""A password as nobody has it."""
COMMANDS = {
    "worker": ("worker", ("--once", "--", "true")),
    "verifier": ("verifier", ("--once",)),
    "reaper": ("reaper", ()),
    "collector": ("collector", ("--once", "--log-dir", "/")),
    "operations expire": ("reaper", ("--class", CLASS)),
    "operations prune": ("reaper", ("--class", CLASS)),
}
"""Each command that logs in, as which duty, and what it needs to begin."""


@pytest.fixture
def broken() -> Iterator[int]:
    """Yield a TCP port behind which something answers that is no PostgreSQL."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            while True:
                try:
                    client, _ = listener.accept()
                except OSError:
                    return
                with client:
                    client.recv(4096)
                    client.sendall(b"X" * 64)

        thread = threading.Thread(target=serve)
        thread.start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()


@pytest.mark.parametrize("by", ["passfile", "service file"])
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("fault", ["wrong password", "no server", "no database", "no postgres"])
def test_faults_are_told_without_the_password(
    world: World, broken: int, command: str, by: str, fault: str
) -> None:
    duty, options = COMMANDS[command]
    who = world.people[duty]
    place = {
        "host": os.environ["PGHOST"],
        "port": os.environ["PGPORT"],
        "user": who.name,
        "dbname": world.database,
    }
    place |= {
        "no server": {"host": str(world.folder)},
        "no database": {"dbname": "no_such_database"},
        "no postgres": {"host": "127.0.0.1", "port": str(broken)},
    }.get(fault, {})
    right = who.passfile.read_text().strip().rpartition(":")[2]
    password = right if fault == "no database" else MARK
    passfile = world.folder / "passfile"
    passfile.write_text(f"*:*:*:*:{password}\n")
    passfile.chmod(0o600)
    services = world.folder / "services"
    lines = [f"{name}={value}" for name, value in place.items()]
    lines.append(f"passfile={passfile}" if by == "passfile" else f"password={password}")
    services.write_text("\n".join(["[ledger]", *lines, ""]))
    services.chmod(0o600)
    process = world.start(
        duty,
        *("--service", "ledger", *options),
        words=command.split(),
        environment={
            "PGSERVICEFILE": str(services),
            "PGPASSFILE": "/nonexistent",
            "PGHOST": "",
            "PGUSER": "",
            "PGDATABASE": "",
            "PGPORT": "",
            "PYTHONFAULTHANDLER": "1",
        },
    )
    process.popen.wait(timeout=60)
    assert process.popen.returncode in {69, 77}, process.output()
    assert "fencepost: " in process.output()
    assert password not in process.output()
    assert "Traceback" not in process.output()


FAULT = """
import os, sys
def raising(*arguments, **named):
    raise RuntimeError('planted')
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name != 'fencepost.attempt':
            return
        import fencepost.connection, typer
        fencepost.connection.Link.call = raising
        made = typer.Typer.__init__
        def with_locals(self, **named):
            made(self, **named)
            self.pretty_exceptions_enable = self.pretty_exceptions_show_locals = True
        if 'FENCEPOST_LOCALS' in os.environ:
            typer.Typer.__init__ = with_locals
sys.meta_path.insert(0, Finder())
"""
"""A fault that the client does not expect, with everything that it holds on the stack."""


def traceback(world: World, **more: str) -> str:
    """Return the traceback of a worker, without what a table of values breaks them with."""
    world.open_campaign()
    spoiled = world.folder / "site"
    spoiled.mkdir()
    (spoiled / "sitecustomize.py").write_text(FAULT)
    said = world.start(
        *("worker", "--once", "--dsn", f"application_name={MARK} dbname={world.database}"),
        *("--", "true"),
        environment={"PYTHONPATH": str(spoiled), "COLUMNS": "200"} | more,
    ).ends(1)
    assert "RuntimeError: planted" in said, "it is the traceback"
    return re.sub(r"[\s│]", "", said)


def test_a_traceback_has_no_connection_string(world: World) -> None:
    said = traceback(world)
    who = world.people["worker"]
    right = who.passfile.read_text().strip().rpartition(":")[2]
    for hidden in (right, str(who.passfile), world.database, MARK, "dbname=", "connect_timeout"):
        assert hidden not in said, hidden


def test_a_traceback_with_the_values_would_have_it(world: World) -> None:
    """So the test above would see it there."""
    said = traceback(world, FENCEPOST_LOCALS="1")
    for shown in (MARK, world.database, "dbname="):
        assert shown in said, shown


def test_ps_shows_no_password_while_a_command_runs(world: World) -> None:
    """And where the ledger is, only as the client's own argument: it passes that on to nobody."""
    world.open_campaign()
    begun = world.folder / "begun"
    process = world.start(
        *("worker", "--once", "--dsn", f"application_name={MARK} dbname={world.database}"),
        *("--", "sh", "-c", f"touch {begun}; sleep 30; exit 1"),
    )
    deadline = time.monotonic() + 20
    while not begun.exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    right = world.people["worker"].passfile.read_text().strip().rpartition(":")[2]
    shown: dict[int, bytes] = {}
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            shown[int(path.parent.name)] = path.read_bytes()
    assert any(b"supervisor.py" in line for line in shown.values())
    assert not any(right.encode() in line for line in shown.values())
    for told in (MARK, world.database):
        # The server says in the titles of its own processes which database they work for.
        by = {n for n, line in shown.items() if told.encode() in line and b"postgres: " not in line}
        assert by == {process.popen.pid}, told
    process.popen.terminate()
    process.ends()

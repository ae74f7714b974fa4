"""A server that logs as docs/howto/record-denied-writes.md says, who is denied, and a collector."""

from __future__ import annotations

import re
import subprocess
import sys
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from psycopg.rows import dict_row

from tests.pytest.conftest import DUTIES, PROJECT, wait_for
from tests.pytest.own_server import (
    Server,
    cluster,
    made_roles,
    maintenance,
    own_server,
    scratch_database,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.pytest.conftest import Connection, MakePrincipal, Principal

# Databases and principals are made on this folder's server.
__all__ = ["cluster", "made_roles", "maintenance", "scratch_database"]

HOWTO = PROJECT / "docs" / "howto" / "record-denied-writes.md"
FORMATS = {"jsonlog": ".json", "csvlog": ".csv"}


def shipped() -> dict[str, str]:
    """Return the settings that the recipe shows."""
    (block,) = re.findall(r"(?ms)^```ini\n(.*?)^```", HOWTO.read_text(encoding="utf-8"))
    return {
        name.strip(): value.strip().strip("'")
        for name, _, value in (line.partition("=") for line in block.splitlines())
    }


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """Yield a server with the settings of the recipe, but for the folder."""
    with own_server(shipped() | {"log_directory": "log"}) as made:
        yield made


@dataclass
class Denied:
    """The server's log, who is denied what, and what the auditor is shown of it."""

    server: Server
    maintenance: Connection
    database: str
    people: dict[str, Principal]
    folder: Path
    running: list[subprocess.Popen[str]] = field(default_factory=list)

    @property
    def log(self) -> Path:
        """Return where the server writes its log."""
        return self.server.folder / "data" / "log"

    # The server

    def setting(self, name: str, value: str) -> None:
        """Change a setting of the server, and wait until new sessions have it."""
        self.maintenance.execute(f"alter system set {name} = '{value}'".encode())
        self.maintenance.execute("select pg_reload_conf()")

        def is_set() -> bool:
            with closing(psycopg.connect(dbname="postgres")) as one:
                return one.execute(f"show {name}".encode()).fetchone() == (value,)

        wait_for(is_set, f"{name} = {value}")

    def newest(self) -> Path:
        """Return the file that the server writes now, once there is one in its present format."""
        names: list[str] = []

        def is_there() -> bool:
            ((name,),) = self.maintenance.execute(
                "select pg_current_logfile(current_setting('log_destination'))"
            ).fetchall()
            names.extend([name] if name else [])
            return bool(names)

        wait_for(is_there, "a log in this format")
        return self.server.folder / "data" / names[0]

    def rotate(self) -> None:
        """Let the server begin another file."""
        before = set(self.log.iterdir())
        # A name has its second in it: in the same one the old file would go on.
        wait_for(
            lambda: (
                self.maintenance.execute("select pg_rotate_logfile()") is not None
                and set(self.log.iterdir()) != before
            ),
            "another file",
        )

    # Who is denied

    def tries(
        self, duty: str, *statements: str, application: str = "a client"
    ) -> list[tuple[str, str]]:
        """Let a principal try what it may not; return its name with what it was told, each time."""
        told = []
        conninfo = self.people[duty].conninfo(self.database)
        with closing(
            psycopg.connect(conninfo, autocommit=True, application_name=application)
        ) as session:
            for statement in statements:
                with pytest.raises(psycopg.errors.InsufficientPrivilege) as caught:
                    session.execute(statement.encode())
                told.append((self.people[duty].name, str(caught.value.diag.message_primary)))
        return told

    def logged(self, *texts: str) -> None:
        """Wait until the server has written these texts to its log."""

        def is_there() -> bool:
            written = b"".join(path.read_bytes() for path in self.log.iterdir())
            return all(text.encode() in written for text in texts)

        wait_for(is_there, f"{texts} in the log")

    # The collector

    def command(self, *options: str) -> list[str]:
        """Return the command, as the collector runs it."""
        program = Path(sys.executable).with_name("fencepost")
        return [
            *(str(program), "collector", "--log-dir", str(self.log)),
            *("--dsn", self.people["collector"].conninfo(self.database), *options),
        ]

    def collects(self, *options: str, code: int = 0) -> str:
        """Run the collector once; return what it said."""
        done = subprocess.run(
            self.command("--once", *options),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=60,
        )
        assert done.returncode == code, done.stdout
        return done.stdout

    def starts(self, *options: str) -> subprocess.Popen[str]:
        """Start a collector that goes on."""
        with (self.folder / f"collector-{len(self.running)}.out").open("w") as output:
            process = subprocess.Popen(
                self.command(*options), stdout=output, stderr=subprocess.STDOUT, text=True
            )
        self.running.append(process)
        return process

    def collectors(self) -> int:
        """Return how many have connected, after which they end when they are asked to."""
        ((count,),) = self.maintenance.execute(
            "select count(*) from pg_stat_activity where application_name = 'fencepost collector'"
        ).fetchall()
        return int(count)

    # The auditor

    def shown(self, source: str = "server") -> list[dict[str, Any]]:
        """Return what the auditor is shown, in the order of time."""
        conninfo = self.people["auditor"].conninfo(self.database)
        with closing(psycopg.connect(conninfo, row_factory=dict_row)) as session:
            return session.execute(
                "select * from audit.refusals where source = %s order by at, refusal_no", (source,)
            ).fetchall()

    def recorded(self) -> list[tuple[str, str]]:
        """Return of whom what is recorded, sorted."""
        return sorted((row["principal"], row["message"]) for row in self.shown())


@pytest.fixture
def plain_denied(
    server: Server,
    maintenance: Connection,
    database: str,
    principal: MakePrincipal,
    tmp_path: Path,
) -> Iterator[Denied]:
    """Yield a database with a principal of each duty, and an empty log."""
    people = {duty: principal(duty, f"fencepost_{duty}") for duty in DUTIES}
    denied = Denied(server, maintenance, database, people, tmp_path)
    for path in denied.log.iterdir():
        path.write_bytes(b"")  # the server goes on at the end of what is there
    yield denied
    for process in denied.running:
        process.kill()
        process.wait()


@pytest.fixture(params=FORMATS)
def denied(plain_denied: Denied, request: pytest.FixtureRequest) -> Denied:
    """Return the same, with the server's log in each format."""
    if plain_denied.maintenance.execute("show log_destination").fetchone() != (request.param,):
        plain_denied.setting("log_destination", request.param)
        wait_for(
            lambda: any(plain_denied.log.glob(f"*{FORMATS[request.param]}")),
            "a file of that format",
        )
    return plain_denied

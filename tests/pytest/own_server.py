"""A server that some tests have for themselves: one that may crash, or has its own settings.

Whoever makes one, in a fixture ``server``, imports the fixtures below in place of those of their
name: databases and principals are then made on it.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import subprocess
import sys
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

from tests.pytest.conftest import PROJECT, copy_database

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tests.pytest.conftest import Connection

MOST_PAGES = 400  # a notification of this length takes one; the smallest queue has 64
SMALL_FROM = 17
"""Before this major the queue has eight gigabytes and cannot be made smaller."""

_TELL = "import json, os; print(json.dumps(dict(os.environ)), flush=True); input()"


@dataclass
class Server:
    """A server of its own; it goes when its tests are done."""

    folder: Path
    template: str

    def restart(self, mode: str = "fast") -> None:
        """Stop it, and start it again; ``immediate`` stops it as a crash does."""
        data = self.folder / "data"
        copies = list((self.folder / "programs").glob("*/*/bin"))
        programs = shutil.which("pg_ctl", path=str(copies[0]) if copies else None)
        assert programs is not None
        owner = data.stat()
        as_owner: dict[str, Any] = {}
        if os.geteuid() == 0:
            as_owner = {"user": owner.st_uid, "group": owner.st_gid, "extra_groups": []}
        subprocess.run(
            [
                *(programs, "-D", data, "-l", self.folder / "server.log"),
                *("-m", mode, "-w", "-s", "restart"),
            ],
            cwd=self.folder,
            env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "TZ": "UTC"},
            check=True,
            **as_owner,
        )


@contextmanager
def own_server(settings: Mapping[str, str]) -> Iterator[Server]:
    """Yield a server with these settings, the kernel deployed in its database ``apart``.

    Meanwhile libpq's variables name that server.
    """
    chosen = [f"--set={name}={value}" for name, value in {"fsync": "off", **settings}.items()]
    command = [
        *(str(PROJECT / "tools" / "with-postgres"), os.environ["FENCEPOST_MAJOR"], *chosen),
        *("--", sys.executable, "-c", _TELL),
    ]
    with (
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as tool,
        pytest.MonkeyPatch.context() as patch,
    ):
        assert tool.stdout is not None
        told = json.loads(tool.stdout.readline())
        for name in ("PGHOST", "PGPORT", "PGUSER", "PGDATABASE", "PGPASSFILE", "FENCEPOST_CLUSTER"):
            patch.setenv(name, told[name])
        subprocess.run([PROJECT / "tools" / "deploy", "apart"], check=True, capture_output=True)
        yield Server(Path(told["FENCEPOST_CLUSTER"]), "apart")
        tool.communicate("\n")


def smallest_queue() -> dict[str, str]:
    """Return what makes the queue of notifications as small as it can be."""
    is_small = int(os.environ["FENCEPOST_MAJOR"]) >= SMALL_FROM
    return {"max_notify_queue_pages": "64"} if is_small else {}


def fill_the_queue(god: Connection) -> None:
    """Notify until no more can be."""
    try:
        for number in range(MOST_PAGES):
            god.execute("select pg_notify('crowd', rpad(%s, 7900, '.'))", (str(number),))
    except psycopg.errors.ProgramLimitExceeded:
        return
    pytest.fail(f"{MOST_PAGES} pages did not fill it")


@pytest.fixture(scope="module")
def cluster(server: Server) -> Path:
    """Return the folder of this server."""
    return server.folder


@pytest.fixture
def maintenance(server: Server) -> Iterator[Connection]:
    """Yield a connection for the fixtures' own use; a test may restart the server."""
    with closing(psycopg.connect(dbname="postgres", autocommit=True)) as connection:
        yield connection


@pytest.fixture(scope="module")
def made_roles() -> list[str]:
    """Return a list for what nobody has to drop."""
    return []


@pytest.fixture
def scratch_database(server: Server, maintenance: Connection) -> str:
    """Return a copy of the template."""
    name = f"test_{secrets.token_hex(4)}"
    copy_database(maintenance, server.template, name)
    return name

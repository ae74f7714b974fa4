"""A server that some tests have for themselves: one that crashes, notifies no more, or logs."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from psycopg import sql

from tests.pytest.conftest import PROJECT, copy_privileges

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tests.pytest.conftest import Connection

MOST_PAGES = 400  # a notification of this length takes one; the smallest queue has 64
SMALL_FROM = 17
"""Before this major the queue has eight gigabytes and cannot be made smaller."""


@dataclass
class Server:
    """The server; it goes when the tests are done."""

    folder: Path
    template: str

    def crash_and_start(self) -> None:
        """Stop it without a checkpoint, as a crash does, and start it again."""
        self.restart("immediate")

    def restart(self, mode: str = "fast") -> None:
        """Stop it in that mode, and start it again."""
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

    def copy(self, maintenance: Connection) -> str:
        """Return a new copy of the database in which the plan is deployed."""
        name = f"test_{secrets.token_hex(4)}"
        maintenance.execute(
            sql.SQL("create database {} template {} owner deployer").format(
                sql.Identifier(name), sql.Identifier(self.template)
            )
        )
        copy_privileges(maintenance, self.template, name)
        return name


@contextmanager
def running(settings: Mapping[str, str] | None = None) -> Iterator[Server]:
    """Run a server, by default with the smallest queue there is, on which transactions can prepare.

    Until it ends, the environment leads to it.

    :param settings: others in place of these two.
    """
    major = os.environ["FENCEPOST_MAJOR"]
    if settings is None:
        settings = {"max_prepared_transactions": "2"}
        if int(major) >= SMALL_FROM:
            settings["max_notify_queue_pages"] = "64"
    chosen = [f"--set={name}={value}" for name, value in {"fsync": "off", **settings}.items()]
    tell = "import json, os; print(json.dumps(dict(os.environ)), flush=True); input()"
    command = [
        *(str(PROJECT / "tools" / "with-postgres"), major, *chosen),
        *("--", sys.executable, "-c", tell),
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


def fill_the_queue(god: Connection) -> None:
    """Notify until no more can be."""
    try:
        for number in range(MOST_PAGES):
            god.execute("select pg_notify('crowd', rpad(%s, 7900, '.'))", (str(number),))
    except psycopg.errors.ProgramLimitExceeded:
        return
    pytest.fail(f"{MOST_PAGES} pages did not fill it")

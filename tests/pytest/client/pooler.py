"""A real PgBouncer before the tests' cluster: transaction pooling, one pool for each LOGIN role."""

from __future__ import annotations

import os
import pwd
import re
import subprocess
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from shutil import rmtree
from typing import TYPE_CHECKING

import psycopg
from psycopg.conninfo import make_conninfo

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.pytest.conftest import Principal

PROGRAM = "/usr/sbin/pgbouncer"

RECIPE = Path(__file__).resolve().parents[3] / "docs" / "howto" / "run-behind-pgbouncer.md"


class Pooler:
    """How to connect through it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def conninfo(self, who: Principal, database: str) -> str:
        """Return what libpq needs to connect *who* to *database* through here."""
        return make_conninfo(who.conninfo(database), host=str(self.folder))


def settings(folder: Path) -> str:
    """Return the settings of the recipe, with this cluster's places for those in it."""
    text: str
    (text,) = re.findall(r"```ini\n(.*?)```", RECIPE.read_text(), flags=re.DOTALL)
    for old, new in {
        "ledger = host=/var/run/postgresql port=5432": (
            f"* = host={os.environ['PGHOST']} port={os.environ['PGPORT']}"
        ),
        "unix_socket_dir = /run/pgbouncer\n": f"unix_socket_dir = {folder}\n",
        "listen_port = 6432": f"listen_port = {os.environ['PGPORT']}",
        "auth_user = pgbouncer": "auth_user = postgres",
        "/etc/pgbouncer/users": f"{folder}/users",
        "/var/log/pgbouncer/pgbouncer.log": f"{folder}/log",
        "/run/pgbouncer/pgbouncer.pid": f"{folder}/pid",
    }.items():
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    return text


@contextmanager
def running() -> Iterator[Pooler]:
    """Run a PgBouncer before the cluster that the environment names."""
    account = pwd.getpwnam("postgres") if os.geteuid() == 0 else pwd.getpwuid(os.geteuid())
    folder = Path(tempfile.mkdtemp(prefix="fencepost-pooler-", dir="/tmp"))
    try:
        # The passfile's own form is HOST:PORT:DATABASE:NAME:PASSWORD.
        passfile = Path(os.environ["PGPASSFILE"]).read_text()
        password = passfile.strip().rsplit(":", 1)[1]
        (folder / "users").write_text(f'"postgres" "{password}"\n')
        (folder / "settings").write_text(settings(folder))
        for path in (folder, *folder.iterdir()):
            os.chown(path, account.pw_uid, account.pw_gid)
        root = os.geteuid() == 0
        with subprocess.Popen(
            [PROGRAM, "--quiet", str(folder / "settings")],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            user=account.pw_uid if root else None,
            group=account.pw_gid if root else None,
            extra_groups=[] if root else None,
            umask=0o077,
        ) as process:
            try:
                _await_answer(folder, process)
                yield Pooler(folder)
            finally:
                process.terminate()
    finally:
        rmtree(folder)


def _await_answer(folder: Path, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 20
    while True:
        try:
            psycopg.connect(host=str(folder), dbname="postgres").close()
        except psycopg.OperationalError:
            log = folder / "log"
            said = log.read_text() if log.exists() else ""
            assert process.poll() is None, said
            assert time.monotonic() < deadline, said
            time.sleep(0.05)
        else:
            return

"""A real PgBouncer before the tests' cluster: transaction pooling, one pool for each LOGIN role."""

from __future__ import annotations

import os
import pwd
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

# A client proves by SCRAM that it knows its password, and with the keys of that proof PgBouncer
# logs in at the server as the same role. So no password but that of auth_user is kept here.
CONFIGURATION = """
[databases]
* = host={server} port={port}

[pgbouncer]
unix_socket_dir = {folder}
listen_port = {port}
logfile = {folder}/log
pidfile = {folder}/pid
auth_type = scram-sha-256
auth_file = {folder}/users
auth_user = postgres
pool_mode = transaction
default_pool_size = {pool_size}
max_client_conn = 100
"""


class Pooler:
    """How to connect through it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def conninfo(self, who: Principal, database: str) -> str:
        """Return what libpq needs to connect *who* to *database* through here."""
        return make_conninfo(who.conninfo(database), host=str(self.folder))


@contextmanager
def running(pool_size: int = 2) -> Iterator[Pooler]:
    """Run a PgBouncer before the cluster that the environment names."""
    account = pwd.getpwnam("postgres") if os.geteuid() == 0 else pwd.getpwuid(os.geteuid())
    folder = Path(tempfile.mkdtemp(prefix="fencepost-pooler-", dir="/tmp"))
    try:
        # The passfile's own form is HOST:PORT:DATABASE:NAME:PASSWORD.
        passfile = Path(os.environ["PGPASSFILE"]).read_text()
        password = passfile.strip().rsplit(":", 1)[1]
        (folder / "users").write_text(f'"postgres" "{password}"\n')
        (folder / "settings").write_text(
            CONFIGURATION.format(
                folder=folder,
                server=os.environ["PGHOST"],
                port=os.environ["PGPORT"],
                pool_size=pool_size,
            )
        )
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

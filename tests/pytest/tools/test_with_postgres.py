"""tools/with-postgres: who gets in, what it leaves behind, and how it ends."""

from __future__ import annotations

import os
import pwd
import signal
import stat
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest

if TYPE_CHECKING:
    from tests.pytest.conftest import MakePrincipal, Superuser

PROJECT = Path(__file__).resolve().parents[3]
TOOL = PROJECT / "tools" / "with-postgres"


def with_postgres(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([TOOL, *arguments], capture_output=True, text=True, check=False)


def password_of(passfile: Path) -> str:
    return passfile.read_text().strip().rsplit(":", 1)[1]


def wait_until_gone(path: Path) -> None:
    deadline = time.monotonic() + 20
    while path.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not path.exists()


def start_sleeper(major: int, *options: str | Path) -> tuple[subprocess.Popen[str], Path, int]:
    """Start a cluster whose command sleeps; return the tool, the folder, the postmaster.

    The command holds the tool's standard output open for as long as it lives.
    """
    tool = subprocess.Popen(
        [TOOL, str(major), *options, "--", "sh", "-c", "echo $FENCEPOST_CLUSTER; exec sleep 60"],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert tool.stdout is not None
    folder = Path(tool.stdout.readline().strip())
    postmaster = int((folder / "data" / "postmaster.pid").read_text().split("\n")[0])
    return tool, folder, postmaster


def is_running(process: int) -> bool:
    """Say whether *process* runs; one that only waits to be reaped does not."""
    try:
        status = Path(f"/proc/{process}/stat").read_text()
    except FileNotFoundError:
        return False
    return status.rsplit(")", 1)[1].split()[0] != "Z"


# -- who gets in -----------------------------------------------------------------------------------


def test_each_principal_gets_in_with_its_own_password_only(
    principal: MakePrincipal, superuser: Superuser
) -> None:
    anna, bert = principal("anna"), principal("bert")

    with anna.connect("postgres") as connection:
        row = connection.execute("select session_user").fetchone()
        assert row == (anna.name,)

    for name, passfile in (
        (anna.name, bert.passfile),
        ("postgres", anna.passfile),
        ("deployer", anna.passfile),
    ):
        with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
            psycopg.connect(dbname="postgres", user=name, password=password_of(passfile))
    with pytest.raises(psycopg.OperationalError, match="no password supplied"):
        psycopg.connect(dbname="postgres", user=anna.name, passfile=os.devnull)


def test_nothing_but_a_password_over_the_one_socket(
    cluster: Path, superuser: Superuser, major: int
) -> None:
    connection = superuser()

    rules = connection.execute("select type, auth_method from pg_hba_file_rules").fetchall()
    assert rules == [("local", "scram-sha-256")]
    listens = connection.execute(
        "select current_setting('listen_addresses'), current_setting('unix_socket_directories')"
    ).fetchone()
    assert listens == ("", str(cluster))
    stored = connection.execute(
        "select every(rolpassword like 'SCRAM-SHA-256$%') from pg_authid where rolcanlogin"
    ).fetchone()
    assert stored == (True,)
    version = connection.execute(
        "select current_setting('server_version_num')::integer / 10000"
    ).fetchone()
    assert version == (major,)


def test_the_deployer_is_no_superuser(superuser: Superuser) -> None:
    row = (
        superuser()
        .execute(
            "select rolcreaterole, rolsuper, rolcreatedb, rolreplication, rolbypassrls "
            "from pg_roles where rolname = 'deployer'"
        )
        .fetchone()
    )
    assert row == (True, False, False, False, False)


def test_the_folder_is_private_and_its_path_short(cluster: Path, superuser: Superuser) -> None:
    found = cluster.lstat()
    assert stat.S_IMODE(found.st_mode) == 0o700
    assert found.st_uid != 0
    assert found.st_uid == (os.geteuid() or pwd.getpwnam("postgres").pw_uid)
    assert len(f"{cluster}/.s.PGSQL.5432") < 60
    for passfile in (cluster / "pass").iterdir():
        assert stat.S_IMODE(passfile.lstat().st_mode) == 0o600
        assert passfile.lstat().st_uid == os.geteuid()


def test_only_its_own_settings_reach_the_command(
    monkeypatch: pytest.MonkeyPatch, major: int
) -> None:
    monkeypatch.setenv("PGPASSWORD", "elsewhere")
    monkeypatch.setenv("PGHOSTADDR", "192.0.2.1")
    monkeypatch.setenv("PGOPTIONS", "-c search_path=elsewhere")

    shown = with_postgres(
        str(major), "--", "psql", "-Atc", "select current_user, current_setting('search_path')"
    )

    assert shown.stdout == 'postgres|"$user", public\n'
    assert shown.returncode == 0


def test_a_setting_may_be_chosen(major: int) -> None:
    shown = with_postgres(
        *(str(major), "--set", "fsync=off", "--set", r"cluster_name=it's \ one", "--"),
        *("psql", "-Atc", "select current_setting('fsync'), current_setting('cluster_name')"),
    )
    assert shown.stdout == "off|it's \\ one\n"


def test_each_major_dumps_with_its_own_program(major: int) -> None:
    shown = subprocess.run(["pg_dump", "--version"], capture_output=True, text=True, check=True)
    assert f" {major}." in shown.stdout


# -- what it leaves behind -------------------------------------------------------------------------


def test_nothing_outside_its_folder_changes(major: int) -> None:
    watched = {Path("/tmp"), Path("/etc/passwd"), Path("/etc/group")}
    for path in (PROJECT / ".venv", Path.home()):
        watched |= {path, *path.parents}
    before = {path: (path.stat().st_mode, path.stat().st_uid) for path in watched}
    accounts = pwd.getpwall()

    assert with_postgres(str(major), "--", "true").returncode == 0

    assert {path: (path.stat().st_mode, path.stat().st_uid) for path in watched} == before
    assert pwd.getpwall() == accounts


def test_the_command_s_exit_status_is_its_own_and_the_folder_goes(major: int) -> None:
    ended = with_postgres(str(major), "--", "sh", "-c", "echo $FENCEPOST_CLUSTER; exit 7")

    assert ended.returncode == 7
    assert not Path(ended.stdout.strip()).exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_a_signal_leaves_neither_server_nor_folder(number: signal.Signals, major: int) -> None:
    tool, folder, postmaster = start_sleeper(major)

    tool.send_signal(number)
    tool.communicate(timeout=20)  # also the command is gone: nobody holds the pipe

    wait_until_gone(folder)
    assert not is_running(postmaster)
    assert tool.returncode == (-number if number == signal.SIGKILL else 128 + number)


def test_a_kept_cluster_serves_again_and_ends_by_its_folder(major: int, tmp_path: Path) -> None:
    file = tmp_path / "cluster"
    make = ("psql", "-qc", "create database kept")
    look = ("psql", "-Atc", "select count(*) from pg_database where datname = 'kept'")

    assert with_postgres(str(major), "--keep", file, "--", *make).returncode == 0
    folder = Path(file.read_text().strip())
    try:
        assert with_postgres(str(major), "--keep", file, "--", *look).stdout == "1\n"
        assert file.read_text().strip() == str(folder)
        other = 33 - major
        assert with_postgres(str(other), "--keep", file, "--", *look).returncode == 69
        fresh = with_postgres(str(major), "--keep", file, "--fresh", "--", *look)
        assert fresh.stdout == "0\n"
        assert not folder.exists()
    finally:
        folder = Path(file.read_text().strip())
        stopped = with_postgres("--stop", folder)
    assert stopped.returncode == 0
    assert not folder.exists()
    assert with_postgres("--stop", folder).returncode == 0


def test_a_cluster_in_use_is_not_replaced(major: int, tmp_path: Path) -> None:
    file = tmp_path / "cluster"
    tool, folder, postmaster = start_sleeper(major, "--keep", file)
    try:
        refused = with_postgres(str(major), "--keep", file, "--fresh", "--", "true")
        shared = with_postgres(str(major), "--keep", file, "--", "psql", "-Atc", "select 1")
    finally:
        tool.terminate()
        tool.communicate(timeout=20)
        assert is_running(postmaster)
        with_postgres("--stop", folder)

    assert refused.returncode == 69
    assert "used by another run" in refused.stderr
    assert shared.stdout == "1\n"
    wait_until_gone(folder)


@pytest.mark.parametrize("folder", ["/", "/tmp", "/tmp/other", "fencepost-x", "/tmp/fencepost-/.."])
def test_it_removes_no_folder_but_a_cluster_s(folder: str) -> None:
    refused = with_postgres("--stop", folder)
    assert refused.returncode == 64
    assert "no cluster's folder" in refused.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["15"],
        ["15", "--"],
        ["14", "--", "true"],
        ["15", "--fresh", "--", "true"],
        ["--nonsense"],
        ["15", "--set", "fsync", "--", "true"],
        ["15", "--set", "fsync=off\nport=1", "--", "true"],
    ],
)
def test_wrong_usage_is_said(arguments: list[str]) -> None:
    refused = with_postgres(*arguments)
    assert refused.returncode == 64
    assert refused.stderr.startswith("with-postgres: ")


def test_a_major_that_is_not_there_is_named() -> None:
    refused = with_postgres("16", "--", "true")
    if refused.returncode == 0:
        pytest.skip("PostgreSQL 16 is installed here")
    assert refused.returncode == 69
    assert "PostgreSQL 16 is not installed here" in refused.stderr

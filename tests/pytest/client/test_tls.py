"""A server of its own with TLS, as docs/howto/connect-with-tls.md sets it up."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
from dataclasses import dataclass
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from tests.pytest.client.conftest import git
from tests.pytest.conftest import PROJECT

if TYPE_CHECKING:
    from collections.abc import Iterator

RECIPE = PROJECT / "docs" / "howto" / "connect-with-tls.md"
NAME = "ledger.example"


def recipe(language: str) -> list[str]:
    """Return the recipe's blocks in a language."""
    return re.findall(rf"```{language}\n(.*?)```", RECIPE.read_text(), flags=re.DOTALL)


@dataclass(frozen=True)
class Tls:
    """The server, and the folder with its certificates."""

    folder: Path
    certificates: Path
    others: Path
    """Certificates with the same names that another authority signed."""
    environment: dict[str, str]
    """Of the superuser, over the server's socket."""
    port: int

    def services(self, **more: str) -> dict[str, dict[str, str]]:
        """Return the recipe's services, as they are here."""
        found: dict[str, dict[str, str]] = {}
        for block in recipe("ini")[1:]:
            name, *lines = block.strip().splitlines()
            service = dict(line.split("=", 1) for line in lines)
            for key, value in service.items():
                moved = value.replace("/etc/fencepost/auditor.pass", str(self.passfile("auditor")))
                service[key] = moved.replace("/etc/fencepost", str(self.certificates))
            # The name that is looked for in the certificate is nobody's address here.
            service |= {"hostaddr": "127.0.0.1", "port": str(self.port), "connect_timeout": "10"}
            found[name.strip("[]")] = service | more
        return found

    def passfile(self, name: str) -> Path:
        """Return a principal's passfile."""
        return self.folder / "pass" / name

    def attempt(self, service: dict[str, str]) -> dict[str, Any]:
        """Log in, and return what the server says of the connection."""
        with psycopg.connect(make_conninfo("", **service)) as connection:
            row = connection.execute(
                "select session_user, s.ssl, s.client_dn, system_user from pg_stat_ssl s"
                " where s.pid = pg_backend_pid()"
                if connection.info.server_version >= 160000
                else "select session_user, s.ssl, s.client_dn, null from pg_stat_ssl s"
                " where s.pid = pg_backend_pid()"
            ).fetchone()
            assert row is not None
            return dict(zip(("user", "ssl", "dn", "system_user"), row, strict=True))


def sql(tls: Tls, statements: str, database: str = "postgres") -> str:
    """Run statements as the superuser."""
    done = subprocess.run(
        ["psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", database],
        input=statements,
        env=tls.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def tls(major: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tls]:
    """Yield a server with TLS, the plan deployed into database ``ledger``."""
    with psycopg.connect("", autocommit=True) as connection:
        (library,) = connection.execute("show ssl_library").fetchone() or ("",)
    if not library:
        pytest.skip(
            f"this build of PostgreSQL {major} has no TLS: name another with FENCEPOST_POSTGRES"
        )
    loader = SourceFileLoader("tools_with_postgres", str(PROJECT / "tools" / "with-postgres"))
    specification = spec_from_loader(loader.name, loader)
    assert specification is not None
    tool: Any = module_from_spec(specification)
    sys.modules[loader.name] = tool
    loader.exec_module(tool)
    with socket.create_server(("127.0.0.1", 0)) as free:
        tool.PORT = str(free.getsockname()[1])
    made = []
    for name in ("certificates", "others"):
        folder = tmp_path_factory.mktemp(name)
        done = subprocess.run(
            ["sh", "-ec", recipe("sh")[0]], cwd=folder, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        made.append(folder)
    with tool.Janitor() as janitor:
        chosen = {"listen_addresses": "127.0.0.1", "fsync": "off"}
        tool.build(janitor.folder, str(major), chosen)
        environment = tool.environment(janitor.folder, str(major))
        server = Tls(janitor.folder, made[0], made[1], environment, int(tool.PORT))
        settle(server, tool)
        yield server


def settle(tls: Tls, tool: Any) -> None:
    """Deploy, make the principals, and set the server up as the recipe says."""
    data = tls.folder / "data"
    account = tool.server_account()
    for name in ("ca.crt", "server.crt", "server.key"):
        place = data / name
        place.write_bytes((tls.certificates / name).read_bytes())
        place.chmod(0o600)
        os.chown(place, account.pw_uid, account.pw_gid)
    configuration, hba, ident = recipe("ini")[0], *recipe("text")
    # psql and sqitch come through the socket here.
    hba = "local all all scram-sha-256\n" + hba
    for name, text in (("pg_hba.conf", hba), ("pg_ident.conf", ident)):
        (data / name).write_text(text)
    with (data / "postgresql.conf").open("a") as file:
        file.write(configuration)
    done = subprocess.run(
        [PROJECT / "tools" / "deploy", "ledger"],
        env=tls.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    for name in ("worker_1", "verifier_1", "auditor", "admin"):
        group = f"fencepost_{name.removesuffix('_1')}"
        subprocess.run(
            [PROJECT / "tools" / "principal", name, group],
            env=tls.environment,
            stdout=subprocess.DEVNULL,
            check=True,
        )
    assert sql(tls, "select pg_reload_conf()").strip() == "t"
    faults = sql(
        tls,
        "select error from pg_hba_file_rules where error is not null union all"
        " select error from pg_ident_file_mappings where error is not null",
    )
    assert faults == ""


def test_the_right_name_is_let_in_with_a_certificate(tls: Tls) -> None:
    seen = tls.attempt(tls.services()["worker_1"])
    assert (seen["user"], seen["ssl"]) == ("worker_1", True)
    assert seen["dn"] == "/CN=worker-1.builders.example"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"host": "other.example"}, "does not match host name"),
        ({"sslrootcert": "{others}/ca.crt"}, "certificate verify failed"),
        ({"sslmode": "disable"}, "pg_hba.conf rejects"),
        ({"user": "verifier_1"}, "certificate authentication failed"),
        ({"user": "admin"}, "no password supplied"),
        ({"user": "postgres"}, "pg_hba.conf rejects"),
        ({"sslcert": "", "sslkey": "", "sslcertmode": "disable"}, "valid client certificate"),
        ({"sslcert": "{others}/worker_1.crt", "sslkey": "{others}/worker_1.key"}, "unknown ca|"),
        (
            {
                "sslcert": "{certificates}/verifier_1.crt",
                "sslkey": "{certificates}/verifier_1.key",
            },
            "certificate authentication failed",
        ),
        ({"channel_binding": "require"}, "channel binding"),
    ],
)
def test_nobody_else_is(tls: Tls, change: dict[str, str], said: str) -> None:
    places = {"certificates": str(tls.certificates), "others": str(tls.others)}
    change = {name: value.format(**places) for name, value in change.items()}
    with pytest.raises(psycopg.OperationalError) as caught:
        tls.attempt(tls.services()["worker_1"] | {"passfile": "/nonexistent"} | change)
    assert re.search(said.replace("unknown ca|", "unknown ca|certificate"), str(caught.value))


def test_scram_is_bound_to_the_channel(tls: Tls) -> None:
    service = tls.services()["auditor"]
    seen = tls.attempt(service)
    assert (seen["user"], seen["ssl"], seen["dn"]) == ("auditor", True, None)
    for change, said in (
        ({"host": "other.example"}, "does not match host name"),
        ({"sslrootcert": str(tls.others / "ca.crt")}, "certificate verify failed"),
        # Over the socket there is no TLS, and no channel to bind to.
        ({"host": str(tls.folder), "hostaddr": "", "sslmode": "disable"}, "channel binding"),
    ):
        with pytest.raises(psycopg.OperationalError, match=said):
            tls.attempt(service | change)


def test_no_verifier_is_of_another_kind_than_scram(tls: Tls) -> None:
    kinds = sql(
        tls, "select distinct split_part(rolpassword, '$', 1) from pg_authid where rolcanlogin"
    )
    assert kinds.split() == ["SCRAM-SHA-256"]


@pytest.mark.parametrize("options", [[], ["--sandbox"]], ids=["open", "sandbox"])
def test_a_worker_and_a_verifier_work_over_tls(
    tls: Tls, tmp_path: Path, options: list[str]
) -> None:
    target, clone = tmp_path / "target.git", tmp_path / "clone"
    git(tmp_path, "init", "--quiet", "--bare", "--initial-branch=main", str(target))
    git(tmp_path, "clone", "--quiet", str(target), str(clone))
    (clone / "answer").write_text("none\n")
    git(clone, "checkout", "--quiet", "-B", "main")
    git(clone, "add", "--all")
    git(clone, "commit", "--quiet", "--message", "first")
    git(clone, "push", "--quiet", "origin", "HEAD:main")
    klass = f"tls{len(options)}"
    admin = tls.services()["auditor"] | {"user": "admin", "passfile": str(tls.passfile("admin"))}
    with psycopg.connect(make_conninfo("", **admin), autocommit=True) as connection:
        connection.execute(
            f"""
            select kernel.define_class('{klass}', '{{"promotes": true}}');
            select kernel.define_target(
                p_class => '{klass}', p_target => 'answer',
                p_location => '{{"repository": "{target}", "ref": "refs/heads/main"}}',
                p_desired_state => '{{"answer": "right"}}',
                p_acceptance => '{{"command": ["grep", "-qx", "right", "answer"]}}');
            select kernel.authorise('{klass}', 'worker', 'git.push',
                '{{repository}}#refs/fencepost/{klass}/{{campaign}}/{{attempt}}');
            select kernel.authorise('{klass}', 'verifier', 'promote', '*');
            select kernel.register_principal('worker_1');
            select kernel.register_principal('verifier_1');
            select kernel.enrol('{klass}', 'worker_1', 'worker');
            select kernel.enrol('{klass}', 'verifier_1', 'verifier');
            select kernel.open_campaign('{klass}', 'answer', gen_random_uuid());
            """.encode()
        )
    services = tmp_path / "services"
    worker = tls.services()["worker_1"]
    verifier = worker | {
        "user": "verifier_1",
        "sslcert": str(tls.certificates / "verifier_1.crt"),
        "sslkey": str(tls.certificates / "verifier_1.key"),
    }
    services.write_text(
        "".join(
            f"[{name}]\n" + "".join(f"{key}={value}\n" for key, value in service.items())
            for name, service in (("worker_1", worker), ("verifier_1", verifier))
        )
    )
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
    environment |= {"PGSERVICEFILE": str(services), "HOME": str(tmp_path)}
    look = f"cat {tls.certificates}/worker_1.key > key; echo right > answer"
    for duty, rest in (
        ("worker", [*options, "--", "sh", "-c", look]),
        ("verifier", [*options, "--evidence-dir", str(tmp_path / "evidence")]),
    ):
        words = [duty, "--class", klass, "--once", "--service", f"{duty}_1", *rest]
        done = subprocess.run(
            [Path(sys.executable).with_name("fencepost"), *words],
            env=environment,
            capture_output=True,
            text=True,
            timeout=90,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert "BEGIN" not in done.stdout + done.stderr
    assert git(target, "show", "main:answer") == "right"
    key = git(target, "show", "main:key")
    assert ("PRIVATE KEY" in key) != bool(options), "the key is seen without a sandbox only"

"""A ledger with one class, a repository as target, and a principal for each role."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

from tests.pytest.client.pooler import running as pooler_before
from tests.pytest.client.proxy import running as proxy_before
from tests.pytest.conftest import DUTIES, Principal

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tests.pytest.client.pooler import Pooler
    from tests.pytest.client.proxy import Proxy
    from tests.pytest.conftest import Connection

PROJECT = Path(__file__).resolve().parents[3]

CLASS = "upkeep"
PUSHED = "{repository}#refs/fencepost/upkeep/{campaign}/{attempt}"
REF = "refs/heads/main"

POLICY: dict[str, Any] = {
    "promotes": True,
    "lease_default": "15 seconds",
    "backoff_base": "0",
    "backoff_cap": "0",
    "backoff_jitter": 0,
}

ACCEPTANCE: dict[str, Any] = {
    "command": ["sh", "check.sh"],
    "time_limit_s": 20,
    "protected": ["check.sh"],
}


def git(folder: Path, *arguments: str) -> str:
    """Run git as somebody else would."""
    done = subprocess.run(
        [
            "git",
            *("-c", "user.name=Somebody", "-c", "user.email=somebody@localhost"),
            *("-c", "safe.directory=*"),  # root looks at what belongs to another account
            *arguments,
        ],
        cwd=folder,
        env={"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@dataclass
class Process:
    """A running ``fencepost``."""

    popen: subprocess.Popen[str]
    log: Path

    def output(self) -> str:
        """Return what it printed so far."""
        return self.log.read_text(encoding="utf-8")

    def wait_for(self, word: str, seconds: float = 20) -> None:
        """Wait until it printed *word*."""
        deadline = time.monotonic() + seconds
        while word not in self.output():
            assert self.popen.poll() is None, f"ended: {self.output()}"
            assert time.monotonic() < deadline, f"no {word!r} in: {self.output()}"
            time.sleep(0.02)

    def ends(self, code: int = 0, seconds: float = 30) -> str:
        """Wait for its end, and return what it printed."""
        self.popen.wait(timeout=seconds)
        assert self.popen.returncode == code, self.output()
        return self.output()


@dataclass
class World:
    """Everybody and everything that a test of the client needs."""

    database: str
    repository: Path
    folder: Path
    people: dict[str, Principal]
    running: list[Process] = field(default_factory=list)
    clone: Path = Path()

    def connect(self, duty: str) -> Connection:
        """Return a new connection of the principal with that duty."""
        return self.people[duty].connect(self.database)

    def admin(self, query: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Call a function as the admin, and return its one row."""
        with (
            closing(self.people["admin"].connect(self.database, autocommit=True)) as connection,
            connection.cursor(row_factory=dict_row) as cursor,
        ):
            cursor.execute(query.encode(), arguments)
            row = cursor.fetchone()
            assert row is not None
            assert row["outcome"] == "ok", row
            return row

    def define_class(self, **policy: object) -> None:
        """Give the class another policy."""
        self.admin(
            "select * from kernel.define_class(p_class => %(class)s, p_policy => %(policy)s)",
            {"class": CLASS, "policy": Jsonb(POLICY | policy)},
        )

    def authorise(self, duty: str, kind: str, target: str) -> None:
        """Allow a duty to do operations."""
        self.admin(
            """
            select * from kernel.authorise(
                p_class => %(class)s, p_duty => %(duty)s, p_kind => %(kind)s, p_target => %(target)s
            )
            """,
            {"class": CLASS, "duty": duty, "kind": kind, "target": target},
        )

    def define_target(self, target: str = "numbers", **acceptance: object) -> None:
        """Name the repository as a target."""
        self.admin(
            """
            select * from kernel.define_target(
                p_class         => %(class)s,
                p_target        => %(target)s,
                p_location      => %(location)s,
                p_desired_state => '{"answer": "right"}',
                p_acceptance    => %(acceptance)s
            )
            """,
            {
                "class": CLASS,
                "target": target,
                "location": Jsonb({"repository": str(self.repository), "ref": REF}),
                "acceptance": Jsonb(ACCEPTANCE | acceptance),
            },
        )

    def enrol(self, name: str, duty: str) -> None:
        """Let a principal act in the class."""
        self.admin(
            "select * from kernel.register_principal(p_principal => %(name)s)", {"name": name}
        )
        self.admin(
            """
            select * from kernel.enrol(
                p_class => %(class)s, p_principal => %(name)s, p_duty => %(duty)s
            )
            """,
            {"class": CLASS, "name": name, "duty": duty},
        )

    def open_campaign(self, target: str = "numbers") -> int:
        """Open a campaign on the target, and return its number."""
        row = self.admin(
            """
            select * from kernel.open_campaign(
                p_class => %(class)s, p_target => %(target)s, p_token => %(token)s
            )
            """,
            {"class": CLASS, "target": target, "token": uuid4()},
        )
        return int(row["campaign_id"])

    def audit(self, query: str) -> list[dict[str, Any]]:
        """Return what the auditor sees."""
        with (
            closing(self.people["auditor"].connect(self.database, autocommit=True)) as connection,
            connection.cursor(row_factory=dict_row) as cursor,
        ):
            return cursor.execute(query.encode()).fetchall()

    def campaign(self) -> dict[str, Any]:
        """Return the newest campaign."""
        return self.audit("select * from audit.campaigns order by campaign_id desc limit 1")[0]

    def attempt(self) -> dict[str, Any]:
        """Return the newest attempt."""
        return self.audit(
            "select * from audit.attempts order by campaign_id desc, attempt_no desc limit 1"
        )[0]

    def transitions(self) -> list[str]:
        """Return all moves of all campaigns, oldest first."""
        rows = self.audit("select transition from audit.events order by campaign_id, event_no")
        return [row["transition"] for row in rows]

    def value(self, ref: str = REF) -> str:
        """Return what a ref of the target holds."""
        return git(self.repository, "rev-parse", ref)

    def push(self, *, name: str = "other.txt", content: str = "x\n", force: bool = False) -> str:
        """Commit a file on top of the target's ref as a stranger, and return the commit."""
        git(self.clone, "fetch", "--quiet", "origin")
        if not force:
            git(self.clone, "reset", "--quiet", "--hard", "origin/main")
        (self.clone / name).write_text(content)
        git(self.clone, "add", "--all")
        git(self.clone, "commit", "--quiet", "--message", f"change {name}")
        git(self.clone, "push", "--quiet", "--force", "origin", "HEAD:main")
        return git(self.clone, "rev-parse", "HEAD")

    def start(
        self,
        duty: str,
        *arguments: str,
        words: Sequence[str] = (),
        environment: dict[str, str] | None = None,
    ) -> Process:
        """Start ``fencepost DUTY``, or *words* for DUTY, as the principal with that duty."""
        log = self.folder / f"{duty}-{len(self.running)}.log"
        command = [str(Path(sys.executable).with_name("fencepost")), *(words or (duty,))]
        if duty == "verifier":
            command += ["--evidence-dir", str(self.folder / "evidence")]
        if duty in {"worker", "verifier"}:
            command += ["--class", CLASS]
        with log.open("w") as file:
            popen = subprocess.Popen(
                [*command, *arguments],
                env=self.people[duty].environment(self.database)
                | {"TMPDIR": str(self.folder)}
                | (environment or {}),
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                text=True,
            )
        process = Process(popen, log)
        self.running.append(process)
        return process

    def work(self, script: str, *options: str, code: int = 0) -> str:
        """Run a worker once, with a shell script as command; return what it printed."""
        return self.start("worker", "--once", *options, "--", "sh", "-c", script).ends(code)

    def verify(self, *options: str, code: int = 0) -> str:
        """Run a verifier once, and return what it printed."""
        return self.start("verifier", "--once", *options).ends(code)

    def left_behind(self) -> list[str]:
        """Return the working folders that are still there."""
        return [path.name for path in self.folder.glob("fencepost-*")]


@contextmanager
def everybody(made_roles: list[str]) -> Iterator[dict[str, Principal]]:
    """Yield a principal for each duty; every database enrols them anew."""
    with ExitStack() as opened:
        found = {}
        for duty in DUTIES:
            name = f"client_{duty}"
            done = subprocess.run(
                [PROJECT / "tools" / "principal", name, f"fencepost_{duty}"],
                stdout=subprocess.PIPE,
                text=True,
                check=True,
            )
            made_roles.append(name)
            found[duty] = Principal(name, Path(done.stdout.strip()), opened)
        yield found


@pytest.fixture(scope="session")
def people(cluster: Path, made_roles: list[str]) -> Iterator[dict[str, Principal]]:
    """Yield everybody."""
    with everybody(made_roles) as found:
        yield found


@pytest.fixture
def world(database: str, people: dict[str, Principal], tmp_path: Path) -> Iterator[World]:
    """Yield a world with a campaign's class and target defined, and nothing open."""
    repository, clone = tmp_path / "target.git", tmp_path / "stranger"
    git(tmp_path, "init", "--quiet", "--bare", "--initial-branch=main", str(repository))
    git(tmp_path, "clone", "--quiet", str(repository), str(clone))
    git(clone, "checkout", "--quiet", "-B", "main")
    folder = tmp_path / "run"
    folder.mkdir()
    made = World(database, repository, folder, people, clone=clone)
    (clone / "check.sh").write_text('echo checking; grep -qx right "answer"\n')
    (clone / "answer").write_text("none\n")
    git(clone, "add", "--all")
    git(clone, "commit", "--quiet", "--message", "first")
    git(clone, "push", "--quiet", "origin", "HEAD:main")
    made.define_class()
    made.define_target()
    made.authorise("worker", "git.push", PUSHED)
    made.authorise("verifier", "promote", "{repository}#" + REF)
    for duty in ("worker", "verifier"):
        made.enrol(people[duty].name, duty)
    yield made
    for process in made.running:
        if process.popen.poll() is None:
            process.popen.send_signal(signal.SIGTERM)
            try:
                process.popen.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.popen.kill()
                process.popen.wait()


@pytest.fixture
def proxy() -> Iterator[Proxy]:
    """Yield something that can lose the server's answers."""
    with proxy_before() as made:
        yield made


@pytest.fixture(scope="session")
def pgbouncer(cluster: Path) -> Iterator[Pooler]:
    """Yield a PgBouncer before the cluster."""
    with pooler_before() as made:
        yield made

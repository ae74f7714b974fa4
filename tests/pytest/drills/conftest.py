"""What every drill needs: a ledger, a repository with a failing test, and people to do the work.

Everybody is a LOGIN role with a passfile of its own, and acts through a real ``fencepost`` process
or a real connection. What became of a campaign is read by an auditor. Nothing here sleeps for a
fixed time: a drill waits for what it wants to see, and fails with the story so far.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from tests.pytest.conftest import Connection, MakePrincipal, Principal

PROJECT = Path(__file__).resolve().parents[3]
FENCEPOST = str(Path(sys.executable).with_name("fencepost"))
SENSOR = str(PROJECT / "examples" / "sensor")

POLICY: dict[str, Any] = {
    "promotes": True,
    "lease_default": "15 seconds",
    "backoff_base": "0",
    "backoff_cap": "0",
    "backoff_jitter": 0,
}

BEGINNING = {"answer": "unknown\n", "check": "grep -qx right answer\n"}

_IDENTITY = {
    "GIT_AUTHOR_NAME": "Stranger",
    "GIT_AUTHOR_EMAIL": "stranger@localhost",
    "GIT_COMMITTER_NAME": "Stranger",
    "GIT_COMMITTER_EMAIL": "stranger@localhost",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
}


@dataclass
class Program:
    """A running ``fencepost``, and what it printed."""

    process: subprocess.Popen[bytes]
    log: Path

    @property
    def pid(self) -> int:
        """Its process id."""
        return self.process.pid

    @property
    def output(self) -> str:
        """What it printed so far."""
        return self.log.read_text(errors="replace")

    def wait(self, within: float = 60) -> int:
        """Wait for its end; return its exit code."""
        return self.process.wait(timeout=within)

    def succeeds(self, within: float = 60) -> None:
        """Wait for its end, which must be a good one."""
        status = self.wait(within)
        assert status == 0, f"exit code {status}\n{self.output}"

    def send(self, number: signal.Signals) -> None:
        """Send it a signal."""
        self.process.send_signal(number)

    def kill(self) -> None:
        """``kill -9``, and see it gone."""
        self.process.kill()
        self.process.wait(timeout=10)


class Repository:
    """A bare repository, where a check fails until ``answer`` says ``right``."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.git("init", "--quiet", "--bare", "--initial-branch=main", str(path), inside=False)

    def git(self, *arguments: str, inside: bool = True, folder: Path | None = None) -> str:
        """Run git in the repository, or in *folder*; return what it printed."""
        where = [] if not inside else ["-C", str(folder or self.path)]
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("GIT_", "PG"))}
        done = subprocess.run(
            ["git", *where, *arguments],
            env=environment | _IDENTITY,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"git {arguments}: {done.stderr}"
        return done.stdout.strip()

    def value(self, ref: str = "refs/heads/main") -> str | None:
        """Return what *ref* holds, ``None`` if it does not exist."""
        listed = self.git("for-each-ref", "--format=%(objectname)", ref)
        return listed or None

    def read(self, path: str, at: str = "refs/heads/main") -> str:
        """Return the content of a file at a ref or commit."""
        return self.git("show", f"{at}:{path}")

    def is_ancestor(self, older: str, newer: str) -> bool:
        """Return whether *older* is reachable from *newer*."""
        listed = self.git("rev-list", newer).split()
        return older in listed

    def commit(self, files: Mapping[str, str], *, onto: str | None = "refs/heads/main") -> str:
        """Commit *files* on top of ``main``, as somebody outside the ledger, and push it."""
        clone = self.path.with_name(f"stranger-{uuid4().hex[:8]}")
        self.git("clone", "--quiet", str(self.path), str(clone), inside=False)
        for name, content in files.items():
            (clone / name).parent.mkdir(parents=True, exist_ok=True)
            (clone / name).write_text(content)
        self.git("add", "--all", folder=clone)
        self.git("commit", "--quiet", "--message", f"Write {', '.join(files)}", folder=clone)
        if onto is not None:
            self.git("push", "--quiet", "origin", f"HEAD:{onto}", folder=clone)
        return self.git("rev-parse", "HEAD", folder=clone)

    def hook(self, name: str, script: str) -> None:
        """Install a hook."""
        path = self.path / "hooks" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)


class Stage:
    """One class, one repository, and everybody who works on it. Fixture ``stage``."""

    klass = "drill"
    path = os.environ["PATH"]
    program = FENCEPOST

    def __init__(self, database: str, folder: Path, principal: MakePrincipal) -> None:
        self.database = database
        self.folder = folder
        self._principal = principal
        self._enrolled: dict[tuple[str, int], Principal] = {}
        self._programs: list[Program] = []
        self.judged = folder / "judged"
        self.temporary = folder / "tmp"
        self.temporary.mkdir()
        self.repository = Repository(folder / "target.git")
        self.repository.commit(BEGINNING)
        self.define_class()

    # The people

    def person(self, duty: str, number: int = 0) -> Principal:
        """Return the *number*-th principal of a duty: registered, enrolled, connected nowhere."""
        known = self._enrolled.get((duty, number))
        if known is None:
            known = self._principal(f"{duty}_{number}", f"fencepost_{duty}")
            self._enrolled[duty, number] = known
            if duty in {"sensor", "worker", "verifier"}:
                self.admin("register_principal", p_principal=known.name)
                self.admin("enrol", p_class=self.klass, p_principal=known.name, p_duty=duty)
        return known

    def grant(self, who: Principal, duty: str) -> None:
        """Give a principal another duty in the class."""
        subprocess.run(
            [PROJECT / "tools" / "principal", who.name, f"fencepost_{duty}"],
            stdout=subprocess.DEVNULL,
            check=True,
        )
        self.admin("enrol", p_class=self.klass, p_principal=who.name, p_duty=duty)

    @cached_property
    def _admin(self) -> Connection:
        return self.person("admin").connect(self.database, autocommit=True)

    @cached_property
    def _audit(self) -> psycopg.Connection[dict[str, Any]]:
        return psycopg.connect(
            self.person("auditor").conninfo(self.database), autocommit=True, row_factory=dict_row
        )

    def audit(self, query: str, *arguments: object) -> list[dict[str, Any]]:
        """Ask the auditor."""
        return self._audit.execute(query.encode(), arguments).fetchall()

    def call(self, connection: Connection, function: str, /, **arguments: object) -> dict[str, Any]:
        """Call a kernel function; return its answer."""
        query = sql.SQL("select * from kernel.{}({})").format(
            sql.Identifier(function),
            sql.SQL(", ").join(
                sql.SQL("{} => {}").format(sql.Identifier(name), sql.Placeholder(name))
                for name in arguments
            ),
        )
        with connection.cursor(row_factory=dict_row) as cursor:
            row = cursor.execute(query, arguments).fetchone()
        assert row is not None, f"{function} returned no row"
        return row

    def admin(self, function: str, /, **arguments: object) -> dict[str, Any]:
        """Let the admin call a function, which must answer ok."""
        answer = self.call(self._admin, function, **arguments)
        assert answer["outcome"] == "ok", answer
        return answer

    # What they agree on

    def define_class(self, **policy: object) -> None:
        """Define the class anew: the drills' policy, and what is given."""
        self.admin("define_class", p_class=self.klass, p_policy=Jsonb(POLICY | policy))
        self.authorise("worker", "git.push", "{repository}#refs/fencepost/%s/{campaign}/{attempt}")
        self.authorise("verifier", "promote", "*")

    def authorise(self, duty: str, kind: str, target: str) -> None:
        """Allow a duty to do operations; ``%s`` in *target* is the class."""
        target = target.replace("%s", self.klass)
        self.admin("authorise", p_class=self.klass, p_duty=duty, p_kind=kind, p_target=target)

    def define_target(
        self,
        target: str = "answer",
        *,
        repository: Repository | None = None,
        check: str = "sh check",
        protected: Sequence[str] = ("check",),
        time_limit_s: int = 30,
        **policy: object,
    ) -> None:
        """Define a target. Its acceptance leaves a line in :attr:`judged` each time it is run."""
        command = ["sh", "-c", f'echo "$(git rev-parse HEAD)" >> "$0" && {check}', str(self.judged)]
        path = str((repository or self.repository).path)
        self.admin(
            "define_target",
            p_class=self.klass,
            p_target=target,
            p_location=Jsonb({"repository": path, "ref": "refs/heads/main"}),
            p_desired_state=Jsonb({"answer": "right"}),
            p_acceptance=Jsonb(
                {"command": command, "time_limit_s": time_limit_s, "protected": list(protected)}
            ),
            p_policy=Jsonb(policy),
        )

    def open(self, target: str = "answer") -> int:
        """Open a campaign as the admin; return its id."""
        opened = self.admin(
            "open_campaign", p_class=self.klass, p_target=target, p_token=uuid4(), p_reason="drill"
        )
        return int(opened["campaign_id"])

    # What they run

    def run(
        self, who: Principal, command: Sequence[str], extra: Mapping[str, str] | None = None
    ) -> Program:
        """Start a program that finds its way to the ledger as *who*, and nobody else."""
        home = self.folder / "home" / who.name
        home.mkdir(parents=True, exist_ok=True)
        environment = {
            "PATH": self.path,
            "LANG": "C.UTF-8",
            "HOME": str(home),
            "TMPDIR": str(self.temporary),
            "PGHOST": os.environ["PGHOST"],
            "PGPORT": os.environ["PGPORT"],
            "PGUSER": who.name,
            "PGDATABASE": self.database,
            "PGPASSFILE": str(who.passfile),
        }
        log = self.folder / f"{len(self._programs):02}-{who.name}.log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                command,
                env=environment | dict(extra or {}),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=self.folder,
                start_new_session=True,
            )
        program = Program(process, log)
        self._programs.append(program)
        return program

    def worker(
        self,
        *command: str,
        number: int = 0,
        once: bool = True,
        options: Sequence[str] = (),
        launcher: Sequence[str] = (FENCEPOST,),
        extra: Mapping[str, str] | None = None,
    ) -> Program:
        """Start ``fencepost worker`` with *command*; a single word is a script for ``sh -c``."""
        words = ["sh", "-c", *command] if len(command) == 1 else list(command)
        arguments = ["worker", "--class", self.klass, *(["--once"] if once else []), *options, "--"]
        return self.run(self.person("worker", number), [*launcher, *arguments, *words], extra)

    def verifier(
        self, *, number: int = 0, once: bool = True, extra: Mapping[str, str] | None = None
    ) -> Program:
        """Start ``fencepost verifier``."""
        arguments = ["verifier", "--class", self.klass, *(["--once"] if once else [])]
        evidence = ["--evidence-dir", str(self.folder / "evidence")]
        return self.run(self.person("verifier", number), [FENCEPOST, *arguments, *evidence], extra)

    def reaper(self) -> Program:
        """Start ``fencepost reaper``, which looks several times a second."""
        return self.run(self.person("reaper"), [FENCEPOST, "reaper", "--interval", "0.2"])

    def look(self, target: str = "answer") -> str:
        """Let the example sensor look at the target once; return what it says it saw."""
        sensor = self.run(
            self.person("sensor"),
            [
                *(SENSOR, self.klass, target, str(self.repository.path), "main"),
                *(str(self.folder / "evidence"), "sh", "check"),
            ],
        )
        sensor.succeeds()
        return sensor.output.strip()

    # What became of it

    def campaign(self, campaign_id: int) -> dict[str, Any]:
        """Return a campaign as the auditor sees it."""
        (row,) = self.audit(
            "select * from audit.campaigns where class = %s and campaign_id = %s",
            self.klass,
            campaign_id,
        )
        return row

    def attempts(self, campaign_id: int) -> list[dict[str, Any]]:
        """Return a campaign's attempts, oldest first."""
        return self.audit(
            """
            select * from audit.attempts where class = %s and campaign_id = %s
            order by attempt_no
            """,
            self.klass,
            campaign_id,
        )

    def events(self, campaign_id: int) -> list[dict[str, Any]]:
        """Return a campaign's events in order, having seen that none is missing."""
        events = self.audit(
            "select * from audit.events where class = %s and campaign_id = %s order by event_no",
            self.klass,
            campaign_id,
        )
        assert [event["event_no"] for event in events] == list(range(1, len(events) + 1))
        assert [event["at"] for event in events] == sorted(event["at"] for event in events)
        states = ["none", *(event["to_state"] for event in events)]
        assert [event["from_state"] for event in events] == states[:-1]
        return events

    def moves(self, campaign_id: int) -> list[str]:
        """Return the names of a campaign's moves in order."""
        return [event["transition"] for event in self.events(campaign_id)]

    def refusals(self) -> list[dict[str, Any]]:
        """Return all refusals, oldest first."""
        return self.audit("select * from audit.refusals order by refusal_no")

    # Waiting

    def wait_for(self, condition: Callable[[], object], what: str, within: float = 60) -> None:
        """Wait until *condition* holds; fail with the story so far if it does not."""
        deadline = time.monotonic() + within
        while not condition():
            if time.monotonic() > deadline:
                pytest.fail(f"waited {within:g} s in vain until {what}\n{self.story()}")
            time.sleep(0.02)

    def wait_state(self, campaign_id: int, state: str, within: float = 60) -> None:
        """Wait until a campaign is in *state*."""
        self.wait_for(
            lambda: self.campaign(campaign_id)["state"] == state,
            f"campaign {campaign_id} is {state}",
            within,
        )

    def story(self) -> str:
        """Return all events, refusals and logs, for whoever has to find out what went wrong."""
        lines = [
            "{campaign_id}/{event_no} {transition} {from_state} -> {to_state} "
            "generation {generation} by {by_principal} at {at:%H:%M:%S.%f}: {detail}".format(
                **event
            )
            for event in self.audit("select * from audit.events order by at, event_no")[-60:]
        ]
        lines += ["{at:%H:%M:%S.%f} {principal} {function}: {outcome}, {message}".format(**refusal)
                  for refusal in self.refusals()]  # fmt: skip
        for program in self._programs[-12:]:
            lines += [f"--- {program.log.name}, exit {program.process.poll()}", program.output]
        return "\n".join(lines)

    def close(self) -> None:
        """End whatever still runs."""
        for program in self._programs:
            with suppress(ProcessLookupError):
                program.process.kill()
        for program in self._programs:
            program.process.wait(timeout=10)
        self._audit.close()


@pytest.fixture
def stage(database: str, tmp_path: Path, principal: MakePrincipal) -> Iterator[Stage]:
    """Yield the stage of a drill, cleared at its end."""
    made = Stage(database, tmp_path, principal)
    yield made
    made.close()


def is_alive(pid: int) -> bool:
    """Return whether a process is there, and more than a zombie."""
    try:
        content = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return content.rpartition(")")[2].split()[0] not in {"Z", "X"}


@pytest.fixture
def alive() -> Callable[[int], bool]:
    """Return the function that says whether a process is there."""
    return is_alive

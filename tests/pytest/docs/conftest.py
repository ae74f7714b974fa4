"""Runs what the documents show: shell commands, psql sessions, Python sessions.

A document's blocks are run in their order, in one database, as the LOGIN roles that it names. What
a block shows as output is compared with what comes out.

* ``console``: a line that begins with ``$`` is given to a shell, one that begins with ``NAME=>`` to
  psql as principal NAME, with ``NAME->`` for its further lines; the lines below are the output
* ``pycon``: a Python session, as for doctest
* ``sql``: a script for psql; its first line says as whom, ``-- as NAME``
"""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import psycopg
import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.pytest.conftest import Connection

PROJECT = Path(__file__).resolve().parents[3]

PEOPLE = {
    "admin": "fencepost_admin",
    "sensor": "fencepost_sensor",
    "worker_a": "fencepost_worker",
    "worker_b": "fencepost_worker",
    "verifier": "fencepost_verifier",
    "reaper": "fencepost_reaper",
    "auditor": "fencepost_auditor",
}
"""The principals that the documents speak of, and the group of each."""

_PROMPT = re.compile(r"(\$|\w+[=-]>) ?(.*)")
_END = "-- end of this output --"


@dataclass(frozen=True)
class Block:
    """A fenced block of a document."""

    page: Path
    line: int
    language: str
    text: str

    def __str__(self) -> str:
        return f"{self.page.relative_to(PROJECT)}:{self.line}"

    def said(self) -> list[tuple[str, str, str]]:
        """Return who is asked, what is typed and what is shown, for each input of a console."""
        turns: list[tuple[str, list[str], list[str]]] = []
        for line in self.text.splitlines():
            prompt = _PROMPT.fullmatch(line)
            if prompt is None and line.startswith("> ") and turns and turns[-1][1][-1][-1:] == "\\":
                turns[-1][1].append(line[2:])
            elif prompt is None:
                assert turns, f"{self} begins with output"
                turns[-1][2].append(line.rstrip())
            elif prompt[1].endswith("->"):
                assert [turn[0] for turn in turns[-1:]] == [prompt[1][:-2]], f"{self}: {line}"
                turns[-1][1].append(prompt[2])
            else:
                turns.append((prompt[1].removesuffix("=>"), [prompt[2]], []))
        return [(who, "\n".join(typed), "\n".join(shown)) for who, typed, shown in turns]


def blocks(page: Path) -> list[Block]:
    """Return a document's fenced blocks."""
    found: list[Block] = []
    lines = page.read_text(encoding="utf-8").splitlines()
    start: int | None = None
    for number, line in enumerate(lines, 1):
        if not line.startswith("```"):
            continue
        if start is None:
            start = number
        else:
            language = lines[start - 1].removeprefix("```")
            found.append(Block(page, start, language, "\n".join(lines[start : number - 1])))
            start = None
    assert start is None, f"{page}:{start}: a block without an end"
    return found


@dataclass
class Stage:
    """A database in which a document is played, and what the players know of it."""

    database: str
    folder: Path
    environment: dict[str, str]
    known: dict[str, Any] = field(default_factory=dict)
    """What the document's Python sessions have defined."""
    instead: dict[str, str] = field(default_factory=dict)
    """What is different here from the machine that the documents speak of."""

    def put(self, text: str) -> str:
        """Return a document's text as it has to be here."""
        for there, here in self.instead.items():
            text = text.replace(there, here)
        return text

    def psql(self, principal: str, statements: list[str]) -> list[str]:
        """Run statements in one session of psql; return the output of each."""
        script = "".join(f"{statement}\n\\echo '{_END}'\n" for statement in statements)
        done = subprocess.run(
            ["psql", "-X", "-q", "-P", "footer=off", f"service={principal}"],
            input=self.put(script),
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout
        return done.stdout.split(f"{_END}\n")[:-1]

    def shell(self, command: str) -> str:
        """Run a command in a shell, which must succeed; return its output."""
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", self.put(command)],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}"
        return done.stdout

    def play(self, block: Block) -> None:
        """Run one block and compare what it shows."""
        if block.language == "console":
            self._console(block)
        elif block.language == "pycon":
            self._python(block)
        elif block.language == "sql":
            asked = re.match(r"-- as (\w+)", block.text)
            assert asked, f"{block}: say as whom, -- as NAME"
            (output,) = self.psql(asked[1], [block.text])
            assert "ERROR" not in output, f"{block}\n{output}"

    def _console(self, block: Block) -> None:
        turns = block.said()
        if turns[0][0] == "$":
            for who, typed, shown in turns:
                assert who == "$", f"{block}: a shell and psql in one block"
                output = self.shell(typed)
                if shown:
                    compare(block, typed, shown, output)
            return
        # One session for each of them in this block: what \gset sets is there for the next.
        for principal in dict.fromkeys(who for who, _, _ in turns):
            mine = [turn for turn in turns if turn[0] == principal]
            outputs = self.psql(principal, [typed for _, typed, _ in mine])
            assert len(outputs) == len(mine), f"{block}: psql ended early"
            for (_, typed, shown), output in zip(mine, outputs, strict=True):
                compare(block, typed, shown, output)

    def _python(self, block: Block) -> None:
        test = doctest.DocTestParser().get_doctest(
            f"{block.text}\n", self.known, str(block), str(block.page), block.line
        )
        said: list[str] = []
        runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS, verbose=False)
        runner.run(test, out=said.append, clear_globs=False)
        self.known = test.globs
        assert not runner.failures, "".join(said)


def compare(block: Block, typed: str, shown: str, output: str) -> None:
    """Hold what a document shows against what came out; `...` stands for anything."""
    wanted = "\n".join(line.rstrip() for line in shown.strip("\n").splitlines())
    got = "\n".join(line.rstrip() for line in output.strip("\n").splitlines())
    checker = doctest.OutputChecker()
    assert checker.check_output(wanted + "\n", got + "\n", doctest.ELLIPSIS), (
        f"{block}\n{typed}\nshown:\n{wanted}\nfound:\n{got}"
    )


class MakeStage(Protocol):
    """What the fixture ``stage`` is."""

    def __call__(self, *people: str) -> Stage: ...


@pytest.fixture
def players(maintenance: Connection, cluster: Path) -> Iterator[list[str]]:
    """Yield a list of roles to drop when the test's database is gone."""
    names: list[str] = []
    yield names
    for name in dict.fromkeys(names):
        maintenance.execute(f'drop role if exists "{name}"'.encode())


@pytest.fixture
def stage(
    players: list[str],
    database: str,
    cluster: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[MakeStage]:
    """Yield a function that makes the principals named, and a stage for them.

    They have the very names that the documents use, and a service of that name each.
    """
    services = tmp_path / "services"
    with ExitStack() as opened:
        connect = psycopg.connect

        def closed_at_the_end(*arguments: Any, **options: Any) -> Any:
            return opened.enter_context(connect(*arguments, **options))

        monkeypatch.setattr(psycopg, "connect", closed_at_the_end)

        def make(*people: str) -> Stage:
            for name in people:
                subprocess.run(
                    [PROJECT / "tools" / "principal", name, PEOPLE[name]],
                    stdout=subprocess.DEVNULL,
                    check=True,
                )
            players.extend(people)
            services.write_text(
                "".join(service(name, database, cluster) for name in [*PEOPLE, "deployer"]),
                encoding="utf-8",
            )
            monkeypatch.setenv("PGSERVICEFILE", str(services))
            programs = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
            environment = {name: text for name, text in os.environ.items() if name[:2] != "PG"} | {
                "PATH": programs,
                "PGSERVICEFILE": str(services),
            }
            return Stage(database, tmp_path, environment)

        yield make


def service(name: str, database: str, cluster: Path) -> str:
    """Return an entry of the service file."""
    return (
        f"[{name}]\nhost={os.environ['PGHOST']}\nport={os.environ['PGPORT']}\n"
        f"dbname={database}\nuser={name}\npassfile={cluster / 'pass' / name}\n"
    )

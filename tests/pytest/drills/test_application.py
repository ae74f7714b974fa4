"""An application dies, or loses its connection, between any two steps of what it does once.

It has no campaign: a key, an :class:`~fencepost.operations.EffectRunner`, and a book into which its
effect writes a line. docs/explanation/cut-points.md has a line for each cut, as for worker and
verifier (test_effects.py).
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.pytest.drills.cut import Cut, Point, before
from tests.pytest.drills.table import hold_the_document_to

if TYPE_CHECKING:
    from tests.pytest.drills.conftest import Program, Stage

KIND, TARGET = "booking", "book"
EFFECT, ANSWERED = "after the effect", "after the acknowledgement"
POINTS = {
    "before the intent": Point("begin_operation", is_committed=False),
    "after the intent": Point("begin_operation", is_committed=True),
    "after the start": Point("start_operation", is_committed=True),
    EFFECT: None,
    "after the read-back": Point("complete_operation", is_committed=False),
    "before the acknowledgement": Point("complete_operation", is_committed=True),
    ANSWERED: None,
}
"""Every place between two steps; two of them are in the application itself."""

# usage: application FOLDER SECONDS PLACE KEY ...
# Held at PLACE until FOLDER/go is there. PLACE `look`: what is unknown is looked for in the book,
# and what is not there is done under another key. `alone`: its connection is not made again.
APPLICATION = f"""
import sys, time
from datetime import timedelta
from pathlib import Path
from fencepost.connection import Link
from fencepost.operations import Completed, EffectRunner, Failed, Store
from fencepost.session import connect

folder, seconds, places, *keys = sys.argv[1:]
book = Path(folder, "book")
connection = (
    connect("") if "alone" in places else
    Link(lambda: connect(""), tell=lambda said: print(said, flush=True))
)
runner = EffectRunner(Store(connection, "drill", kind="{KIND}", target="{TARGET}"))

def hold(place):
    if place in places:
        Path(folder, "reached").touch()
        while not Path(folder, "go").exists():
            time.sleep(0.02)

def read(key):
    return [line for line in book.read_text().splitlines() if line == key]

def write(context):
    with book.open("a") as file:
        file.write(context.key + "\\n")
    hold("{EFFECT}")
    return Completed(read_back={{"lines": len(read(context.key))}})

def look(operation):
    found = read(operation.key)
    if found:
        return Completed(result="found", read_back={{"lines": len(found)}})
    return Failed(reason="it is not in the book")

def run(key):
    return runner.run(key, "one line", write, lease_for=timedelta(seconds=float(seconds)))

for key in keys:
    ended = run(key)
    if "look" in places and ended.state == "unknown":
        ended = runner.recover(key, look)
        if ended.operation.operation_state == "failed":
            ended = run(key + ", again")
    hold("{ANSWERED}")
    if "{ANSWERED}" in places:
        ended = run(key)
    print(f"{{key}}: {{ended.state}}", flush=True)
"""


class Book:
    """Where the effects of an application are seen, and the ledger's operations of it."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.script = stage.folder / "application.py"
        self.script.write_text(APPLICATION)
        self.path = stage.folder / "book"
        self.path.touch()
        stage.admin(
            "authorise",
            p_class=stage.klass,
            p_duty="worker",
            p_kind=KIND,
            p_target=TARGET,
            p_is_standalone=True,
        )

    def start(
        self,
        *keys: str,
        number: int = 0,
        seconds: int = 60,
        place: str = "",
        cut: Cut | None = None,
    ) -> Program:
        """Start the application."""
        return self.stage.run(
            self.stage.person("worker", number),
            [sys.executable, *map(str, (self.script, self.stage.folder, seconds, place)), *keys],
            {"PGHOST": cut.folder} if cut else None,
        )

    def reach(self, where: str, cut: Cut, *, seconds: int = 60, place: str = "") -> Program:
        """Let an application come to a point, whose name is its key."""
        for name in ("reached", "go"):
            (self.stage.folder / name).unlink(missing_ok=True)
        program = self.start(where, seconds=seconds, place=f"{where} {place}", cut=cut)
        reached = self.stage.folder / "reached"
        self.stage.wait_for(lambda: cut.reached.is_set() or reached.exists(), where)
        return program

    def go(self) -> None:
        """Let what is held go on."""
        (self.stage.folder / "go").touch()

    def count(self, key: str) -> int:
        """Return how often the effect has happened, under whatever key."""
        return [line.partition(",")[0] for line in self.path.read_text().splitlines()].count(key)

    def effect(self, key: str) -> str:
        """Say whether the effect has happened: never twice."""
        assert self.count(key) in {0, 1}, self.path.read_text()
        return "yes" if self.count(key) else "no"

    def operations(self, key: str) -> list[dict[str, Any]]:
        """Return the operations that were made to bring the effect about."""
        return self.stage.audit(
            "select * from audit.operations where operation_key in (%s, %s) order by created_at",
            key,
            f"{key}, again",
        )

    def states(self, key: str) -> str:
        """Say how they stand."""
        return ", ".join(
            "started" if one["state"] == "pending" and one["started_at"] else one["state"]
            for one in self.operations(key)
        ) or "none"  # fmt: skip

    def lost(self, key: str) -> str:
        """Say whether the operation was ever taken from who had it."""
        found = self.stage.audit(
            "select event from audit.operation_events where operation_key = %s", key
        )
        kept = {"begin", "start", "renew", "complete"}
        return "lost" if {one["event"] for one in found} - kept else "not lost"

    def expire(self) -> None:
        """Let a reaper take back what has run out, until nothing is pending."""
        reaper = self.stage.person("reaper").connect(self.stage.database, autocommit=True)

        def is_over() -> bool:
            reaper.execute("select kernel.expire_operations(%s)", [self.stage.klass])
            return not {self.states(key) for key in POINTS} & {"pending", "started"}

        self.stage.wait_for(is_over, "every lease has run out")

    def is_right(self, key: str) -> None:
        """Check that the effect happened once, and that the ledger says so of one operation."""
        assert self.count(key) == 1, self.path.read_text()
        *before_it, last = self.operations(key)
        assert last["state"] == "completed"
        assert last["read_back"] == {"lines": 1}
        assert [one["state"] for one in before_it] == ["failed"] * len(before_it)


@pytest.fixture
def book(stage: Stage) -> Book:
    """Return the application's book."""
    return Book(stage)


@pytest.mark.parametrize("fault", ["it is killed", "it loses its only connection"])
def test_a_fresh_process_finds_out(book: Book, fault: str) -> None:
    is_killed = fault == "it is killed"
    seen = {}
    for where, point in POINTS.items():
        with before(point) as cut:
            program = book.reach(where, cut, seconds=5, place="" if is_killed else "alone")
            seen[where] = [book.states(where), book.effect(where)]
            if is_killed:
                program.kill()
            else:
                cut.drop()
                book.go()
                assert program.wait() != 0, program.output
        assert book.states(where) == seen[where][0], "nobody has said anything since"
    book.expire()
    for where in POINTS:
        seen[where].append(book.states(where))

    asking = book.start(*POINTS, number=1)
    asking.succeeds()
    for where, (_, effect, lost) in seen.items():
        if lost == "unknown":
            assert f"{where}: unknown" in asking.output, "and it stays so, however often one asks"
            assert (book.states(where), book.effect(where)) == ("unknown", effect)
        else:
            said = "replayed" if effect == "yes" else "completed"
            assert f"{where}: {said}" in asking.output
            book.is_right(where)

    looking = book.start(*POINTS, number=1, place="look")
    looking.succeeds()
    for where in POINTS:
        book.is_right(where)
        seen[where].append(book.states(where))
    hold_the_document_to("application", fault, seen)
    assert book.stage.refusals() == []


def test_it_goes_on_over_another_connection(book: Book) -> None:
    """The process lives, connects again, asks again, and needs nobody else."""
    seen = {}
    for where, point in POINTS.items():
        with before(point) as cut:
            program = book.reach(where, cut)
            seen[where] = [book.states(where), book.effect(where)]
            cut.drop()
            book.go()
            program.succeeds()
        assert "connection lost" in program.output
        said = "replayed" if where == ANSWERED else "completed"
        assert f"{where}: {said}" in program.output
        book.is_right(where)
        seen[where] += [book.lost(where), book.states(where)]
    hold_the_document_to("application", "it loses the server", seen)
    assert book.stage.refusals() == []

"""The outbox: a real relay and a real consumer, killed where it hurts.

Every event arrives, whatever the order of the commits; what arrives twice is recognised; those of a
campaign arrive in their order.
"""

from __future__ import annotations

import os
import signal
import sqlite3
import sys
from contextlib import closing
from typing import TYPE_CHECKING
from uuid import uuid4

import psycopg
import pytest

from fencepost.operations import outbox
from fencepost.operations.outbox import CursorFile, Position
from tests.pytest.drills.conftest import PROJECT

if TYPE_CHECKING:
    from pathlib import Path

    from tests.pytest.conftest import Connection, Superuser
    from tests.pytest.drills.conftest import Program, Stage

OUTBOX = PROJECT / "examples" / "outbox"

# The consumer, and then, where `hold` is, a stop: taken, but nobody has heard so.
CONSUMER = """
"{python}" "{consumer}" "{folder}/inbox" || exit 1
if [ -e "{folder}/hold" ]; then
    : > "{folder}/reached"
    until [ -e "{folder}/go" ]; do sleep 0.02; done
fi
"""


class Reader:
    """A relay with its consumer, which keeps what it took in a database of its own."""

    def __init__(self, stage: Stage, folder: Path) -> None:
        self.stage = stage
        self.folder = folder / "reader"
        self.folder.mkdir()
        self.cursor = self.folder / "cursor"

    def start(self, *, once: bool = True, command: str | None = None) -> Program:
        """Start the relay."""
        consumer = command or CONSUMER.format(
            python=sys.executable, consumer=OUTBOX / "consumer", folder=self.folder
        )
        return self.stage.run(
            self.stage.person("auditor"),
            [
                *(sys.executable, str(OUTBOX / "relay"), *(["--once"] if once else [])),
                *(self.stage.klass, str(self.cursor), "sh", "-c", consumer),
            ],
        )

    def catches_up(self) -> None:
        """Let it take all that there is."""
        self.start().succeeds()

    def is_killed_before_it_writes(self) -> None:
        """Let it take something, and kill it before its cursor says so."""
        before = self.position
        for name in ("reached", "go"):
            (self.folder / name).unlink(missing_ok=True)
        (self.folder / "hold").touch()
        relay = self.start()
        self.stage.wait_for((self.folder / "reached").exists, "the consumer has taken something")
        os.killpg(relay.pid, signal.SIGKILL)
        relay.wait()
        (self.folder / "hold").unlink()
        assert self.position == before

    def is_killed_anywhere(self) -> None:
        """Kill it as soon as it has come on, whatever it is doing then."""
        before = self.position
        relay = self.start(once=False)
        self.stage.wait_for(lambda: self.position > before, "the cursor has come on")
        os.killpg(relay.pid, signal.SIGKILL)
        relay.wait()

    @property
    def position(self) -> Position:
        """What its cursor says."""
        return CursorFile(self.cursor).load()

    def ask(self, query: str) -> list[tuple[object, ...]]:
        """Ask what it took."""
        with closing(sqlite3.connect(self.folder / "inbox")) as inbox:
            return inbox.execute(query).fetchall()

    @property
    def taken(self) -> list[tuple[object, ...]]:
        """Campaign and number of each, in the order of arrival."""
        return self.ask("select campaign, event_no from event order by number")

    @property
    def seen_again(self) -> list[str]:
        """The keys of what came again."""
        return [str(key) for (key,) in self.ask("select key from seen_again")]

    def has_everything_in_order(self) -> None:
        """Check that nothing is missing, and that each campaign's came as they were made."""
        there = self.stage.audit(
            "select campaign_id, event_no from audit.events order by campaign_id, event_no"
        )
        taken = self.taken
        assert sorted(taken) == [(one["campaign_id"], one["event_no"]) for one in there]
        for campaign in {campaign for campaign, _ in taken}:
            numbers = [number for one, number in taken if one == campaign]
            assert numbers == [*range(1, len(numbers) + 1)]


@pytest.fixture
def reader(stage: Stage, tmp_path: Path) -> Reader:
    stage.define_target()
    return Reader(stage, tmp_path)


def moves(
    stage: Stage,
    number: int,
    count: int,
    connection: Connection | None = None,
    *,
    generation: int = 0,
) -> None:
    """Let a campaign have some events."""
    session = connection or stage.person("admin").connect(stage.database, autocommit=True)
    for priority in range(count):
        answer = stage.call(
            session,
            "set_priority",
            p_class=stage.klass,
            p_campaign_id=number,
            p_generation=generation,
            p_priority=1 + priority % 3,
        )
        assert answer["outcome"] == "ok", answer


def test_killed_between_delivery_and_cursor(reader: Reader, stage: Stage) -> None:
    number = stage.open()
    moves(stage, number, 3)

    reader.is_killed_before_it_writes()
    taken = reader.taken
    reader.is_killed_before_it_writes()
    moves(stage, number, 2)
    reader.catches_up()

    assert len(taken) == 4
    assert reader.seen_again == [f"drill/0/{number}/{no}" for no in (1, 2, 3, 4)] * 2
    reader.has_everything_in_order()
    reader.catches_up()
    assert len(reader.seen_again) == 8, "what the cursor is past does not come again"


def test_a_consumer_that_fails_is_given_the_same_again(reader: Reader, stage: Stage) -> None:
    number = stage.open()
    moves(stage, number, 2)

    refusing = reader.start(command='cat > "$0"; exit 3')
    assert refusing.wait() == 1
    assert reader.position == Position()

    reader.catches_up()
    reader.has_everything_in_order()
    assert reader.seen_again == []


def test_a_commit_out_of_order_is_not_missed(reader: Reader, stage: Stage) -> None:
    first, second = stage.open(), None
    stage.define_target("another")
    second = stage.open("another")
    low = stage.person("admin").connect(stage.database)
    moves(stage, first, 1, low)  # has its number, and is under way
    moves(stage, second, 2)
    reader.catches_up()
    assert sorted(reader.taken) == [(first, 1), (second, 1)]

    low.commit()

    reader.catches_up()
    reader.has_everything_in_order()
    assert reader.seen_again == []


def test_one_reads_by_a_cursor_at_a_time(reader: Reader, stage: Stage) -> None:
    stage.open()
    (reader.folder / "hold").touch()
    first = reader.start()
    stage.wait_for((reader.folder / "reached").exists, "the first has begun")

    second = reader.start()

    assert second.wait() == 1
    assert "another process reads by" in second.output
    (reader.folder / "go").touch()
    first.succeeds()
    reader.has_everything_in_order()


def test_a_restore_that_lost_what_was_delivered(
    reader: Reader, stage: Stage, superuser: Superuser
) -> None:
    """Numbers of events are given anew, those of transactions too: the epoch tells them apart."""
    number = stage.open()
    moves(stage, number, 3)
    reader.catches_up()
    # As if the server had been set back to where the campaign had one event: what the reader took
    # after that, and how far it had come, is what there is no more.
    CursorFile(reader.cursor).store(Position(0, 9_000_000_000, number, 7))
    with closing(sqlite3.connect(reader.folder / "inbox")) as inbox, inbox:
        inbox.execute("insert into event (key, class, campaign, event_no, line) "
                      "values ('drill/0/1/5', 'drill', 1, 5, 'lost')")  # fmt: skip

    stage.admin("new_epoch", p_class=stage.klass, p_token=uuid4(), p_reason="restored")
    reader.catches_up()

    assert reader.ask("select key from event where event_no = 5 order by number") == [
        (f"drill/0/{number}/5",),
        (f"drill/1/{number}/5",),
    ]
    assert reader.position.epoch == 1
    assert reader.seen_again == []


def test_a_restore_into_another_server(reader: Reader, stage: Stage, superuser: Superuser) -> None:
    """There transactions are numbered from the beginning: the old epoch's lie in the future."""
    number = stage.open()
    moves(stage, number, 3)
    god = superuser(stage.database)
    with god.transaction():
        guards = god.execute(
            "select tgname from pg_trigger where not tgisinternal "
            "and tgrelid = 'ledger.campaign_event'::regclass"
        ).fetchall()
        for verb in ("disable", "enable always"):
            for (name,) in guards:
                god.execute(f"alter table ledger.campaign_event {verb} trigger {name}".encode())
            if verb == "disable":
                god.execute(
                    "update ledger.campaign_event "
                    "set xid = (xid::text::numeric + 9000000000)::text::xid8"
                )
    reader.catches_up()
    assert not (reader.folder / "inbox").exists(), "as far as it knows they are under way"

    stage.admin("new_epoch", p_class=stage.klass, p_token=uuid4(), p_reason="restored")
    reader.catches_up()

    reader.has_everything_in_order()
    assert reader.position.epoch == 1


def test_commits_out_of_order_and_a_reader_that_dies_again_and_again(
    reader: Reader, stage: Stage
) -> None:
    """Three sessions always have lower numbers than those that commit before them."""
    names = [f"target {number}" for number in range(6)]
    for name in names:
        stage.define_target(name)
    campaigns = [stage.open(name) for name in names]
    late = [stage.person("admin").connect(stage.database) for _ in range(3)]
    for _ in range(3):
        for session, slow, quick in zip(late, campaigns[:3], campaigns[3:], strict=True):
            moves(stage, slow, 2, session)
            moves(stage, quick, 2)
        reader.is_killed_before_it_writes()
        reader.is_killed_anywhere()
        for session in reversed(late):
            session.commit()
    stage.admin("new_epoch", p_class=stage.klass, p_token=uuid4(), p_reason="one more")
    moves(stage, campaigns[0], 1, generation=1000)
    reader.catches_up()

    reader.has_everything_in_order()
    assert len(reader.seen_again) >= 3
    assert reader.position.epoch == 1


def test_pages_end_anywhere(stage: Stage, reader: Reader) -> None:
    """Also in the middle of what one transaction did."""
    stage.define_target("another")
    both = [stage.open(), stage.open("another")]
    stage.admin(
        "new_epoch", p_class=stage.klass, p_token=uuid4(), p_reason="two events in one transaction"
    )
    with psycopg.connect(
        stage.person("auditor").conninfo(stage.database), autocommit=True
    ) as auditor:
        position, keys = Position(), []
        while page := outbox.read(auditor, stage.klass, position, limit=1):
            position = page[-1].position
            keys += [event.key for event in page]

    assert keys == [
        *(f"drill/0/{number}/1" for number in both),
        *(f"drill/1/{number}/2" for number in both),
    ]

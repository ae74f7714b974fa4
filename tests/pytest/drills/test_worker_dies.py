"""``kill -9`` on a worker in mid-attempt: nothing of it goes on, and nothing of it counts."""

from __future__ import annotations

import difflib
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import UUID, uuid4

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.pytest.drills.conftest import Stage

# The command itself, with dice that are known beforehand: so the drill knows the worker's token.
LOADED = """
import sys, uuid
token = uuid.UUID(sys.argv.pop(1))
uuid.uuid4 = lambda: token
sys.argv[0] = "fencepost"
from fencepost.cli import main
main()
"""

# A child in its group, one that left it for a session of its own, and one that ignores TERM.
BUSY = """
sleep 600 & echo $! > "$0/child"
setsid sh -c 'echo $$ > "$0/escaped.new"; mv "$0/escaped.new" "$0/escaped"; exec sleep 600' "$0" &
sh -c 'trap "" TERM; echo $$ > "$0/deaf.new"; mv "$0/deaf.new" "$0/deaf"; sleep 600; :' "$0" &
until [ -e "$0/escaped" ] && [ -e "$0/deaf" ]; do sleep 0.05; done
echo half > answer
echo $$ > "$0/command.new"; mv "$0/command.new" "$0/command"
wait
"""

CALLS = {
    "brief": "select outcome, duplicate from kernel.brief(%(class)s, %(id)s, %(generation)s, "
    "%(token)s)",
    "renew": "select outcome, duplicate from kernel.renew(%(class)s, %(id)s, %(generation)s, "
    "%(token)s)",
    "submit": "select outcome, duplicate from kernel.submit(%(class)s, %(id)s, %(generation)s, "
    """%(token)s, 'f', null, '{"base": "b", "commit": "c"}')""",
    "fail": "select outcome, duplicate from kernel.fail(%(class)s, %(id)s, %(generation)s, "
    "%(token)s, 'it was me')",
    "release": "select outcome, duplicate from kernel.release(%(class)s, %(id)s, %(generation)s, "
    "%(token)s)",
}


def test_killed_in_mid_attempt(stage: Stage, tmp_path: Path, alive: Callable[[int], bool]) -> None:
    stage.define_class(lease_default="2 seconds")
    stage.define_target()
    number = stage.open()
    token = uuid4()
    pids = tmp_path / "pids"
    pids.mkdir()

    worker = stage.worker(
        *("sh", "-c", BUSY, str(pids)), launcher=(sys.executable, "-c", LOADED, str(token))
    )
    stage.wait_for((pids / "command").exists, "the command runs")
    left = {path.name: int(path.read_text()) for path in pids.iterdir()}
    assert sorted(left) == ["child", "command", "deaf", "escaped"]
    assert all(alive(pid) for pid in left.values())
    held = stage.campaign(number)
    assert (held["state"], held["lease_principal"]) == ("leased", stage.person("worker").name)

    worker.kill()

    # The command and all that it started are gone, and so is what it had written.
    stage.wait_for(lambda: not any(map(alive, left.values())), f"{left} are gone", 10)
    stage.wait_for(lambda: not list(stage.temporary.iterdir()), "its folder is gone", 10)

    # With nobody but a reaper, the campaign is ready once its lease has run out, not before.
    reaper = stage.reaper()
    stage.wait_state(number, "ready")
    reaper.send(signal.SIGTERM)  # each of its passes is recorded
    reaper.wait()
    *_, claimed, lost = stage.events(number)
    assert (claimed["transition"], claimed["generation"]) == ("claim", 1)
    assert (lost["transition"], lost["generation"]) == ("lose", 2)
    assert lost["by_principal"] == stage.person("reaper").name
    assert lost["at"] >= held["lease_expires_at"] > claimed["at"]
    (attempt,) = stage.attempts(number)
    assert attempt["ending"] == "lost"
    now = stage.campaign(number)
    assert (now["loss_count"], now["failure_count"]) == (1, 0)

    # Its ghost comes back: the same principal, the same token, a new connection for each call.
    before = dump(stage.database)
    for function, query in CALLS.items():
        connection = stage.person("worker").connect(stage.database, autocommit=True)
        row = connection.execute(
            query.encode(),
            {"class": stage.klass, "id": number, "generation": 1, "token": token},
        ).fetchone()
        assert row == ("stale", False), function
        after = dump(stage.database)
        assert_one_refusal_more(before, after)
        before = after
    assert [refusal["function"] for refusal in stage.refusals()] == [*CALLS]
    assert stage.moves(number) == ["open", "claim", "lose"]
    assert stage.repository.value("refs/fencepost/") is None, "it pushed nothing"

    # And somebody else finishes what it began.
    stage.worker("echo right > answer", number=1).succeeds()
    assert stage.moves(number) == ["open", "claim", "lose", "claim", "submit"]


def test_the_token_is_needed_for_that(stage: Stage) -> None:
    """A wrong token would be refused as well: that the drill above had the right one is shown."""
    stage.define_target()
    number = stage.open()
    token = uuid4()
    worker = stage.worker("exec sleep 600", launcher=(sys.executable, "-c", LOADED, str(token)))
    stage.wait_state(number, "leased")

    assert outcome(stage, "renew", number, token) == "ok"
    assert outcome(stage, "renew", number, uuid4()) == "not_holder"
    worker.kill()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV])
def test_the_command_dies_with_its_supervisor(
    stage: Stage, tmp_path: Path, alive: Callable[[int], bool], number: signal.Signals
) -> None:
    """Whoever kills the process between worker and command leaves no command behind."""
    stage.define_target()
    campaign = stage.open()
    stage.worker("sh", "-c", 'echo $$ > "$0.new"; mv "$0.new" "$0"; exec sleep 600',
                 str(tmp_path / "pid"))  # fmt: skip
    stage.wait_for((tmp_path / "pid").exists, "the command runs")
    command = int((tmp_path / "pid").read_text())
    status = Path(f"/proc/{command}/status").read_text()
    supervisor = int(status.partition("PPid:")[2].split()[0])

    os.kill(supervisor, number)

    stage.wait_for(lambda: not alive(command), "the command is gone", 10)
    stage.wait_state(campaign, "ready")
    (attempt,) = stage.attempts(campaign)
    assert attempt["ending"] in {"failed", "released"}


def outcome(stage: Stage, function: str, campaign_id: int, token: UUID) -> str:
    """Make a call of :data:`CALLS` over a new connection of the worker's principal."""
    connection = stage.person("worker").connect(stage.database, autocommit=True)
    row = connection.execute(
        CALLS[function].encode(),
        {"class": stage.klass, "id": campaign_id, "generation": 1, "token": token},
    ).fetchone()
    assert row is not None
    return str(row[0])


def dump(database: str) -> list[str]:
    """Return all data of the ledger, as this major's own pg_dump writes it."""
    done = subprocess.run(
        ["pg_dump", "--data-only", "--schema=ledger", database],
        capture_output=True,
        text=True,
        check=True,
    )
    return [line for line in done.stdout.splitlines() if "restrict" not in line]


def assert_one_refusal_more(before: list[str], after: list[str]) -> None:
    """Check that one row was added to one table, and what numbers it: nothing else anywhere."""
    changed = [line for line in difflib.ndiff(before, after) if line[:2] in {"- ", "+ "}]
    rows = [line for line in changed if "setval" not in line]
    numbers = [line for line in changed if "setval" in line]
    assert len(rows) == 1, changed
    assert rows[0].startswith("+ ")
    assert "\tstale\t" in rows[0]
    assert all("refusal" in line for line in numbers), changed
    at = after.index(rows[0][2:])
    table = next(line for line in reversed(after[:at]) if line.startswith("COPY "))
    assert table.startswith("COPY ledger.refusal ")

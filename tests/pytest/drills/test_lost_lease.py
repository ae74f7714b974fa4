"""The lease is lost while COMMAND runs: everything it started is stopped, and nothing recorded."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.pytest.drills.conftest import Program, Stage

# A command that says when it is asked to go, and a child that may be one that does not listen.
COMMAND = """
sh -c '{child}; echo $$ > "$0/child.new"; mv "$0/child.new" "$0/child"; \
       while :; do sleep 0.1; done' "$0" &
trap 'echo asked >> "$0/asked"; {on_term}' TERM
until [ -e "$0/child" ]; do sleep 0.02; done
echo right > answer
echo $$ > "$0/command.new"; mv "$0/command.new" "$0/command"
until [ -e "$0/finish" ]; do sleep 0.1; done
"""


class Attempt:
    """A worker in mid-attempt."""

    def __init__(self, stage: Stage, folder: Path, alive: Callable[[int], bool]) -> None:
        self.stage = stage
        self.folder = folder / "attempt"
        self.folder.mkdir()
        self._alive = alive
        self.number = 0
        self.worker: Program

    def begin(
        self, *, child: str = ":", on_term: str = "exit 1", **policy: object
    ) -> dict[str, Any]:
        """Let the worker come to its command; return the campaign as it stands then."""
        self.stage.define_class(**policy)
        self.stage.define_target()
        self.number = self.stage.open()
        self.worker = self.stage.worker(
            "sh", "-c", COMMAND.format(child=child, on_term=on_term), str(self.folder)
        )
        self.stage.wait_for((self.folder / "command").exists, "the command runs")
        return self.stage.campaign(self.number)

    @property
    def left(self) -> list[int]:
        """The command and its child, as far as they still run."""
        pids = [int((self.folder / name).read_text()) for name in ("command", "child")]
        return [pid for pid in pids if self._alive(pid)]

    def leaves_nothing(self) -> None:
        """Check that the worker ended by itself, having stopped everything and recorded nothing."""
        self.worker.succeeds(within=60)
        assert self.left == []
        assert " lost " in self.worker.output
        assert list(self.stage.temporary.iterdir()) == []
        mine = self.stage.person("worker").name
        by_me = [
            event["transition"]
            for event in self.stage.events(self.number)
            if event["by_principal"] == mine
        ]
        assert by_me == ["claim"]
        (attempt,) = self.stage.attempts(self.number)
        assert (attempt["submitted_at"], attempt["fingerprint"]) == (None, None)
        assert attempt["ending"] in {"withdrawn", "lost"}
        assert self.stage.repository.value("refs/fencepost/") is None, "it pushed"


@pytest.fixture
def attempt(stage: Stage, tmp_path: Path, alive: Callable[[int], bool]) -> Attempt:
    return Attempt(stage, tmp_path, alive)


@pytest.mark.parametrize("act", ["cancel", "park"])
def test_taken_away_by_the_admin(attempt: Attempt, stage: Stage, act: str) -> None:
    held = attempt.begin(lease_default="2 seconds")

    take_away(stage, act, held)

    attempt.leaves_nothing()
    assert (attempt.folder / "asked").read_text() == "asked\n"
    assert stage.moves(attempt.number) == ["open", "claim", act]
    assert {refusal["outcome"] for refusal in stage.refusals()} == {"stale"}
    assert {refusal["function"] for refusal in stage.refusals()} == {"renew"}


def test_what_does_not_listen_is_killed(attempt: Attempt, stage: Stage) -> None:
    """TERM first, and KILL ten seconds later."""
    held = attempt.begin(child='trap "" TERM', on_term=":", lease_default="2 seconds")

    take_away(stage, "cancel", held)

    stage.wait_for((attempt.folder / "asked").exists, "the command is asked to end")
    assert len(attempt.left) == 2, "both are given time"
    attempt.leaves_nothing()


def take_away(stage: Stage, act: str, held: dict[str, Any]) -> None:
    """Let the admin cancel or park a campaign as he sees it."""
    stage.admin(
        act,
        p_class=stage.klass,
        p_campaign_id=held["campaign_id"],
        p_generation=held["generation"],
        p_reason="I thought better of it",
    )


def test_reaped_while_the_worker_could_not_renew(attempt: Attempt, stage: Stage) -> None:
    """A machine that slept past the lease: the worker wakes up and finds it gone."""
    held = attempt.begin(lease_default="1 second")
    attempt.worker.send(signal.SIGSTOP)
    stage.reaper()
    stage.wait_state(attempt.number, "ready")
    assert len(attempt.left) == 2, "nobody told the command"

    attempt.worker.send(signal.SIGCONT)

    attempt.leaves_nothing()
    lost = stage.events(attempt.number)[-1]
    assert (lost["transition"], lost["to_state"]) == ("lose", "ready")
    assert lost["at"] >= held["lease_expires_at"]


def test_finished_after_it_was_reaped(attempt: Attempt, stage: Stage) -> None:
    """The command came to a good end, but too late: somebody else has done the work by now."""
    attempt.begin(lease_default="1 second")
    attempt.worker.send(signal.SIGSTOP)
    (attempt.folder / "finish").touch()
    stage.wait_for(lambda: not attempt.left, "the command is at its end")
    stage.reaper()
    stage.wait_state(attempt.number, "ready")
    stage.define_class()
    stage.worker("echo right > answer", number=1).succeeds()

    attempt.worker.send(signal.SIGCONT)

    attempt.worker.succeeds()
    assert " lost " in attempt.worker.output
    assert stage.moves(attempt.number) == ["open", "claim", "lose", "claim", "submit"]
    lost, submitted = stage.attempts(attempt.number)
    assert (lost["ending"], lost["submitted_at"], lost["result"]) == ("lost", None, None)
    assert submitted["principal"] == stage.person("worker", 1).name
    assert {refusal["outcome"] for refusal in stage.refusals()} <= {"stale"}

"""A verifier dies between verdict and push, or between push and record: the next one finishes.

Nothing is judged twice, whatever happened to the ref meanwhile, and the ref ends up right.
"""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.pytest.drills.conftest import Program, Stage

FIX = "echo right > answer"

# Stops whoever comes first until `go` is there; `no` beside it means: not at all.
GATE = """
if mkdir "{gate}/first" 2>/dev/null; then
    : > "{gate}/reached"
    until [ -e "{gate}/go" ]; do sleep 0.02; done
    [ ! -e "{gate}/no" ] || exit 1
fi
"""

# In front of git on the verifier's PATH: holds back its push, and nothing else.
WRAPPER = """#!/bin/sh
case " $* " in
*" push --atomic "*)
    {gate}
    {git} "$@" > "{folder}/said" 2>&1
    status=$?
    echo "$status" > "{folder}/pushed"
    exit "$status"
    ;;
esac
exec {git} "$@"
"""

# In the repository: holds back the answer to a push of the target's ref.
HOOK = """
if grep -q refs/heads/main; then
    {gate}
fi
"""


class Accepted:
    """A campaign whose verifier is held up at its promotion, and can be killed there."""

    def __init__(self, stage: Stage, folder: Path) -> None:
        self.stage = stage
        self.gate = folder / "gate"
        self.gate.mkdir()
        self.base = stage.repository.value()
        stage.define_class(lease_default="3 seconds")
        stage.define_target()
        self.number = stage.open()
        stage.worker(FIX).succeeds()
        (attempt,) = stage.attempts(self.number)
        self.commit: str = attempt["result"]["commit"]
        self.verifier: Program

    def held_before_the_push(self) -> None:
        """Let the verifier come as far as its push, with the verdict recorded."""
        folder = self.gate.with_name("bin")
        folder.mkdir()
        (folder / "git").write_text(
            WRAPPER.format(
                gate=GATE.format(gate=self.gate), git=shutil.which("git"), folder=self.gate
            )
        )
        (folder / "git").chmod(0o755)
        self._hold(str(folder))
        assert self.stage.repository.value() == self.base

    def held_after_the_push(self) -> None:
        """Let the verifier push, but not hear that it did."""
        self.stage.repository.hook("post-receive", HOOK.format(gate=GATE.format(gate=self.gate)))
        self._hold()
        assert self.stage.repository.value() == self.commit

    def _hold(self, *folders: str) -> None:
        path = {"PATH": ":".join([*folders, self.stage.path])}
        self.verifier = self.stage.verifier(extra=path)
        self.stage.wait_for((self.gate / "reached").exists, "the verifier pushes")
        assert self.stage.campaign(self.number)["state"] == "promoting"
        (attempt,) = self.stage.attempts(self.number)
        assert attempt["verdict"] == "accepted"

    def go(self, *, no: bool = False) -> None:
        """Let what was held go on, or end."""
        if no:
            (self.gate / "no").touch()
        (self.gate / "go").touch()

    def killed(self) -> None:
        """Kill the verifier, and let a reaper give the promotion back."""
        self.verifier.kill()
        self.stage.define_class()
        reaper = self.stage.reaper()
        self.stage.wait_state(self.number, "accepted")
        reaper.kill()

    def finished_by_the_next(self) -> None:
        """Let another verifier look once."""
        self.stage.verifier(number=1).succeeds()

    def judged_once(self) -> None:
        """Check that there is one verdict and that the acceptance command was run once."""
        assert self.stage.moves(self.number).count("accept") == 1
        assert self.stage.judged.read_text().split() == [self.commit]

    def promotion(self) -> dict[str, Any]:
        """Return what the record of the promotion says, which the second verifier made."""
        (event,) = (e for e in self.stage.events(self.number) if e["transition"] == "promote")
        assert event["by_principal"] == self.stage.person("verifier", 1).name
        detail: dict[str, Any] = event["detail"]
        return detail


FINISHED = [
    *("open", "claim", "submit", "claim_verification", "accept"),
    *("lose_promotion", "claim_promotion", "promote"),
]
OUTDATED = [*FINISHED[:-1], "outdate"]


@pytest.fixture
def accepted(stage: Stage, tmp_path: Path) -> Accepted:
    return Accepted(stage, tmp_path)


def test_between_verdict_and_push(accepted: Accepted, stage: Stage) -> None:
    accepted.held_before_the_push()
    accepted.killed()
    accepted.go(no=True)
    assert stage.repository.value() == accepted.base

    accepted.finished_by_the_next()

    assert stage.moves(accepted.number) == FINISHED
    assert stage.repository.value() == accepted.commit
    detail = accepted.promotion()
    assert (detail["old"], detail["new"]) == (accepted.base, accepted.commit)
    assert detail["read_back"]["ref"] == accepted.commit
    assert detail["read_back"]["fence"] == stage.repository.value(
        f"refs/fencepost/drill/{accepted.number}/fence"
    )
    accepted.judged_once()


def test_between_push_and_record(accepted: Accepted, stage: Stage) -> None:
    accepted.held_after_the_push()
    accepted.killed()
    accepted.go()

    accepted.finished_by_the_next()

    assert stage.moves(accepted.number) == FINISHED
    assert stage.repository.value() == accepted.commit
    assert accepted.promotion()["read_back"]["ref"] == accepted.commit
    accepted.judged_once()


def test_the_push_of_a_dead_verifier_lands_late(accepted: Accepted, stage: Stage) -> None:
    accepted.held_before_the_push()
    accepted.killed()
    accepted.go()
    stage.wait_for((accepted.gate / "pushed").exists, "the late push has its answer")
    assert stage.repository.value() == accepted.commit, (accepted.gate / "said").read_text()

    accepted.finished_by_the_next()

    assert stage.moves(accepted.number) == FINISHED
    assert stage.repository.value() == accepted.commit
    accepted.judged_once()


def test_a_stranger_pushed_on_top(accepted: Accepted, stage: Stage) -> None:
    accepted.held_after_the_push()
    accepted.killed()
    accepted.go()
    on_top = stage.repository.commit({"more": "of something else\n"})
    assert stage.repository.is_ancestor(accepted.commit, on_top)

    accepted.finished_by_the_next()

    assert stage.moves(accepted.number) == FINISHED
    assert stage.repository.value() == on_top, "what the stranger pushed is still there"
    detail = accepted.promotion()
    assert (detail["new"], detail["read_back"]["ref"]) == (accepted.commit, on_top)
    accepted.judged_once()


def test_a_stranger_was_first(accepted: Accepted, stage: Stage) -> None:
    accepted.held_before_the_push()
    accepted.killed()
    accepted.go(no=True)
    elsewhere = stage.repository.commit({"more": "of something else\n"})

    accepted.finished_by_the_next()

    assert stage.moves(accepted.number) == OUTDATED
    assert stage.repository.value() == elsewhere
    again_and_promoted(accepted, stage, elsewhere, worker=1)


def test_a_stranger_was_first_and_the_verifier_lives(accepted: Accepted, stage: Stage) -> None:
    stage.define_class()
    accepted.held_before_the_push()
    elsewhere = stage.repository.commit({"more": "of something else\n"})
    accepted.go()
    accepted.verifier.succeeds()

    assert (accepted.gate / "pushed").read_text().strip() != "0", "git refused the push"
    assert stage.moves(accepted.number) == [*FINISHED[:5], "outdate"]
    assert stage.repository.value() == elsewhere
    again_and_promoted(accepted, stage, elsewhere, worker=0)


def again_and_promoted(accepted: Accepted, stage: Stage, onto: str, *, worker: int) -> None:
    """Check that the same change on the new base is not refused, but accepted and promoted."""
    now = stage.campaign(accepted.number)
    assert (now["state"], now["loss_count"], now["failure_count"]) == ("ready", 1, 0)

    stage.worker(FIX, number=worker).succeeds()
    stage.verifier(number=1).succeeds()

    outdated, second = stage.attempts(accepted.number)
    assert (outdated["ending"], second["ending"]) == ("outdated", None)
    assert outdated["fingerprint"] == second["fingerprint"]
    assert second["result"]["base"] == onto
    assert stage.moves(accepted.number)[-5:] == [
        *("claim", "submit", "claim_verification", "accept", "promote"),
    ]
    assert stage.repository.value() == second["result"]["commit"]
    assert stage.repository.read("answer") == "right"
    assert stage.repository.read("more") == "of something else"
    assert stage.judged.read_text().split() == [accepted.commit, second["result"]["commit"]]


def test_a_late_push_cannot_undo_what_was_concluded(accepted: Accepted, stage: Stage) -> None:
    """Outdated is outdated, even where the ref is set back to what the dead verifier expected."""
    accepted.held_before_the_push()
    accepted.killed()
    assert accepted.base is not None
    stage.repository.commit({"more": "of something else\n"})
    accepted.finished_by_the_next()
    assert stage.moves(accepted.number) == OUTDATED
    fence = stage.repository.value(f"refs/fencepost/drill/{accepted.number}/fence")
    stage.repository.git("update-ref", "refs/heads/main", accepted.base)

    accepted.go()

    stage.wait_for((accepted.gate / "pushed").exists, "the late push has its answer")
    assert (accepted.gate / "pushed").read_text().strip() != "0"
    assert stage.repository.value() == accepted.base
    assert stage.repository.value(f"refs/fencepost/drill/{accepted.number}/fence") == fence
    assert fence is not None


def test_in_mid_acceptance(stage: Stage, tmp_path: Path, alive: Callable[[int], bool]) -> None:
    """What it had not judged is judged by another, and its acceptance command dies with it."""
    stage.define_class(lease_default="3 seconds")
    pid, second = tmp_path / "pid", tmp_path / "second"
    stage.define_target(
        check=f'if [ ! -e "{second}" ]; then echo $$ > "{pid}.new"; mv "{pid}.new" "{pid}"; '
        "exec sleep 600; fi; sh check"
    )
    number = stage.open()
    stage.worker(FIX).succeeds()
    verifier = stage.verifier()
    stage.wait_for(pid.exists, "the acceptance command runs")
    acceptance = int(pid.read_text())

    verifier.kill()

    stage.wait_for(lambda: not alive(acceptance), "the acceptance command is gone", 10)
    stage.reaper()
    stage.wait_state(number, "attempted")
    stage.define_class()
    second.touch()
    stage.verifier(number=1).succeeds()
    assert stage.moves(number) == [
        *("open", "claim", "submit", "claim_verification", "lose_verification"),
        *("claim_verification", "accept", "promote"),
    ]
    assert stage.campaign(number)["verification_loss_count"] == 1
    (attempt,) = stage.attempts(number)
    assert attempt["verdict_by"] == stage.person("verifier", 1).name
    assert stage.repository.value() == attempt["result"]["commit"]

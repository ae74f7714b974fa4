"""Worker and verifier die, or lose a connection, between any two steps of what they push.

Every step is taken once by a real process that comes no further. What it left is found out by a
fresh one. docs/explanation/cut-points.md has a line for each cut, and each line is what was seen.
"""

from __future__ import annotations

import shutil
import signal
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import psycopg
import pytest
from psycopg.types.json import Jsonb

from tests.pytest.drills.conftest import BEGINNING, Repository
from tests.pytest.drills.cut import Cut, Point, before
from tests.pytest.drills.table import hold_the_document_to

if TYPE_CHECKING:
    from tests.pytest.drills.conftest import Program, Stage

FIX = "echo right > answer"
MAIN = "refs/heads/main"

# Of each duty: the kind of its operation, the call that follows, where a campaign is when its lease
# is lost, and where when the work is done.
WORK = {
    "worker": ("git.push", "submit", "ready", "attempted"),
    "verifier": ("promote", "promote", "accepted", "verified"),
}
EFFECT = "after the effect"


def points(duty: str) -> dict[str, Point | None]:
    """Return every place between two steps; that after the effect is in the repository."""
    return {
        "before the intent": Point("begin_operation", is_committed=False),
        "after the intent": Point("begin_operation", is_committed=True),
        "after the start": Point("start_operation", is_committed=True),
        EFFECT: None,
        "after the read-back": Point("complete_operation", is_committed=False),
        "before the acknowledgement": Point("complete_operation", is_committed=True),
        "after the acknowledgement": Point(WORK[duty][1], is_committed=False),
    }


# Every value that a ref was really given, whoever heard of it.
WITNESS = """
[ "$1" != committed ] || cat >> "{folder}/landed"
"""
# Holds back whatever comes first, but for a push of a fence alone.
GATE = """
if grep -qv '/fence$' && mkdir "{folder}/first" 2>/dev/null; then
    : > "{folder}/reached"
    until [ -e "{folder}/go" ]; do sleep 0.02; done
fi
"""
# The other end of the push is gone, once it has been seen how things stand.
HANG_UP = """
if grep -qv '/fence$' && mkdir "{folder}/first" 2>/dev/null; then
    : > "{folder}/reached"
    until [ -e "{folder}/go" ]; do sleep 0.02; done
    kill -9 "$PPID"
fi
"""


class Scene:
    """A campaign with a repository of its own, where it can be seen what landed, and be held."""

    def __init__(self, stage: Stage, name: str) -> None:
        self.stage = stage
        self.name = name
        self.folder = stage.folder / name.replace(" ", "-")
        self.folder.mkdir()
        self.repository = Repository(self.folder / "target.git")
        self.base = self.repository.commit(BEGINNING)
        self._hook("reference-transaction", WITNESS)
        stage.define_target(name, repository=self.repository)
        self.number = stage.open(name)
        self.seen: list[str] = []

    def _hook(self, name: str, script: str) -> None:
        self.repository.hook(name, script.format(folder=self.folder))

    def hold(self, hook: str) -> None:
        """Let the next push hang in a hook."""
        self._hook(hook, GATE)

    def hang_up(self, hook: str) -> None:
        """Let a push lose its connection in a hook."""
        self._hook(hook, HANG_UP)

    @property
    def is_held(self) -> bool:
        """Whether a push hangs."""
        return (self.folder / "reached").exists()

    def go(self) -> None:
        """Let what hangs go on."""
        (self.folder / "go").touch()

    def landed(self) -> dict[str, int]:
        """Return how often each ref was moved, but the fence."""
        path = self.folder / "landed"
        lines = path.read_text().splitlines() if path.exists() else []
        refs = [line.split(" ")[2] for line in lines]
        return {ref: refs.count(ref) for ref in refs if not ref.endswith("/fence")}

    def effect(self, duty: str) -> str:
        """Say whether the effect of the first attempt's operation is there."""
        ref = MAIN if duty == "verifier" else f"refs/fencepost/drill/{self.number}/1"
        return "yes" if ref in self.landed() else "no"

    def lost(self) -> str:
        """Say whether a lease of the campaign has been lost."""
        return "lost" if "lose" in self.stage.moves(self.number) else "not lost"

    def operations(self, kind: str) -> list[dict[str, Any]]:
        """Return the campaign's operations of a kind."""
        return self.stage.audit(
            "select * from audit.operations where campaign_id = %s and kind = %s "
            "order by attempt_no, ordinal",
            self.number,
            kind,
        )

    def states(self, kind: str) -> str:
        """Say how the operations of a kind stand."""
        return ", ".join(
            "started" if one["state"] == "pending" and one["started_at"] else one["state"]
            for one in self.operations(kind)
        ) or "none"  # fmt: skip

    def is_right(self, duty: str) -> None:
        """Check that nothing was done twice, and that the record says of each effect what is so."""
        landed = self.landed()
        assert set(landed.values()) == {1}, landed
        kind = WORK[duty][0]
        for one in self.operations(kind):
            ref = one["target"].rpartition("#")[2]
            if one["state"] == "completed":
                assert one["read_back"]["commit"] == one["fingerprint"]
                assert ref in landed
            else:
                assert one["state"] in {"failed", "released"}, one
                assert kind == "promote" or ref not in landed, one
        completed = [one for one in self.operations(kind) if one["state"] == "completed"]
        assert len({one["target"] for one in completed}) == len(completed)
        (*_, attempt) = self.stage.attempts(self.number)
        result = attempt["result"]
        assert self.repository.value(result["pushed_ref"]) == result["commit"]
        assert self.repository.value() == (self.base if duty == "worker" else result["commit"])


def start(duty: str, stage: Stage, cut: Cut | None = None) -> Program:
    """Start who is to be cut off."""
    extra = {"PGHOST": cut.folder} if cut else None
    return stage.worker(FIX, extra=extra) if duty == "worker" else stage.verifier(extra=extra)


def prepare(duty: str, stage: Stage, count: int, name: str = "answer") -> list[Scene]:
    """Bring campaigns as far as the duty's work: for a verifier, a worker comes first."""
    scenes = [Scene(stage, f"{name} {number}") for number in range(count)]
    if duty == "verifier":
        worker = stage.worker(FIX, number=2, once=False)
        for scene in scenes:
            stage.wait_state(scene.number, "attempted")
        worker.send(signal.SIGTERM)
        worker.succeeds()
    return scenes


def reach(duty: str, scenes: list[Scene], cut: Cut, where: str) -> tuple[Program, Scene]:
    """Let a process come to the point in one of the scenes, and note how things stand there."""
    stage = scenes[0].stage
    if where == EFFECT:
        for scene in scenes:
            scene.hold("post-receive")
    program = start(duty, stage, cut)
    stage.wait_for(
        lambda: cut.reached.is_set() or any(scene.is_held for scene in scenes),
        f"{duty} {where}",
    )
    (scene,) = (
        one for one in scenes if stage.campaign(one.number)["state"] in {"leased", "promoting"}
    )
    for other in scenes:
        (other.repository.path / "hooks" / "post-receive").unlink(missing_ok=True)
    scenes.remove(scene)
    scene.seen += [scene.states(WORK[duty][0]), scene.effect(duty)]
    return program, scene


def recover(duty: str, stage: Stage, scenes: list[Scene]) -> None:
    """Let a fresh process go on with everything."""
    if duty == "worker":
        fresh = stage.worker(FIX, number=1, once=False)
    else:
        fresh = stage.verifier(number=1, once=False)
    for scene in scenes:
        stage.wait_state(scene.number, WORK[duty][3])
    fresh.send(signal.SIGTERM)
    fresh.succeeds()


def lose(duty: str, stage: Stage, scenes: list[Scene]) -> None:
    """Let a reaper take the leases of those that are gone."""
    stage.define_class()
    reaper = stage.reaper()
    for scene in scenes:
        stage.wait_state(scene.number, WORK[duty][2])
    reaper.kill()


@pytest.mark.parametrize("duty", WORK)
def test_killed_between_two_steps(stage: Stage, duty: str) -> None:
    cuts = points(duty)
    waiting = prepare(duty, stage, len(cuts))
    stage.define_class(lease_default="3 seconds")
    scenes = {}
    for where, point in cuts.items():
        with before(point) as cut:
            program, scenes[where] = reach(duty, waiting, cut, where)
            program.kill()
        scenes[where].go()

    lose(duty, stage, [*scenes.values()])
    for scene in scenes.values():
        scene.seen.append(scene.states(WORK[duty][0]))
    recover(duty, stage, [*scenes.values()])

    for scene in scenes.values():
        scene.is_right(duty)
        scene.seen.append(scene.states(WORK[duty][0]))
    hold_the_document_to(duty, "it is killed", {w: scene.seen for w, scene in scenes.items()})
    assert stage.refusals() == []


@pytest.mark.parametrize("duty", WORK)
def test_the_connection_is_cut_between_two_steps(stage: Stage, duty: str) -> None:
    """The process lives, connects again, asks again, and needs nobody else."""
    cuts = points(duty)
    waiting = prepare(duty, stage, len(cuts))
    seen = {}
    for where, point in cuts.items():
        with before(point) as cut:
            program, scene = reach(duty, waiting, cut, where)
            cut.drop()
            scene.go()
            program.succeeds()
        assert "connection lost" in program.output
        assert stage.campaign(scene.number)["state"] == WORK[duty][3]
        scene.is_right(duty)
        seen[where] = [*scene.seen, scene.lost(), scene.states(WORK[duty][0])]
    hold_the_document_to(duty, "it loses the server", seen)
    assert stage.refusals() == []


@pytest.mark.parametrize("duty", WORK)
def test_the_repository_hangs_up(stage: Stage, duty: str) -> None:
    """What git says then is the same before and after: only the ref tells."""
    seen = {}
    for where, hook in (("before the effect", "pre-receive"), (EFFECT, "post-receive")):
        (scene,) = prepare(duty, stage, 1, where)
        scene.hang_up(hook)
        program = start(duty, stage)
        stage.wait_for(lambda scene=scene: scene.is_held, f"{duty} {where}")  # type: ignore[misc]
        scene.seen += [scene.states(WORK[duty][0]), scene.effect(duty)]
        scene.go()
        program.succeeds()
        assert stage.campaign(scene.number)["state"] == WORK[duty][3]
        scene.is_right(duty)
        seen[where] = [*scene.seen, scene.lost(), scene.states(WORK[duty][0])]
    hold_the_document_to(duty, "it loses the repository", seen)
    assert stage.refusals() == []


# In front of git on a PATH: holds back a push before it has begun, and keeps what it said.
WRAPPER = """#!/bin/sh
case " $* " in
*" push --atomic "*)
    if [ -e "{folder}/before" ] && mkdir "{folder}/first" 2>/dev/null; then
        : > "{folder}/reached"
        until [ -e "{folder}/go" ]; do sleep 0.02; done
    fi
    {git} "$@" > "{folder}/output" 2>&1
    status=$?
    cat "{folder}/output"
    if mkdir "{folder}/told" 2>/dev/null; then
        cp "{folder}/output" "{folder}/told/output"
        echo "$status" > "{folder}/told/new"
        mv "{folder}/told/new" "{folder}/told/status"
    fi
    exit "$status"
    ;;
esac
exec {git} "$@"
"""


class Zombie:
    """Who is held in the middle of a push, is taken for dead, and is not."""

    def __init__(self, duty: str, stage: Stage, *, in_hook: bool) -> None:
        self.duty = duty
        self.stage = stage
        (self.scene,) = prepare(duty, stage, 1)
        stage.define_class(lease_default="3 seconds")
        self._folder = self.scene.folder
        if in_hook:
            self.scene.hold("pre-receive")
        else:
            (self._folder / "before").touch()
        binaries = self._folder / "bin"
        binaries.mkdir()
        (binaries / "git").write_text(
            WRAPPER.format(folder=self._folder, git=shutil.which("git", path=stage.path))
        )
        (binaries / "git").chmod(0o755)
        path = {"PATH": f"{binaries}:{stage.path}"}
        self.program = (
            stage.worker(FIX, extra=path) if duty == "worker" else stage.verifier(extra=path)
        )
        stage.wait_for(lambda: self.scene.is_held, f"the {duty} pushes")
        (operation,) = self.scene.operations(WORK[duty][0])
        self.commit: str = operation["fingerprint"]
        self.ref: str = operation["target"].rpartition("#")[2]

    def is_given_up(self, *, dead: bool) -> None:
        """Let the lease run out, and say that the operation is unknown from then on."""
        self.program.send(signal.SIGKILL if dead else signal.SIGSTOP)
        lose(self.duty, self.stage, [self.scene])
        assert self.scene.states(WORK[self.duty][0]) == "unknown"

    def wakes_up(self) -> str:
        """Let it go on with its push; return what git said of that."""
        self.program.send(signal.SIGCONT)
        self.scene.go()
        told = self._folder / "told"
        self.stage.wait_for((told / "status").exists, "the late push has its answer")
        assert (told / "status").read_text().strip() != "0"
        return (told / "output").read_text()


@pytest.mark.parametrize(
    ("duty", "in_hook"),
    # A verifier's that has not left yet: test_verifier_dies.py.
    [("worker", True), ("worker", False), ("verifier", True)],
    ids=["worker, in the repository", "worker, on its way", "verifier, in the repository"],
)
def test_a_late_push_is_refused(stage: Stage, duty: str, in_hook: bool) -> None:  # noqa: FBT001
    """Only the fence has moved: what was recorded as failed does not come true after all."""
    zombie = Zombie(duty, stage, in_hook=in_hook)
    scene = zombie.scene
    zombie.is_given_up(dead=False)
    if duty == "worker":
        stage.worker("exit 1", number=1).succeeds()
    else:
        scene.repository.commit({"more": "of something else\n"})
        stage.verifier(number=1).succeeds()
        scene.repository.git("update-ref", MAIN, scene.base)
    assert stage.campaign(scene.number)["state"] == "ready"
    assert scene.states(WORK[duty][0]) == "failed"
    landed = scene.landed()

    said = zombie.wakes_up()

    assert "rejected" in said, said
    zombie.program.wait()
    assert " lost " in zombie.program.output
    assert scene.landed() == landed
    assert zombie.commit != scene.repository.value(zombie.ref)
    assert scene.states(WORK[duty][0]) == "failed"


def test_cut_off_until_the_lease_is_lost(stage: Stage) -> None:
    """It has pushed, and is heard again when all think it dead: what it saw is still true."""
    (scene,) = prepare("verifier", stage, 1)
    stage.define_class(lease_default="3 seconds")
    with before(None) as cut:
        program, _ = reach("verifier", [scene], cut, EFFECT)
        cut.is_refusing = True
        cut.drop()
        lose("verifier", stage, [scene])
        assert scene.states("promote") == "unknown"
        scene.go()
        cut.is_refusing = False
        program.wait()

    assert " lost " in program.output
    # It may have read the ref before it knew that its lease is lost: that is recorded, late.
    assert scene.states("promote") in {"completed", "unknown"}
    assert "promote" not in stage.moves(scene.number), "that is for whoever holds the lease"
    recover("verifier", stage, [scene])
    assert scene.states("promote") == "completed"
    scene.is_right("verifier")


def test_what_was_moved_back_since_is_not_called_promoted(stage: Stage) -> None:
    """It was there once, and that is on record; somebody has decided otherwise in the meantime."""
    (scene,) = prepare("verifier", stage, 1)
    stage.define_class(lease_default="3 seconds")
    where = "after the acknowledgement"
    with before(points("verifier")[where]) as cut:
        program, _ = reach("verifier", [scene], cut, where)
        program.kill()
    scene.go()
    lose("verifier", stage, [scene])
    assert scene.states("promote") == "completed"
    scene.repository.git("update-ref", MAIN, scene.base)

    fresh = stage.verifier(number=1)
    fresh.succeeds()

    assert f"was moved back to {scene.base}" in fresh.output
    assert stage.moves(scene.number)[-1] == "outdate"
    assert scene.repository.value() == scene.base
    assert scene.landed()[MAIN] == 2, "there and back, by that hand"


def test_without_a_fence_it_would_land(stage: Stage) -> None:
    """The control: nobody found out what became of the push, so it still may take effect."""
    zombie = Zombie("verifier", stage, in_hook=True)
    zombie.is_given_up(dead=True)

    zombie.scene.go()

    stage.wait_for(zombie.scene.landed, "the late push lands")
    assert zombie.scene.states("promote") == "unknown"
    recover("verifier", stage, [zombie.scene])
    assert zombie.scene.states("promote") == "completed"
    zombie.scene.is_right("verifier")


@pytest.mark.parametrize("duty", WORK)
def test_unknown_as_long_as_nobody_can_look(stage: Stage, duty: str) -> None:
    """The repository gives no answer: nothing is concluded, and nothing else is pushed."""
    zombie = Zombie(duty, stage, in_hook=True)
    scene = zombie.scene
    zombie.is_given_up(dead=True)
    elsewhere = scene.repository.path.with_name("elsewhere.git")
    scene.repository.path.rename(elsewhere)

    kind = WORK[duty][0]
    stage.define_class(lease_default="3 seconds")
    blind = stage.worker(FIX, number=1) if duty == "worker" else stage.verifier(number=1)
    blind.wait()

    (operation,) = scene.operations(kind)
    assert (operation["state"], operation["inquiry_count"]) == ("unknown", 1), blind.output
    elsewhere.rename(scene.repository.path)
    scene.go()
    lose(duty, stage, [scene])
    recover(duty, stage, [scene])
    assert scene.states(kind) in {
        "completed",
        "failed, completed",
        "completed, completed",
    }
    scene.is_right(duty)


@pytest.mark.parametrize("duty", WORK)
def test_nothing_is_pushed_without_authority(stage: Stage, duty: str) -> None:
    (scene,) = prepare(duty, stage, 1)
    kind = WORK[duty][0]
    stage.define_class(lease_default="3 seconds")
    pattern = {
        "worker": "{repository}#refs/fencepost/drill/{campaign}/{attempt}",
        "verifier": "*",
    }[duty]
    stage.admin("deauthorise", p_class=stage.klass, p_duty=duty, p_kind=kind, p_target=pattern)
    before_it = scene.landed()

    program = start(duty, stage)
    program.wait()

    assert f"no authority for duty {duty}, kind {kind}" in program.output
    assert scene.landed() == before_it
    assert scene.operations(kind) == []
    (refusal,) = stage.refusals()
    assert refusal["principal"] == stage.person(duty).name
    assert (refusal["function"], refusal["outcome"]) == ("begin_operation", "forbidden")
    stage.authorise(duty, kind, pattern)
    lose(duty, stage, [scene])
    recover(duty, stage, [scene])
    scene.is_right(duty)


def test_no_worker_names_the_targets_own_ref(stage: Stage) -> None:
    """Not as its own kind, not as a promotion, not by an authority that an admin gives it."""
    scene = Scene(stage, "answer")
    own = f"{scene.repository.path}#{MAIN}"
    for wide in (own, f"{scene.repository.path}#*", "*"):
        assert refused(stage, "worker", "git.push", wide) == "illegal"
        with pytest.raises(psycopg.DatabaseError, match="only a campaign's verifier promotes"):
            refused(stage, "worker", "promote", wide)
    worker = stage.person("worker").connect(stage.database, autocommit=True)
    token = uuid4()
    stage.call(worker, "claim", p_class=stage.klass, p_token=token)

    outcomes = [
        stage.call(
            worker,
            "begin_operation",
            p_class=stage.klass,
            p_operation_token=uuid4(),
            p_kind=kind,
            p_target=target,
            p_fingerprint="f",
            p_campaign_id=scene.number,
            p_generation=1,
            p_token=token,
            p_expected=Jsonb({"before": "b", "after": {"commit": "f"}, "fence": "f"}),
        )["outcome"]
        for kind, target in (
            ("git.push", own),
            ("promote", own),
            ("git.push", f"{scene.repository.path}#refs/heads/other"),
            (
                "git.push",
                f"{scene.repository.path}#refs/fencepost/drill/{scene.number}/2",
            ),
            ("mail", f"{scene.repository.path}#refs/fencepost/drill/{scene.number}/1"),
            (
                "git.push",
                f"{scene.repository.path}#refs/fencepost/drill/{scene.number}/1",
            ),
        )
    ]

    assert outcomes == ["forbidden"] * 5 + ["ok"]
    by_worker = [one for one in stage.refusals() if one["principal"] == stage.person("worker").name]
    assert [(one["function"], one["outcome"]) for one in by_worker] == [
        ("begin_operation", "forbidden")
    ] * 5
    assert {one["campaign_id"] for one in by_worker} == {scene.number}


def test_two_promotions_into_one_ref_wait_for_each_other(stage: Stage) -> None:
    """What is under way to the same ref may still land: the second does not begin before."""
    first = Scene(stage, "answer")
    stage.define_target("other", repository=first.repository)
    number = stage.open("other")
    for _ in range(2):
        stage.worker(FIX).succeeds()
    first.hold("pre-receive")
    holder = stage.verifier()
    stage.wait_for(lambda: first.is_held, "the first pushes")

    waiting = stage.verifier(number=1)
    stage.wait_for(
        lambda: [*{one["outcome"] for one in stage.refusals()}] == ["operation_open"],
        "the second is told to wait",
    )
    first.go()
    holder.succeeds()
    waiting.succeeds()

    states = {stage.campaign(one)["state"] for one in (first.number, number)}
    assert states == {"verified", "ready"}
    assert first.landed()[MAIN] == 1
    assert "outdated" in waiting.output


def test_what_a_pause_keeps_from_being_pushed_is_given_back(stage: Stage) -> None:
    """The lease is not lost, and the campaign does not wait for it to run out."""
    scene = Scene(stage, "answer")
    go = scene.folder / "finish"
    worker = stage.worker(f'until [ -e "{go}" ]; do sleep 0.02; done; {FIX}')
    stage.wait_state(scene.number, "leased")
    stage.admin("pause", p_class=stage.klass, p_reason="wait")
    go.touch()
    worker.wait()

    assert "the result may not be pushed now" in worker.output
    assert stage.moves(scene.number) == ["open", "claim", "release"]
    assert scene.landed() == {}
    assert [one["outcome"] for one in stage.refusals()] == ["paused"]
    stage.admin("resume", p_class=stage.klass)
    recover("worker", stage, [scene])
    scene.is_right("worker")


def refused(stage: Stage, duty: str, kind: str, target: str) -> str:
    """Let the admin authorise; return the answer."""
    admin = stage.person("admin").connect(stage.database, autocommit=True)
    answer = stage.call(
        admin,
        "authorise",
        p_class=stage.klass,
        p_duty=duty,
        p_kind=kind,
        p_target=target,
    )
    return str(answer["outcome"])

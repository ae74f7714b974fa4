"""``fencepost verifier``: what it judges, and how it promotes."""

from __future__ import annotations

import hashlib
import os
import signal
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import pytest

from fencepost import Worker
from fencepost.checkout import Git
from tests.pytest.client.conftest import CLASS, git

if TYPE_CHECKING:
    from tests.pytest.client.conftest import World

FIX = "echo right > answer"
FENCE = "refs/fencepost/upkeep/1/fence"


def evidence(world: World) -> str:
    """Return the evidence that the campaign names, after checking its digest."""
    campaign = world.campaign()
    path = Path(unquote(urlsplit(campaign["evidence_uri"]).path))
    assert hashlib.sha256(path.read_bytes()).digest() == bytes(campaign["evidence_sha256"])
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    return path.read_text()


def submit(world: World, fingerprint: str | None = None, **other: str) -> dict[str, Any]:
    """Submit what is in the stranger's clone, or what *other* says, as a dishonest worker could."""
    with closing(world.people["worker"].connect(world.database)) as connection:
        worker = Worker(connection)
        lease = worker.claim(CLASS)
        assert lease is not None
        base, commit = world.value(), git(world.clone, "rev-parse", "HEAD")
        pushed_ref = f"refs/fencepost/{CLASS}/{lease.campaign_id}/{lease.attempt_no}"
        git(world.clone, "push", "--quiet", "origin", f"HEAD:{pushed_ref}")
        result = {
            "repository": str(world.repository),
            "ref": "refs/heads/main",
            "base": base,
            "commit": commit,
            "pushed_ref": pushed_ref,
        } | other
        worker.submit(lease, fingerprint=fingerprint or "0" * 40, approach=None, result=result)
        return result


def commit(world: World, name: str = "answer", content: str = "right\n") -> str:
    """Commit in the stranger's clone without pushing."""
    (world.clone / name).write_text(content)
    git(world.clone, "add", "--all")
    git(world.clone, "commit", "--quiet", "--message", f"change {name}")
    return git(world.clone, "rev-parse", "HEAD")


def hook(world: World, script: str, name: str = "pre-receive") -> None:
    """Put a hook into the target's repository."""
    path = world.repository / "hooks" / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


# -- verdicts --------------------------------------------------------------------------------------


def test_nothing_submitted_is_said_and_is_no_error(world: World) -> None:
    assert "no submission in class upkeep" in world.verify()


def test_accepted_is_promoted_and_read_back(world: World) -> None:
    world.open_campaign()
    world.work(FIX)
    base = world.value()
    result = world.attempt()["result"]
    world.verify()
    attempt = world.attempt()
    assert world.campaign()["state"] == "verified"
    assert (attempt["verdict"], attempt["exit_code"]) == ("accepted", 0)
    assert world.value() == result["commit"]
    assert git(world.repository, "rev-parse", "main^") == base
    assert "checking" in evidence(world)
    assert "accepted" in evidence(world)
    (event,) = world.audit("select detail from audit.events where transition = 'promote'")
    detail = event["detail"]
    assert detail["old"] == base
    assert detail["new"] == detail["read_back"]["ref"] == result["commit"]
    assert detail["fence"] != detail["read_back"]["fence"] == world.value(FENCE)
    assert git(world.repository, "cat-file", "-t", FENCE) == "blob"
    assert world.left_behind() == []


def test_accepted_where_nothing_is_promoted_is_verified_at_once(world: World) -> None:
    world.define_class(promotes=False)
    world.open_campaign()
    world.work(FIX)
    base = world.value()
    world.verify()
    assert world.campaign()["state"] == "verified"
    assert world.value() == base


def test_rejected_has_the_end_of_the_output_as_its_reason(world: World) -> None:
    world.open_campaign()
    world.work("echo wrong > answer")
    world.verify()
    attempt = world.attempt()
    assert world.campaign()["state"] == "ready"
    assert (attempt["ending"], attempt["exit_code"]) == ("rejected", 1)
    assert attempt["reason"] == "acceptance: exit code 1\nchecking"
    assert "rejected" in evidence(world)


def test_a_protected_path_is_rejected_without_running_anything(world: World) -> None:
    world.open_campaign()
    witness = world.folder / "witness"
    world.work(f"echo right > answer; echo 'touch {witness}' > check.sh")
    world.verify()
    attempt = world.attempt()
    assert attempt["reason"] == "the path check.sh is protected: the submission modified check.sh"
    assert attempt["exit_code"] is None
    assert not witness.exists()
    assert "protected" in evidence(world)


def test_the_acceptance_command_has_a_time_limit(world: World) -> None:
    world.define_target(command=["sh", "-c", "echo slow; sleep 60"], time_limit_s=1)
    world.open_campaign()
    world.work(FIX)
    world.verify()
    attempt = world.attempt()
    assert attempt["exit_code"] == 124
    assert "time limit" in attempt["reason"]


def test_the_acceptance_command_sees_the_commit_and_a_scrubbed_environment(world: World) -> None:
    seen = world.folder / "seen"
    script = f"(git rev-parse HEAD; git status --porcelain; git remote; env) > {seen}"
    world.define_target(command=["sh", "-c", script])
    world.open_campaign()
    world.work(f"{FIX}; echo x > leftover.pyc; echo leftover.pyc >> .gitignore")
    world.verify()
    first, *rest = seen.read_text().splitlines()
    assert first == world.attempt()["result"]["commit"]
    assert all("=" in line for line in rest)
    assert not [line for line in rest if line.startswith("PG")]


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        (["no-such-program"], "could not be started"),
        (["./none.sh"], "could not be started"),
    ],
)
def test_a_command_that_this_verifier_cannot_run_is_no_verdict(
    world: World, command: list[str], reason: str
) -> None:
    world.define_target(command=command)
    world.open_campaign()
    world.work(FIX)
    world.verify(code=75)
    assert world.campaign()["state"] == "attempted"
    (event,) = world.audit("select detail from audit.events where transition = 'abstain'")
    assert reason in event["detail"]["reason"]


def test_a_command_that_the_submission_broke_is_a_rejection(world: World) -> None:
    world.define_target(command=["./run.sh"], protected=[])
    (world.clone / "run.sh").write_text("#!/bin/sh\ntrue\n")
    (world.clone / "run.sh").chmod(0o755)
    git(world.clone, "add", "--all")
    git(world.clone, "commit", "--quiet", "--message", "run")
    git(world.clone, "push", "--quiet", "origin", "HEAD:main")
    world.open_campaign()
    world.work(f"{FIX}; chmod -x run.sh")
    world.verify()
    assert "the submission changed run.sh" in world.attempt()["reason"]


def test_a_repository_that_is_gone_is_no_verdict(world: World) -> None:
    world.open_campaign()
    world.work(FIX)
    world.repository.rename(world.folder / "moved")
    assert "unverifiable" in world.verify(code=75)
    assert world.campaign()["state"] == "attempted"


# -- submissions that are not what they say --------------------------------------------------------


def test_another_fingerprint_is_rejected(world: World) -> None:
    world.open_campaign()
    commit(world)
    submit(world)
    world.verify()
    assert "patch id" in world.attempt()["reason"]


def test_a_base_of_the_workers_own_hides_nothing(world: World) -> None:
    world.open_campaign()
    own = commit(world, "check.sh", "true\n")
    commit(world)
    submit(world, base=own)
    world.verify()
    assert f"base {own} is not part of the history" in world.attempt()["reason"]


def test_a_commit_that_is_not_at_the_pushed_ref_is_rejected(world: World) -> None:
    world.open_campaign()
    commit(world)
    submit(world, commit="1" * 40)
    world.verify()
    assert "does not hold the submitted commit" in world.attempt()["reason"]


def test_a_commit_on_another_history_is_rejected(world: World) -> None:
    world.open_campaign()
    git(world.clone, "checkout", "--quiet", "--orphan", "alone")
    commit(world)
    submit(world)
    world.verify()
    assert "does not build on its base" in world.attempt()["reason"]


def test_a_submission_without_a_change_is_rejected(world: World) -> None:
    world.open_campaign()
    git(world.clone, "commit", "--quiet", "--allow-empty", "--message", "nothing")
    submit(world)
    world.verify()
    assert "changes nothing" in world.attempt()["reason"]


def test_a_pushed_ref_that_is_gone_is_no_verdict(world: World) -> None:
    world.open_campaign()
    commit(world)
    result = submit(world)
    git(world.repository, "update-ref", "-d", result["pushed_ref"])
    world.verify(code=75)
    assert world.campaign()["state"] == "attempted"


def test_a_small_commit_that_unfolds_to_much_is_rejected(world: World) -> None:
    world.open_campaign()
    (world.clone / "zeros").write_bytes(bytes(20 << 20))
    blob = git(world.clone, "hash-object", "-w", "zeros")
    (world.clone / "zeros").unlink()
    entries = [word for n in range(60) for word in ("--cacheinfo", f"100644,{blob},{n}")]
    git(world.clone, "update-index", "--add", *entries)
    git(world.clone, "commit", "--quiet", "--message", "zeros")
    submit(world)
    world.verify()
    assert "the change is too large" in world.attempt()["reason"]
    assert world.left_behind() == []


def test_what_would_hold_git_holds_no_verifier(world: World) -> None:
    """A commit has no FIFO in it, but links to one; and the acceptance command can make one."""
    pipe = world.folder.parent / "pipe"
    os.mkfifo(pipe)
    planted = "mkfifo .gitignore in/.gitignore in/.git"
    world.define_target(command=["sh", "-c", planted], protected=[])
    world.open_campaign()
    (world.clone / "in").mkdir()
    (world.clone / ".gitattributes").symlink_to(pipe)
    (world.clone / ".mailmap").symlink_to("/dev/zero")
    (world.clone / "in" / ".gitattributes").symlink_to(pipe)
    commit(world)
    client = Git(world.folder.parent / "own.git", objects=[world.clone / ".git"])
    submit(world, client.patch_id(world.value(), git(world.clone, "rev-parse", "HEAD")))
    world.verify()
    assert world.campaign()["state"] == "verified", world.attempt()["reason"]
    assert world.left_behind() == []


# -- promotion -------------------------------------------------------------------------------------


def test_a_ref_that_was_moved_is_outdated_and_the_same_change_fits_the_new_base(
    world: World,
) -> None:
    world.open_campaign()
    world.work(FIX)
    fingerprint = world.attempt()["fingerprint"]
    stranger = world.push()
    assert "outdated" in world.verify()
    assert world.value() == stranger
    assert world.attempt()["ending"] == "outdated"
    assert world.campaign()["state"] == "ready"
    world.work(FIX)
    world.verify()
    attempt = world.attempt()
    assert attempt["attempt_no"] == 2
    assert attempt["fingerprint"] == fingerprint
    assert world.campaign()["state"] == "verified"
    assert git(world.repository, "rev-parse", "main^") == stranger


def test_a_ref_that_moves_between_reading_and_pushing_is_not_overwritten(world: World) -> None:
    world.open_campaign()
    world.work(FIX)
    # The hook lets a stranger's commit come first, once.
    git(world.clone, "commit", "--quiet", "--allow-empty", "--message", "first come")
    stranger = git(world.clone, "rev-parse", "HEAD")
    git(world.clone, "push", "--quiet", "origin", "HEAD:refs/heads/aside")
    hook(
        world,
        "unset GIT_QUARANTINE_PATH; "
        f"test -e moved || {{ touch moved; git update-ref refs/heads/main {stranger}; }}",
    )
    assert "outdated" in world.verify()
    assert world.value() == stranger
    assert world.attempt()["ending"] == "outdated"


def test_a_hook_that_says_no_concludes_nothing_and_names_the_remedy(world: World) -> None:
    world.define_class(lease_default="3 seconds")
    world.open_campaign()
    world.work(FIX)
    base = world.value()
    hook(world, "grep -q refs/heads/main && { echo closed for today >&2; exit 1; }; exit 0")
    said = world.verify(code=75)
    assert "stuck" in said
    assert "closed for today" in said
    assert "remedy=" in said
    assert world.value() == base
    assert world.campaign()["state"] == "promoting"
    (world.repository / "hooks" / "pre-receive").unlink()
    deadline = time.monotonic() + 15
    while world.campaign()["state"] != "accepted":
        assert time.monotonic() < deadline
        world.start("reaper", "--once").ends()
    world.verify()
    assert world.campaign()["state"] == "verified"
    assert world.transitions().count("accept") == 1


def test_a_branch_that_is_checked_out_there_is_named(world: World) -> None:
    world.open_campaign()
    git(world.repository, "config", "core.bare", "false")
    world.work(FIX)
    said = world.verify(code=75)
    assert "bare repository" in said
    assert world.campaign()["state"] == "promoting"


def test_a_stopped_verifier_abstains_and_the_next_one_judges(world: World) -> None:
    started = world.folder / "started"
    script = f"test -e {started} && exit 0; touch {started}; sleep 60"
    world.define_target(command=["sh", "-c", script])
    world.open_campaign()
    world.work(FIX)
    process = world.start("verifier")
    deadline = time.monotonic() + 20
    while not started.exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.popen.send_signal(signal.SIGTERM)
    assert "unverifiable" in process.ends()
    assert world.campaign()["state"] == "attempted"
    world.verify()
    assert world.campaign()["state"] == "verified"
    assert world.left_behind() == []

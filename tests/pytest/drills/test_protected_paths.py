"""A submission that touches what judges it is rejected by name, and the check is not run."""

from __future__ import annotations

import signal
from contextlib import closing
from typing import TYPE_CHECKING

from fencepost import Worker

if TYPE_CHECKING:
    from pathlib import Path

    from tests.pytest.drills.conftest import Stage

FILES = {"tests/check.sh": "grep -qx right answer\n", "rules/first": "be right\n", "keep": "it\n"}
PROTECTED = ("tests/check.sh", "rules")


# What is changed beside the right answer, and the path that the rejection names.
CHANGES = {
    "edited": ("echo true > tests/check.sh", "tests/check.sh"),
    "removed": ("rm tests/check.sh", "tests/check.sh"),
    "renamed": ("git mv tests/check.sh tests/was.sh", "tests/check.sh"),
    "renamed onto": ("git mv -f keep tests/check.sh", "tests/check.sh"),
    "mode": ("chmod +x tests/check.sh", "tests/check.sh"),
    "symlink": ("rm tests/check.sh && ln -s ../keep tests/check.sh", "tests/check.sh"),
    "symlink for its folder": ("mv tests real && ln -s real tests", "tests/check.sh"),
    "added in its folder": ("echo be wrong > rules/second", "rules/second"),
    "folder renamed": ("git mv rules laws", "rules/first"),
    "attributes above": ("echo '*.sh text eol=crlf' > .gitattributes", ".gitattributes"),
    "attributes beside": ("echo '*.sh ident' > tests/.gitattributes", "tests/.gitattributes"),
}


def test_rejected_by_name_and_not_run(stage: Stage) -> None:
    base = stage.repository.commit(FILES)
    campaigns = {}
    for name in CHANGES:
        stage.define_target(name, check="sh tests/check.sh", protected=PROTECTED)
        campaigns[name] = stage.open(name)

    # The answer is right: but for what else it changes, each would be accepted.
    cases = "".join(
        f"""*'"target": "{name}"'*) {change} ;;\n""" for name, (change, _) in CHANGES.items()
    )
    agent = f'set -e; echo right > answer; case "$(cat "$FENCEPOST_BRIEF")" in\n{cases}esac'
    stage.define_class(attempt_budget=1)
    worker = stage.worker(agent, once=False)
    verifier = stage.verifier(once=False)
    for number in campaigns.values():
        stage.wait_state(number, "parked", within=60)
    for program in (worker, verifier):
        program.send(signal.SIGTERM)
        program.succeeds()

    wrong = {}
    for name, (_, path) in CHANGES.items():
        assert stage.moves(campaigns[name]) == [
            *("open", "claim", "submit", "claim_verification", "reject"),
        ]
        (attempt,) = stage.attempts(campaigns[name])
        assert (attempt["verdict"], attempt["exit_code"]) == ("rejected", None)
        if path not in attempt["reason"].split():
            wrong[name] = attempt["reason"]
    assert wrong == {}
    assert not stage.judged.exists(), "the acceptance command was run"
    assert stage.repository.value() == base


def test_what_is_not_protected_may_change(stage: Stage) -> None:
    """The control: names that only resemble the protected ones are free."""
    stage.repository.commit(FILES)
    stage.define_target(check="sh tests/check.sh", protected=PROTECTED)
    number = stage.open()

    stage.worker(
        "echo right > answer && echo x > tests/check.sh.orig && mkdir rules2 && echo x > rules2/a "
        "&& mkdir other && echo '* text' > other/.gitattributes && chmod +x keep"
    ).succeeds()
    stage.verifier().succeeds()

    assert stage.moves(number)[-2:] == ["accept", "promote"]


def clone(stage: Stage) -> Path:
    """Clone the repository, as a worker that does not use the client would."""
    made = stage.folder / "clone"
    stage.repository.git("clone", "-q", str(stage.repository.path), str(made), inside=False)
    return made


def hand_in(stage: Stage, clone: Path, *, base: str, commit: str) -> None:
    """Submit *commit*, and say that it was made on top of *base*."""
    diff = ("diff", "--binary", "--full-index", base, commit)
    change = clone.with_suffix(".diff")
    change.write_text(stage.repository.git(*diff, folder=clone) + "\n")
    told = stage.repository.git("-c", f"alias.id=!git patch-id --verbatim < '{change}'", "id")
    with closing(stage.person("worker").connect(stage.database)) as connection:
        worker = Worker(connection)
        lease = worker.claim(stage.klass)
        assert lease is not None
        ref = f"refs/fencepost/{stage.klass}/{lease.campaign_id}/{lease.attempt_no}"
        stage.repository.git("push", "-q", "origin", f"{commit}:{ref}", folder=clone)
        result = {
            "repository": str(stage.repository.path),
            "ref": "refs/heads/main",
            "base": base,
            "commit": commit,
            "pushed_ref": ref,
        }
        worker.submit(lease, fingerprint=told.split()[0], approach=None, result=result)


def rejection(stage: Stage, campaign: int) -> str:
    """Let the submission be judged; return why it was rejected, without having been run."""
    stage.verifier().succeeds()
    assert stage.moves(campaign)[-1] == "reject", stage.story()
    assert not stage.judged.exists(), "the acceptance command was run"
    reason = stage.attempts(campaign)[-1]["reason"]
    assert isinstance(reason, str)
    return reason


def test_an_older_base_does_not_hide_a_check_put_back_to_what_it_was(stage: Stage) -> None:
    old = stage.repository.commit({"tests/check.sh": "true\n"})
    present = stage.repository.commit(FILES)
    stage.define_target(check="sh tests/check.sh", protected=PROTECTED)
    number = stage.open()

    mine = clone(stage)
    stage.repository.git("checkout", old, "--", "tests/check.sh", folder=mine)
    (mine / "answer").write_text("wrong\n")
    stage.repository.git("commit", "-qam", "Put the check back", folder=mine)
    commit = stage.repository.git("rev-parse", "HEAD", folder=mine)
    hand_in(stage, mine, base=old, commit=commit)

    assert f"base {old} is not where the submitted commit left" in rejection(stage, number)
    assert stage.repository.value() == present


def test_a_merge_that_leaves_the_history_twice_is_rejected(stage: Stage) -> None:
    """Criss-cross: which of the two is the base is for the worker to say, so neither is."""
    start = stage.repository.commit(FILES)
    mine = clone(stage)
    git = stage.repository.git
    git("checkout", "-q", "-b", "side", folder=mine)
    (mine / "side").write_text("side\n")
    git("add", "side", folder=mine)
    git("commit", "-qm", "Go aside", folder=mine)
    side = git("rev-parse", "HEAD", folder=mine)
    one = stage.repository.commit({"other": "other\n"})
    git("fetch", "-q", "origin", folder=mine)
    git("checkout", "-q", "main", folder=mine)
    git("reset", "-q", "--hard", one, folder=mine)
    git("merge", "-q", "--no-edit", side, folder=mine)
    git("push", "-q", "origin", "main", folder=mine)
    stage.define_target(check="sh tests/check.sh", protected=PROTECTED)
    number = stage.open()

    git("checkout", "-q", "side", folder=mine)
    git("merge", "-q", "--no-edit", one, folder=mine)
    (mine / "answer").write_text("right\n")
    git("commit", "-qam", "Answer", folder=mine)
    commit = git("rev-parse", "HEAD", folder=mine)
    hand_in(stage, mine, base=one, commit=commit)

    reason = rejection(stage, number)
    assert one in reason
    assert side in reason
    assert start not in reason


def test_an_old_state_of_the_target_is_no_result(stage: Stage) -> None:
    """It may well pass the check: that says nothing about what the target holds now."""
    stage.repository.commit(FILES)
    base = stage.repository.value()
    good = stage.repository.commit({"answer": "right\n"})
    stage.repository.commit({"answer": "wrong\n"})
    stage.define_target(check="sh tests/check.sh", protected=PROTECTED)
    number = stage.open()

    hand_in(stage, clone(stage), base=str(base), commit=good)

    assert "is part of the history of refs/heads/main already" in rejection(stage, number)


def test_a_target_that_moved_on_meanwhile_is_no_reason_to_reject(stage: Stage) -> None:
    base = stage.repository.commit(FILES)
    stage.define_class(promotes=False)
    stage.define_target(check="sh tests/check.sh", protected=PROTECTED)
    number = stage.open()

    mine = clone(stage)
    (mine / "answer").write_text("right\n")
    stage.repository.git("commit", "-qam", "Answer", folder=mine)
    commit = stage.repository.git("rev-parse", "HEAD", folder=mine)
    stage.repository.commit({"tests/check.sh": "grep -qx 'right' answer\n"})
    hand_in(stage, mine, base=base, commit=commit)
    stage.verifier().succeeds()

    assert stage.moves(number)[-1] == "accept", stage.story()


def test_a_result_that_somebody_put_there_meanwhile_is_judged(stage: Stage) -> None:
    base = stage.repository.commit(FILES)
    stage.define_target(check="sh tests/check.sh", protected=PROTECTED)
    number = stage.open()
    commit = stage.repository.commit({"answer": "right\n"})

    hand_in(stage, clone(stage), base=base, commit=commit)
    stage.verifier().succeeds()

    assert stage.moves(number)[-2:] == ["accept", "promote"], stage.story()

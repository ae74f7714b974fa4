"""A submission that touches what judges it is rejected by name, and the check is not run."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
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

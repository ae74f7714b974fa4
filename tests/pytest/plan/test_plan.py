"""The plan and its scripts name each other, completely."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[3]
NAME = re.compile(r"^([a-z0-9_]+/[a-z0-9_]+)(?: \[[^]]*\])? \S+ .*<.*>(?: # .*)?$")


def planned() -> list[str]:
    """Return the changes of the plan, in order."""
    lines = (PROJECT / "sqitch.plan").read_text().splitlines()
    return [found[1] for line in lines if (found := NAME.match(line))]


def test_every_line_of_the_plan_is_read() -> None:
    lines = (PROJECT / "sqitch.plan").read_text().splitlines()
    changes = [line for line in lines if line and not line.startswith(("%", "@", "#"))]
    assert len(planned()) == len(changes) > 0


@pytest.mark.parametrize("kind", ["deploy", "revert", "verify"])
def test_every_change_has_its_script_and_every_script_its_change(kind: str) -> None:
    folder = PROJECT / kind
    scripts = {str(path.relative_to(folder).with_suffix("")) for path in folder.rglob("*.sql")}
    assert scripts == set(planned())


@pytest.mark.parametrize(
    ("kind", "preposition"), [("deploy", "to"), ("revert", "from"), ("verify", "on")]
)
def test_a_script_says_whose_it_is(kind: str, preposition: str) -> None:
    wrong = [
        change
        for change in planned()
        if (PROJECT / kind / f"{change}.sql").read_text().split("\n", 1)[0]
        != f"-- {kind.capitalize()} fencepost:{change} {preposition} pg"
    ]
    assert wrong == []

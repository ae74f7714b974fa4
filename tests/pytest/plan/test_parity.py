"""The plan, its scripts and their tests name each other, completely."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[3]
NAME = re.compile(r"^([a-z0-9_]+/[a-z0-9_]+)(?: \[[^]]*\])? \S+ .*<.*>(?: # .*)?$")

PGTAP = PROJECT / "tests" / "pgtap"
OF_MANY = {
    "access",  # what holds of every function, or of who may call which
    "operation/campaign_moves",  # every move of a campaign, with an operation in every state
}


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


def test_every_function_has_its_pgtap() -> None:
    """The file, or the folder of behaviours, has the path of the deploy script.

    pg_prove is content with what it finds; a test that is not there fails here. None is exempt.
    """
    public, helpers = (
        [
            change
            for change in planned()
            if re.search(
                rf"(?m)^create or replace function {schema}\.",
                (PROJECT / "deploy" / f"{change}.sql").read_text(),
            )
        ]
        for schema in ("kernel", "ledger")
    )
    untested = [
        change
        for change in {*public, *helpers}
        if not (PGTAP / f"{change}.sql").is_file() and not any((PGTAP / change).glob("*.sql"))
    ]

    assert len(public) == 58
    assert len(helpers) > 60
    assert untested == []


def test_every_pgtap_file_stands_where_its_change_does() -> None:
    changes = {*planned(), *OF_MANY}
    stray = [
        test
        for path in sorted(PGTAP.rglob("*.sql"))
        if not {str(test := path.relative_to(PGTAP).with_suffix("")), str(test.parent)} & changes
    ]

    assert stray == []


def test_a_public_function_is_a_change_of_its_own_name() -> None:
    wrong = [
        (change, name)
        for change in planned()
        for name in re.findall(
            r"(?m)^create or replace function kernel\.(\w+)",
            (PROJECT / "deploy" / f"{change}.sql").read_text(),
        )
        if name != change.partition("/")[2]
    ]
    assert wrong == []


def test_every_verify_script_asserts() -> None:
    """By itself, or through one of the scripts that it includes, which are all there are."""
    support = {path.name for path in (PROJECT / "verify" / "_support").iterdir()}
    included: set[str] = set()
    for change in planned():
        script = (PROJECT / "verify" / f"{change}.sql").read_text()
        includes = set(re.findall(r"(?m)^\\ir \.\./_support/(\S+)$", script))
        included |= includes
        assert "assert" in script, change
        assert script.endswith("\nrollback;\n"), change
        assert includes, change
    for name in support:
        script = (PROJECT / "verify" / "_support" / name).read_text()
        included |= set(re.findall(r"(?m)^\\ir (\S+)$", script))

    assert included == support

"""Each requirement of tests/requirements.txt has what shows it, or is said to be open."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.pytest.static.conftest import STILL_OPEN

PROJECT = Path(__file__).resolve().parents[3]
LIST = PROJECT / "tests" / "requirements.txt"
NUMBERS = [f"A{n:02}" for n in range(1, 43)] + [f"B{n:02}" for n in range(1, 22)]


class Requirement(NamedTuple):
    """A requirement: its number and sentence, what shows it, and what is open of it."""

    number: str
    sentence: str
    shown: list[str]
    open: list[str]


def requirements(text: str) -> list[Requirement]:
    """Return the requirements of a list: a numbered line, and what stands indented below it."""
    found: list[Requirement] = []
    for line in text.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        if numbered := re.fullmatch(r"([AB]\d\d) (\S.*)", line):
            found.append(Requirement(numbered[1], numbered[2], [], []))
        elif line.startswith("    open: "):
            found[-1].open.append(line.removeprefix("    open: "))
        elif line.startswith(("    tests/", "    python_client/tests/")):
            found[-1].shown.append(line.strip())
        else:
            assert line.startswith("    "), f"neither a number nor what shows it: {line}"
            assert not found[-1].shown, f"a sentence goes on below what shows it: {line}"
            found[-1] = found[-1]._replace(sentence=f"{found[-1].sentence} {line.strip()}")
    return found


def is_there(name: str) -> bool:
    """Say whether pytest would collect a test of this name, or pg_prove the file."""
    path, _, function = name.partition("::")
    file = PROJECT / path
    if not function:
        return path.startswith("tests/pgtap/") and file.suffix == ".sql" and file.is_file()
    if not re.fullmatch(r"(tests/pytest|python_client/tests)/(.+/)?test_\w+\.py", path):
        return False
    if not file.is_file() or not function.startswith("test_"):
        return False
    tree = ast.parse(file.read_text(encoding="utf-8"))
    return any(
        isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == function
        for node in tree.body
    )


LISTED = requirements(LIST.read_text(encoding="utf-8"))


def test_every_number_is_here_once_and_in_order() -> None:
    assert [requirement.number for requirement in LISTED] == NUMBERS


@pytest.mark.parametrize("requirement", LISTED, ids=lambda requirement: requirement.number)
def test_what_shows_it_is_there(requirement: Requirement) -> None:
    assert requirement.sentence.endswith(".")
    assert requirement.shown or requirement.open, "nothing shows it, and it is not said to be open"
    missing = [name for name in requirement.shown if not is_there(name)]
    assert not missing, f"there is no such test: {missing}"
    assert len(set(requirement.shown)) == len(requirement.shown)


def test_what_is_open_is_said_at_the_end(request: pytest.FixtureRequest) -> None:
    still_open = [
        f"{requirement.number} {'in part: ' if requirement.shown else ''}{what}"
        for requirement in LISTED
        for what in requirement.open
    ]
    assert all(len(line) <= 100 for line in still_open)
    request.config.stash[STILL_OPEN] = still_open


@pytest.mark.parametrize(
    "name",
    [
        "tests/pytest/static/test_requirements.py::test_nothing",
        "tests/pytest/static/test_requirements.py::requirements",
        "tests/pytest/static/conftest.py::pytest_terminal_summary",
        "tests/pytest/nowhere/test_nothing.py::test_nothing",
        "tests/pgtap/nowhere.sql",
        "tests/invariants.sql",
        "docs/when_not.md",
    ],
)
def test_what_is_not_there_is_found(name: str) -> None:
    assert not is_there(name)

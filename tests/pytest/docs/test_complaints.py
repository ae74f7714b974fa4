"""docs/explanation/complaints.md: none is dropped, and each names its test, or why it has none."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import pytest

PROJECT = Path(__file__).resolve().parents[3]
PAGE = PROJECT / "docs" / "explanation" / "complaints.md"
WITHOUT = ("**open**", "**later**")
OPEN = (*WITHOUT, "**not here**")


class Row(NamedTuple):
    """A complaint, what is promised, and the tests that show it: file and name."""

    number: int
    complaint: str
    promise: str
    tests: list[tuple[str, str]]


def rows() -> list[Row]:
    """Return the rows of all tables of the page."""
    found = []
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if not line.startswith("| ") or line.startswith("| no. |"):
            continue
        number, complaint, promise, shown = (cell.strip() for cell in line.strip("|").split(" | "))
        tests = re.findall(r"`([^`]+?)::([^`]+)`", shown)
        found.append(Row(int(number), complaint, promise, tests))
    return found


def exists(file: str, name: str) -> bool:
    """Say whether there is that test: a function of Python, or a piece of a pgTAP description."""
    path = PROJECT / (file if file.startswith("python_client/") else f"tests/{file}")
    if not path.is_file():
        return False
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        return re.search(rf"^(async )?def {re.escape(name)}\(", text, re.MULTILINE) is not None
    # Literals that go on in the next line are one, and a quote within them is written twice.
    code = re.sub(r"(?m)^\s*--.*$", "", text)
    return name in re.sub(r"'\s*\n\s*'", "", code).replace("''", "'")


@pytest.mark.parametrize("row", rows(), ids=lambda row: f"{row.number} {row.complaint[:60]}")
def test_a_promise_is_shown_or_says_why_not(row: Row) -> None:
    missing = [f"{file}::{name}" for file, name in row.tests if not exists(file, name)]
    assert missing == []
    assert row.tests or row.promise.startswith(WITHOUT)


def test_a_test_that_is_not_there_is_missed() -> None:
    assert exists("pytest/docs/test_complaints.py", "test_a_promise_is_shown_or_says_why_not")
    assert not exists("pytest/docs/test_complaints.py", "test_a_promise")
    assert not exists("pytest/docs/test_nothing.py", "test_a_promise_is_shown_or_says_why_not")
    assert exists("pgtap/lease/renew.sql", "writes no event")
    assert not exists("pgtap/lease/renew.sql", "writes an event")


def test_none_is_dropped() -> None:
    """Nor is one named twice: the page says how many there are."""
    (count,) = re.findall(r"There are (\d+) of them", PAGE.read_text(encoding="utf-8"))
    assert [row.number for row in rows()] == list(range(1, int(count) + 1))
    assert len({row.complaint for row in rows()}) == int(count)


def test_what_is_open_is_told() -> None:
    for row in rows():
        if any(word in row.promise for word in OPEN):
            print(f"{row.number} {row.complaint}: {row.promise}")
    assert len(rows()) > 80

"""The table of docs/campaign.md says what the catalogue says.

What the catalogue says is taken from docs/reference, which another test holds against a database.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[3]
DOCS = PROJECT / "docs"

Move = tuple[str, str, str]


@dataclass(frozen=True)
class Step:
    """A row of the table."""

    duties: list[str]
    function: str
    moves: str
    change: str
    refusals: set[str]


def rows(page: Path, heading: str) -> list[list[str]]:
    """Return the cells of the table whose first line begins with *heading*."""
    text = page.read_text(encoding="utf-8")
    table = text[text.index(heading) :].split("\n\n")[0].splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table[2:]]


def steps() -> list[Step]:
    """Return the rows of docs/campaign.md's table."""
    return [
        Step(
            duties=who.split(" → ")[0].split(", "),
            function=function.strip("`"),
            moves=move,
            change=change.strip("`"),
            refusals=set(refusals.split(", ")),
        )
        for _, who, function, move, change, refusals in rows(DOCS / "campaign.md", "| step |")
    ]


def legal() -> set[tuple[str, str, str, str]]:
    """Return move, from, to and duty of every legal move."""
    return {
        (move.strip("`"), start.replace("-", "none"), start if end == "the same" else end, duty)
        for move, starts, ends, duties, _, _ in rows(DOCS / "reference/privileges.md", "| move |")
        for start in starts.split(", ")
        for end in ends.split(", ")
        for duty in duties.split(", ")
    }


OPEN = {start for _, start, _, _ in legal()} - {"none"}


def made(step: Step) -> set[tuple[str, str, str, str]]:
    """Return what a row says is made."""
    found: set[tuple[str, str, str, str]] = set()
    for name, starts, ends in re.findall(r"`(\w+)` ([\w, ]+) → ([\w, ]+)", step.moves):
        if ends == "the same":
            found |= {(name, state, state, duty) for state in OPEN for duty in step.duties}
            continue
        all_ends = set(ends.split(", "))
        all_starts = OPEN - all_ends if starts == "any open state" else set(starts.split(", "))
        found |= {(name, a, b, d) for a in all_starts for b in all_ends for d in step.duties}
    return found


def answers() -> dict[str, set[str]]:
    """Return the refusals that each function can answer, by its comment."""
    outcomes = {row[0].strip("`") for row in rows(DOCS / "reference/errors.md", "| outcome |")}
    text = (DOCS / "reference/functions.md").read_text(encoding="utf-8")
    found: dict[str, set[str]] = {}
    for section in text.split("\n### ")[1:]:
        said = re.search(r"\* \*\*Answers\*\*: (.*)", section)
        if said:
            words = set(re.findall(r"\w+", re.sub(r"\([^)]*\)", "", said[1])))
            found[section.split("\n")[0]] = (outcomes & words) - {"ok"}
    return found


def test_it_has_every_legal_move_and_no_other() -> None:
    assert set().union(*map(made, steps())) == legal()


@pytest.mark.parametrize("step", steps(), ids=lambda step: step.function)
def test_a_step_refuses_with_what_its_function_says(step: Step) -> None:
    assert step.refusals == answers()[step.function]


def test_every_function_that_can_refuse_is_a_step_or_about_no_campaign() -> None:
    setting_up = {"define_class", "define_target", "register_principal", "enrol"}
    setting_up |= {"authorise", "deauthorise"}
    # docs/explanation/operations.md is about these.
    effects = {f"{act}_operation" for act in ("begin", "start", "complete", "fail", "renew")}
    effects |= {f"{act}_operation" for act in ("release", "resolve", "get")}
    effects |= {"mark_operation_unknown", "list_operations", "expire_operations"}
    effects |= {"prune_operations"}
    taking_out_of_use = {"pause", "resume", "retire_target", "retire_class"}
    keeping = {"checkpoint", "prune", "report_denial"}
    moving = {step.function for step in steps()}
    assert moving | setting_up | effects | taking_out_of_use | keeping == set(answers())


@pytest.mark.parametrize("step", steps(), ids=lambda step: step.function)
def test_a_step_is_deployed_and_tested_where_it_says(step: Step) -> None:
    assert (PROJECT / "deploy" / f"{step.change}.sql").exists()
    tests = PROJECT / "tests" / "pgtap" / step.change
    assert tests.with_suffix(".sql").exists() or list(tests.glob("*.sql"))

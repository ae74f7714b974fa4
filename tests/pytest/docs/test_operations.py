"""The pages on operations work as they are written."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.pytest.docs.conftest import PEOPLE, blocks

if TYPE_CHECKING:
    from tests.pytest.docs.conftest import MakeStage, Stage

PROJECT = Path(__file__).resolve().parents[3]
RUNBOOK = PROJECT / "docs" / "runbook.md"
EXPLANATION = PROJECT / "docs" / "explanation" / "operations.md"


@pytest.fixture
def prepared(stage: MakeStage) -> Stage:
    """Return a stage whose admin has done what the runbook asks of it."""
    scene = stage(*PEOPLE)
    (block,) = [block for block in blocks(RUNBOOK) if block.text.startswith("-- as admin")]
    scene.play(block)
    return scene


def test_the_runbook_verifies_a_database(prepared: Stage) -> None:
    (block,) = [block for block in blocks(RUNBOOK) if "operations verify" in block.text]
    prepared.play(block)


def test_the_explanation_shows_what_comes_out(prepared: Stage) -> None:
    shown = [block for block in blocks(EXPLANATION) if block.language == "pycon"]
    assert len(shown) == 2
    for block in shown:
        prepared.play(block)


def test_the_runbook_names_measures_of_health_that_are_there(prepared: Stage) -> None:
    named = re.findall(r"`(\w+)` of `kernel.health\(\)`", RUNBOOK.read_text(encoding="utf-8"))
    assert len(named) == 3
    (found,) = prepared.psql("auditor", ["select subject from kernel.health();"])
    assert set(named) <= set(found.split())

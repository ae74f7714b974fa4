"""Everything that the README shows comes out as shown, and every command in it is run."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.pytest.docs.conftest import PEOPLE, blocks

if TYPE_CHECKING:
    from tests.pytest.docs.conftest import MakeStage, Stage

PROJECT = Path(__file__).resolve().parents[3]
README = PROJECT / "README.md"
CLIENT = PROJECT / "python_client" / "README.md"

RUN_BY_CI = {"make demo", "make test"}
"""Commands that a test would run within itself: .ci/run runs them on a clean clone."""


@pytest.fixture
def shop(stage: MakeStage) -> Stage:
    """Return a stage with the class, the target and the enrolments of add-a-class.md."""
    scene = stage(*PEOPLE)
    for block in blocks(PROJECT / "docs" / "howto" / "add-a-class.md"):
        if block.language == "sql" and "create role" not in block.text:
            scene.play(block)
    return scene


def test_what_it_looks_like_comes_out_as_shown(shop: Stage) -> None:
    shown = [block for block in blocks(README) if "=> " in block.text or block.language == "pycon"]
    assert [block.language for block in shown] == ["console", "pycon", "console"]
    for block in shown:
        shop.play(block)


def test_the_client_s_example_comes_out_as_shown(shop: Stage) -> None:
    shop.play(blocks(README)[0])
    examples = [block for block in blocks(CLIENT) if block.language == "pycon"]
    assert examples
    for block in examples:
        shop.play(block)


def test_every_shell_command_is_run_by_ci() -> None:
    commands = {
        typed.partition("#")[0].strip()
        for block in blocks(README)
        if block.language == "console" and block.text.startswith("$")
        for _, typed, _ in block.said()
    }
    assert commands == RUN_BY_CI
    ci = (PROJECT / ".ci" / "run").read_text(encoding="utf-8")
    for command in commands:
        assert re.search(rf"(?m)^[^#\n]*\b{command}\b", ci), f".ci/run does not run {command}"


def test_every_target_and_variable_of_make_that_it_names_is_there() -> None:
    text = README.read_text(encoding="utf-8")
    makefile = (PROJECT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"`(?:\$ )?make ([a-z-]+)", text)) | {"demo", "test"}
    assert targets >= {"demo", "test", "clean", "help"}
    for target in targets:
        assert re.search(rf"(?m)^{target}:", makefile), f"there is no target {target}"
    for variable in re.findall(r"\b([A-Z]{3,})=", text):
        if variable != "NAME":
            assert re.search(rf"(?m)^{variable} \?=", makefile), f"make takes no {variable}="


def test_what_the_demo_is_said_to_end_with_is_what_it_prints() -> None:
    """That it is printed, and only then exit code 0, is for test_demo to show."""
    text = README.read_text(encoding="utf-8")
    demo = (PROJECT / "tools" / "demo").read_text(encoding="utf-8")
    assert "`confirmed CLASS/ID REF SHA`" in text
    assert "`confirmed CLASS/ID REF SHA`" in demo


def test_what_setup_is_said_to_do_is_tested() -> None:
    tested = (PROJECT / "tests" / "pytest" / "tools" / "test_setup.py").read_text(encoding="utf-8")
    assert "def test_without_root_it_prints_one_line_for_an_administrator" in tested
    assert "def test_as_root_it_names_what_is_missing_and_then_installs_it" in tested


def test_it_is_no_longer_than_a_newcomer_reads() -> None:
    assert len(README.read_text(encoding="utf-8").splitlines()) <= 170

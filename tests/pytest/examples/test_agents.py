"""The sample agents: what each does to the sample repository, and which one is chosen."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
CHECK = ["python3", "-B", "-m", "unittest"]


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    bare, clone = tmp_path / "sample.git", tmp_path / "clone"
    subprocess.run([EXAMPLES / "make-repository", bare], check=True)
    subprocess.run(["git", "clone", "--quiet", bare, clone], check=True)
    return clone


def run(agent: str, clone: Path, attempts: list[dict[str, str]] | None = None) -> str:
    """Run *agent* in *clone* as the worker would, and return the approach it names."""
    brief, approach = clone.parent / "brief.json", clone.parent / "approach"
    brief.write_text(json.dumps({"attempts": attempts or []}))
    subprocess.run(
        [EXAMPLES / "agents" / agent],
        cwd=clone,
        env={
            "PATH": os.environ["PATH"],
            "FENCEPOST_BRIEF": str(brief),
            "FENCEPOST_APPROACH": str(approach),
        },
        check=True,
    )
    return approach.read_text()


def changed(clone: Path) -> list[str]:
    named = subprocess.run(
        ["git", "diff", "--name-only"], cwd=clone, capture_output=True, text=True, check=True
    )
    return named.stdout.split()


def succeeds(clone: Path) -> bool:
    return subprocess.run(CHECK, cwd=clone, capture_output=True, check=False).returncode == 0


def test_the_sample_fails_and_is_always_the_same_commit(clone: Path, tmp_path: Path) -> None:
    subprocess.run([EXAMPLES / "make-repository", tmp_path / "again.git"], check=True)

    heads = {
        subprocess.run(
            ["git", "-C", where, "rev-parse", "refs/heads/main"],
            capture_output=True,
            check=True,
        ).stdout
        for where in (tmp_path / "sample.git", tmp_path / "again.git")
    }

    assert len(heads) == 1
    assert not succeeds(clone)


@pytest.mark.parametrize(
    ("agent", "files", "mends"),
    [
        ("edit-the-test", ["test_numerals.py"], True),
        ("fix-wrongly", ["numerals.py"], False),
        ("fix-rightly", ["numerals.py"], True),
    ],
)
def test_each_does_what_its_name_says(
    clone: Path, agent: str, files: list[str], *, mends: bool
) -> None:
    assert run(agent, clone).strip()
    assert changed(clone) == files
    assert succeeds(clone) is mends


PROTECTED = {"ending": "rejected", "reason": "touches the protected path test_numerals.py"}
FAILING = {"ending": "rejected", "reason": "the check failed: exit 1: test_numerals.py, line 22"}
LOST = {"ending": "lost", "reason": ""}
OUTDATED = {"ending": "outdated", "reason": "refs/heads/main moved"}


@pytest.mark.parametrize(
    ("attempts", "chosen"),
    [
        ([], "edit-the-test"),
        ([LOST], "edit-the-test"),
        ([PROTECTED], "fix-wrongly"),
        ([PROTECTED, LOST], "fix-wrongly"),
        ([PROTECTED, FAILING], "fix-rightly"),
        ([PROTECTED, FAILING, OUTDATED], "fix-rightly"),
    ],
)
def test_the_agent_learns_from_what_was_rejected(
    clone: Path, attempts: list[dict[str, str]], chosen: str
) -> None:
    approach = run("agent", clone, attempts)
    assert approach == run(chosen, clone)

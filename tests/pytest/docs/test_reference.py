"""What docs/reference says is what a deployed database says of itself."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[3]
REFERENCE = PROJECT / "docs" / "reference"
PAGES = ("errors.md", "functions.md", "privileges.md")


@pytest.fixture
def written(database: str, tmp_path: Path) -> Path:
    """Return the folder into which tools/reference wrote what it found."""
    subprocess.run(
        [sys.executable, PROJECT / "tools" / "reference", "--database", database, tmp_path],
        check=True,
    )
    return tmp_path


def test_it_writes_these_pages_and_no_other(written: Path) -> None:
    assert sorted(path.name for path in written.iterdir()) == sorted(PAGES)
    assert sorted(path.name for path in REFERENCE.iterdir()) == sorted(PAGES)


@pytest.mark.parametrize("page", PAGES)
def test_what_is_checked_in_is_what_it_writes(written: Path, page: str) -> None:
    checked_in = (REFERENCE / page).read_text(encoding="utf-8")
    assert (written / page).read_text(encoding="utf-8") == checked_in, "run `make docs`"


def test_a_wrong_option_ends_it_with_64() -> None:
    done = subprocess.run(
        [sys.executable, PROJECT / "tools" / "reference", "--what"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 64
    assert "--help says more" in done.stderr

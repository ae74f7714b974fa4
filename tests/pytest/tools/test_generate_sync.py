"""tools/generate-sync: the client's sync classes are what it makes of the async ones."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[3]
PACKAGE = "python_client/src/fencepost"


def generate(project: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [project / "tools" / "generate-sync", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_sync_classes_are_current() -> None:
    ended = generate(PROJECT, "--check")
    assert (ended.returncode, ended.stdout) == (0, "")


def test_a_file_that_was_changed_by_hand_is_named_and_made_again(tmp_path: Path) -> None:
    for name in ("tools", PACKAGE):
        shutil.copytree(PROJECT / name, tmp_path / name)
    shutil.copy(PROJECT / "python_client" / "pyproject.toml", tmp_path / "python_client")
    (tmp_path / ".venv").symlink_to(PROJECT / ".venv")
    target = tmp_path / PACKAGE / "worker.py"
    was = target.read_text()
    target.write_text(was.replace("lease", "loan"))

    ended = generate(tmp_path, "--check")
    assert ended.returncode == 1
    assert ended.stdout == f"{PACKAGE}/worker.py is not what tools/generate-sync writes\n"
    assert generate(tmp_path).returncode == 0
    assert target.read_text() == was
    assert "async" not in was.partition("\n")[2]


def test_wrong_usage_is_64() -> None:
    assert generate(PROJECT, "--chekc").returncode == 64

"""Repositories for the tests; no server is needed."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import pytest

from fencepost.checkout import Workspace

IDENTITY = {
    "GIT_AUTHOR_NAME": "somebody",
    "GIT_AUTHOR_EMAIL": "somebody@localhost",
    "GIT_COMMITTER_NAME": "somebody",
    "GIT_COMMITTER_EMAIL": "somebody@localhost",
}


def _git(folder: Path, *arguments: str) -> str:
    """Run git as a person would, with the repository's own settings in force."""
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "GIT_CONFIG_NOSYSTEM": "1",
        **IDENTITY,
    }
    done = subprocess.run(
        ["git", "-c", "protocol.file.allow=always", *arguments],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@dataclass(frozen=True)
class Repository:
    """A bare repository with a branch, and a clone in which to work on it."""

    bare: Path
    clone: Path
    ref: str = "refs/heads/main"

    @property
    def address(self) -> str:
        """What a target's location would name."""
        return str(self.bare)

    def git(self, *arguments: str) -> str:
        """Run git in the clone."""
        return _git(self.clone, *arguments)

    def commit(self, message: str = "change") -> str:
        """Commit all that is in the clone, push it, and return its SHA."""
        _git(self.clone, "add", "--all", "--force")
        _git(self.clone, "commit", "--quiet", "--allow-empty", "--message", message)
        _git(self.clone, "push", "--quiet", "origin", "HEAD:refs/heads/main")
        return self.value()

    def value(self, ref: str = "refs/heads/main") -> str:
        """Return what a ref of the bare repository holds."""
        return _git(self.bare, "rev-parse", ref)

    def show(self, commit: str, path: str) -> str:
        """Return a file of a commit that was pushed."""
        return _git(self.bare, "show", f"{commit}:{path}")


class RunGit(Protocol):
    """What the fixture ``git`` is."""

    def __call__(self, folder: Path, /, *arguments: str) -> str: ...


@pytest.fixture
def git() -> RunGit:
    """Return a function that runs git in a folder as a person would, and returns what it says."""
    return _git


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    """Return a repository with one commit: ``a.txt``, ``tests/check.py``, ``.gitignore``."""
    bare, clone = tmp_path / "origin.git", tmp_path / "clone"
    _git(tmp_path, "init", "--quiet", "--bare", "--initial-branch=main", str(bare))
    _git(tmp_path, "clone", "--quiet", str(bare), str(clone))
    _git(clone, "checkout", "--quiet", "-B", "main")
    (clone / "tests").mkdir()
    (clone / "a.txt").write_text("one\n")
    (clone / "tests" / "check.py").write_text("assert True\n")
    (clone / ".gitignore").write_text("*.log\nbuild/\n")
    made = Repository(bare, clone)
    made.commit("first")
    return made


@pytest.fixture
def workspace(tmp_path: Path, repository: Repository) -> Workspace:
    """Return a workspace in which the repository is cloned."""
    root = tmp_path / "workspace"
    root.mkdir(mode=0o700)
    made = Workspace(root)
    made.clone(repository.address, repository.ref)
    return made

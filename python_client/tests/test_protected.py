"""Which changes touch a protected path."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fencepost.checkout import Git, protected_violation

if TYPE_CHECKING:
    from python_client.tests.conftest import Repository


def replace_folder(repository: Repository) -> None:
    repository.git("mv", "tests", "elsewhere")
    (repository.clone / "tests").symlink_to("elsewhere")


def rename_away(repository: Repository) -> None:
    repository.git("mv", "tests/check.py", "tests/other.py")


def rename_onto(repository: Repository) -> None:
    (repository.clone / "tests" / "check.py").unlink()
    repository.git("mv", "a.txt", "tests/check.py")


def make_link(repository: Repository) -> None:
    (repository.clone / "tests" / "check.py").unlink()
    (repository.clone / "tests" / "check.py").symlink_to("../a.txt")


def make_submodule(repository: Repository) -> None:
    repository.git("rm", "--quiet", "-r", "tests")
    sha = repository.git("rev-parse", "HEAD")
    repository.git("update-index", "--add", "--cacheinfo", f"160000,{sha},tests")
    repository.git("commit", "--quiet", "--message", "submodule")


def attributes_elsewhere(repository: Repository) -> None:
    (repository.clone / "doc").mkdir()
    (repository.clone / "doc" / ".gitattributes").write_text("* text\n")


TOUCHING: dict[str, Callable[[Repository], object]] = {
    "content": lambda repository: (repository.clone / "tests/check.py").write_text("pass\n"),
    "deletion": lambda repository: (repository.clone / "tests/check.py").unlink(),
    "mode": lambda repository: (repository.clone / "tests/check.py").chmod(0o755),
    "rename away": rename_away,
    "rename onto": rename_onto,
    "link": make_link,
    "parent becomes a link": replace_folder,
    "parent becomes a submodule": make_submodule,
    "attributes at the root": lambda repository: (repository.clone / ".gitattributes").write_text(
        "* text\n"
    ),
    "attributes above": lambda repository: (repository.clone / "tests/.gitattributes").write_text(
        "* text\n"
    ),
}

HARMLESS: dict[str, Callable[[Repository], object]] = {
    "other file": lambda repository: (repository.clone / "a.txt").write_text("two\n"),
    "neighbour": lambda repository: (repository.clone / "tests/check.py.txt").write_text("x\n"),
    "same beginning": lambda repository: (repository.clone / "tests2").write_text("x\n"),
    "attributes elsewhere": attributes_elsewhere,
}


def judged(
    repository: Repository, tmp_path: Path, change: Callable[[Repository], object], *protected: str
) -> str | None:
    base = repository.value()
    change(repository)
    commit = (
        repository.git("rev-parse", "HEAD")
        if repository.git("rev-parse", "HEAD") != base
        else repository.commit()
    )
    repository.git("push", "--quiet", "origin", "HEAD:refs/heads/main")
    own = Git(tmp_path / "own.git")
    own.fetch(repository.address, repository.ref)
    return protected_violation(own, base, commit, protected)


@pytest.mark.parametrize("change", TOUCHING.values(), ids=TOUCHING.keys())
@pytest.mark.parametrize("protected", ["tests/check.py", "./tests//check.py"])
def test_a_change_that_touches_the_path_names_it(
    repository: Repository, tmp_path: Path, change: Callable[[Repository], object], protected: str
) -> None:
    found = judged(repository, tmp_path, change, protected)
    assert found is not None
    assert f"the path {protected} is protected" in found


@pytest.mark.parametrize("change", HARMLESS.values(), ids=HARMLESS.keys())
def test_other_changes_do_not(
    repository: Repository, tmp_path: Path, change: Callable[[Repository], object]
) -> None:
    assert judged(repository, tmp_path, change, "tests/check.py") is None


@pytest.mark.parametrize("protected", ["tests", "tests/", ".", ""])
def test_a_folder_protects_what_is_in_it(
    repository: Repository, tmp_path: Path, protected: str
) -> None:
    found = judged(repository, tmp_path, TOUCHING["content"], protected)
    assert found is not None
    assert "tests/check.py" in found


def test_a_new_file_in_a_protected_folder_touches_it(
    repository: Repository, tmp_path: Path
) -> None:
    def add(changed: Repository) -> None:
        (changed.clone / "tests" / "conftest.py").write_text("x\n")

    assert judged(repository, tmp_path, add, "tests") is not None


def test_a_path_that_does_not_exist_yet_may_not_be_made(
    repository: Repository, tmp_path: Path
) -> None:
    def add(changed: Repository) -> None:
        (changed.clone / "conftest.py").write_text("x\n")

    assert judged(repository, tmp_path, add, "conftest.py") is not None


@pytest.mark.parametrize("real", ["real", "..real"])
def test_what_a_protected_link_leads_to_is_protected(
    repository: Repository, tmp_path: Path, real: str
) -> None:
    (repository.clone / real).mkdir()
    (repository.clone / real / "check.py").write_text("assert True\n")
    (repository.clone / "suite").symlink_to(real)
    repository.commit()

    def change(changed: Repository) -> None:
        (changed.clone / real / "check.py").write_text("pass\n")

    found = judged(repository, tmp_path, change, "suite/check.py")
    assert found is not None
    assert f"through {real}/check.py" in found


def test_a_link_in_a_circle_is_no_trouble(repository: Repository, tmp_path: Path) -> None:
    (repository.clone / "x").symlink_to("y")
    (repository.clone / "y").symlink_to("x")
    repository.commit()
    assert judged(repository, tmp_path, HARMLESS["other file"], "x/check.py") is None


def test_names_with_pattern_characters_are_names(repository: Repository, tmp_path: Path) -> None:
    (repository.clone / "[a]*.py").write_text("x\n")
    repository.commit()

    def change(changed: Repository) -> None:
        (changed.clone / "a1.py").write_text("y\n")

    assert judged(repository, tmp_path, change, "[a]*.py") is None

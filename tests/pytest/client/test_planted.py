"""What a command plants in its clone, or beside it, is never run by the client, nor believed."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.pytest.client.conftest import git

if TYPE_CHECKING:
    from pathlib import Path

    from tests.pytest.client.conftest import World

FIX = "echo right > answer"

# Everything by which git starts a program, in the settings of every repository within reach.
PLANT = r"""
program=$1; root=$(cd ..; pwd)
for repository in .git "$root/base.git"; do
    mkdir -p $repository/hooks $repository/info
    for hook in pre-commit post-commit post-checkout post-index-change reference-transaction \
        pre-push pre-receive post-receive update post-update fsmonitor-watchman; do
        ln -sf $program $repository/hooks/$hook
    done
    echo '* filter=evil diff=evil merge=evil' > $repository/info/attributes
    cat >> $repository/config <<END
[core]
    fsmonitor = $program
    hooksPath = $PWD/.git/hooks
    sshCommand = $program
    gitProxy = $program
    alternateRefsCommand = $program
    pager = $program
    editor = $program
[extensions]
    partialClone = evil
[remote "evil"]
    url = $PWD
    promisor = true
    uploadpack = $program
    receivepack = $program
[filter "evil"]
    clean = $program
    smudge = $program
    process = $program
    required = true
[diff]
    external = $program
[diff "evil"]
    textconv = $program
    command = $program
[merge "evil"]
    driver = $program
[credential]
    helper = !$program
[gpg]
    program = $program
[commit]
    gpgSign = true
[uploadpack]
    packObjectsHook = $program
[url "ext::$program "]
    insteadOf = /
END
done
cat .git/config >> "$root/base.git.settings"
echo '* filter=evil diff=evil merge=evil' > .gitattributes
"""

# In the clone's own objects, the commit that the target's ref holds gets the submitted one as its
# parent, and that one none: by that history the submission has been promoted already.
FORGE = r"""
import pathlib, subprocess, sys, zlib
git = lambda *words: subprocess.run(["git", *words], check=True, capture_output=True).stdout
def write(name, content):
    for folder in map(pathlib.Path, sys.argv[1:]):
        file = folder / "objects" / name[:2] / name[2:]
        assert file.exists(), "packed: the attack has to be another"
        file.chmod(0o600)
        file.write_bytes(zlib.compress(b"commit %d\0" % len(content) + content))
new, old = (git("rev-parse", name).decode().strip() for name in ("HEAD", "HEAD^"))
tree, _, rest = git("cat-file", "commit", old).partition(b"\n")
alone = git("cat-file", "commit", new).replace(b"parent " + old.encode() + b"\n", b"")
write(old, b"\n".join([tree, b"parent " + new.encode(), rest]))
write(new, alone)
"""


@pytest.fixture
def program(world: World) -> Path:
    """Return a program that leaves a witness wherever git runs it."""
    path = world.folder.parent / "program"
    path.write_text(f"#!/bin/sh\necho $0 $@ >> {path}.witness\ncat\n")
    path.chmod(0o755)
    return path


def run_by_git(program: Path) -> str:
    witness = program.with_name("program.witness")
    return witness.read_text() if witness.exists() else ""


def test_what_the_workers_command_planted_is_not_run(world: World, program: Path) -> None:
    world.open_campaign()
    plant = world.folder / "plant.sh"
    plant.write_text(PLANT)
    world.work(f"{FIX}; git commit -qam mine; sh {plant} {program}")
    assert world.campaign()["state"] == "attempted"
    assert run_by_git(program) == ""
    assert world.value(world.attempt()["result"]["pushed_ref"]), "pushed all the same"


def test_what_was_planted_would_run(world: World, program: Path, tmp_path: Path) -> None:
    """The attack of the test above is one: git as anybody runs it does what was planted."""
    git(tmp_path, "clone", "--quiet", str(world.repository), "victim/work")
    (tmp_path / "victim" / "base.git").mkdir()
    for command in (["sh", "-c", PLANT, "sh", str(program)], ["git", "status"]):
        subprocess.run(
            command,
            cwd=tmp_path / "victim" / "work",
            env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)},
            capture_output=True,
            timeout=30,
            check=False,
        )
    assert run_by_git(program) != ""


def test_what_the_acceptance_command_planted_is_not_run(world: World, program: Path) -> None:
    plant = world.folder / "plant.sh"
    plant.write_text(PLANT)
    world.define_target(command=["sh", str(plant), str(program)])
    world.open_campaign()
    world.work(FIX)
    world.verify()
    assert world.campaign()["state"] == "verified"
    assert world.value() == world.attempt()["result"]["commit"]
    assert run_by_git(program) == ""


@pytest.mark.parametrize(
    ("place", "options"),
    [
        pytest.param(".git", [], id="its own objects"),
        pytest.param("../base.git", [], id="the verifier's objects"),
        pytest.param(".git", ["--sandbox"], id="its own objects in a sandbox"),
    ],
)
def test_history_that_the_acceptance_command_forged_is_not_believed(
    world: World, place: str, options: list[str]
) -> None:
    world.define_target(command=["/usr/bin/python3", "-c", FORGE, place])
    world.open_campaign()
    world.work(FIX)
    world.verify(*options)
    assert world.attempt()["verdict"] == "accepted", world.attempt()["reason"]
    assert world.value() == world.attempt()["result"]["commit"]
    assert world.campaign()["state"] == "verified"

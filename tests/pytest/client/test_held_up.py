"""What would hold the client's git: files that are none, and a repository that does not answer."""

from __future__ import annotations

import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.pytest.client.conftest import World

FIX = "echo right > answer"
IN_SECONDS = 25
"""Ten for what is nearly done, two for git, and the rest for a slow machine."""


@pytest.mark.parametrize(
    ("name", "kind"), [(".gitignore", "a FIFO"), ("in/side/.gitattributes", "a FIFO")]
)
def test_a_fifo_that_git_would_open_is_the_attempts_failure(
    world: World, name: str, kind: str
) -> None:
    world.open_campaign()
    world.work(f"{FIX}; mkdir -p in/side; rm -f {name}; mkfifo {name}")
    attempt = world.attempt()
    assert attempt["ending"] == "failed"
    assert f"{name} is {kind}, and git would read it: remove it" in attempt["reason"]
    assert world.left_behind() == []


def test_what_a_command_plants_in_the_clients_own_repository_is_its_failure(world: World) -> None:
    world.open_campaign()
    world.work(
        f"{FIX}; mkdir -p ../base.git/objects/info; mkfifo ../base.git/objects/info/alternates"
    )
    assert "put into the client's own repository" in world.attempt()["reason"]


def slow(world: World, ref: str) -> Path:
    """Let the repository not answer a push to a ref, and return what it writes when it is asked."""
    asked = world.folder.parent / "asked"
    hook = world.repository / "hooks" / "pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ngrep -q {ref} || exit 0\necho x > {asked}\nsleep 600\n")
    hook.chmod(0o755)
    return asked


def ends_in_seconds(world: World, asked: Path, duty: str, *arguments: str) -> str:
    """Start a client, tell it to stop when the repository was asked, and return what it printed."""
    process = world.start(duty, *arguments)
    deadline = time.monotonic() + 30
    while not asked.exists():
        assert time.monotonic() < deadline, process.output()
        assert process.popen.poll() is None, process.output()
        time.sleep(0.02)
    process.popen.send_signal(signal.SIGTERM)
    said = process.ends(seconds=IN_SECONDS)
    assert world.left_behind() == []
    (world.repository / "hooks" / "pre-receive").unlink()
    return said


def test_a_worker_that_is_stopped_does_not_wait_for_the_repository(world: World) -> None:
    world.open_campaign()
    asked = slow(world, "refs/fencepost/upkeep/1/1")
    ends_in_seconds(world, asked, "worker", "--", "sh", "-c", FIX)
    attempt = world.attempt()
    assert attempt["ending"] == "released"
    assert "the result was not handed in: SIGTERM" in attempt["reason"]
    assert world.campaign()["state"] == "ready"
    world.work(FIX)
    assert world.campaign()["state"] == "attempted", "the next one found out how that push ended"


def test_a_verifier_that_is_stopped_does_not_wait_for_it_either(world: World) -> None:
    world.define_class(lease_default="20 seconds")
    world.open_campaign()
    world.work(FIX)
    asked = slow(world, "refs/heads/main")
    said = ends_in_seconds(world, asked, "verifier")
    assert "stopped: SIGTERM" in said
    assert world.campaign()["state"] == "promoting"
    deadline = time.monotonic() + 40
    while world.campaign()["state"] != "verified":
        assert time.monotonic() < deadline
        world.start("reaper", "--once").ends()
        world.verify()
        time.sleep(1)
    assert world.value() == world.attempt()["result"]["commit"]

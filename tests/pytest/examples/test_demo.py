"""tools/demo: the whole story with real processes, and what it refuses to begin."""

from __future__ import annotations

import os
import re
import secrets
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.pytest.conftest import _broken_invariants

PROJECT = Path(__file__).resolve().parents[3]
AGENTS = PROJECT / "examples" / "agents"
CHECK = "python3 -B -m unittest"
USAGE = 64  # nothing was started


def environment(place: Path, asked: dict[str, str]) -> dict[str, str]:
    """Return the environment in which `make` would start the demo."""
    for name in ("REPOSITORY", "REF", "CHECK", "AGENT", "PROTECT", "PASS_ENV", "TIMEOUT", "PUSH"):
        asked.setdefault(name, "")
    return os.environ | {"FENCEPOST_DEMO": str(place / "demo")} | asked


def demo(place: Path, **asked: str) -> subprocess.CompletedProcess[str]:
    """Play the demo; however it ended, its ledger is sound."""
    played = subprocess.run(
        [sys.executable, PROJECT / "tools" / "demo"],
        env=environment(place, asked),
        cwd=place,
        capture_output=True,
        text=True,
        check=False,
    )
    if played.returncode != USAGE:
        assert_sound(played.stdout)
    return played


def assert_sound(output: str) -> None:
    """Ask of the ledger that a demo says it made whether every invariant holds in it."""
    (ledger,) = re.findall(r"^ledger +(\w+), deployed by ", output, re.MULTILINE)
    complaints = _broken_invariants(ledger)
    assert not complaints, "\n".join(complaints)


def git(*arguments: str | Path) -> str:
    done = subprocess.run(["git", *arguments], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def timeline(output: str) -> list[tuple[str, str, str]]:
    """Return who moved the campaign from where to where, of every line of the timeline."""
    moves = re.findall(
        r"^\d\d:\d\d:\d\d\.\d{3} +demo_(\w+) .* (\S+) +(\w+) +\d+$", output, re.MULTILINE
    )
    return [(who, before, after) for who, before, after in moves]


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    bare = tmp_path / "sample.git"
    subprocess.run([PROJECT / "examples" / "make-repository", bare], check=True)
    return bare


ATTEMPT = [
    ("worker", "ready", "leased"),
    ("worker", "leased", "attempted"),
    ("verifier", "attempted", "verifying"),
]
REJECTED = [*ATTEMPT, ("verifier", "verifying", "ready")]
CONFIRMED = [
    *ATTEMPT,
    ("verifier", "verifying", "promoting"),
    ("verifier", "promoting", "verified"),
    ("sensor", "verified", "confirmed"),
]


def test_two_attempts_are_rejected_and_the_third_is_promoted_and_confirmed(
    cluster: Path, tmp_path: Path
) -> None:
    played = demo(tmp_path)

    assert played.returncode == 0, played.stdout + played.stderr
    assert timeline(played.stdout) == [
        ("sensor", "none", "ready"),
        *REJECTED,
        *REJECTED,
        *CONFIRMED,
    ]
    last = played.stdout.splitlines()[-1]
    told = re.fullmatch(r"confirmed repair/1 refs/heads/main ([0-9a-f]{40})", last)
    assert told, last
    assert git("-C", tmp_path / "demo" / "mirror.git", "rev-parse", "refs/heads/main") == told[1]


def test_on_ones_own_repository_the_result_is_pushed_when_asked(
    cluster: Path, tmp_path: Path, sample: Path
) -> None:
    played = demo(
        tmp_path,
        REPOSITORY="sample.git",
        CHECK=CHECK,
        AGENT=str(AGENTS / "fix-rightly"),
        PUSH="1",
    )

    assert played.returncode == 0, played.stdout + played.stderr
    assert timeline(played.stdout) == [("sensor", "none", "ready"), *CONFIRMED]
    told = played.stdout.split()[-1]
    assert git("-C", sample, "rev-parse", "refs/heads/main") == told


def test_a_branch_that_is_checked_out_is_left_alone_and_the_pull_is_told(
    cluster: Path, tmp_path: Path, sample: Path
) -> None:
    tree = tmp_path / "my tree"
    git("clone", "--quiet", sample, tree)
    before = git("-C", tree, "rev-parse", "HEAD")

    refused = demo(
        tmp_path, REPOSITORY=str(tree), CHECK=CHECK, AGENT=str(AGENTS / "fix-rightly"), PUSH="1"
    )
    assert refused.returncode == 64
    assert f"refs/heads/main is checked out in {tree}" in refused.stderr
    assert "switch --detach" in refused.stderr

    played = demo(tmp_path, REPOSITORY=str(tree), CHECK=CHECK, AGENT=str(AGENTS / "fix-rightly"))
    assert played.returncode == 0, played.stdout + played.stderr
    assert git("-C", tree, "rev-parse", "HEAD") == before

    told = next(line for line in played.stdout.splitlines() if line.startswith("  git "))
    subprocess.run(shlex.split(told), check=True, capture_output=True)
    assert git("-C", tree, "rev-parse", "HEAD") == played.stdout.split()[-1]


def test_a_branch_that_moved_meanwhile_is_not_overwritten(
    cluster: Path, tmp_path: Path, sample: Path
) -> None:
    stranger = tmp_path / "stranger"
    stranger.write_text(
        "#!/bin/sh -eu\n"
        f"cd {sample}\n"
        "git update-ref refs/heads/main $(git commit-tree -p main -m meanwhile main^{tree})\n"
        f"cd -\nexec {AGENTS}/fix-rightly\n"
    )
    stranger.chmod(0o755)

    played = demo(tmp_path, REPOSITORY=str(sample), CHECK=CHECK, AGENT="./stranger", PUSH="1")

    assert played.returncode == 1, played.stdout + played.stderr
    assert timeline(played.stdout)[-1] == ("sensor", "verified", "confirmed")
    assert f"confirmed on the mirror, but {sample} did not take" in played.stderr
    assert "stale info" in played.stderr
    assert git("-C", sample, "log", "-1", "--format=%s", "main") == "meanwhile"


def test_with_nothing_to_do_it_says_so(cluster: Path, tmp_path: Path, sample: Path) -> None:
    played = demo(tmp_path, REPOSITORY=str(sample), CHECK="true", AGENT="true")

    assert played.returncode == 1
    assert "nothing to do: the check succeeds already" in played.stderr


def test_out_of_time_it_stops_everybody_and_says_where_things_stand(
    cluster: Path, tmp_path: Path, sample: Path
) -> None:
    for_long = unique_number()
    played = demo(
        tmp_path, REPOSITORY=str(sample), CHECK="false", AGENT=f"sleep {for_long}", TIMEOUT="10"
    )

    assert played.returncode == 1
    assert "not confirmed within 10 seconds" in played.stderr
    assert "the campaign is leased" in played.stderr
    assert f"the logs are in {tmp_path / 'demo' / 'logs'}" in played.stderr
    assert not running(for_long)


def test_interrupted_it_stops_everybody(cluster: Path, tmp_path: Path, sample: Path) -> None:
    for_long = unique_number()
    asked = {"REPOSITORY": str(sample), "CHECK": "false", "AGENT": f"sleep {for_long}"}
    with subprocess.Popen(
        [sys.executable, PROJECT / "tools" / "demo"],
        env=environment(tmp_path, asked),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as played:
        deadline = time.monotonic() + 200
        while not running(for_long) and played.poll() is None and time.monotonic() < deadline:
            time.sleep(0.1)
        assert running(for_long)
        played.send_signal(signal.SIGINT)
        told, said = played.communicate(timeout=60)

    assert played.returncode == 130
    assert "everybody is stopped" in said
    assert not running(for_long)
    assert not running(str(tmp_path / "demo"))
    assert_sound(told)


def unique_number() -> str:
    """Return a number of seconds by which a process can be told from those of other tests."""
    return f"1{secrets.randbelow(10**8):08}"


def running(word: str) -> list[str]:
    """Return the command lines of all processes in which *word* is an argument or part of one."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if word in line:
            found.append(line)
    return found


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"CHECK": "true"}, "CHECK= goes with REPOSITORY="),
        ({"PUSH": "1"}, "PUSH= goes with REPOSITORY="),
        ({"PUSH": "yes"}, "say PUSH=1"),
        ({"TIMEOUT": "soon"}, "a number of seconds"),
        ({"PASS_ENV": "NOT_SET_HERE"}, "NOT_SET_HERE is not set"),
        ({"REPOSITORY": "sample.git", "AGENT": "true"}, "CHECK= is missing"),
        ({"REPOSITORY": "sample.git", "CHECK": "true"}, "AGENT= is missing"),
        ({"REPOSITORY": "nowhere"}, "is missing"),
        ({"REPOSITORY": "nowhere", "CHECK": "true", "AGENT": "true"}, "there is no "),
        ({"REPOSITORY": ".", "CHECK": "true", "AGENT": "true"}, "cannot read"),
        (
            {"REPOSITORY": "sample.git", "REF": "v2", "CHECK": "true", "AGENT": "true"},
            "has no branch refs/heads/v2; it has main",
        ),
        (
            {"REPOSITORY": "sample.git", "CHECK": "true", "AGENT": "no-such-agent -x"},
            "there is no command 'no-such-agent'",
        ),
        (
            {"REPOSITORY": "sample.git", "CHECK": "true", "AGENT": "./no-such-agent"},
            "is not a program",
        ),
        ({"REPOSITORY": "sample.git", "CHECK": "true", "AGENT": "a 'b"}, "No closing quotation"),
        (
            {"REPOSITORY": "sample.git", "CHECK": "true", "AGENT": "'./my agent' --fix"},
            "a program that needs quoting is named by its whole path",
        ),
    ],
)
def test_what_cannot_be_is_refused_before_anything_starts(
    tmp_path: Path, sample: Path, monkeypatch: pytest.MonkeyPatch, asked: dict[str, str], said: str
) -> None:
    monkeypatch.setenv("FENCEPOST_CLUSTER", str(tmp_path / "none"))

    refused = demo(tmp_path, **asked)

    assert refused.returncode == 64, refused
    assert said in refused.stderr
    assert refused.stdout == ""


def test_alone_it_asks_for_make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FENCEPOST_CLUSTER", raising=False)

    refused = demo(tmp_path)

    assert refused.returncode == 64
    assert "make demo" in refused.stderr

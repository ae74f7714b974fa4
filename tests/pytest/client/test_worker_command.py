"""``fencepost worker``: what it makes of what a command does."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fencepost import Reaper
from fencepost.text import REASON_BYTES
from tests.pytest.client.conftest import CLASS, git

if TYPE_CHECKING:
    from tests.pytest.client.conftest import World
    from tests.pytest.conftest import MakePrincipal

FIX = "echo right > answer; echo 'say right' > $FENCEPOST_APPROACH"


def lives(process: int) -> bool:
    try:
        stat = Path("/proc", str(process), "stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in {"Z", "X"}


def wait_for(path: Path, seconds: float = 20) -> str:
    deadline = time.monotonic() + seconds
    while not path.exists() or not path.read_text():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    return path.read_text()


def test_nothing_ready_is_said_and_is_no_error(world: World) -> None:
    assert "no campaign of class upkeep" in world.work(FIX)


def test_a_change_is_committed_pushed_and_submitted(world: World) -> None:
    number = world.open_campaign()
    base = world.value()
    world.work(FIX)
    attempt = world.attempt()
    result = attempt["result"]
    assert world.campaign()["state"] == "attempted"
    assert attempt["approach"] == "say right"
    assert len(attempt["fingerprint"]) == 40
    assert result == {
        "repository": str(world.repository),
        "ref": "refs/heads/main",
        "base": base,
        "commit": world.value(f"refs/fencepost/upkeep/{number}/1"),
        "pushed_ref": f"refs/fencepost/upkeep/{number}/1",
    }
    assert world.value() == base
    assert world.left_behind() == []


def test_the_brief_has_what_an_agent_needs_and_no_token(world: World) -> None:
    number = world.open_campaign()
    seen = world.folder / "brief.json"
    world.work(f"cp $FENCEPOST_BRIEF {seen}; echo sorry; exit 3")
    brief = json.loads(seen.read_text())
    assert brief["class"] == "upkeep"
    assert brief["campaign"] == number
    assert brief["attempt_no"] == 1
    assert brief["base"] == world.value()
    assert brief["desired_state"] == {"answer": "right"}
    assert brief["acceptance"]["protected"] == ["check.sh"]
    assert brief["attempts"] == []
    assert brief["refused_fingerprints"] == []
    assert brief["observation"] is None
    assert not {"token", "generation"} & brief.keys()
    world.work(f"cp $FENCEPOST_BRIEF {seen}; exit 3")
    (earlier,) = json.loads(seen.read_text())["attempts"]
    assert earlier["reason"] == "exit code 3\nsorry"


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("echo oops; exit 3", "exit code 3\noops"),
        ("echo fine", "exit code 0, but nothing was changed\nfine"),
        ("kill -9 $$", "ended by SIGKILL"),
        ("echo right > answer; git init -q sub; git -C sub commit -q --allow-empty -m x", "sub"),
        ("rm -rf $PWD", "not there any more"),
    ],
)
def test_anything_else_is_a_failure_with_its_reason(world: World, script: str, reason: str) -> None:
    world.open_campaign()
    world.work(script)
    attempt = world.attempt()
    assert attempt["ending"] == "failed"
    assert reason in attempt["reason"]
    assert world.campaign()["state"] == "ready"
    assert world.left_behind() == []


@pytest.mark.parametrize("first", ["", "kill -STOP $PPID; "], ids=["", "stopped supervisor"])
def test_the_time_limit_is_the_leases(world: World, first: str) -> None:
    world.define_class(attempt_limit="1 second")
    world.open_campaign()
    world.work(f"echo right > answer; echo waiting; {first}sleep 60")
    attempt = world.attempt()
    assert attempt["reason"].startswith("stopped at its time limit")
    assert attempt["reason"].endswith("waiting")
    assert attempt["fingerprint"] is not None


def test_output_that_is_no_text_is_made_harmless(world: World) -> None:
    world.open_campaign()
    world.work(r"head -c 9000 /dev/zero; printf '\377\000\033[31mred\n'; exit 1")
    reason = world.attempt()["reason"]
    assert reason.startswith("exit code 1\n")
    assert reason.endswith("\ufffd\ufffdred")
    assert len(reason.encode()) <= REASON_BYTES


def test_an_approach_that_is_no_text_either(world: World) -> None:
    world.open_campaign()
    world.work(r"printf 'a\000b\377' > $FENCEPOST_APPROACH; exit 1")
    assert world.attempt()["approach"] == "a\ufffdb\ufffd"
    world.work("rm $FENCEPOST_APPROACH; mkfifo $FENCEPOST_APPROACH; exit 1")
    assert world.attempt()["approach"] is None


def test_the_same_change_again_is_a_failure_that_says_so(world: World) -> None:
    world.open_campaign()
    world.work(f"{FIX}; exit 1")
    fingerprint = world.attempt()["fingerprint"]
    world.work(FIX)
    attempt = world.attempt()
    assert attempt["attempt_no"] == 2
    assert attempt["ending"] == "failed"
    assert attempt["fingerprint"] == fingerprint
    assert "did not succeed before" in attempt["reason"]


def test_the_environment_is_scrubbed(world: World) -> None:
    world.open_campaign()
    seen = world.folder / "environment"
    world.start(
        "worker",
        "--once",
        "--pass-env",
        "WANTED",
        "--",
        "sh",
        "-c",
        f"env > {seen}; pwd >> {seen}; exit 1",
        environment={"WANTED": "1", "SECRET_TOKEN": "x", "DATABASE_URL": "postgresql://u:p@h/d"},
    ).ends()
    text = seen.read_text()
    names = {line.partition("=")[0] for line in text.splitlines()}
    assert "WANTED" in names
    assert not {"SECRET_TOKEN", "DATABASE_URL"} & names
    assert not [name for name in names if name.startswith("PG")]
    assert world.people["worker"].name not in text
    assert str(world.people["worker"].passfile) not in text


def test_the_clients_own_memory_and_environment_are_hidden(world: World) -> None:
    world.open_campaign()
    seen = world.folder / "dumpable"
    process = world.start("worker", "--once", "--", "sh", "-c", f"echo > {seen}; sleep 60")
    while not seen.exists():
        time.sleep(0.02)
    # A process that is not dumpable belongs to root in /proc, whoever runs it.
    assert Path("/proc", str(process.popen.pid), "environ").stat().st_uid == 0
    process.popen.send_signal(signal.SIGTERM)
    process.ends()


def test_no_transaction_is_open_while_the_command_runs_and_the_lease_is_renewed(
    world: World,
) -> None:
    world.define_class(lease_default="3 seconds")
    world.open_campaign()
    seen = world.folder / "started"
    process = world.start("worker", "--once", "--", "sh", "-c", f"echo 1 > {seen}; sleep 5; {FIX}")
    wait_for(seen)
    granted = world.campaign()["lease_expires_at"]
    deadline = time.monotonic() + 4
    while time.monotonic() < deadline:
        (row,) = world.audit("select * from audit.campaigns")
        if row["lease_expires_at"] is not None and row["lease_expires_at"] > granted:
            break
        time.sleep(0.05)
    else:
        pytest.fail("the lease was not renewed")
    process.ends()
    assert world.campaign()["state"] == "attempted"
    assert world.transitions() == ["open", "claim", "submit"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_stopped_worker_gives_the_campaign_back(world: World, number: signal.Signals) -> None:
    world.open_campaign()
    pids = world.folder / "pids"
    script = f"sleep 60 & echo $! > {pids}; echo right > answer; wait"
    process = world.start("worker", "--", "sh", "-c", script)
    started = int(wait_for(pids))
    process.popen.send_signal(number)
    assert number.name in process.ends()
    attempt = world.attempt()
    assert attempt["ending"] == "released"
    assert number.name in attempt["reason"]
    assert world.campaign()["state"] == "ready"
    assert not lives(started)
    assert world.left_behind() == []


def test_a_lost_lease_stops_everything_and_records_nothing(world: World) -> None:
    world.define_class(lease_default="3 seconds")
    number = world.open_campaign()
    pids = world.folder / "pids"
    script = (
        f"setsid sleep 60 & echo $! > {pids}; trap 'echo right > answer; exit 0' TERM; "
        "while :; do sleep 0.1; done"
    )
    process = world.start("worker", "--once", "--", "sh", "-c", script)
    started = int(wait_for(pids))
    world.admin(
        """
        select * from kernel.cancel(
            p_class => %(class)s, p_campaign_id => %(number)s, p_generation => 1
        )
        """,
        {"class": "upkeep", "number": number},
    )
    assert " lost upkeep/" in process.ends()
    assert not lives(started)
    assert world.transitions() == ["open", "claim", "cancel"]
    assert world.attempt()["ending"] == "withdrawn"
    assert world.left_behind() == []


def test_a_worker_that_slept_past_its_lease_stops_when_it_wakes(world: World) -> None:
    world.define_class(lease_default="2 seconds")
    world.open_campaign()
    pids = world.folder / "pids"
    process = world.start("worker", "--once", "--", "sh", "-c", f"echo $$ > {pids}; sleep 60")
    started = int(wait_for(pids))
    os.kill(process.popen.pid, signal.SIGSTOP)  # the whole client, as a machine that sleeps
    deadline = time.monotonic() + 20
    while "lose" not in world.transitions():
        assert time.monotonic() < deadline
        Reaper(world.connect("reaper")).reap("upkeep")
        time.sleep(0.1)
    os.kill(process.popen.pid, signal.SIGCONT)
    assert " lost upkeep/" in process.ends()
    assert not lives(started)
    assert world.attempt()["ending"] == "lost"


def test_a_clone_that_cannot_be_made_gives_the_campaign_back(world: World) -> None:
    world.open_campaign()
    world.repository.rename(world.folder / "moved")
    said = world.work(FIX, code=75)
    assert "released" in said
    attempt = world.attempt()
    assert attempt["ending"] == "released"
    assert "the clone could not be made" in attempt["reason"]


def test_a_password_in_the_targets_address_is_refused_and_not_repeated(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(world, "repository", "https://me:secret@localhost/x.git")
    world.define_target()
    world.open_campaign()
    said = world.work(FIX, code=75)
    reason = world.attempt()["reason"]
    assert "FENCEPOST_GIT_CONFIG" in said
    assert "FENCEPOST_GIT_CONFIG" in reason
    assert "secret" not in said + reason


def test_an_attempts_ref_that_another_ledger_made_is_named_with_the_remedy(world: World) -> None:
    number = world.open_campaign()
    ref = f"refs/fencepost/{CLASS}/{number}/1"
    git(world.repository, "update-ref", ref, world.value())
    began = time.monotonic()
    said = world.work(FIX, code=75)
    assert time.monotonic() - began < 10, "pushed again and again"
    reason = world.attempt()["reason"]
    assert f"{ref} exists already" in reason
    assert f"delete refs/fencepost/{CLASS}/…" in said
    assert world.value(ref) == world.value()
    assert world.attempt()["ending"] == "released"

    world.work(FIX)  # the next attempt has another ref
    assert world.campaign()["state"] == "attempted"


def test_the_encoding_is_the_clients_own(world: World) -> None:
    world.open_campaign()
    other = {"PGCLIENTENCODING": "SQL_ASCII"}
    run = world.start("worker", "--once", "--", "sh", "-c", FIX, environment=other)
    assert "submitted" in run.ends()


def test_a_reaper_that_is_none_is_told_so_where_it_sees_no_class(
    world: World, principal: MakePrincipal
) -> None:
    stranger = principal("stranger", "fencepost_worker")
    other = {"PGUSER": stranger.name, "PGPASSFILE": str(stranger.passfile)}
    assert "fencepost_reaper" in world.start("reaper", environment=other).ends(77)


def test_exit_codes(world: World, empty_database: str) -> None:
    assert "fencepost_worker" in world.start(
        "worker",
        "--",
        "true",
        environment={
            "PGUSER": world.people["verifier"].name,
            "PGPASSFILE": str(world.people["verifier"].passfile),
        },
    ).ends(77)
    other = {"PGDATABASE": empty_database}
    assert "no Fencepost kernel" in world.start("reaper", environment=other).ends(76)
    wrong = {"PGPASSFILE": str(world.people["verifier"].passfile)}
    world.start("reaper", environment=wrong).ends(77)
    gone = {"PGHOST": str(world.folder)}
    assert "no server" in world.start("reaper", environment=gone).ends(69)
    secret = {"PGPASSWORD": "x"}
    assert "passfile" in world.start("reaper", environment=secret).ends(64)
    assert "enrols" in world.start("worker", "--class", "other", "--", "true").ends(77)
    world.start("worker", "--lease-for", "2 days", "--", "true").ends(64)
    assert "KN104" in world.start("worker", "--lease-for", "48h", "--", "true").ends(64)

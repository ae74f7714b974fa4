"""What a command sees, what it can do to its worker, and what becomes of what it prints."""

from __future__ import annotations

import signal
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.pytest.conftest import Superuser
    from tests.pytest.drills.conftest import Stage

SECRETS = {
    "PGAPPNAME": "mine",
    "PGOPTIONS": "-c work_mem=4MB",
    "DATABASE_URL": "postgresql://worker:hunter2@db/ledger",
    "GITHUB_TOKEN": "hunter2",
    "SSH_AUTH_SOCK": "/nowhere/agent",
    "XDG_CONFIG_HOME": "/nowhere/config",
    "GIT_DIR": "/nowhere/git",
    "PYTHONPATH": "",
    "LD_LIBRARY_PATH": "/nowhere/lib",
}

# Each variable and each folder as it is when the command begins.
SEE = """
env -0 > "$0"
for folder in "$HOME" "$TMPDIR" "$XDG_CONFIG_HOME" "$XDG_CACHE_HOME"; do
    find "$folder" -type f >> "$0.files"
done
"""


def seen(path: Path) -> dict[str, str]:
    entries = path.read_bytes().decode().split("\0")
    return dict(entry.split("=", 1) for entry in entries if entry)


def assert_scrubbed(environment: dict[str, str], stage: Stage) -> None:
    """Check that nothing of the connection, and no secret, is in it."""
    assert [name for name in environment if name.startswith("PG")] == []
    assert set(environment) & set(SECRETS) <= {"XDG_CONFIG_HOME"}
    everything = "\n".join(environment.values())
    for hidden in ("hunter2", "/nowhere", "/pass/", stage.database, str(stage.folder / "home")):
        assert hidden not in everything, hidden
    for name in ("HOME", "TMPDIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME"):
        assert environment[name].startswith(str(stage.temporary)), name


def test_nothing_of_the_workers_environment(stage: Stage, tmp_path: Path) -> None:
    stage.define_target()
    number = stage.open()

    stage.worker(
        *("sh", "-c", SEE + "echo right > answer", str(tmp_path / "seen")),
        options=["--pass-env", "WANTED"],
        extra=SECRETS | {"WANTED": "yes"},
    ).succeeds()

    environment = seen(tmp_path / "seen")
    assert_scrubbed(environment, stage)
    assert environment["WANTED"] == "yes"
    assert (tmp_path / "seen.files").read_text() == "", "its folders are empty"
    assert stage.campaign(number)["state"] == "attempted"


def test_nor_of_the_verifiers(stage: Stage, tmp_path: Path) -> None:
    stage.define_target(check=f"env -0 > {tmp_path / 'seen'} && sh check")
    number = stage.open()
    stage.worker("echo right > answer").succeeds()

    stage.verifier(extra=SECRETS).succeeds()

    assert_scrubbed(seen(tmp_path / "seen"), stage)
    assert stage.campaign(number)["state"] == "verified"


def test_a_password_in_the_open_is_refused(stage: Stage) -> None:
    stage.define_target()
    number = stage.open()
    inside = stage.worker("true", options=["--dsn", "dbname=x password=hunter2"])
    around = stage.worker("true", extra={"PGPASSWORD": "hunter2"})

    assert (inside.wait(), around.wait()) == (64, 64)
    for program in (inside, around):
        assert "passfile" in program.output
        assert "hunter2" not in program.output
    assert stage.campaign(number)["state"] == "ready"


WAIT = ': > "$0"; while [ -e "$0" ]; do sleep 0.05; done; echo right > answer'


def test_no_transaction_is_open_while_it_runs(
    stage: Stage, tmp_path: Path, superuser: Superuser
) -> None:
    stage.define_class(lease_default="1 minute")
    stage.define_target()
    number = stage.open()
    gate = tmp_path / "gate"
    worker = stage.worker("sh", "-c", WAIT, str(gate))
    stage.wait_for(gate.exists, "the command runs")
    watching = superuser()

    # Before the first renewal, at a third of a minute, the session has nothing to do.
    for _ in range(50):
        seen = watching.execute(
            """
            select state, xact_start, backend_xid, backend_xmin
            from pg_stat_activity
            where usename = %s and datname = %s
            """,
            (stage.person("worker").name, stage.database),
        ).fetchall()
        assert seen == [("idle", None, None, None)]

    gate.unlink()
    worker.succeeds()
    assert stage.moves(number) == ["open", "claim", "submit"]


def test_a_lease_that_is_renewed_outlives_its_length(stage: Stage, tmp_path: Path) -> None:
    """A reaper looks all the time; an attempt of many lease lengths is not taken away."""
    stage.define_class(lease_default="2 seconds")
    stage.define_target()
    number = stage.open()
    stage.reaper()
    gate = tmp_path / "gate"
    worker = stage.worker("sh", "-c", WAIT, str(gate))
    stage.wait_for(gate.exists, "the command runs")
    granted = stage.campaign(number)["lease_granted_at"]

    stage.wait_for(
        lambda: stage.campaign(number)["lease_expires_at"] - granted > timedelta(seconds=8),
        "the lease was renewed to four times its length",
    )

    gate.unlink()
    worker.succeeds()
    assert stage.moves(number) == ["open", "claim", "submit"]
    assert [event["is_late"] for event in stage.events(number)] == [False, False, False]


def test_sigterm_gives_the_campaign_back(
    stage: Stage, tmp_path: Path, alive: Callable[[int], bool]
) -> None:
    stage.define_target()
    number = stage.open()
    worker = stage.worker(
        *("sh", "-c", 'echo half > answer; echo $$ > "$0.new"; mv "$0.new" "$0"; exec sleep 600'),
        str(tmp_path / "pid"),
        once=False,
    )
    stage.wait_for((tmp_path / "pid").exists, "the command runs")

    worker.send(signal.SIGTERM)

    worker.succeeds()
    assert not alive(int((tmp_path / "pid").read_text()))
    assert stage.moves(number) == ["open", "claim", "release"]
    assert stage.campaign(number)["state"] == "ready"
    (attempt,) = stage.attempts(number)
    assert attempt["ending"] == "released"
    assert "SIGTERM" in attempt["reason"]
    assert stage.repository.value("refs/fencepost/") is None
    assert list(stage.temporary.iterdir()) == []


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        pytest.param(
            r"printf 'one\000two\377three\355\240\200\033[31mred\033[0m\n'; exit 3",
            "exit code 3\none\ufffdtwo\ufffdthree\ufffd\ufffd\ufffdred",
            id="nul-and-no-utf-8",
        ),
        pytest.param("true", "exit code 0, but nothing was changed", id="no-change"),
        pytest.param("echo right > answer; kill -9 $$", "ended by SIGKILL", id="by-a-signal"),
        pytest.param("echo right > answer; exit 1", "exit code 1", id="changed-but-not-zero"),
    ],
)
def test_what_does_not_succeed_fails_with_a_reason(stage: Stage, command: str, reason: str) -> None:
    stage.define_target()
    number = stage.open()

    stage.worker(command).succeeds()

    (attempt,) = stage.attempts(number)
    assert (attempt["ending"], attempt["reason"]) == ("failed", reason)
    assert stage.moves(number) == ["open", "claim", "fail"]
    assert stage.campaign(number)["failure_count"] == 1


def test_of_much_output_the_end_is_kept(stage: Stage) -> None:
    stage.define_target()
    number = stage.open()

    stage.worker("yes 'é' | head -c 999999; echo the end; exit 1").succeeds()

    (attempt,) = stage.attempts(number)
    assert attempt["reason"].startswith("exit code 1\n")
    assert attempt["reason"].endswith("é\nthe end")
    assert 4000 < len(attempt["reason"].encode()) <= 4096


def test_out_of_time(stage: Stage, tmp_path: Path, alive: Callable[[int], bool]) -> None:
    stage.define_class(attempt_limit="1 second")
    stage.define_target()
    number = stage.open()

    stage.worker("sh", "-c", 'echo $$ > "$0"; sleep 600', str(tmp_path / "pid")).succeeds()

    (attempt,) = stage.attempts(number)
    assert attempt["ending"] == "failed"
    assert "time limit" in attempt["reason"]
    assert not alive(int((tmp_path / "pid").read_text()))


def test_a_brief_says_what_is_wanted_and_nothing_that_gives_power(
    stage: Stage, tmp_path: Path
) -> None:
    stage.define_target()
    number = stage.open()

    stage.worker("sh", "-c", 'cp "$FENCEPOST_BRIEF" "$0"; exit 1', str(tmp_path / "b")).succeeds()
    stage.worker("sh", "-c", 'cp "$FENCEPOST_BRIEF" "$0"; exit 1', str(tmp_path / "b")).succeeds()

    brief = (tmp_path / "b").read_text()
    assert '"desired_state": {\n    "answer": "right"\n  }' in brief
    assert '"reason": "exit code 1"' in brief
    assert f'"campaign": {number},' in brief
    assert "token" not in brief
    assert "generation" not in brief

"""What the server itself denies is brought from its log into the ledger, each line once."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
from contextlib import closing
from typing import TYPE_CHECKING
from uuid import uuid4

import psycopg
import pytest

from tests.pytest.conftest import DUTIES, wait_for
from tests.pytest.denials.conftest import HOWTO

if TYPE_CHECKING:
    from tests.pytest.conftest import MakePrincipal
    from tests.pytest.denials.conftest import Denied

# Nobody may do any of these.
WRITES = (
    "insert into ledger.campaign default values",
    "update ledger.campaign set state = 'confirmed'",
    "delete from ledger.refusal",
    "truncate ledger.denial",
    "select from ledger.attempt",
    "select ledger.clock()",
    "set role fencepost_owner",
    "create table kernel.mine ()",
)
# A function that each may not call.
NOT_GRANTED = {
    "worker": "select kernel.judge(null, null, null, null, null, null, null)",
    "verifier": "select kernel.claim(null, null)",
    "reaper": "select kernel.claim(null, null)",
    "sensor": "select kernel.reap(null)",
    "admin": "select kernel.claim(null, null)",
    "auditor": "select kernel.prune(null)",
    "collector": "select kernel.classes()",
}


def test_every_login_is_on_record_once_through_rotation_and_restart(denied: Denied) -> None:
    """Writes, reads and calls; also what is denied while no collector runs."""
    told = []
    for duty in DUTIES:
        told += denied.tries(duty, *WRITES, NOT_GRANTED[duty])
    denied.collects()
    assert denied.recorded() == sorted(told)
    assert len(told) == 7 * 9

    denied.rotate()
    for duty in DUTIES:
        told += denied.tries(duty, WRITES[1])
    denied.server.restart()
    told += denied.tries("worker", WRITES[2])
    denied.server.restart("immediate")
    told += denied.tries("worker", WRITES[0])
    denied.collects()
    assert denied.recorded() == sorted(told)

    assert "nothing new in the log" in denied.collects()
    assert denied.recorded() == sorted(told)


def test_what_is_shown_of_a_denial(denied: Denied) -> None:
    """Who, what, when and where; not the statement, which has a token in it."""
    token = uuid4()
    denied.tries(
        "worker",
        f"update ledger.campaign set lease_label = '{token}'",
        f"select kernel.judge('c', 1, 1, '{token}', 'accepted', null, null)",
        application="an agent",
    )
    denied.collects()

    write, call = denied.shown()
    assert write["principal"] == call["principal"] == denied.people["worker"].name
    assert write["outcome"] == call["outcome"] == "42501"
    assert write["message"] == "permission denied for schema ledger"
    assert call["message"] == "permission denied for function judge"
    assert (write["command"], call["command"]) == ("UPDATE", "SELECT")
    assert write["application"] == "an agent"
    assert write["raised_in"] == "aclcheck_error"
    assert write["session_id"] == call["session_id"]
    assert write["line_no"] < call["line_no"]
    assert write["at"] <= call["at"] <= call["reported_at"]
    nothing = {write[name] for name in ("class", "function", "campaign_id", "generation")}
    assert nothing == {None}
    denied.logged(str(token))
    assert str(token) not in repr(denied.shown())


def test_both_records_are_shown_together(denied: Denied) -> None:
    with closing(denied.people["worker"].connect(denied.database, autocommit=True)) as session:
        session.execute("select kernel.claim('nowhere', gen_random_uuid())")
    denied.tries("worker", WRITES[1])
    denied.collects()

    assert [(row["principal"], row["class"], row["outcome"]) for row in denied.shown("kernel")] == [
        (denied.people["worker"].name, "nowhere", "forbidden")
    ]
    assert [(row["principal"], row["class"], row["outcome"]) for row in denied.shown()] == [
        (denied.people["worker"].name, None, "42501")
    ]


def test_only_principals_of_this_database_and_what_was_denied(
    denied: Denied, principal: MakePrincipal
) -> None:
    """Not who is of no group, nor another database, nor another error, nor who never got in."""
    stranger = principal("stranger")
    denied.maintenance.execute(
        f"grant connect on database {denied.database} to {stranger.name}".encode()
    )
    for name in (stranger.conninfo(denied.database), denied.people["worker"].conninfo("postgres")):
        with closing(psycopg.connect(name, autocommit=True)) as session:
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                session.execute("select from pg_authid")
            with pytest.raises(psycopg.errors.UndefinedTable):
                session.execute("select from nothing_of_this_name")
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(denied.people["worker"].conninfo(denied.database), password="wrong")
    with closing(psycopg.connect(dbname=denied.database, autocommit=True)) as god:
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            god.execute("set role fencepost_owner; select from pg_authid")
        god.execute(f"revoke connect on database {denied.database} from fencepost_sensor".encode())
        denied.logged("nothing_of_this_name", stranger.name)
        with pytest.raises(psycopg.OperationalError, match="permission denied for database"):
            denied.people["sensor"].connect(denied.database)
        god.execute(f"grant connect on database {denied.database} to fencepost_sensor".encode())
    last = denied.tries("reaper", WRITES[0])
    denied.collects()

    shut_out = f'permission denied for database "{denied.database}"'
    assert denied.recorded() == sorted([*last, (denied.people["sensor"].name, shut_out)])


# -- the collector dies, or is not alone -----------------------------------------------------------


def test_killed_between_reading_and_reporting(denied: Denied) -> None:
    """By SIGKILL, where it has read all and waits to write; what it kept of that is nothing."""
    state = denied.folder / "state.json"
    told = denied.tries("worker", *WRITES)
    with closing(psycopg.connect(dbname=denied.database)) as god:
        god.execute("lock table ledger.denial in access exclusive mode")
        killed = denied.starts("--state", str(state))
        wait_for(lambda: waits_for_the_table(denied), "a collector that writes")
        killed.kill()
        assert killed.wait() == -signal.SIGKILL
        assert not state.exists() or denied.newest().name not in state.read_text()
    wait_for(lambda: not waits_for_the_table(denied), "the end of its session")
    assert denied.recorded() == []

    denied.collects("--state", str(state))
    assert denied.recorded() == sorted(told)


def waits_for_the_table(denied: Denied) -> bool:
    found = denied.maintenance.execute(
        "select from pg_stat_activity where usename = %s and wait_event_type = 'Lock'",
        (denied.people["collector"].name,),
    )
    return bool(found.fetchall())


def test_killed_between_reporting_and_keeping_how_far(denied: Denied) -> None:
    """As if: it finds the positions of before, or none, or none that it understands."""
    state = denied.folder / "state.json"
    told = denied.tries("worker", *WRITES)
    denied.collects("--state", str(state))
    before = state.read_bytes()
    told += denied.tries("sensor", *WRITES)
    denied.collects("--state", str(state))
    assert denied.recorded() == sorted(told)

    for kept in (before, b"", b'{"a": 1}', b"[]"):
        state.write_bytes(kept)
        said = denied.collects("--state", str(state))
        assert "recorded" not in said
        assert ("holds no positions" in said) == (kept != before)
        assert denied.recorded() == sorted(told)


def test_the_state_saves_the_work(denied: Denied) -> None:
    """With it nothing that was read is read again; without it everything is."""
    state = denied.folder / "state.json"
    denied.tries("worker", *WRITES)
    denied.collects("--state", str(state))
    with closing(psycopg.connect(dbname=denied.database, autocommit=True)) as god:
        god.execute("alter table ledger.denial disable trigger all; delete from ledger.denial")
        god.execute("alter table ledger.denial enable always trigger denial_10_guard")
        god.execute("alter table ledger.denial enable always trigger denial_20_no_truncate")
        god.execute("alter table ledger.denial enable always trigger denial_30_not_by_hand")
    told = denied.tries("sensor", WRITES[0])
    denied.collects("--state", str(state))
    assert denied.recorded() == told

    denied.collects()
    assert len(denied.recorded()) == len(WRITES) + 1


def test_two_collectors_while_the_log_is_written(denied: Denied) -> None:
    """Through a rotation and a restart of the server, in which both lose their connection."""
    both = [denied.starts("--interval", "0.1") for _ in range(2)]
    wait_for(lambda: denied.collectors() == 2, "both are there")
    told = []
    for number in range(3):
        for duty in DUTIES:
            told += denied.tries(duty, *WRITES[:4])
        if number == 0:
            denied.rotate()
        if number == 1:
            denied.server.restart()
    wait_for(lambda: len(denied.recorded()) >= len(told), "all of them")
    for process in both:
        process.terminate()
        assert process.wait(timeout=30) == 0
    assert denied.recorded() == sorted(told)


# -- many ------------------------------------------------------------------------------------------


def test_what_is_over_the_rate_is_counted_once(denied: Denied) -> None:
    told = denied.tries("worker", *[f"select from ledger.attempt -- {n}" for n in range(90)])
    told += denied.tries("sensor", WRITES[0])
    denied.collects()
    rows = [r for r in denied.shown() if r["principal"] == denied.people["worker"].name]
    assert len(rows) == 60
    assert [row["suppressed"] for row in rows[:-1]] == [0] * 59
    # Those of one millisecond count once.
    assert 1 <= rows[-1]["suppressed"] <= 30
    assert told[-1] in denied.recorded()
    before = denied.shown()
    denied.collects()
    assert denied.shown() == before


# -- what stands in the way ------------------------------------------------------------------------


def test_lines_that_cannot_be_read_are_told(denied: Denied) -> None:
    told = denied.tries("worker", WRITES[0])
    with denied.newest().open("ab") as file:
        file.write(b"no line of the server's\n")
    told += denied.tries("worker", WRITES[1])
    said = denied.collects()
    assert "unreadable" in said
    assert "lines=1" in said
    assert denied.recorded() == sorted(told)


@pytest.mark.parametrize("kind", ["fifo", "link", "device"])
def test_what_is_no_file_holds_nobody(plain_denied: Denied, kind: str) -> None:
    denied = plain_denied
    trap = denied.log / "0.json"
    if kind == "fifo":
        os.mkfifo(trap)
    elif kind == "link":
        trap.symlink_to("/dev/zero")
    elif os.geteuid() == 0:
        os.mknod(trap, stat.S_IFCHR | 0o666, os.makedev(1, 5))
    else:
        pytest.skip("only root makes a device")
    os.utime(trap, (1, 1), follow_symlinks=False)
    told = denied.tries("worker", WRITES[0])
    said = denied.collects(code=75)
    assert "no file that the server writes: move it elsewhere" in said
    assert told[0] in denied.recorded(), "and the server's files are read"
    trap.unlink()
    denied.collects()


@pytest.mark.parametrize("ending", ["json", "csv"])
def test_a_line_without_an_end_is_told_and_nobody_waits_for_it(
    plain_denied: Denied, ending: str
) -> None:
    denied = plain_denied
    trap = denied.log / f"0.{ending}"
    with trap.open("wb") as file:
        file.truncate(1 << 30)
    os.utime(trap, (1, 1))
    told = denied.tries("worker", WRITES[0])
    said = denied.collects()
    assert "longer than 16777216 bytes" in said
    assert told[0] in denied.recorded()
    trap.unlink()


def test_in_the_midst_of_a_line_it_can_be_stopped(plain_denied: Denied) -> None:
    denied = plain_denied
    trap = denied.log / "0.json"
    with trap.open("wb") as file:
        file.truncate(1 << 42)  # some hours of reading
    os.utime(trap, (1, 1))
    state = denied.folder / "state.json"
    process = denied.starts("--state", str(state))
    try:
        wait_for(
            lambda: state.exists() and '"rest": "line"' in state.read_text(), "it is in the midst"
        )
        process.terminate()
        assert process.wait(timeout=10) == 0
    finally:
        process.kill()
        trap.unlink()


def test_the_command_says_what_is_wrong(plain_denied: Denied) -> None:
    denied = plain_denied
    missing = denied.folder / "none"
    wrong = subprocess.run(
        [part if part != str(denied.log) else str(missing) for part in denied.command("--once")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert wrong.returncode == 64
    assert "--log-dir" in wrong.stderr

    other = subprocess.run(
        [
            denied.people["worker"].conninfo(denied.database) if "dbname=" in part else part
            for part in denied.command("--once")
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert other.returncode == 77
    assert "fencepost_collector" in other.stderr

    denied.tries("worker", WRITES[0])
    said = denied.collects("--state", str(missing / "state.json"), code=75)
    assert "No such file or directory" in said


def test_the_recipe_works_as_it_is_written(plain_denied: Denied) -> None:
    """Its settings are those of this server; here its command is run as it stands."""
    text = HOWTO.read_text(encoding="utf-8")
    command = text.split("\n$ ", 1)[1].split("\n```", 1)[0].replace("\\\n>", "")
    assert command.startswith("fencepost collector ")
    denied = plain_denied
    told = denied.tries("worker", WRITES[1])
    conninfo = denied.people["collector"].conninfo(denied.database)
    services = denied.folder / "services"
    services.write_text("[collector]\n" + "\n".join(conninfo.split()) + "\n", encoding="utf-8")
    for there, here in {
        "fencepost collector": " ".join(denied.command()[:2]),
        "/var/log/postgresql": str(denied.log),
        "/var/lib/fencepost": str(denied.folder),
    }.items():
        command = command.replace(there, here)
    done = subprocess.run(
        ["bash", "-c", f"PGSERVICEFILE={services} {command} --once"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert denied.recorded() == told
    assert (denied.folder / "collector.json").exists()

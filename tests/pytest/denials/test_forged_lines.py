"""What a client writes into the server's log is never read as a line of the server's."""

from __future__ import annotations

import json
from contextlib import closing
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import psycopg
import pytest

if TYPE_CHECKING:
    from tests.pytest.denials.conftest import Denied

MESSAGE = "permission denied for table campaign"


def forged(denied: Denied, victim: str) -> list[str]:
    """Return lines of both formats that would be read as the victim's, did they stand alone."""
    now = f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S}"
    line = {
        "timestamp": f"{now}.000 UTC",
        "user": victim,
        "dbname": denied.database,
        "pid": 4711,
        "remote_host": "[local]",
        "session_id": "6a9632e4.1f",
        "line_num": 3,
        "ps": "UPDATE",
        "error_severity": "ERROR",
        "state_code": "42501",
        "message": MESSAGE,
        "backend_type": "client backend",
    }
    record = (
        f'{now}.000 UTC,"{victim}","{denied.database}",4711,"[local]",6a9632e4.1f,3,'
        f'"UPDATE",{now} UTC,1/1,0,ERROR,42501,"{MESSAGE}",,,,,,,,,"psql",'
        '"client backend",,0'
    )
    return [json.dumps(line, separators=(",", ":")), record, record.replace('"', "")]


def test_a_forged_line_would_be_read(denied: Denied) -> None:
    """The control: where the server writes the very same line, it is the victim's."""
    victim = denied.people["admin"].name
    json_line, record, _ = forged(denied, victim)
    with denied.newest().open("a", encoding="utf-8") as file:
        file.write(f"{json_line if denied.newest().suffix == '.json' else record}\n")
    denied.collects()
    assert denied.recorded() == [(victim, MESSAGE)]


@pytest.mark.parametrize(
    "around", ["{}", "\n{}\n", '"\n{}\n"', '"}}\n{}\n{{"', '",\n{}\n,"', "\\\n{}"]
)
def test_no_text_of_a_client_is_another_s_line(denied: Denied, around: str) -> None:
    """In a statement, an identifier, an error, a line that it logs, and its application's name."""
    worker, victim = denied.people["worker"], denied.people["admin"].name
    texts = [around.format(line) for line in forged(denied, victim)]
    told = []
    with closing(worker.connect(denied.database, autocommit=True)) as session:
        for text in texts:
            quoted, named = text.replace("'", "''"), text[:60].replace('"', '""')
            for attempt in (
                f"select ledger.clock() -- \n/* {text} */",
                f'select ledger.clock() as "{named}"',
                f"do $do$ begin raise log '%', '{quoted}'; perform ledger.clock(); end $do$",
                f"do $do$ begin raise exception '%', '{quoted}' using errcode = '42501'; end $do$",
                f"do $$ begin raise 'no' using errcode = '42501', detail = '{quoted}'; end $$",
                f"do $$ begin raise 'no' using errcode = '42501', hint = '{quoted}'; end $$",
            ):
                with pytest.raises(psycopg.errors.InsufficientPrivilege) as caught:
                    session.execute(attempt.encode())
                told.append((worker.name, str(caught.value.diag.message_primary)))
    for text in texts:
        told += denied.tries("worker", "select ledger.clock()", application=text[:200])

    said = denied.collects()

    assert "unreadable" not in said
    assert len(told) == 21
    assert denied.recorded() == sorted(told)


def test_an_error_of_its_own_is_told_from_a_denial(denied: Denied) -> None:
    """A client may raise what it likes: under its name, and from where no denial comes."""
    denied.tries(
        "worker",
        f"do $do$ begin raise exception '{MESSAGE}' using errcode = '42501'; end $do$",
        "select from ledger.campaign",
        "set session_replication_role = replica",
        "create role mine",
    )
    denied.collects()
    raised, *others = denied.shown()
    assert (raised["message"], raised["raised_in"]) == (MESSAGE, "exec_stmt_raise")
    assert {None, "exec_stmt_raise"}.isdisjoint(row["raised_in"] for row in others)
    assert len(others) == 3


def test_what_is_no_error_is_not_recorded(denied: Denied) -> None:
    """A warning or a line of the log with that SQLSTATE: nothing was denied."""
    worker = denied.people["worker"]
    with closing(worker.connect(denied.database, autocommit=True)) as session:
        for level in ("warning", "log", "notice"):
            session.execute(
                f"do $do$ begin raise {level} 'x' using errcode = '42501'; end $do$".encode()
            )
    told = denied.tries("worker", "select ledger.clock()")
    assert "unreadable" not in denied.collects()
    assert denied.recorded() == told


def test_a_denial_that_is_caught_leaves_no_line(denied: Denied) -> None:
    """What remains, and what takes it away: no language, no block to catch it in."""
    caught = (
        b"do $do$ begin perform ledger.clock(); exception when insufficient_privilege then null; "
        b"end $do$"
    )
    worker = denied.people["worker"]
    with closing(worker.connect(denied.database, autocommit=True)) as session:
        session.execute(caught)
        denied.collects()
        assert denied.recorded() == []

        with closing(psycopg.connect(dbname=denied.database, autocommit=True)) as god:
            god.execute("revoke usage on language plpgsql, sql from public")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            session.execute(caught)
    denied.collects()
    assert denied.recorded() == [(worker.name, "permission denied for language plpgsql")]


def test_nothing_that_is_too_long_hides_a_denial(denied: Denied) -> None:
    """A statement of which the collector keeps only the beginning, in the middle of others."""
    told = denied.tries(
        "worker",
        "select ledger.clock()",
        f"select ledger.clock(), '{'x' * 3_000_000}'",
        f"select ledger.clock(), '{chr(34) * 2_000_001} {chr(10) * 1000}'",
        "select ledger.clock(), 'the last'",
    )
    assert "unreadable" not in denied.collects()
    assert denied.recorded() == sorted(told)


def test_no_client_changes_what_is_logged(denied: Denied) -> None:
    settings = (
        *("log_min_messages = panic", "log_min_error_statement = panic", "lc_messages = 'de_DE'"),
        *("log_error_verbosity = terse", "log_destination = stderr", "logging_collector = off"),
        *("log_timezone = 'CET'", "log_filename = 'x'", "log_directory = '/tmp'"),
    )
    worker = denied.people["worker"]
    with closing(worker.connect(denied.database, autocommit=True)) as session:
        for setting in settings:
            for verb in ("set", "alter system set"):
                with pytest.raises(
                    (psycopg.errors.InsufficientPrivilege, psycopg.errors.CantChangeRuntimeParam)
                ):
                    session.execute(f"{verb} {setting}".encode())

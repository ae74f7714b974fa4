"""Who has the password of a collector reports what never happened: what that does, and what not.

The collector is believed, since nothing in the database shows what the server denied. What comes of
that stands in docs/limits.md, "The record of refusals"; each sentence of it is one test here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from psycopg import errors
from psycopg.rows import dict_row

if TYPE_CHECKING:
    from tests.pytest.conftest import Connection, MakePrincipal, Principal, Superuser

MINUTE = timedelta(minutes=1)
MESSAGE = "permission denied for table campaign"

REPORT = """
    select * from kernel.report_denial(
        p_session_id => %(session)s, p_line_no => %(line)s, p_denied_at => %(at)s,
        p_role => %(role)s, p_sqlstate => %(sqlstate)s, p_message => %(message)s,
        p_command => %(command)s, p_application => %(application)s, p_raised_in => 'aclcheck_error')
"""


@dataclass
class Thief:
    """A session with the collector's password, and what an auditor sees of it."""

    database: str
    session: Connection
    name: str
    victim: str
    auditor: Principal
    lines: int = 0

    def reports(self, **what: Any) -> dict[str, Any]:
        """Report a line that no server wrote; return what is answered."""
        self.lines += 1
        line = {
            "session": "6a9632e4.1f",
            "line": self.lines,
            "at": now(),
            "role": self.victim,
            "sqlstate": "42501",
            "message": MESSAGE,
            "command": "UPDATE",
            "application": "psql",
        }
        cursor = self.session.cursor(row_factory=dict_row)
        answer = cursor.execute(REPORT, line | what).fetchone()
        assert answer is not None
        assert answer["outcome"] == "ok"
        return answer

    def fails(self, **what: Any) -> str | None:
        """Report what is refused as misuse; return its code."""
        with pytest.raises(psycopg.Error) as caught:
            self.reports(**what)
        return caught.value.sqlstate

    def shown(self) -> list[dict[str, Any]]:
        """Return what the auditor is shown."""
        with self.auditor.connect(self.database) as session:
            cursor = session.cursor(row_factory=dict_row)
            return cursor.execute(
                "select * from audit.refusals where source = 'server' order by at, refusal_no"
            ).fetchall()

    def rows(self, superuser: Superuser) -> list[tuple[Any, ...]]:
        """Return what is recorded, in the order of its times, with who reported it."""
        found = superuser(self.database).execute(
            "select principal, message, reported_by, suppressed from ledger.denial"
            " order by denied_at, denial_no"
        )
        return found.fetchall()


def now() -> datetime:
    return datetime.now(UTC)


@pytest.fixture
def thief(database: str, principal: MakePrincipal) -> Thief:
    collector, victim = (principal(d, f"fencepost_{d}") for d in ("collector", "worker"))
    auditor = principal("auditor", "fencepost_auditor")
    session = collector.connect(database, autocommit=True)
    return Thief(database, session, collector.name, victim.name, auditor)


# -- what it may do --------------------------------------------------------------------------------


def test_it_says_of_a_client_what_never_happened_under_its_own_name(
    thief: Thief, superuser: Superuser
) -> None:
    thief.session.execute("set application_name = 'another'; set fencepost.principal = 'another'")

    thief.reports()

    assert thief.rows(superuser) == [(thief.victim, MESSAGE, thief.name, 0)]


def test_it_takes_a_true_line_s_place_before_the_true_collector_comes(
    thief: Thief, principal: MakePrincipal, superuser: Superuser
) -> None:
    """Who reads the log with it knows the line's number and time."""
    other, honest = principal("other", "fencepost_worker"), principal("h", "fencepost_collector")
    true_line = {"session": "6a9632e4.20", "line": 5, "at": now()}
    thief.reports(**true_line, role=other.name, message="nothing of note")

    session = honest.connect(thief.database, autocommit=True)
    late = replace(thief, session=session, name=honest.name).reports(**true_line)

    assert late["duplicate"]
    assert thief.rows(superuser) == [(other.name, "nothing of note", thief.name, 0)]


def test_it_hides_a_denial_to_come_behind_sixty_that_never_were(
    thief: Thief, superuser: Superuser
) -> None:
    """What comes after sixty in its minute gets no row; before the last one counted, no count."""
    begin = now() + timedelta(hours=1)
    for second in range(60):
        assert thief.reports(at=begin + timedelta(seconds=second / 2))["note"] is None
    assert thief.reports(at=begin + timedelta(seconds=50))["note"] == "suppressed"

    counted = thief.reports(at=begin + timedelta(seconds=51), message="true")
    hidden = thief.reports(at=begin + timedelta(seconds=49), message="true")

    assert (counted["note"], counted["duplicate"]) == ("suppressed", False)
    assert (hidden["note"], hidden["duplicate"]) == (None, True)
    rows = thief.rows(superuser)
    assert len(rows) == 60
    assert {message for _, message, _, _ in rows} == {MESSAGE}
    assert rows[-1][-1] == 2
    later = thief.reports(at=begin + 2 * MINUTE, message="true")
    assert (later["note"], later["duplicate"]) == (None, False)


def test_it_fills_every_minute_of_the_time_for_which_denials_are_kept(
    thief: Thief, superuser: Superuser
) -> None:
    """The rate is that of the log's time, which it makes up, not of the time of reporting."""
    for minute in range(4):
        for line in range(62):
            at = now() - timedelta(days=20 * minute) + timedelta(milliseconds=line)
            thief.reports(at=at)

    rows = thief.rows(superuser)

    assert len(rows) == 4 * 60
    assert sum(suppressed for *_, suppressed in rows) == 4 * 2


# -- what it may not -------------------------------------------------------------------------------


def test_nothing_is_recorded_of_who_is_no_client(
    thief: Thief, principal: MakePrincipal, superuser: Superuser
) -> None:
    stranger = principal("stranger").name
    names = ("postgres", "fencepost_owner", "fencepost_worker", "public", stranger,
             thief.victim.upper(), f'"{thief.victim}"', f"{thief.victim} ", f"{thief.victim}\n",
             "current_user", "x'; drop table ledger.denial; --")  # fmt: skip

    answers = {thief.reports(role=name)["note"] for name in names}

    assert answers == {"not_a_client"}
    assert thief.rows(superuser) == []
    assert thief.fails(role=" ") == "KN102"
    assert thief.fails(role="x" * 64) == "KN103"


def test_a_line_that_is_reported_again_changes_nothing(thief: Thief, superuser: Superuser) -> None:
    line = {"session": "6a9632e4.1f", "line": 3, "at": now()}
    thief.reports(**line)
    before = thief.rows(superuser)

    for change in ({}, {"message": "another"}, {"application": None}, {"command": "DELETE"}):
        assert thief.reports(**line, **change)["duplicate"]

    assert thief.rows(superuser) == before


def test_what_is_too_long_or_no_text_is_refused(thief: Thief, superuser: Superuser) -> None:
    for name, bound in (("message", 4096), ("command", 200), ("application", 200)):
        assert thief.fails(**{name: "x" * (bound + 1)}) == "KN103"
        assert thief.fails(**{name: "é" * (bound // 2 + 1)}) == "KN103"
    assert thief.fails(message="x" * 10_000_000) == "KN103"
    with pytest.raises(psycopg.DataError, match="NUL"):
        thief.reports(message="a\0b")
    for session in ("6a9632e4.1f\n", "6a9632e4.1f' or true", "../../etc.1", "6A9632E4.1F"):
        assert thief.fails(session=session) == "KN102"
    for sqlstate in ("28P01", "XX000", "42501 ", "42501\n"):
        assert thief.fails(sqlstate=sqlstate) == "KN102"
    for line in (0, -1):
        assert thief.fails(line=line) == "KN104"
    for at in (now() + timedelta(days=2), "infinity", "-infinity"):
        assert thief.fails(at=at) == "KN104"
    assert thief.reports(at=now() - timedelta(days=91))["note"] == "too_old"
    assert thief.rows(superuser) == []


def test_control_characters_are_kept_as_they_are_in_the_one_row(
    thief: Thief, superuser: Superuser
) -> None:
    """It is data to whoever reads it: a row more, or another's, does not come of it."""
    texts = [
        f"a\n2026-01-01 00:00:00 UTC,{thief.name},\r\nb",
        "\x1b]0;title\x07\x1b[2J\x1b[31mred",
        "\u202edesrever\u2066\ufeff\u200b\u2028",
        "'); delete from ledger.denial; --",
        "\\N\t\\.\n",
        "\x7f\x80\x9b31m",
        "=cmd|'/c calc'!A1",
    ]

    for text in texts:
        assert thief.reports(message=text, application=text[:50])["note"] is None

    assert [message for _, message, _, _ in thief.rows(superuser)] == texts
    shown = thief.shown()
    assert [(row["principal"], row["message"]) for row in shown] == [
        (thief.victim, text) for text in texts
    ]
    assert {row["outcome"] for row in shown} == {"42501"}


@pytest.mark.parametrize(
    "statement",
    [
        "delete from ledger.denial",
        "update ledger.denial set suppressed = suppressed + 1",
        "truncate ledger.denial",
        "insert into ledger.denial select * from ledger.denial",
        "select * from ledger.denial",
        "select * from audit.refusals",
        "select * from kernel.health()",
        "select * from kernel.prune('repo')",
        "set role fencepost_owner",
        "set session authorization postgres",
        "set role {victim}",
    ],
)
def test_it_may_do_nothing_else(thief: Thief, superuser: Superuser, statement: str) -> None:
    thief.reports()
    before = thief.rows(superuser)

    with pytest.raises(errors.InsufficientPrivilege):
        thief.session.execute(statement.format(victim=thief.victim).encode())

    assert thief.rows(superuser) == before


def test_reporting_is_the_only_function_that_it_may_call(thief: Thief) -> None:
    found = thief.session.execute(
        "select p.proname from pg_proc as p where p.pronamespace = 'kernel'::regnamespace"
        " and has_function_privilege(p.oid, 'execute') order by 1"
    ).fetchall()

    assert found == [("api_version",), ("report_denial",)]


def test_the_auditor_finds_forged_ones_by_who_reported_them(
    thief: Thief, principal: MakePrincipal
) -> None:
    """After a theft the collector has another role, and what the old one said is in doubt."""
    thief.reports(message="forged")
    honest = principal("honest", "fencepost_collector")
    session = honest.connect(thief.database, autocommit=True)
    replace(thief, session=session, name=honest.name, lines=9).reports(message="true")

    assert [(row["message"], row["reported_by"]) for row in thief.shown()] == [
        ("forged", thief.name),
        ("true", honest.name),
    ]

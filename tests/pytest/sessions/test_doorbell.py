"""The bell is a convenience: nothing goes wrong without it, nor by what anybody rings."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import psycopg
from psycopg import sql

from tests.pytest.sessions.life import LIFE, life

if TYPE_CHECKING:
    from tests.pytest.conftest import MakePrincipal, Superuser
    from tests.pytest.sessions.conftest import Ledger, Session

GARBAGE = [
    "",
    "no-such-class",
    "Session",
    "session; drop schema ledger",
    "'\"\\",
    "ü" * 30,
    "x" * 7999,
]


def test_a_life_without_the_bell(ledger: Ledger, superuser: Superuser) -> None:
    """Everybody finds what there is to do by looking; no function needs the bell to be there."""
    superuser(ledger.database).execute("drop function kernel.ring(text)")
    ledger.stop_clock()
    assert life(ledger) == LIFE


def looks(session: Session, rung: str) -> list[dict[str, Any]]:
    """Look into the class that was rung, as a client would that believes everything."""
    try:
        return session.finished("claim", p_class=rung, p_token=uuid4())
    except psycopg.Error as error:
        session.rollback()
        return [{"outcome": error.sqlstate}]


def test_a_forged_ring_costs_an_empty_look(
    ledger: Ledger, principal: MakePrincipal, superuser: Superuser
) -> None:
    """Who gets in may notify, of no group and with whatever payload; the ledger does not change."""
    (campaign,) = ledger.campaigns()
    ledger.define_class()
    worker = ledger.session("worker")
    somebody = principal("stranger")
    superuser().execute(
        sql.SQL("grant connect on database {} to {}").format(
            sql.Identifier(ledger.database), sql.Identifier(somebody.name)
        )
    )
    stranger = somebody.connect(ledger.database, autocommit=True)
    with closing(
        psycopg.connect(ledger.person("worker").conninfo(ledger.database), autocommit=True)
    ) as listener:
        listener.execute("listen fencepost")
        for payload in (*GARBAGE, ledger.klass):
            stranger.execute("select pg_notify('fencepost', %s)", (payload,))
        heard = listener.notifies(stop_after=len(GARBAGE) + 1)
        rung = [notification.payload for notification in heard]
    assert rung == [*GARBAGE, ledger.klass]

    before = ledger.dump()
    answers = [looks(worker, payload) for payload in rung[:-1]]
    after = ledger.dump()
    forbidden = after.pop("refusal") - before.pop("refusal")
    assert after == before
    # A name that is none is misuse; a class that he is not enrolled in is forbidden, be it there
    # or not, and that is on record.
    assert len(forbidden) == 1
    outcomes = [answer["outcome"] for (answer,) in answers]
    assert sorted(outcomes) == ["KN102"] * (len(GARBAGE) - 1) + ["forbidden"]

    (found,) = looks(worker, rung[-1])
    assert found["campaign_id"] == campaign

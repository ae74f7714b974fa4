"""A dismissal meets a claim under way: it does not wait, and nothing is left of the lease."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.pytest.sessions.conftest import Ledger


def test_a_claim_under_way_keeps_nothing_after_a_dismissal(ledger: Ledger) -> None:
    (campaign,) = ledger.campaigns()
    worker, reaper = ledger.session("worker"), ledger.session("reaper")

    (lease,) = worker.rows("claim", p_token="00000000-0000-4000-8000-000000000001")
    dismissed = ledger.admin.done(
        "dismiss", p_principal=ledger.person("worker").name, p_duty="worker"
    )
    worker.commit()  # a lease that the dismissal could not see, with a quarter of an hour to go
    (taken,) = reaper.rows("reap")
    reaper.commit()

    assert lease["outcome"] == "ok"
    assert dismissed["moved"] is False
    assert (taken["note"], taken["state"]) == ("lose", "ready")
    assert ledger.moves(campaign) == ["open", "claim", "lose"]
    assert ledger.losses(campaign) == 0


def test_who_is_still_enrolled_keeps_his_lease(ledger: Ledger) -> None:
    (campaign,) = ledger.campaigns()
    ledger.session("worker").claimed()
    reaper = ledger.session("reaper")

    assert reaper.rows("reap") == []
    reaper.commit()
    assert ledger.moves(campaign) == ["open", "claim"]


def test_who_is_enrolled_again_while_a_reaper_looks_keeps_his_lease(ledger: Ledger) -> None:
    (campaign,) = ledger.campaigns()
    worker, reaper = ledger.session("worker"), ledger.session("reaper")
    given = {"p_principal": ledger.person("worker").name, "p_duty": "worker"}
    worker.call("claim", p_token="00000000-0000-4000-8000-000000000001")
    ledger.admin.done("dismiss", **given)
    worker.commit()

    ledger.gate_clock()
    reaping = ledger.background(lambda: reaper.finished("reap"))
    ledger.wait_for(
        lambda: ledger.look(
            "select from pg_stat_activity where pid = %s and wait_event = 'advisory'", reaper.pid
        ),
        "the reaper has the campaign",
    )
    ledger.admin.done("enrol", **given)
    ledger.open_gate()

    assert reaping.result(15) == []
    assert ledger.moves(campaign) == ["open", "claim"]

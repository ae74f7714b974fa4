"""The smallest configuration that is complete, and a life in it, from red to confirmed.

One class with one seat, one target, one authority, one principal for each duty, and in the end one
bundle.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import uuid4

from tests.pytest.sessions.conftest import moved

if TYPE_CHECKING:
    from tests.pytest.sessions.conftest import Ledger

EVIDENCE = {"p_evidence_uri": "file:///evidence", "p_evidence_sha256": b"e" * 32}


def observed(ledger: Ledger, *, is_green: bool) -> dict[str, Any]:
    """Look at the target as soon as a look is due; return what the report led to."""
    sensor = ledger.once("sensor")

    def is_due() -> bool:
        ((due,),) = (row.values() for row in sensor.finished("next_due"))
        ((is_past,),) = ledger.look("select %s::timestamptz <= clock_timestamp()", due)
        return bool(is_past)

    ledger.wait_for(is_due, "a look is due")
    token = uuid4()
    begun = sensor.done("begin_observation", p_target="target", p_token=token)
    assert begun["is_scheduled"]
    return sensor.done(
        "report_observation",
        p_target="target",
        p_number=begun["number"],
        p_token=token,
        p_is_green=is_green,
        p_summary="green" if is_green else "red",
    )


def test_one_of_each_is_enough(ledger: Ledger, submission: dict[str, Any]) -> None:
    ledger.define_class(seats=1, promotes=True)
    ledger.define_target(observe_every="1 second")
    worker, verifier = ledger.session("worker"), ledger.session("verifier")

    opened = observed(ledger, is_green=False)
    assert (opened["note"], opened["state"]) == ("open", "ready")

    held = worker.claimed()
    assert worker.done("brief", **held)["campaign_id"] == opened["campaign_id"]
    assert worker.finished("claim", p_token=uuid4()) == []
    assert worker.done("submit", **held, **submission)["state"] == "attempted"

    held = verifier.claimed("claim_verification")
    bundle = verifier.done("bundle", **held)
    judged = verifier.done(
        "judge",
        **held,
        p_verdict="accepted",
        p_bundle_sha256=bundle["bundle_sha256"],
        p_fingerprint=submission["p_fingerprint"],
        p_command="true",
        p_exit_code=0,
        **EVIDENCE,
    )
    assert judged["state"] == "promoting"
    assert moved(verifier, held, "target", submission["p_result"].obj["commit"]) == "ok"
    assert verifier.done("promote", **held)["state"] == "verified"

    closed = observed(ledger, is_green=True)
    assert (closed["note"], closed["state"]) == ("confirm", "confirmed")
    assert closed["campaign_id"] == opened["campaign_id"]
    assert ledger.moves(opened["campaign_id"]) == [
        *("open", "claim", "submit", "claim_verification", "accept", "promote", "confirm"),
    ]

    # That is all there was: a superuser moved nothing, and nothing more was configured.
    counts = {name: len(rows) for name, rows in ledger.dump().items()}
    ones = [*("class", "seat", "target", "authority")]
    ones += [*("campaign", "attempt", "bundle", "verdict", "operation")]
    assert {name: counts[name] for name in ones} == dict.fromkeys(ones, 1)
    assert (counts["enrolment"], counts["observation"], counts["refusal"]) == (3, 2, 0)
    assert ledger.look("select duty from ledger.enrolment order by duty") == [
        *(("sensor",), ("verifier",), ("worker",)),
    ]
    people = ledger.look("select distinct by_principal from audit.events order by 1")
    assert people == [(ledger.person(duty).name,) for duty in ("sensor", "verifier", "worker")]

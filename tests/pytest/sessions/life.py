"""The whole way of a campaign, with every kind of call: for tests of what must not matter to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import uuid4

from psycopg.types.json import Jsonb

from tests.pytest.sessions.conftest import moved

if TYPE_CHECKING:
    from tests.pytest.sessions.conftest import Ledger, Session

SUBMISSION = {
    "p_fingerprint": "f",
    "p_approach": None,
    "p_result": Jsonb({"base": "b", "commit": "c"}),
}
EVIDENCE = {"p_evidence_uri": "file:///evidence", "p_evidence_sha256": b"e" * 32}

# What a life consists of.
LIFE = [
    "open", "claim", "lose", "claim", "release", "claim", "fail", "claim", "submit",
    "claim_verification", "abstain", "claim_verification", "accept", "lose_promotion",
    "claim_promotion", "park", "redrive", "claim_promotion", "promote", "confirm",
]  # fmt: skip


def accepts(verifier: Session, held: dict[str, Any]) -> None:
    """Let a verifier accept what it holds."""
    bundle = verifier.done("bundle", **held)
    verifier.done(
        "judge",
        **held,
        p_verdict="accepted",
        p_bundle_sha256=bundle["bundle_sha256"],
        p_fingerprint="f",
        p_exit_code=0,
        **EVIDENCE,
    )


def observed(sensor: Session, target: str, *, is_green: bool) -> dict[str, Any]:
    """Let a sensor look at a target and report; return what the report was answered."""
    token = uuid4()
    begun = sensor.done("begin_observation", p_target=target, p_token=token)
    return sensor.done(
        "report_observation",
        p_target=target,
        p_number=begun["number"],
        p_token=token,
        p_is_green=is_green,
    )


def life(ledger: Ledger) -> list[str]:
    """Lead a campaign from red to confirmed, by the stopped clock; return its moves."""
    ledger.define_class(promotes=True, lease_default="1 minute", seats=2, verification_limit=2)
    target = ledger.define_target(f"target {uuid4()}", observe_every="1 second")
    worker, verifier = ledger.session("worker"), ledger.session("verifier")
    sensor, reaper = ledger.session("sensor"), ledger.session("reaper")
    admin, auditor = ledger.admin, ledger.session("auditor")

    ledger.tick("1 hour")
    campaign = observed(sensor, target, is_green=False)["campaign_id"]
    worker.claimed()
    ledger.tick("1 hour")
    reaper.finished("reap")
    held = worker.claimed()
    worker.done("brief", **held)
    worker.done("renew", **held)
    assert worker.call("submit", **held | {"p_generation": 1}, **SUBMISSION)["outcome"] == "stale"
    worker.commit()
    worker.done("release", **held)
    worker.done("fail", **worker.claimed(), p_reason="no")
    worker.done("submit", **worker.claimed(), **SUBMISSION)
    held = verifier.claimed("claim_verification")
    verifier.done("judge", **held, p_verdict="unverifiable", p_reason="no network")
    accepts(verifier, verifier.claimed("claim_verification"))
    ledger.tick("1 hour")
    reaper.finished("reap")
    held = verifier.claimed("claim_promotion")
    admin.done("pause")
    admin.done("resume")
    admin.done("park", p_campaign_id=campaign, p_generation=held["p_generation"])
    admin.done("redrive", p_campaign_id=campaign, p_generation=held["p_generation"] + 1)
    held = verifier.claimed("claim_promotion")
    assert moved(verifier, held, target) == "ok"
    verifier.done("promote", **held)
    ledger.tick("1 hour")
    observed(sensor, target, is_green=True)
    auditor.done("checkpoint")
    assert auditor.finished("check") == []
    return ledger.moves(campaign)

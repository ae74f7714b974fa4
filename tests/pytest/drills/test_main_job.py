"""The main job: red opens, wrong is rejected, what differs is promoted, green confirms."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.pytest.drills.conftest import Stage

AGENT = """
if grep -q '"attempts": \\[\\]' "$FENCEPOST_BRIEF"; then word=wrong; else word=right; fi
echo "$word" > answer
echo "write $word" > "$FENCEPOST_APPROACH"
"""


def test_red_rejected_differs_promoted_green_confirms(stage: Stage) -> None:
    stage.define_target(observe_every="1 day")
    base = stage.repository.value()

    assert "observation 1: red" in stage.look()
    (campaign,) = stage.audit("select * from audit.campaigns")
    number = campaign["campaign_id"]
    assert (campaign["state"], campaign["opened_by"]) == ("ready", stage.person("sensor").name)

    # The first attempt is handed in, judged by another principal, and sent back with the reason.
    stage.worker(AGENT).succeeds()
    assert stage.campaign(number)["state"] == "attempted"
    stage.verifier().succeeds()
    assert stage.campaign(number)["state"] == "ready"
    assert stage.repository.value() == base, "a rejected result is not in the ref"

    # The second one read the brief, and does something else.
    stage.worker(AGENT).succeeds()
    stage.verifier().succeeds()
    first, second = stage.attempts(number)
    assert (first["ending"], first["verdict"], first["exit_code"]) == ("rejected", "rejected", 1)
    assert (second["ending"], second["verdict"], second["exit_code"]) == (None, "accepted", 0)
    assert (first["approach"], second["approach"]) == ("write wrong", "write right")
    assert first["fingerprint"] != second["fingerprint"]
    assert stage.campaign(number)["state"] == "verified"

    # What was judged is what is in the ref, unchanged, and it was judged once each.
    result = second["result"]
    assert stage.repository.value() == result["commit"]
    assert stage.repository.read("answer") == "right"
    assert stage.repository.value(result["pushed_ref"]) == result["commit"]
    assert stage.judged.read_text().split() == [first["result"]["commit"], result["commit"]]

    # A green that nobody had scheduled confirms nothing. The next scheduled one does.
    assert stage.look().endswith("green (not_scheduled)")
    assert stage.campaign(number)["state"] == "verified"
    stage.define_target(observe_every="1 second")
    stage.wait_for(
        lambda: stage.look() and stage.campaign(number)["state"] == "confirmed",
        "a scheduled green observation confirms",
    )

    people = {stage.person(duty).name: duty for duty in ("sensor", "worker", "verifier")}
    moves = [(event["transition"], people[event["by_principal"]]) for event in stage.events(number)]
    assert moves == [
        ("open", "sensor"),
        ("claim", "worker"),
        ("submit", "worker"),
        ("claim_verification", "verifier"),
        ("reject", "verifier"),
        ("claim", "worker"),
        ("submit", "worker"),
        ("claim_verification", "verifier"),
        ("accept", "verifier"),
        ("promote", "verifier"),
        ("confirm", "sensor"),
    ]
    assert [attempt["ending"] for attempt in stage.attempts(number)] == ["rejected", "confirmed"]
    assert stage.campaign(number)["closed_at"] is not None
    assert stage.refusals() == []


def test_the_same_change_again_is_not_handed_in(stage: Stage) -> None:
    stage.define_target()
    number = stage.open()

    stage.worker("echo wrong > answer").succeeds()
    stage.verifier().succeeds()
    stage.worker("echo wrong > answer").succeeds()

    first, second = stage.attempts(number)
    assert (first["ending"], second["ending"]) == ("rejected", "failed")
    assert first["fingerprint"] == second["fingerprint"]
    assert "did not succeed before" in second["reason"]
    assert len(stage.judged.read_text().split()) == 1

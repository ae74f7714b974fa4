"""Attacks with arguments out of measure, and with more calls than are meant for one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.pytest.attacks.attack import attack
from tests.pytest.attacks.kernels import LOSSES, SEATS

if TYPE_CHECKING:
    from tests.pytest.attacks.scene import Scene


@attack(
    "switches the assertions of PL/pgSQL off and leaves out what one of them asks for",
    "No check of the kernel can be switched off by its caller.",
)
def switch_assertions_off(scene: Scene) -> bool:
    worker = scene.hand("worker")
    lease = scene.claim(worker)
    worker.do("set plpgsql.check_asserts = off")
    worker.do(scene.kernel.complete(lease, bare=True))
    return scene.state(lease)["state"] == "attempted"


@attack(
    "asks for a lease of a thousand years, of forever, and of less than no time",
    "A lease lasts no longer than its class allows, and no shorter.",
)
def lease_forever(scene: Scene) -> bool:
    worker = scene.hand("worker")
    for length in ("1000 years", "infinity", "-1 hour", "0"):
        lease = scene.try_to_claim(worker, length)
        if lease is not None:
            return True
    return False


@attack(
    "passes the reaper a time of its own",
    "Whether a lease has run out is read from the server's clock.",
)
def reap_by_a_clock_of_ones_own(scene: Scene) -> bool:
    lease = scene.claim(scene.hand("worker"))
    reaper = scene.hand("reaper")
    for call in scene.kernel.reap_at("3000-01-01 00:00+00"):
        reaper.do(call)
    return scene.state(lease)["state"] != "leased"


@attack(
    "claims fifty times in one statement",
    "One statement claims no more than there are seats.",
)
def claim_everything(scene: Scene) -> bool:
    worker = scene.hand("worker")
    if scene.kernel.name == "naive":
        worker.do("select naive.claim('w') from generate_series(1, 50)")
    else:
        worker.do("select kernel.claim('guarded', gen_random_uuid()) from generate_series(1, 50)")
        worker.do(
            "select * from kernel.claim_many('guarded',"
            " array(select gen_random_uuid() from generate_series(1, 50)))"
        )
    return scene.held() > SEATS


@attack(
    "claims in several sessions at once, none of which sees what the others have",
    "However many claim at once, no more than there are seats are held.",
)
def claim_at_once(scene: Scene) -> bool:
    # The naive one allows one at a time, and counts.
    allowed = 1 if scene.kernel.name == "naive" else SEATS
    hands = [scene.hand("worker", number % 2) for number in range(allowed + 2)]
    for hand in hands:
        call = (
            "select naive.claim_once('w')"
            if scene.kernel.name == "naive"
            else scene.kernel.claim(scene.kernel.mint())
        )
        hand.do("begin")
        hand.begin(call)
    if scene.kernel.name == "naive":
        # None waits for another there: all have counted before the first commits.
        for hand in hands:
            hand.end()
    for hand in hands:
        hand.end()
        hand.do("commit")
    return scene.held() > allowed


@attack(
    "hands in a document of 2 MB",
    "What a caller may store is bounded.",
)
def store_without_measure(scene: Scene) -> bool:
    worker = scene.hand("worker")
    lease = scene.claim(worker)
    worker.do(scene.kernel.complete(lease, result='{"a": "' + "x" * 2_000_000 + '"}'))
    return scene.state(lease)["state"] == "attempted"


@attack(
    "claims a campaign and lets it run out, over and over",
    "A campaign that is abandoned over and over is set aside for a person.",
)
def abandon_over_and_over(scene: Scene) -> bool:
    worker, reaper = scene.hand("worker"), scene.hand("reaper")
    first = scene.claim(worker, scene.short())
    for _ in range(LOSSES + 1):
        scene.expire()
        reaper.do(scene.kernel.reap())
        again = scene.try_to_claim(worker, scene.short())
        if again is None or again.campaign != first.campaign:
            return scene.state(first)["state"] != "parked"
    return True

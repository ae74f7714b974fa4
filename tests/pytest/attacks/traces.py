"""Attacks on the record: refusals that leave none, and lines that nobody's call wrote."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tests.pytest.attacks.attack import Residual, attack
from tests.pytest.conftest import DUTIES

if TYPE_CHECKING:
    from tests.pytest.attacks.scene import Scene


@attack(
    "makes a call that is refused, and counts on its error to take the record of it away",
    "A refused call leaves a row that says so.",
)
def be_refused_without_a_row(scene: Scene) -> bool:
    worker = scene.hand("worker")
    lease = scene.claim(worker)
    before = scene.refused()
    worker.do(scene.kernel.complete(lease, generation=999))
    return scene.refused() == before


@attack(
    "rolls back the transaction in which it was refused",
    "A refused call leaves a trace, whatever its caller does with the transaction.",
)
def be_refused_and_roll_back(scene: Scene) -> bool:
    worker = scene.hand("worker")
    lease = scene.claim(worker)
    before = scene.refused()
    # A caller may say which lines of the log it wants to read itself; not what is logged.
    worker.do("set client_min_messages = error")
    worker.do("begin")
    worker.do(scene.kernel.complete(lease, generation=999))
    worker.do("rollback")
    lines = [
        line
        for line in scene.server_log().splitlines()
        if f" {scene.name('worker')}@" in line and re.search(r" LOG: .*refus.*submit", line)
    ]
    return scene.refused() == before and not lines


@attack(
    "writes a line into the server's log that looks like the kernel's",
    "A line of the log that speaks of a refusal was written by the kernel.",
    residual=Residual(
        "The record of refusals",
        "The line's prefix names the role that wrote it, and its CONTEXT is no function of the "
        "kernel; no row of ledger.refusal comes of it.",
        is_closed=True,
    ),
)
def forge_a_line_of_the_log(scene: Scene) -> bool:
    worker = scene.hand("worker")
    before = scene.refused()
    worker.do("do $$ begin raise log 'fencepost refused guarded.submit: stale to other'; end $$")
    log = scene.server_log()
    forged = re.search(r"^.* LOG:  fencepost refused guarded.submit.*\n(.*)", log, re.MULTILINE)
    if forged is None:
        return False
    # What gives it away, on both kernels.
    assert f" {scene.name('worker')}@" in forged[0]
    assert "inline_code_block" in forged[1]
    assert "function ledger.refuse" not in forged[1]
    assert scene.refused() == before
    return True


@attack(
    "writes a message into the write-ahead log, as an auditor's reader would take it",
    "Nobody but the kernel's owner writes messages into the write-ahead log.",
    residual=Residual(
        "The record of refusals",
        "Nothing of Fencepost reads such messages.",
        is_closed=True,
    ),
)
def forge_a_message_in_the_wal(scene: Scene) -> bool:
    return (
        scene.hand("sensor")
        .do("select pg_logical_emit_message(false, 'kernel.denied', 'forged')")
        .is_ok
    )


@attack(
    "writes events through the tables of the log",
    "Nobody writes the log but the kernel.",
)
def write_the_log(scene: Scene) -> bool:
    before = scene.logged()
    for duty in DUTIES:
        hand = scene.hand(duty)
        if scene.kernel.name == "naive":
            # The admin may act as the owner.
            hand.do(f"set role {scene.kernel.owner}")
            hand.do("insert into naive.event (campaign_id, kind, actor) values (1, 'x', 'y')")
        else:
            hand.do(f"set role {scene.kernel.owner}")
            hand.do(
                "insert into ledger.campaign_event select (jsonb_populate_record(e,"
                " jsonb_build_object('event_no', e.event_no + 1))).*"
                " from ledger.campaign_event as e limit 1"
            )
    return scene.logged() > before


@attack(
    "silences triggers by a setting that it was granted",
    "The log is written whatever sessions set, also where the setting was granted to them.",
)
def silence_the_triggers(scene: Scene) -> bool:
    admin, worker = scene.hand("admin"), scene.hand("worker")
    if scene.kernel.name == "naive":
        before = scene.logged()
        admin.do("set session_replication_role = replica")
        admin.do(f"set role {scene.kernel.owner}")
        admin.do("select naive.verify(2, 'verified')")
        return scene.state(2)["state"] == "verified" and scene.logged() == before
    # The grant that a naive administrator would make.
    name = scene.name("worker")
    scene.god.do(f"grant set on parameter session_replication_role to {name}")
    try:
        assert worker.do("set session_replication_role = replica").is_ok
        before = scene.logged()
        return scene.try_to_claim(worker) is not None and scene.logged() == before
    finally:
        scene.god.do(f"revoke set on parameter session_replication_role from {name}")

"""Attacks by the transaction around a call: it is rolled back, it is old, it is prepared."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.pytest.attacks.attack import Residual, attack, core
from tests.pytest.attacks.kernels import SECRET

if TYPE_CHECKING:
    from tests.pytest.attacks.scene import Scene

PASSWORD = "Who has a client's password"


@attack(
    "claims, reads the payload and rolls back",
    "Nothing is shown of a campaign before its claim is committed.",
)
def claim_read_and_roll_back(scene: Scene) -> bool:
    worker = scene.hand("worker")
    before = scene.logged()
    wanted = scene.kernel.mint()
    worker.do("begin")
    claimed = worker.do(scene.kernel.claim(wanted))
    lease = scene.kernel.leased(claimed, wanted)
    assert lease is not None
    seen = claimed.shows(SECRET) or worker.do(scene.kernel.reveal(lease)).shows(SECRET)
    worker.do("rollback")
    return seen and scene.logged() == before


@attack(
    "does the same in one message that fails at its end, without any BEGIN",
    "Nothing is shown of a campaign in the message that claims it.",
)
def claim_and_fail_in_one_message(scene: Scene) -> bool:
    worker = scene.hand("worker")
    before = scene.logged()
    wanted = scene.kernel.mint()
    answer = worker.do(f"{scene.kernel.claim(wanted)}; {scene.kernel.reveal(wanted)}; select 1 / 0")
    return answer.shows(SECRET) and scene.logged() == before


@attack(
    "claims, looks and rolls back to a savepoint, campaign after campaign",
    "No savepoint shows what a claim that does not last would have been given.",
)
def claim_to_a_savepoint(scene: Scene) -> bool:
    worker = scene.hand("worker")
    before = scene.logged()
    seen = 0
    worker.do("begin")
    for _ in range(3):
        wanted = scene.kernel.mint()
        worker.do("savepoint here")
        claimed = worker.do(scene.kernel.claim(wanted))
        lease = scene.kernel.leased(claimed, wanted)
        shown = claimed.shows(SECRET)
        if lease is not None and not shown:
            shown = worker.do(scene.kernel.reveal(lease)).shows(SECRET)
        seen += shown
        worker.do("rollback to here")
    worker.do("rollback")
    return seen > 0 and scene.logged() == before


@attack(
    "prolongs a lease that ran out, in a transaction that began before it did",
    "The clock goes on while a transaction is open.",
)
def stop_the_clock_by_a_transaction(scene: Scene) -> bool:
    worker = scene.hand("worker")
    lease = scene.claim(worker, scene.short())
    worker.do("begin")
    worker.do("select 1")
    scene.expire()
    if scene.kernel.name == "naive":
        return worker.all(scene.kernel.heartbeat(lease), "commit").is_ok and bool(
            scene.state(lease)["live"] == "t"
        )
    # A lease may be renewed as long as nobody else has the campaign. It is reckoned from now, not
    # from when the transaction began.
    answer = worker.do(f"select clock_timestamp() as began; {scene.kernel.heartbeat(lease)}")
    worker.do("commit")
    return _is_before(scene, answer.rows[1]["lease_expires_at"], answer.first["began"], "15 min")


@attack(
    "lets its call wait for its own lock until the lease has run out and was taken",
    "Whether a lease stands is asked when its row is had, not before.",
)
def outwait_the_expiry(scene: Scene) -> bool:
    first, second = scene.hand("worker"), scene.hand("worker")
    lease = scene.claim(first, scene.short())
    first.do("begin")
    first.do(scene.kernel.heartbeat(lease))
    second.begin(scene.kernel.complete(lease))
    scene.wait_until_blocked(second)
    scene.expire()
    first.do("rollback")
    if scene.kernel.name != "naive":
        # A late result is taken while nobody else has the campaign, and is said to be late.
        answer = second.end()
        (event,) = scene.look(
            "select is_late from ledger.campaign_event"
            f" where campaign_id = {lease.campaign} and transition = 'submit'"
        )
        return answer.is_done and event["is_late"] != "t"
    return second.end().is_done and scene.state(lease)["state"] == "attempted"


def _claims_while_paused(scene: Scene, *beginning: str) -> bool:
    worker, admin = scene.hand("worker"), scene.hand("admin")
    for statement in (*beginning, "select 1"):
        worker.do(statement)
    assert admin.do(scene.kernel.pause()).is_ok
    lease = scene.try_to_claim(worker)
    worker.do("commit")
    return lease is not None and scene.held() > 0


@attack(
    "claims from a snapshot of the time before the pause",
    "While the class is paused nobody claims, whatever snapshot the session has.",
)
def claim_from_an_old_snapshot(scene: Scene) -> bool:
    return _claims_while_paused(scene, "begin isolation level repeatable read")


@attack(
    "does the same by a setting of its session",
    "While the class is paused nobody claims, whatever isolation its session defaults to.",
)
def claim_in_a_serializable_session(scene: Scene) -> bool:
    return _claims_while_paused(
        scene, "set default_transaction_isolation = 'serializable'", "begin"
    )


@attack(
    "holds a transaction open in which it has claimed, so that no pause gets through",
    "A person's pause waits for no client.",
    naive=core("Its claim reads the switch without a lock."),
)
def keep_a_pause_waiting(scene: Scene) -> bool:
    worker, admin = scene.hand("worker"), scene.hand("admin")
    worker.do("begin")
    assert scene.try_to_claim(worker) is not None
    return not admin.do(scene.kernel.pause()).is_ok


@attack(
    "has its calls cancelled half-way, again and again",
    "A call that is cancelled leaves nothing of itself.",
    naive=core("A statement is atomic."),
)
def cancel_half_way(scene: Scene) -> bool:
    worker = scene.hand("worker")
    before = scene.logged()
    # After all that the call does, and before its transaction commits.
    worker.do("set statement_timeout = '300ms'")
    claim = scene.kernel.claim(scene.kernel.mint()).removeprefix("select * from ")
    assert worker.do(f"select pg_sleep(5) from {claim}").sqlstate == "57014"
    left = scene.held() + scene.logged() - before
    # And wherever it may be by then.
    for number in range(40):
        worker.do(f"set statement_timeout = '{1 + number % 3}ms'")
        scene.try_to_claim(worker)
    return left > 0 or scene.logged() - before != scene.held()


@attack(
    "prepares its transaction for a second phase and goes away, with the locks kept",
    "No lock outlives the session that took it.",
    residual=Residual(
        PASSWORD,
        "Only where somebody raised max_prepared_transactions: at 0, its default, PostgreSQL "
        "prepares none. kernel.health tells of one that is old; ROLLBACK PREPARED ends it.",
    ),
)
def leave_a_prepared_transaction(scene: Scene) -> bool:
    worker = scene.hand("worker")
    worker.do("begin")
    if scene.kernel.name == "naive":
        # Its claim notifies, and what has notified is not prepared.
        worker.do("select from naive.campaign")
    else:
        scene.claim(worker)
    worker.do("prepare transaction 'stuck'")
    assert scene.ended(worker)
    locks = scene.count(
        f"pg_locks where pid is null and relation = '{scene.kernel.open_table()}'::regclass"
    )
    scene.god.do("rollback prepared 'stuck'")
    return locks > 0


@attack(
    "takes synchronous_commit back after the call and before its commit",
    "What was answered ok survives a crash of the server.",
    residual=Residual(
        "Durability",
        "The next commit of anybody else that is synchronous makes it durable; the setting holds "
        "for the client's own transactions and for nobody else's.",
    ),
)
def commit_without_waiting(scene: Scene) -> bool:
    worker = scene.hand("worker")
    worker.do("begin")
    lease = scene.claim(worker)
    worker.do("set local synchronous_commit = off")
    off = worker.do("show synchronous_commit").value
    worker.do("commit")
    return off == "off" and scene.state(lease)["state"] == "leased"


@attack(
    "sets synchronous_commit off for its session, and calls",
    "No call answers ok for what a crash would lose, whatever its session has set.",
)
def call_without_waiting(scene: Scene) -> bool:
    worker = scene.hand("worker")
    worker.do("set synchronous_commit = off")
    worker.do("begin")
    scene.claim(worker)
    return worker.do("show synchronous_commit").value == "off"


@attack(
    "commits from within a function that runs with its owner's rights",
    "No function ends its caller's transaction.",
    naive=core("PostgreSQL lets no such procedure commit."),
)
def commit_within_a_function(scene: Scene) -> bool:
    scene.god.do(
        f"set role {scene.kernel.owner}; create procedure {scene.kernel.public}.ends()"
        " language plpgsql security definer as $$ begin commit; end $$; reset role;"
        f"grant execute on procedure {scene.kernel.public}.ends() to public"
    )
    return scene.hand("worker").do(f"call {scene.kernel.public}.ends()").is_ok


@attack(
    "reads times in one message whose statements are long apart",
    "A lease's time is reckoned from its own call, not from the message's beginning.",
)
def stop_the_clock_by_a_message(scene: Scene) -> bool:
    worker = scene.hand("worker")
    wanted = scene.kernel.mint()
    claim = scene.kernel.claim(wanted, scene.short())
    message = f"select pg_sleep(0.5); select clock_timestamp() as began; {claim}"
    began = worker.do(message).rows[1]["began"]
    column = "lease_expires" if scene.kernel.name == "naive" else "lease_expires_at"
    (row,) = scene.look(f"select max({column}) as expires from {scene.kernel.open_table()}")
    return _is_before(scene, row["expires"], began, scene.short())


def _is_before(scene: Scene, expires: str | None, began: str | None, length: str) -> bool:
    """Return whether a lease ends earlier than a length after a moment before its call."""
    (row,) = scene.look(
        f"select '{expires}'::timestamptz < '{began}'::timestamptz + interval '{length}' as earlier"
    )
    return row["earlier"] == "t"

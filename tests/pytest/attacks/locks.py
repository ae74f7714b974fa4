"""Attacks by locks: what is kept from others by a transaction that does not end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.pytest.attacks.attack import Residual, attack

if TYPE_CHECKING:
    from tests.pytest.attacks.scene import Scene

PASSWORD = "Who has a client's password"


@attack(
    "prolongs its lease and idles in that transaction until long after the lease has run out",
    "A lease that ran out is taken back, whatever its holder's session does.",
    residual=Residual(
        PASSWORD,
        "The reaper passes by and counts it, and health() says so; the campaign is taken back as "
        "soon as the session has ended, which an administrator can see to.",
        is_closed=True,
    ),
)
def idle_past_the_expiry(scene: Scene) -> bool:
    worker, reaper = scene.hand("worker"), scene.hand("reaper")
    lease = scene.claim(worker, scene.short())
    worker.do("begin")
    worker.do(scene.kernel.heartbeat(lease))
    scene.expire()
    reaper.do(scene.kernel.reap())
    scene.evict(worker)
    reaper.do(scene.kernel.reap())
    return scene.state(lease)["state"] == "leased"


@attack(
    "makes a call on another's campaign that is refused, and keeps that transaction open",
    "A call that is refused keeps nobody waiting.",
)
def keep_the_lock_of_a_refused_call(scene: Scene) -> bool:
    holder, rival = scene.hand("worker"), scene.hand("rival")
    lease = scene.claim(holder)
    rival.do("begin")
    rival.do(scene.kernel.heartbeat(lease, generation=lease.generation + 5))
    holder.do("set lock_timeout = '500ms'")
    return not holder.do(scene.kernel.heartbeat(lease)).is_ok


@attack(
    "keeps a snapshot open, so that nothing that was deleted since can be vacuumed away",
    "What is dead is removed, whatever sessions are open.",
    residual=Residual(
        PASSWORD,
        "Tables grow as long as the session lasts and no longer; nobody's call is refused for it.",
        is_closed=True,
    ),
)
def hold_back_vacuum(scene: Scene) -> bool:
    worker = scene.hand("worker")
    worker.do("begin isolation level repeatable read")
    worker.do("select 1")
    before = scene.look(
        f"select backend_xmin is not null as held from pg_stat_activity where pid = {worker.pid}"
    )
    scene.evict(worker)
    scene.god.do("create table public.garbage as select i from generate_series(1, 500) as i")
    scene.god.do("delete from public.garbage")
    scene.god.notices.clear()
    scene.god.do("vacuum (verbose) public.garbage")
    kept = any("500 are dead but not yet removable" in notice for notice in scene.god.notices)
    return before == [{"held": "t"}] and kept


@attack(
    "calls and idles in its transaction, so that no migration can alter a table",
    "A migration waits for no client.",
    residual=Residual(
        PASSWORD,
        "A migration that sets lock_timeout fails and is tried again; with the session ended it "
        "goes through.",
        is_closed=True,
    ),
)
def keep_a_migration_waiting(scene: Scene) -> bool:
    worker = scene.hand("worker")
    worker.do("begin")
    scene.claim(worker)
    scene.evict(worker)
    scene.god.do("set lock_timeout = '300ms'")
    altered = scene.god.do(f"alter table {scene.kernel.open_table()} add column more integer")
    scene.god.do("reset lock_timeout")
    assert scene.ended(worker)
    if altered.sqlstate == "55P03":
        # What bounds it: once the session is gone the same statement goes through.
        return scene.god.do(
            f"alter table {scene.kernel.open_table()} add column more integer"
        ).is_ok
    return False


@attack(
    "prepares a statement on a table for which it has no privilege, and keeps the table's lock",
    "Who has no privilege on a table takes no lock on it.",
)
def lock_by_preparing(scene: Scene) -> bool:
    sensor = scene.hand("sensor")
    sensor.do("begin")
    sensor.do(f"prepare p as delete from {scene.kernel.open_table()}")
    locked = scene.look(
        "select mode from pg_locks where relation ="
        f" '{scene.kernel.open_table()}'::regclass and pid = {sensor.pid}"
    )
    return locked != []


@attack(
    "takes the advisory lock that the kernel's own calls wait for",
    "No lock that anybody may take stops the kernel.",
)
def take_the_advisory_lock(scene: Scene) -> bool:
    worker, sensor = scene.hand("worker"), scene.hand("sensor")
    lease = scene.claim(worker)
    for key in range(64):
        sensor.do(f"select pg_advisory_lock({key})")
    worker.do("set statement_timeout = '2s'")
    return not worker.do(scene.kernel.complete(lease)).is_done


@attack(
    "takes advisory locks until the server's table of locks is full",
    "No client can keep all others from locking anything.",
    residual=Residual(
        PASSWORD,
        "Calls fail with 53200 while the session lasts and succeed as soon as it has ended; "
        "nothing is lost.",
        is_closed=True,
    ),
)
def fill_the_table_of_locks(scene: Scene) -> bool:
    worker, sensor = scene.hand("worker"), scene.hand("sensor")
    sensor.do("set statement_timeout = 0")
    filled = sensor.do(
        "begin; select count(pg_advisory_lock_shared(i)) from generate_series(1, 300000) as i"
    )
    wanted = scene.kernel.mint()
    failed = worker.do(scene.kernel.claim(wanted)).sqlstate == "53200"
    for _ in range(3):
        failed = failed or worker.do(f"lock table {scene.kernel.open_table()}").sqlstate == "53200"
    assert scene.ended(sensor)
    return filled.sqlstate == "53200" or failed

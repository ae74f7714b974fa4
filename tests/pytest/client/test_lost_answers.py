"""A call whose answer was lost is made again, and has happened once."""

from __future__ import annotations

import threading
import time
from datetime import timedelta
from typing import TYPE_CHECKING
from uuid import uuid4

import psycopg
import pytest

from fencepost import ServerUnreachable, Verifier, Worker
from fencepost.connection import Link
from fencepost.interrupt import Interrupt
from fencepost.lease_keeper import LeaseKeeper
from fencepost.session import connect
from tests.pytest.client.conftest import REF
from tests.pytest.moved import moved

if TYPE_CHECKING:
    from tests.pytest.client.conftest import World
    from tests.pytest.client.proxy import Proxy
    from tests.pytest.conftest import Superuser

CLASS = "upkeep"


def link(proxy: Proxy, world: World, duty: str) -> Link:
    conninfo = proxy.conninfo(world.people[duty], world.database)
    return Link(lambda: connect(conninfo))


def test_claim_submit_judge_and_promote_are_repeated_and_happen_once(
    world: World, proxy: Proxy
) -> None:
    world.open_campaign()
    working = link(proxy, world, "worker")
    judging = link(proxy, world, "verifier")
    token = uuid4()

    proxy.swallow = True
    lease = working.call(lambda c: Worker(c).claim(CLASS, token=token))
    assert lease is not None
    assert lease.duplicate
    assert lease.attempt_no == 1

    proxy.swallow = True
    receipt = working.call(
        lambda c: Worker(c).submit(
            lease,
            fingerprint="f",
            approach=None,
            result={"base": "1" * 40, "commit": "2" * 40},
        )
    )
    assert receipt.duplicate

    proxy.swallow = True
    verification = judging.call(lambda c: Verifier(c).claim_verification(CLASS, token=token))
    assert verification is not None
    assert verification.duplicate
    digest = judging.call(lambda c: Verifier(c).bundle(verification)).bundle_sha256

    proxy.swallow = True
    receipt = judging.call(
        lambda c: Verifier(c).judge(
            verification,
            verdict="accepted",
            bundle_sha256=digest,
            fingerprint="f",
            exit_code=0,
            evidence_uri="file:///x",
            evidence_sha256=b"\1" * 32,
        )
    )
    assert receipt.duplicate
    assert receipt.state == "promoting"

    judging.call(lambda c: moved(c, verification, f"{world.repository}#{REF}", "2" * 40))
    proxy.swallow = True
    receipt = judging.call(lambda c: Verifier(c).promote(verification))
    assert receipt.duplicate
    assert proxy.swallowed == 5
    assert world.transitions() == [
        "open",
        "claim",
        "submit",
        "claim_verification",
        "accept",
        "promote",
    ]
    assert world.audit("select * from audit.refusals") == []
    working.drop()
    judging.drop()


@pytest.mark.parametrize("ending", ["fail", "release"])
def test_fail_and_release_too(world: World, proxy: Proxy, ending: str) -> None:
    world.open_campaign()
    working = link(proxy, world, "worker")
    lease = working.call(lambda c: Worker(c).claim(CLASS))
    assert lease is not None
    proxy.swallow = True
    if ending == "fail":
        receipt = working.call(lambda c: Worker(c).fail(lease, reason="r"))
    else:
        receipt = working.call(lambda c: Worker(c).release(lease, reason="r"))
    assert receipt.duplicate
    assert world.transitions() == ["open", "claim", ending]
    working.drop()


def test_a_whole_attempt_survives_connections_that_are_cut(
    world: World, superuser: Superuser
) -> None:
    world.define_class(lease_default="3 seconds")
    world.open_campaign()
    started = world.folder / "started"
    script = f"touch {started}; sleep 2; echo right > answer"
    process = world.start("worker", "--once", "--", "sh", "-c", script)
    deadline = time.monotonic() + 20
    while not started.exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)
    for _ in range(3):
        superuser().execute(
            """
            select pg_catalog.pg_terminate_backend(pid)
            from pg_catalog.pg_stat_activity where datname = %s and application_name <> ''
            """,
            (world.database,),
        )
        time.sleep(0.5)
    assert "connection lost" in process.ends()
    assert world.campaign()["state"] == "attempted"


def test_a_lease_that_cannot_be_renewed_until_its_end_is_taken_as_lost(
    world: World, proxy: Proxy
) -> None:
    world.define_class(lease_default="2 seconds")
    world.open_campaign()
    working = link(proxy, world, "worker")
    lease = working.call(lambda c: Worker(c).claim(CLASS))
    assert lease is not None
    with (
        Interrupt() as lost,
        LeaseKeeper(working, lambda c, held: Worker(c).renew(held), lease, lost) as keeper,
    ):
        assert not lost.wait(3)
        proxy.close()
        begun = time.monotonic()
        while not lost:
            keeper.check()
            assert time.monotonic() - begun < 6
            time.sleep(0.02)
        assert keeper.is_lost
        assert keeper.why_lost is not None
        assert "ran out" in keeper.why_lost
    working.drop()


def test_patience_has_an_end(world: World, proxy: Proxy) -> None:
    working = link(proxy, world, "worker")
    working.call(lambda c: Worker(c).claim(CLASS))
    proxy.close()
    with pytest.raises(ServerUnreachable):
        working.call(lambda c: Worker(c).claim(CLASS), patience=timedelta(seconds=0.5))


def test_an_error_that_is_not_the_connections_is_raised_at_once(world: World, proxy: Proxy) -> None:
    working = link(proxy, world, "worker")
    with pytest.raises(psycopg.errors.UndefinedColumn):
        working.call(lambda c: c.execute("select no_such_column"))
    working.drop()


def test_a_lock_that_is_held_is_waited_for(world: World, superuser: Superuser) -> None:
    world.open_campaign()
    conninfo = world.people["worker"].conninfo(world.database)
    working = Link(lambda: connect(conninfo))
    lease = working.call(lambda c: Worker(c).claim(CLASS))
    assert lease is not None
    blocker = superuser(world.database)
    blocker.autocommit = False
    blocker.execute("select from ledger.campaign for update")
    timer = threading.Timer(6, blocker.rollback)  # past the kernel's lock_timeout of 5 s
    timer.start()
    assert working.call(lambda c: Worker(c).release(lease)).state == "ready"
    timer.join()
    working.drop()

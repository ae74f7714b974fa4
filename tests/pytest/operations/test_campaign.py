"""Operations of a campaign's attempt, from Python."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from psycopg.types.json import Jsonb

from fencepost import Worker, errors
from fencepost.operations import (
    AsyncEffectRunner,
    AsyncStore,
    ClaimStatus,
    Completed,
    Context,
    EffectRunner,
    Failed,
    Store,
    Unknown,
)
from tests.pytest.operations.conftest import KIND

if TYPE_CHECKING:
    from fencepost import Lease
    from tests.pytest.operations.conftest import Office

EXPECTED = {"before": {"etag": "a"}, "after": {"etag": "b"}}


@pytest.fixture
def campaign(office: Office) -> Office:
    """Return the office with an open campaign, whose workers may write to its pages."""
    name = office.campaign_class
    office.define(operation_retention="0", backoff_base="0", backoff_cap="0", backoff_jitter=0)
    office.admin(
        "define_target",
        {
            "class": name,
            "target": "site",
            "location": Jsonb({"url": "http://site"}),
            "desired_state": Jsonb({"title": "right"}),
            "acceptance": Jsonb({"command": ["true"]}),
        },
    )
    office.admin(
        "authorise",
        {"class": name, "duty": "worker", "kind": KIND, "target": "page/{campaign}/*"},
    )
    office.admin(
        "open_campaign",
        {"class": name, "target": "site", "token": "0" * 31 + "1", "reason": "wrong title"},
    )
    return office


def leased(office: Office, name: str = "worker", **options: Any) -> Lease:
    lease = Worker(office.connect(name)).claim(office.campaign_class, **options)
    assert lease is not None
    return lease


def page(lease: Lease) -> str:
    return f"page/{lease.campaign_id}/1"


def pages(office: Office, name: str = "worker") -> Store:
    return office.store(name, target=None)


def test_an_operation_lives_under_its_campaigns_lease(campaign: Office) -> None:
    lease, store = leased(campaign), pages(campaign)
    claim = store.begin(lease, "f", target=page(lease), expected=EXPECTED)
    assert claim.is_owner
    assert claim.key.startswith("fencepost:")
    assert claim.runs_out_at is None
    assert claim.operation.campaign_id == lease.campaign_id
    with pytest.raises(errors.Illegal):
        store.complete(claim, read_back={"etag": "b"})
    store.start(claim)
    with pytest.raises(errors.OperationOpen):
        Worker(campaign.connect()).submit(lease, fingerprint="x", approach="y", result={})
    with pytest.raises(errors.NoEvidence):
        store.complete(claim, read_back={"etag": "a"})
    done = store.complete(claim, {"page": 1}, read_back={"etag": "b", "size": 3})
    assert (done.operation_state, done.read_back) == ("completed", {"etag": "b", "size": 3})
    again = store.begin(lease, "f", target=page(lease), expected=EXPECTED)
    assert again.status is ClaimStatus.REPLAY
    other = store.begin(lease, "g", target=page(lease), expected=EXPECTED)
    assert other.status is ClaimStatus.CONFLICT


def test_what_nobody_authorised_is_forbidden(campaign: Office) -> None:
    lease, store = leased(campaign), pages(campaign)
    for kind, target in ((KIND, "page/0/1"), ("mail", page(lease))):
        with pytest.raises(errors.Forbidden):
            store.begin(lease, "f", kind=kind, target=target, expected=EXPECTED)


def test_the_runner_carries_it_out_without_a_lease_of_its_own(campaign: Office) -> None:
    lease, runner = leased(campaign), EffectRunner(pages(campaign))

    def execute(context: Context) -> Completed:
        assert context.operation.is_started
        return Completed(result=1, read_back={"etag": "b"})

    ended = runner.run_under(lease, "f", execute, target=page(lease), expected=EXPECTED)
    assert ended.state == "completed"
    again = runner.run_under(lease, "f", execute, target=page(lease), expected=EXPECTED)
    assert (again.state, again.result) == ("replayed", 1)


def test_under_asyncio_too(campaign: Office) -> None:
    lease = leased(campaign)

    async def execute(_: Context) -> Completed:
        return Completed(result=1, read_back={"etag": "b"})

    async def main() -> str:
        async with await psycopg.AsyncConnection.connect(campaign.conninfo()) as connection:
            runner = AsyncEffectRunner(
                AsyncStore(connection, campaign.campaign_class, kind=KIND, target=page(lease))
            )
            return (await runner.run_under(lease, "f", execute, expected=EXPECTED)).state

    assert asyncio.run(main()) == "completed"


def test_a_lease_that_is_over_begins_nothing(campaign: Office) -> None:
    lease, store = leased(campaign, lease_for=timedelta(seconds=1)), pages(campaign)
    refused = False
    while not refused:
        try:
            claim = store.begin(lease, "f", target=page(lease), expected=EXPECTED)
        except errors.Expired:
            refused = True
        else:
            store.release(claim)


def test_the_next_holder_reconciles_what_the_last_one_left(campaign: Office) -> None:
    lease, runner = leased(campaign), EffectRunner(pages(campaign))
    left = runner.run_under(
        lease, "f", lambda _: Unknown(reason="timeout"), target=page(lease), expected=EXPECTED
    )
    assert left.operation is not None
    key = left.operation.key
    Worker(campaign.connect()).release(lease, reason="going home")

    other = EffectRunner(pages(campaign, "rival"))
    with pytest.raises(errors.NotHolder):
        other.recover(key, lambda _: Failed(reason="not there"))
    second = leased(campaign, "rival")
    with pytest.raises(errors.NoEvidence):
        other.recover(key, lambda _: Completed(read_back={"etag": "a"}), lease=second)
    done = other.recover(key, lambda _: Completed(read_back={"etag": "b"}), lease=second)
    assert done.state == "resolved"
    assert done.operation is not None
    assert done.operation.reconciled_by == campaign.people["rival"].name

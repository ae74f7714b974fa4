"""Operations of a campaign's attempt, from Python."""

from __future__ import annotations

import asyncio
import os
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import httpx
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
    InvalidArgument,
    Store,
    Unknown,
)
from fencepost.operations.command import Ended, command_effect
from fencepost.operations.http import HttpEffects
from tests.pytest.operations.conftest import KIND

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from fencepost import Lease
    from fencepost.operations import Operation
    from fencepost.operations.runner import Execute
    from tests.pytest.operations.bank import Bank
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


# -- requests and commands -------------------------------------------------------------------------

PAYMENT = {"after": {"amount": 5}}
ENTRY = {"after": {"is_written": True}}


@pytest.fixture
def client() -> Iterator[httpx.Client]:
    with httpx.Client(timeout=10, trust_env=False) as made:
        yield made


def on_response(response: httpx.Response, _: Context) -> Completed | Unknown:
    if response.status_code != 201:
        return Unknown(reason=f"status {response.status_code}")
    return Completed(result=response.json(), read_back={"amount": 5})


def on_status(response: httpx.Response, _: Operation) -> Completed | Failed:
    if response.status_code == 404:
        return Failed(reason="not booked")
    return Completed(result=response.json(), read_back=response.json())


def post(effects: HttpEffects, lease: Lease, bank: Bank, **options: Any) -> Any:
    given: dict[str, Any] = {
        "method": "POST",
        "url": f"{bank.url}/payments",
        "request": {"json": {"amount": 5}},
        "on_response": on_response,
        "target": page(lease),
        "expected": PAYMENT,
    }
    return effects.run_under(lease, "f", **(given | options))


def test_a_request_is_sent_once_under_the_lease(
    campaign: Office, bank: Bank, client: httpx.Client
) -> None:
    lease, effects = leased(campaign), HttpEffects(EffectRunner(pages(campaign)), client)
    ended = post(effects, lease, bank)
    assert ended.state == "completed"
    assert ended.operation.campaign_id == lease.campaign_id
    assert ended.operation.read_back == {"amount": 5}
    key = ended.operation.key
    assert (ended.result, bank.booked) == ({"booked": key}, {key: {"amount": 5}})
    assert post(effects, lease, bank).state == "replayed"
    assert bank.requests == [("POST", key)]


def test_an_address_is_made_of_the_key_that_the_kernel_made(
    campaign: Office, bank: Bank, client: httpx.Client
) -> None:
    lease, effects = leased(campaign), HttpEffects(EffectRunner(pages(campaign)), client)
    ended = post(effects, lease, bank, url=lambda key: f"{bank.url}/payments/{key}")
    assert ended.state == "completed"
    with pytest.raises(InvalidArgument):
        post(effects, lease, bank, request={"headers": {"idempotency-key": "mine"}}, ordinal=2)
    with pytest.raises(httpx.InvalidURL):
        post(effects, lease, bank, url="http://bank:no", ordinal=2)
    operations = list(pages(campaign).iter_operations())
    assert [each.key for each in operations] == [ended.operation.key]


def test_a_request_that_cannot_be_made_of_its_key_was_not_sent(
    campaign: Office, bank: Bank, client: httpx.Client
) -> None:
    lease, effects = leased(campaign), HttpEffects(EffectRunner(pages(campaign)), client)
    addresses = iter([f"{bank.url}/payments", "http://bank:no"])
    ended = post(effects, lease, bank, url=lambda _: next(addresses))
    assert (ended.state, bank.requests) == ("failed", [])
    assert ended.reason.startswith("nothing was sent: InvalidURL")


def test_without_authority_nothing_is_sent(
    campaign: Office, bank: Bank, client: httpx.Client
) -> None:
    lease, effects = leased(campaign), HttpEffects(EffectRunner(pages(campaign)), client)
    with pytest.raises(errors.Forbidden):
        post(effects, lease, bank, target="page/0/1")
    assert bank.requests == []


def test_the_next_holder_asks_about_a_lost_acknowledgement(
    campaign: Office, bank: Bank, client: httpx.Client
) -> None:
    lease, effects = leased(campaign), HttpEffects(EffectRunner(pages(campaign)), client)
    bank.drop = True
    left = post(effects, lease, bank)
    bank.drop = False
    key = left.operation.key
    assert (left.state, bank.booked) == ("unknown", {key: {"amount": 5}})
    Worker(campaign.connect()).release(lease, reason="going home")

    second = leased(campaign, "rival")
    other = HttpEffects(EffectRunner(pages(campaign, "rival")), client)
    with pytest.raises(errors.OperationOpen):
        post(other, second, bank)

    def url(key: str) -> str:
        return f"{bank.url}/payments/{key}"

    with pytest.raises(errors.NotHolder):
        other.recover(key, url=url, on_status=on_status, lease=lease)
    done = other.recover(key, url=url, on_status=on_status, lease=second)
    assert done.state == "resolved"
    assert done.operation is not None
    assert (done.operation.operation_state, done.operation.read_back) == (
        "completed",
        {"amount": 5},
    )
    assert done.operation.reconciled_by == campaign.people["rival"].name
    assert [method for method, _ in bank.requests] == ["POST", "GET", "GET"]


def writing(book: Path, *, then: str = "") -> Execute:
    """Return the effect of a program that writes its operation's key into *book*."""

    def classify(ended: Ended, context: Context) -> Completed | Unknown:
        if ended.exit_code:
            return Unknown(reason=f"exit code {ended.exit_code}")
        return Completed(read_back={"is_written": context.key in book.read_text()})

    return command_effect(
        ["sh", "-c", f'printf %s "$FENCEPOST_OPERATION_KEY" >> book; {then}'],
        classify,
        environment={"PATH": os.environ["PATH"]},
        folder=book.parent,
    )


def test_a_command_runs_once_under_the_lease(campaign: Office, tmp_path: Path) -> None:
    lease, runner, book = leased(campaign), EffectRunner(pages(campaign)), tmp_path / "book"
    first, again = (
        runner.run_under(lease, "f", writing(book), target=page(lease), expected=ENTRY)
        for _ in range(2)
    )
    assert (first.state, again.state) == ("completed", "replayed")
    assert first.operation is not None
    assert book.read_text() == first.operation.key
    with pytest.raises(errors.Forbidden):
        runner.run_under(lease, "f", writing(book), target="page/0/1", expected=ENTRY)
    assert book.read_text() == first.operation.key


def test_the_next_holder_looks_at_what_a_killed_command_did(
    campaign: Office, tmp_path: Path
) -> None:
    lease, runner, book = leased(campaign), EffectRunner(pages(campaign)), tmp_path / "book"
    killed = writing(book, then="kill -9 $$")
    left = runner.run_under(lease, "f", killed, target=page(lease), expected=ENTRY)
    assert (left.state, left.reason) == ("unknown", "exit code -9")
    assert left.operation is not None
    key = left.operation.key
    Worker(campaign.connect()).release(lease, reason="going home")

    second, other = leased(campaign, "rival"), EffectRunner(pages(campaign, "rival"))
    with pytest.raises(errors.OperationOpen):
        other.run_under(second, "f", writing(book), target=page(lease), expected=ENTRY)

    def look(operation: Operation) -> Completed:
        return Completed(read_back={"is_written": operation.key in book.read_text()})

    with pytest.raises(errors.NotHolder):
        other.recover(key, look, lease=lease)
    done = other.recover(key, look, lease=second)
    assert done.state == "resolved"
    assert done.operation is not None
    assert done.operation.operation_state == "completed"
    assert book.read_text() == key

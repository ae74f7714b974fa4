"""Requests to a server of our own that does what it is asked and loses its acknowledgements."""

from __future__ import annotations

import socket
from contextlib import closing
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from fencepost.operations import (
    Completed,
    EffectRunner,
    Failed,
    InvalidArgument,
    StillUnknown,
    Unknown,
)
from fencepost.operations.http import HttpEffects

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fencepost.operations import Context, Operation, Store
    from tests.pytest.operations.bank import Bank


@pytest.fixture
def effects(store: Store) -> Iterator[HttpEffects]:
    with httpx.Client(timeout=10, trust_env=False) as client:
        yield HttpEffects(EffectRunner(store), client)


def pay(effects: HttpEffects, bank: Bank, key: str = "k", **options: Any) -> Any:
    def on_response(response: httpx.Response, _: Context) -> Completed | Unknown:
        if response.status_code in {200, 201}:
            return Completed(result=response.json())
        return Unknown(reason=f"status {response.status_code}")

    given = {"method": "POST", "url": f"{bank.url}/payments", "request": {"json": {"amount": 5}}}
    return effects.run(key, "f", on_response=on_response, **(given | options))


def on_status(response: httpx.Response, operation: Operation) -> Any:
    if response.status_code == 200:
        return Completed(result=response.json(), reason=f"found {operation.key}")
    if response.status_code == 404:
        return Failed(reason="not booked")
    return StillUnknown(reason=f"status {response.status_code}")


def recover(effects: HttpEffects, bank: Bank, key: str = "k") -> Any:
    return effects.recover(key, url=lambda key: f"{bank.url}/payments/{key}", on_status=on_status)


def test_a_request_carries_its_key_and_is_sent_once(effects: HttpEffects, bank: Bank) -> None:
    assert pay(effects, bank).result == {"booked": "k"}
    assert pay(effects, bank).state == "replayed"
    assert bank.requests == [("POST", "k")]


def test_a_lost_acknowledgement_is_unknown_and_found_out_by_asking(
    effects: HttpEffects, bank: Bank
) -> None:
    bank.drop = True
    ended = pay(effects, bank)
    assert (ended.state, bank.booked) == ("unknown", {"k": {"amount": 5}})
    bank.drop = False
    assert pay(effects, bank).state == "unknown"
    assert bank.requests == [("POST", "k")]
    done = recover(effects, bank)
    assert (done.state, done.operation.result) == ("resolved", {"amount": 5})
    assert pay(effects, bank).result == {"amount": 5}
    assert bank.requests == [("POST", "k"), ("GET", "k")]


def test_what_was_not_booked_is_found_out_too(effects: HttpEffects, bank: Bank) -> None:
    bank.drop = True
    pay(effects, bank)
    del bank.booked["k"]
    done = recover(effects, bank)
    assert (done.operation.operation_state, done.operation.reason) == ("failed", "not booked")


def test_a_status_says_nothing_by_itself(effects: HttpEffects, bank: Bank) -> None:
    bank.status = 503
    assert pay(effects, bank).reason == "status 503"
    assert bank.requests == [("POST", "k")]


def test_where_nobody_listens_nothing_was_sent(effects: HttpEffects, bank: Bank) -> None:
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))  # and does not listen
        ended = pay(effects, bank, url=f"http://127.0.0.1:{free.getsockname()[1]}/payments")
    assert ended.state == "failed"
    assert ended.reason.startswith("nothing was sent: ConnectError")


def test_where_nobody_can_be_asked_it_stays_unknown(effects: HttpEffects, bank: Bank) -> None:
    bank.drop = True
    pay(effects, bank)
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        with pytest.raises(httpx.ConnectError):
            effects.recover(
                "k", url=f"http://127.0.0.1:{free.getsockname()[1]}/", on_status=on_status
            )
    assert pay(effects, bank).state == "unknown"


def test_a_redirect_is_not_followed(effects: HttpEffects, bank: Bank) -> None:
    ended = pay(effects, bank, url=f"{bank.url}/moved")
    assert (ended.state, ended.reason, bank.booked) == ("unknown", "status 307", {})


def test_the_key_is_not_the_callers_to_set(effects: HttpEffects, bank: Bank) -> None:
    with pytest.raises(InvalidArgument):
        pay(effects, bank, request={"headers": {"idempotency-key": "mine"}, "json": {}})
    assert bank.requests == []


def test_other_headers_go_along(effects: HttpEffects, bank: Bank) -> None:
    ended = pay(effects, bank, request={"headers": {"X-Reason": "r"}, "json": {"amount": 1}})
    assert ended.state == "completed"


@pytest.mark.parametrize("key", ["ß", "a\nb", " a", "a\x7f"])
def test_a_key_that_no_header_takes_is_not_claimed(
    effects: HttpEffects, bank: Bank, store: Store, key: str
) -> None:
    with pytest.raises(InvalidArgument):
        pay(effects, bank, key)
    assert list(store.iter_operations()) == []


def test_a_request_that_cannot_be_made_is_not_claimed(
    effects: HttpEffects, bank: Bank, store: Store
) -> None:
    with pytest.raises(httpx.InvalidURL):
        pay(effects, bank, url="http://bank:no")
    with pytest.raises(TypeError):
        pay(effects, bank, request={"json": object()})
    assert store.get("k") is None

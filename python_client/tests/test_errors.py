"""The tree of exceptions, and that its picture is true."""

from __future__ import annotations

import re

import pytest

import fencepost
from fencepost import Lease, Receipt, errors
from fencepost.errors import KernelError, Misuse, RaisedError, Refused, Retry, refusal


def test_every_class_is_in_the_docstring_and_in_the_package() -> None:
    drawn = set(re.findall(r"[├└]── (\w+)", errors.__doc__ or ""))
    leaves = {known.__name__ for known in KernelError.by_code.values()}
    assert leaves <= drawn
    assert drawn - leaves == {
        "ConnectionBusy",
        "KernelUnfit",
        "ServerUnreachable",
        "KernelError",
        "Refused",
        "Misuse",
        "Retry",
    }
    assert drawn <= set(fencepost.__all__)


def test_a_code_belongs_to_one_kind() -> None:
    for code, known in KernelError.by_code.items():
        assert known.code == code
        assert issubclass(known, Misuse) == code.startswith("KN")
        assert issubclass(known, Retry) == bool(re.fullmatch(r"[0-9]{2}\w{3}", code))
        assert issubclass(known, Refused) != issubclass(known, RaisedError)


@pytest.mark.parametrize("outcome", [c for c in KernelError.by_code if c.islower()])
def test_a_refusal_carries_its_receipt(outcome: str) -> None:
    error = refusal(Receipt(outcome=outcome, message="because"))
    assert type(error) is KernelError.by_code[outcome]
    assert error.receipt.outcome == outcome
    assert str(error) == "because"


def test_an_outcome_of_a_later_kernel_is_still_a_refusal() -> None:
    error = refusal(Receipt(outcome="not_thought_of_yet"))
    assert type(error) is Refused
    assert str(error) == "not_thought_of_yet"


def test_the_token_is_not_shown() -> None:
    assert "token" not in Lease.__repr__.__name__
    shown = {field.name for field in Lease.__dataclass_fields__.values() if field.repr}
    assert "token" not in shown


def test_an_outcome_that_this_client_does_not_know_has_its_code() -> None:
    error = refusal(Receipt(outcome="newer", message="because"))
    assert type(error) is Refused
    assert error.code == "newer"

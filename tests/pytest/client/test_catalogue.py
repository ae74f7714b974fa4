"""The client's exceptions and records are the database's catalogue and types."""

from __future__ import annotations

import re
from dataclasses import fields
from typing import TYPE_CHECKING

import pytest

from fencepost import Assignment, Bundle, Lease, Receipt
from fencepost.errors import KernelError, Misuse, Refused, Retry

if TYPE_CHECKING:
    from tests.pytest.conftest import Superuser

KINDS = {"outcome": Refused, "misuse": Misuse, "retry": Retry}


def test_every_answer_has_its_class_and_every_class_its_answer(
    database: str, superuser: Superuser
) -> None:
    listed = (
        superuser(database)
        .execute("select code, kind, name from ledger.answer where code <> 'ok'")
        .fetchall()
    )
    assert {row[0] for row in listed} == set(KernelError.by_code)
    for code, kind, name in listed:
        known = KernelError.by_code[code]
        assert issubclass(known, KINDS[kind])
        assert re.sub(r"(?<!^)(?=[A-Z])", "_", known.__name__).lower() == name


@pytest.mark.parametrize(
    ("kind", "own"),
    [
        (Receipt, set[str]()),
        (Lease, {"token", "runs_out_at"}),
        (Assignment, set[str]()),
        (Bundle, set[str]()),
    ],
)
def test_a_record_has_the_fields_of_its_type(
    database: str, superuser: Superuser, kind: type[Receipt], own: set[str]
) -> None:
    listed = superuser(database).execute(
        """
        select attname from pg_catalog.pg_attribute
        where attrelid = format('kernel.%%I', %s::text)::regclass and attnum > 0
        """,
        (kind.__name__.lower(),),
    )
    columns = {"campaign_class" if row[0] == "class" else row[0] for row in listed}
    assert {field.name for field in fields(kind)} - own == columns

"""The client's exceptions and records are the database's catalogue and types."""

from __future__ import annotations

import inspect
import re
from dataclasses import fields
from typing import TYPE_CHECKING

import pytest

from fencepost import (
    Assignment,
    AsyncCollector,
    AsyncReaper,
    AsyncVerifier,
    AsyncWorker,
    Bundle,
    Checkpoint,
    Collector,
    Lease,
    Reaper,
    Receipt,
    Verifier,
    Worker,
)
from fencepost.async_connection import AsyncLink
from fencepost.async_doorbell import AsyncDoorbell
from fencepost.async_lease_keeper import AsyncLeaseKeeper
from fencepost.connection import Link
from fencepost.doorbell import Doorbell
from fencepost.errors import KernelError, Misuse, Refused, Retry
from fencepost.lease_keeper import LeaseKeeper
from fencepost.operations import Store
from fencepost.server_log import Denial

if TYPE_CHECKING:
    from tests.pytest.conftest import Superuser

ROLES = {
    "worker": (Worker, AsyncWorker),
    "verifier": (Verifier, AsyncVerifier),
    "reaper": (Reaper, AsyncReaper),
}
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
        (Checkpoint, set[str]()),
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


@pytest.mark.parametrize("duty", ROLES)
def test_every_function_that_a_role_may_call_is_a_method_with_its_arguments(
    database: str, superuser: Superuser, duty: str
) -> None:
    """Taken from the grants, so that a new function cannot be forgotten here."""
    granted = (
        superuser(database)
        .execute(
            """
            select p.proname, p.proargnames[:p.pronargs]
            from pg_catalog.pg_proc as p
            where p.pronamespace = 'kernel'::regnamespace
              and has_function_privilege(%s, p.oid, 'execute')
            """,
            (f"fencepost_{duty}",),
        )
        .fetchall()
    )
    assert len(granted) > 5
    operations = {
        name
        for _, method in inspect.getmembers(Store, inspect.isfunction)
        for name in re.findall(r"kernel\.(\w+)``", inspect.getdoc(method) or "")
    }
    for role in ROLES[duty]:
        for name, parameters in granted:
            if name in operations:
                continue
            method = getattr(role, name, None)
            assert method is not None, f"{role.__name__} has no {name}"
            assert f"kernel.{name}``" in (inspect.getdoc(method) or "")
            taken = set(inspect.signature(method).parameters)
            asked = {parameter.removeprefix("p_") for parameter in parameters or ()}
            if "lease" in taken:
                asked -= {"class", "campaign_id", "generation", "token"}
            if "label" in asked:
                asked.remove("label")  # the constructor's
                assert "label" in inspect.signature(role).parameters
            asked = {"campaign_class" if name == "class" else name for name in asked}
            assert asked <= taken, f"{role.__name__}.{name} does not take {asked - taken}"


def test_a_collector_reports_all_that_the_function_takes(
    database: str, superuser: Superuser
) -> None:
    """Many at once, each with a field for every parameter; and it may call nothing beside."""
    granted = (
        superuser(database)
        .execute(
            """
            select p.proname, p.proargnames
            from pg_catalog.pg_proc as p
            where p.pronamespace = 'kernel'::regnamespace
              and has_function_privilege('fencepost_collector', p.oid, 'execute')
            order by p.proname
            """
        )
        .fetchall()
    )
    taken = [f"p_{field.name}" for field in fields(Denial)]
    assert granted == [("api_version", None), ("report_denial", taken)]
    for role in (Collector, AsyncCollector):
        assert "kernel.report_denial``" in (inspect.getdoc(role.report_denials) or "")


@pytest.mark.parametrize(("plain", "waiting"), [*ROLES.values(), (Collector, AsyncCollector)])
def test_the_async_classes_have_the_same_surface(
    plain: type[object], waiting: type[object]
) -> None:
    """The one is made of the other: tests/pytest/tools/test_generate_sync.py."""

    def surface(role: type[object]) -> dict[str, str]:
        return {
            name: str(inspect.signature(method)).replace("Async", "")
            for name, method in inspect.getmembers(role, inspect.isfunction)
        }

    assert surface(plain) == surface(waiting)
    for name, method in inspect.getmembers(waiting, inspect.isfunction):
        assert inspect.iscoroutinefunction(method) != name.startswith("_")


@pytest.mark.parametrize(
    ("plain", "waiting", "own"),
    [
        (Link, AsyncLink, set[str]()),
        (Doorbell, AsyncDoorbell, set[str]()),
        # A thread that works is told, and looks itself; a task is cancelled.
        (LeaseKeeper, AsyncLeaseKeeper, {"check", "LOST"}),
    ],
)
def test_what_waits_in_the_background_has_both_forms(
    plain: type[object], waiting: type[object], own: set[str]
) -> None:
    def surface(kind: type[object]) -> set[str]:
        return {name for name in vars(kind) if not name.startswith("_")}

    assert surface(waiting) == surface(plain) - own
    assert own <= surface(plain)

"""Faults of the original that no other test of this folder shows to be gone.

docs/explanation/operations.md lists all of them, each with the test that shows it.
"""

from __future__ import annotations

from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

from fencepost import errors
from fencepost.operations import Adapter, ClaimStatus, InvalidArgument, Store, formatted
from tests.pytest.operations.conftest import KIND, TARGET

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tests.pytest.operations.conftest import Office

SECOND = timedelta(seconds=1)

MANY = """
with made as (
    select o.operation_key, gen_random_uuid() as token
    from (select format('many %%s', n) as operation_key from generate_series(1, %(count)s) as n)
        as o
),
begun as (
    select m.token, (kernel.begin_operation(
        p_class => %(class)s, p_operation_token => m.token, p_kind => %(kind)s,
        p_target => %(target)s, p_fingerprint => 'f', p_key => m.operation_key
    )).operation_key
    from made as m
)
select count(*) from (
    select kernel.complete_operation(%(class)s, b.operation_key, b.token) from begun as b
) as done
"""


@pytest.fixture
def catalogue(office: Office) -> Iterator[psycopg.Connection[Any]]:
    """Yield the superuser's connection, which may read what the catalogue says."""
    with closing(psycopg.connect(dbname=office.database, autocommit=True)) as connection:
        yield connection


def test_no_function_takes_a_time_of_the_callers(catalogue: psycopg.Connection[Any]) -> None:
    """D01: a lease is a length, and its end is the server's to say."""
    found = catalogue.execute(
        """
        select p.proname, p.proargnames[a.position::integer]
        from pg_catalog.pg_proc as p
        cross join unnest(p.proargtypes::oid[]) with ordinality as a (kind, position)
        where p.pronamespace = 'kernel'::regnamespace
          and p.proname ~ 'operation'
          and a.kind = any ('{timestamptz,timestamp,date,bigint}'::regtype[]::oid[])
        order by 1, 2
        """
    ).fetchall()
    # A page's cursor is the one; the others are numbers of a campaign.
    assert {row for row in found if not str(row[1]).startswith(("p_campaign", "p_gener"))} == {
        ("list_operations", "p_after_at")
    }


def test_what_is_past_its_lease_can_still_be_called_unknown(office: Office) -> None:
    """D04: nobody has taken it, so its owner's word counts, however late."""
    store = office.store()
    claim = store.claim("k", "f", lease_for=SECOND)
    store.start(claim)
    office.outlive(claim)
    assert store.mark_unknown(claim, "cancelled").operation_state == "unknown"
    assert store.history("k")[-1].is_late


def test_pruning_goes_from_the_oldest_on_and_says_how_far(office: Office) -> None:
    """D07: what cannot be removed at once is removed by the next call."""
    store, reaper = office.store(), office.store("reaper")
    keys = ["z", "m", "a"]
    for key in keys:
        store.complete(store.claim(key, "f"))
    for wanted in (keys[1:], keys[2:], []):
        done = reaper.prune(batch=1, max_batches=1)
        assert (done.removed, done.is_more) == (1, True)
        assert {each.key for each in store.iter_operations()} == set(wanted)
    last = reaper.prune(batch=1)
    assert (last.removed, last.is_more) == (0, False)


@pytest.mark.parametrize("reason", ["", " ", "\u00a0\ufeff\t"])
def test_no_row_can_say_a_blank_reason(store: Store, reason: str) -> None:
    """D08: so no row is there that stops what comes after it."""
    claim = store.claim("k", "f")
    with pytest.raises(InvalidArgument):
        store.fail(claim, reason)
    with pytest.raises(InvalidArgument):
        store.mark_unknown(claim, reason)
    with pytest.raises(InvalidArgument):
        store.claim("another", reason)
    found = store.get("k")
    assert found is not None
    assert found.operation_state == "pending"


def test_any_number_is_pruned_by_one_statement(office: Office) -> None:
    """D09: however many there are."""
    with closing(office.connect()) as connection, connection.transaction():
        connection.execute(
            MANY,
            {"count": 500, "class": office.campaign_class, "kind": KIND, "target": TARGET},
        )
    sent: list[str] = []
    reaper = office.connect("reaper", autocommit=True)

    class Counting:
        def query(self, text: str, values: Sequence[Any], /) -> Any:
            sent.append(text)
            return reaper.execute(text.encode(), values).fetchall()

    store = Adapter(Counting(), office.campaign_class, placeholders=formatted)
    assert store.prune(batch=5000).removed == 500
    assert len(sent) == 1


@pytest.mark.parametrize(
    "lease_for",
    [timedelta(0), -SECOND, timedelta(microseconds=1), timedelta(days=4000), timedelta.max],
    ids=str,
)
def test_a_lease_out_of_bounds_is_said_to_be_one(store: Store, lease_for: timedelta) -> None:
    """D13: by an error of the kernel's own, before anything is written."""
    with pytest.raises(errors.ArgumentOutOfRange):
        store.claim("k", "f", lease_for=lease_for)
    assert store.get("k") is None


def test_a_fraction_of_a_second_is_a_length_like_any_other(store: Store) -> None:
    """D13."""
    claim = store.claim("k", "f", lease_for=timedelta(seconds=1.234567))
    before, after = claim.operation.updated_at, claim.operation.lease_expires_at
    assert before is not None
    assert after is not None
    assert after - before == timedelta(seconds=1.234567)


def test_what_is_too_long_is_said_to_be(store: Store) -> None:
    """D14: in bytes, and before it reaches an index."""
    assert store.claim("ß" * 256, "f").is_owner
    for key, fingerprint in (("k" * 513, "f"), ("ß" * 257, "f"), ("k", "f" * 201)):
        with pytest.raises(errors.ArgumentTooLong):
            store.claim(key, fingerprint)
    claim = store.claim("k", "f")
    with pytest.raises(errors.ArgumentTooLong):
        store.fail(claim, "r" * 4097)
    with pytest.raises(errors.ArgumentTooLong):
        store.complete(claim, "x" * 65536)
    assert store.complete(claim).operation_state == "completed"


@pytest.mark.parametrize("key", ["", " \ufeff", "a\x00", "\ud800"])
def test_a_key_that_no_text_can_hold_is_not_sent(store: Store, key: str) -> None:
    """D14."""
    with pytest.raises(InvalidArgument):
        store.claim(key, "f")


def test_a_key_of_the_kernels_own_is_refused(store: Store) -> None:
    """D14."""
    with pytest.raises(errors.ArgumentMalformed):
        store.claim("fencepost:0", "f")


def test_a_dead_claim_blocks_its_key_no_longer_than_its_lease(office: Office) -> None:
    """D18: also for somebody who wants something else with the key."""
    store, reaper = office.store(), office.store("reaper")
    store.claim("k", "wrong", lease_for=SECOND)
    assert store.claim("k", "right").status is ClaimStatus.CONFLICT
    while not store.claim("k", "right").is_owner:
        reaper.expire()


def test_what_is_stuck_is_found_by_its_state_and_age(
    office: Office, catalogue: psycopg.Connection[Any]
) -> None:
    """D20: through an index; alerts need no scan."""
    store = office.store()
    store.claim("stuck", "f", lease_for=SECOND)
    store.mark_unknown(store.claim("unknown", "f"), "r")
    assert [each.key for each in store.iter_operations("pending")] == ["stuck"]
    assert [each.key for each in store.iter_operations("unknown")] == ["unknown"]
    with catalogue.transaction():
        catalogue.execute("set local enable_seqscan = off")
        plan = catalogue.execute(
            """
            explain select from ledger.operation as o
            where o.class = 'c' and o.state = 'unknown' and (o.updated_at, o.operation_key)
                > ('-infinity', '')
            order by o.updated_at, o.operation_key limit 100
            """
        ).fetchall()
    assert any("operation_state_ix" in str(row[0]) for row in plan), plan
    assert not any("Sort" in str(row[0]) for row in plan), plan


@pytest.mark.parametrize("name", ["worker", "rival", "reaper", "admin"])
@pytest.mark.parametrize(
    "statement",
    [
        "select from ledger.operation",
        "update ledger.operation set state = 'completed'",
        "delete from ledger.operation",
        "insert into ledger.operation_event default values",
    ],
)
def test_nobody_reaches_a_row_but_by_the_functions(
    office: Office, name: str, statement: str
) -> None:
    """D26."""
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        office.connect(name).execute(statement.encode())


def test_who_did_it_is_the_session_and_not_what_it_calls_itself(office: Office) -> None:
    """D26: an owner's id that the caller makes up is a label."""
    store = office.store(label="somebody else")
    store.complete(store.claim("k", "f"), 1)
    found = store.get("k")
    assert found is not None
    assert (found.principal, found.label) == (office.people["worker"].name, "somebody else")
    assert {step.by_principal for step in store.history("k")} == {office.people["worker"].name}


def test_keys_are_compared_by_their_bytes_whatever_the_database_does(
    catalogue: psycopg.Connection[Any],
) -> None:
    """D28: and so is every index and every page over them."""
    found = catalogue.execute(
        """
        select distinct a.attrelid::regclass::text, c.collname
        from pg_catalog.pg_attribute as a
        join pg_catalog.pg_collation as c on c.oid = a.attcollation
        where a.attname = 'operation_key'
          and a.attrelid in (
              select r.oid from pg_catalog.pg_class as r
              where r.relnamespace = 'ledger'::regnamespace and r.relkind in ('r', 'i')
          )
        """
    ).fetchall()
    assert {row[1] for row in found} == {"C"}
    assert len(found) >= 4


PROJECT = Path(__file__).resolve().parents[3]


def test_every_fault_is_accounted_for() -> None:
    """The page lists each of them, and every test that it names is there."""
    import re

    text = (PROJECT / "docs/explanation/operations.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| D(\d\d) \|", text, re.MULTILINE)
    assert listed == [f"{number:02}" for number in range(1, 30)]
    named = re.findall(r"`((?:tests|python_client)/[\w/.-]+)(?:::(\w+))?`", text)
    assert len(named) > 29
    for path, test in named:
        source = (PROJECT / path).read_text(encoding="utf-8")
        assert not test or f"def {test}(" in source, f"{path} has no {test}"

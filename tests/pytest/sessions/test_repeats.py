"""Every function of schema kernel, called again with the same arguments, writes nothing more.

Whoever did not hear the answer makes the call again: in the same transaction or in another one. Of
each function, as the catalogue has them, that is done with a call that is carried out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from psycopg import sql

from tests.pytest.conftest import copy_database
from tests.pytest.sessions.legal import Legal, Said

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.pytest.conftest import Connection, Superuser
    from tests.pytest.sessions.conftest import Ledger

# What a repeat writes, and why that is right: nothing else writes anything.
WRITES_AGAIN = {
    "renew": ("campaign", "the lease lasts as long from the repeat on, for whoever still works"),
    "renew_operation": ("operation", "likewise"),
    "checkpoint": ("checkpoint", "it says what was logged until then, also where that is nothing"),
}
# What removes or ends only what is old, of which there is nothing here.
FINDS_NOTHING = {"expire_operations", "prune", "prune_operations"}
# Other arguments than those of the legal call, where that would find everything done already.
INSTEAD = {
    "authorise": {"p_kind": "http.put"},
    "enrol": {"p_class": "spare"},
    "renew": {"p_lease_for": "1 hour"},
    "renew_operation": {"p_lease_for": "1 hour"},
    "resume": {"p_class": "spare"},
}

Rows = dict[str, set[tuple[str, str]]]


def rows(connection: Connection) -> Rows:
    """Return every row of the ledger as the connection sees it, and where it stands.

    A row that is written anew stands somewhere else, even if it says the same.
    """
    tables = connection.execute(
        "select c.relname from pg_class as c "
        "where c.relnamespace = 'ledger'::regnamespace and c.relkind = 'r'"
    ).fetchall()
    return {
        name: {
            (row[0], row[1])
            for row in connection.execute(
                sql.SQL("select t.ctid::text, to_jsonb(t)::text from ledger.{} as t").format(
                    sql.Identifier(name)
                )
            )
        }
        for (name,) in tables
    }


def written(before: Rows, after: Rows) -> set[str]:
    """Return the tables in which something is other than it was."""
    return {name for name in after if before[name] != after[name]}


def complaints(legal: Legal, function: str, *, together: bool) -> Iterator[str]:
    """Make a function's legal call twice, in one transaction or in two; yield what is wrong."""
    duty = legal.duty[function]
    connection = legal.connection(duty)
    how = f"{function} {'in one transaction' if together else 'in two transactions'}"

    def call() -> tuple[Said, Rows]:
        said = legal.call(function, duty, legal.arguments(function, **INSTEAD.get(function, {})))
        if not together:
            legal.end(duty, "commit")
        return said, rows(connection)

    before = rows(connection)
    first, once = call()
    second, twice = call()
    legal.end(duty)

    if first.code not in {"ok", "answered"}:
        yield f"{how} is not carried out: {first}"
    if second.code not in {"ok", "answered"}:
        yield f"{how} is not answered again: {second}"
    again = written(once, twice)
    expected = {WRITES_AGAIN[function][0]} if function in WRITES_AGAIN else set()
    if again != expected:
        yield f"{how} writes again: {again}"
    if written(before, once) and second.code == "ok" and not again and not second.is_duplicate:
        yield f"{how} is not known again: {second}"
    says = "\nWrites\n" in legal.functions[function].comment
    if bool(written(before, once)) is not (says and function not in FINDS_NOTHING):
        yield f"{how} writes, the first time: {written(before, once)}"


def test_a_repeated_call_writes_nothing_more(
    ledger: Ledger, maintenance: Connection, superuser: Superuser
) -> None:
    legal = Legal(ledger)
    ledger.admin.done("pause", p_class="spare")
    source = ledger.database
    god = superuser(source)
    for duty in set(legal.duty.values()):
        name = sql.Identifier(ledger.person(duty).name)
        god.execute(sql.SQL("grant usage on schema ledger to {}").format(name))
        god.execute(sql.SQL("grant select on all tables in schema ledger to {}").format(name))
    ledger.close()
    maintenance.execute(
        "select pg_terminate_backend(a.pid) from pg_stat_activity as a where a.datname = %s",
        (source,),
    )

    found: list[str] = []
    copy = f"{source}_again"
    for function in legal.functions:
        copy_database(maintenance, source, copy)
        legal.elsewhere(copy)
        found += complaints(legal, function, together=True)
        found += complaints(legal, function, together=False)
        legal.elsewhere(source)
        maintenance.execute(sql.SQL("drop database {} with (force)").format(sql.Identifier(copy)))

    assert found == [], "\n".join(found)

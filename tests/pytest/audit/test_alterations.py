"""Whatever is altered of the boundary, the audit names it, and its remedy mends it."""

from __future__ import annotations

import re
from collections import Counter
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from psycopg import sql

from tests.pytest.audit.alterations import ALTERATIONS, NEUTRAL, SETTING, Alteration
from tests.pytest.conftest import PROJECT, copy_database

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.pytest.conftest import Connection

Findings = Counter[tuple[str, str, str, str]]
"""Rule, object, what was found, remedy."""

VISIBLE = {
    alteration.rule: alteration
    for alteration in ALTERATIONS
    if not alteration.rule.startswith(("probes/", "roles/password"))
}
"""For each rule whose answer takes no superuser, one alteration."""


@pytest.fixture(scope="module")
def shared(maintenance: Connection, template: str) -> Iterator[str]:
    """Yield a copy of the template; what a test does to it is rolled back."""
    name = f"{template}_audited"
    copy_database(maintenance, template, name)
    yield name
    maintenance.execute(sql.SQL("drop database {} with (force)").format(sql.Identifier(name)))


def skip_unless(alteration: Alteration, major: int) -> None:
    """Skip the test where the server refuses the alteration."""
    if not alteration.major <= major <= alteration.last:
        pytest.skip(f"from {alteration.major} to {alteration.last} only")


@contextmanager
def altered(database: str, *statements: str) -> Iterator[Connection]:
    """Yield a superuser's transaction in which *statements* were carried out."""
    with psycopg.connect(dbname=database) as connection:
        for statement in (SETTING, *statements):
            connection.execute(statement.replace("{database}", database).encode())
        yield connection
        connection.rollback()


def findings(audit: Any, connection: Connection, rules: list[Any]) -> Findings:
    """Return what the audit finds in the present transaction."""
    report, statements = audit.examine(connection, rules)
    audit.probe(connection, report, statements)
    connection.execute("reset search_path")
    assert report.failed == []
    return Counter((f.rule.id, f.object, f.found, f.remedy) for f in report.findings)


@pytest.fixture(scope="module")
def before(audit: Any, shared: str) -> Findings:
    """Return what is found before anything was altered."""
    with altered(shared) as connection:
        return findings(audit, connection, audit.chosen([]))


def mend(connection: Connection, remedy: str) -> None:
    """Do what a remedy says, within the present transaction, as psql would."""
    lines = []
    for line in remedy.splitlines():
        if script := re.fullmatch(r"\\i (.+)", line):
            lines += (PROJECT / script[1]).read_text().splitlines()
        elif role := re.fullmatch(r"\\password (.+)", line):
            lines.append(f"alter role {role[1]} password 'another'")
        elif line.startswith(("\\! ", "\\setenv ")):
            continue  # another session's, which comes when this one has committed
        else:
            lines.append(line)
    script_text = "\n".join(line for line in lines if line not in {"begin;", "commit;", "commit"})
    connection.execute("set local search_path = pg_catalog, pg_temp")
    connection.execute(script_text.encode())
    connection.execute("reset role")
    connection.execute("reset search_path")


@pytest.mark.parametrize("alteration", ALTERATIONS, ids=str)
def test_an_alteration_is_found_and_its_remedy_mends_it(
    alteration: Alteration, audit: Any, shared: str, before: Findings, major: int
) -> None:
    skip_unless(alteration, major)
    named = alteration.object.replace("{database}", shared)

    rules = audit.chosen([])
    if not alteration.rule.startswith("probes/"):
        rules = [rule for rule in rules if not rule.is_probe]  # they take half of the time

    with altered(shared, alteration.statement) as connection:
        after = findings(audit, connection, rules) - before
        of_this = [each for each in after if each[:2] == (alteration.rule, named)]
        assert of_this, sorted(each[:3] for each in after)

        for _, _, _, remedy in sorted(of_this):
            mend(connection, remedy)
        left = findings(audit, connection, audit.chosen([alteration.rule]))
        assert [each for each in left - before if each[:2] == (alteration.rule, named)] == []


@pytest.mark.parametrize("alteration", VISIBLE.values(), ids=str)
def test_an_alteration_is_found_by_who_is_no_superuser(
    alteration: Alteration, audit: Any, shared: str, before: Findings, major: int
) -> None:
    skip_unless(alteration, major)
    named = alteration.object.replace("{database}", shared)

    with altered(
        shared, alteration.statement, "set local session authorization deployer"
    ) as connection:
        after = findings(audit, connection, audit.chosen([alteration.rule])) - before

    assert (alteration.rule, named) in {each[:2] for each in after}


@pytest.mark.parametrize("statement", NEUTRAL.values(), ids=NEUTRAL)
def test_what_changes_nothing_is_not_reported(
    statement: str, audit: Any, shared: str, before: Findings
) -> None:
    with altered(shared, statement) as connection:
        assert findings(audit, connection, audit.chosen([])) - before == Counter()


@pytest.mark.parametrize(
    "rule",
    [
        "database/others",
        "roles/deployer",
    ],
)
def test_what_a_fresh_deployment_leaves_open_has_a_remedy_that_closes_it(
    rule: str, audit: Any, shared: str, before: Findings
) -> None:
    found = [each for each in before if each[0] == rule]
    assert found

    with altered(shared) as connection:
        for _, _, _, remedy in found:
            mend(connection, remedy)
        assert findings(audit, connection, audit.chosen([rule])) == Counter()


def test_a_table_that_was_written_anew_is_told_from_one_that_was_written(
    audit: Any, shared: str
) -> None:
    """Nothing else is left of it, and no statement undoes it."""
    rules = audit.chosen(["tables/rewritten"])
    using = "alter table ledger.origin alter column deployed_by type {} using 'another'"
    with altered(shared, "update ledger.target set location = location") as connection:
        assert findings(audit, connection, rules) == Counter()
        ((kind,),) = connection.execute(
            "select format_type(atttypid, atttypmod) from pg_attribute"
            " where attrelid = 'ledger.origin'::regclass and attname = 'deployed_by'"
        ).fetchall()
        connection.execute(using.format(kind).encode())

        (found,) = findings(audit, connection, rules)
        others = findings(audit, connection, audit.chosen(["tables/column", "tables/storage"]))

    assert found[:2] == ("tables/rewritten", "ledger.origin")
    assert found[3].startswith("-- ")
    assert 'kernel."check"' in found[3]
    assert others == Counter()


def test_every_rule_is_seen_to_find_something(audit: Any) -> None:
    text = "".join(path.read_text() for path in Path(__file__).parent.glob("test_*.py"))
    broken = {alteration.rule for alteration in ALTERATIONS}

    assert len(broken) > 40
    unseen = {rule.id for rule in audit.chosen([])} - broken
    assert {name for name in unseen if f'"{name}"' not in text} == set()

"""A name is shown and never obeyed: no terminal, no TAP harness and no shell takes it for its own.

Objects, roles and databases are named by whoever may make them. What an audit says of them is read
in a terminal by somebody with more rights.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import unicodedata
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from psycopg import sql

from tests.pytest.conftest import PROJECT, copy_database

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.pytest.conftest import Connection

ODD = "\x1b[2J\r\nok 1 - x\x07\x9b\u202e\u2028\\\"'"
"""ESC, CR, LF, BEL, C1's CSI, a bidi override, a line separator, and what quotes."""
SHOWN = r"\u{1b}[2J\u{d}\u{a}ok 1 - x\u{7}\u{9b}\u{202e}\u{2028}"
TABLE, ROLE, DATABASE = (f"{kind}{ODD}" for kind in ("table", "role", "base"))

FOUND = {
    "tables/unexpected",
    "tables/unexpected_index",
    "grants/relation",
    "functions/unexpected",
    "functions/extra_grantee",
    "database/temporary",
    "probes/read",
    "probes/create",
}


@pytest.fixture(scope="module")
def odd(maintenance: Connection, template: str) -> Iterator[str]:
    """Yield the name of a database in which everything wrong has an odd name."""
    copy_database(maintenance, template, DATABASE)
    with psycopg.connect(dbname=DATABASE) as hand:
        hand.execute(
            sql.SQL(
                "create role {role} login; grant fencepost_worker to {role};"
                "create table ledger.{table} (one integer);"
                "create index {index} on ledger.seat (class);"
                "create statistics ledger.{table} on class, seat_no from ledger.seat;"
                "create function kernel.{table}() returns integer language sql as 'select 1';"
                "revoke execute on function kernel.{table}() from public;"
                "grant execute on function kernel.{table}() to {role};"
                "grant select on ledger.campaign, ledger.{table} to {role};"
                "grant usage on schema ledger to {role};"
                "grant connect, temporary on database {database} to {role};"
                # In which most of these names cannot be written.
                "alter database {database} set client_encoding = 'latin1'"
            ).format(
                role=sql.Identifier(ROLE),
                table=sql.Identifier(TABLE),
                index=sql.Identifier(f"index{ODD}"),
                database=sql.Identifier(DATABASE),
            )
        )
    yield DATABASE
    maintenance.execute(sql.SQL("drop database {} with (force)").format(sql.Identifier(DATABASE)))
    maintenance.execute(sql.SQL("drop role {}").format(sql.Identifier(ROLE)))


def dsn(database: str) -> str:
    """Return a connection string that names a database."""
    return psycopg.conninfo.make_conninfo(dbname=database)


def told(database: str, form: str) -> str:
    """Return what an audit says in one form, as the bytes decode that it wrote."""
    done = subprocess.run(
        [sys.executable, "tools/audit", "--dsn", dsn(database), "--format", form],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
        cwd=PROJECT,
    )
    assert done.returncode == 1, done.stdout
    return done.stdout.decode()


def proved(database: str) -> str:
    """Return what psql alone writes of audit/tap.sql."""
    done = subprocess.run(
        ["psql", "-X", "-q", "-d", dsn(database), "-f", "audit/tap.sql"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
        cwd=PROJECT,
    )
    return done.stdout.decode()


def odd_ones(text: str) -> set[str]:
    """Return what a terminal would not show as a character beside the others."""
    return {
        character
        for character in text
        if character != "\n" and unicodedata.category(character) in {"Cc", "Cf", "Zl", "Zp"}
    }


def texts(value: Any) -> Iterator[str]:
    """Yield every text of a document."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from texts(each)
    elif isinstance(value, list):
        for each in value:
            yield from texts(each)


@pytest.mark.parametrize("form", ["text", "tap", "json", "sarif", "psql"])
def test_no_form_writes_what_a_terminal_obeys(form: str, odd: str) -> None:
    said = proved(odd) if form == "psql" else told(odd, form)

    assert odd_ones(said) == set()
    if form == "sarif":  # is shown by others, which know nothing of names
        assert odd_ones("".join(texts(json.loads(said)))) == set()
    shown = SHOWN if form in {"text", "tap", "psql"} else json.dumps(SHOWN)[1:-1]
    if form == "json":
        shown = json.dumps(ODD[:-3])[1:-1]  # an identifier doubles what quotes
    for kind in ("table", "role", "base"):
        assert f"{kind}{shown}" in said


@pytest.mark.parametrize("form", ["tap", "psql"])
def test_no_name_is_a_test(form: str, odd: str, audit: Any) -> None:
    said = proved(odd) if form == "psql" else told(odd, form)

    rules = audit.chosen([])
    lines = [line for line in said.splitlines() if not line.startswith("#")]
    assert lines[0] == f"1..{len(rules)}"
    tests = [re.match(r"(?:not )?ok (\d+) - (\S+)", line) for line in lines[1:]]
    assert [int(each[1]) for each in tests if each] == list(range(1, len(rules) + 1))
    assert {each[2] for each in tests if each} == {rule.id for rule in rules}
    assert len(lines) == len(rules) + 1
    failed = {each[2] for each in tests if each and each[0].startswith("not")}
    assert failed >= FOUND


def test_the_json_has_the_names_themselves(odd: str) -> None:
    found = json.loads(told(odd, "json"))

    assert found["database"] == odd
    quoted = '"' + TABLE.replace('"', '""') + '"'
    assert ("tables/unexpected", f"ledger.{quoted}") in {
        (each["rule"], each["object"]) for each in found["findings"]
    }


LEFT = """
select count(*) from (
    select from pg_class
    where relname ~ 'ok 1 - x' or relname = 'campaign' and relacl::text ~ 'ok 1 - x'
    union all
    select from pg_statistic_ext where stxname ~ 'ok 1 - x'
) as l;
"""


@pytest.mark.parametrize("form", ["text", "tap", "sarif", "psql"])
def test_a_remedy_as_shown_mends(form: str, odd: str, tmp_path: Path) -> None:
    """What is shown of the remedy is typed into psql, and names the object that it names."""
    script = tmp_path / "remedies.sql"
    shown = "\n".join(remedies(form, odd))
    script.write_text(f"begin; {LEFT} {shown} {LEFT} rollback;")

    done = subprocess.run(
        ["psql", "-X", "-qAt", "-v", "ON_ERROR_STOP=1", "-d", dsn(odd), "-f", str(script)],
        capture_output=True,
        check=False,
        cwd=PROJECT,
    )

    assert done.stderr == b""
    assert done.stdout == b"4\n0\n"


def remedies(form: str, database: str) -> list[str]:
    """Return the remedies that name the odd table and role, as a form shows them."""
    if form == "sarif":
        (found,) = json.loads(told(database, form))["runs"]
        return [
            each["properties"]["remedy"]
            for each in found["results"]
            if each["ruleId"] in {"tables/unexpected", "tables/unexpected_index", "grants/relation"}
            and "ok 1 - x" in each["message"]["text"]
        ]
    said = proved(database) if form == "psql" else told(database, form)
    lines = [line.lstrip("# ") for line in said.splitlines()]
    return [
        line.rstrip(";") + ";"
        for line in lines
        if re.match("(drop (table|index|statistics)|revoke select on table) ", line)
        and "ok 1 - x" in line
    ]

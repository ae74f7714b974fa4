"""Every linter finds the faults that it is there for: each is planted in a copy of the tree.

The copy has the plan's first part, ``foundation``, and a change for every fault. All faults of one
linter are planted at once; it must name each by its script.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest

if TYPE_CHECKING:
    from collections.abc import Mapping

PROJECT = Path(__file__).resolve().parents[3]


@dataclass(frozen=True)
class Fault:
    """What is planted, and what must be said of it."""

    sql: str
    said: str
    is_whole: bool = False
    """Whether it is all of the script, and not what stands between its head and ``commit``."""
    is_privileged: bool = False
    """Whether it is planted in the superuser's plan."""


def function(body: str, header: str = "set search_path = pg_catalog, pg_temp", **more: str) -> str:
    """Return a function with one statement in its body, and all that ours have beside it."""
    declare = f"declare\n    {more['declare']}\n" if "declare" in more else ""
    return (
        f"create function ledger.planted_NAME({more.get('arguments', '')})\n"
        f"    returns {more.get('returns', 'void')}\n    language {more.get('language', 'plpgsql')}"
        f"\n    {header}\nas $fn$\n{declare}begin\n    {body}\nend\n$fn$;"
    )


DEFINER = "security definer set search_path = "

# -- what the linters of scripts must find ---------------------------------------------------------

SQLFLUFF = {
    "upper_case": Fault("CREATE TABLE ledger.planted (planted_id bigint);", "CP01"),
    "mixed_type": Fault("create table ledger.planted (planted_id BIGINT);", "CP05"),
    "upper_name": Fault("create table ledger.PLANTED (planted_id bigint);", "CP02"),
    "upper_function": Fault("select LOWER('a');", "CP03"),
    "upper_literal": Fault("select TRUE;", "CP04"),
    "no_last_line": Fault("begin;\ncommit;", "LT12", is_whole=True),
    "empty_first_line": Fault("\n\nbegin;\ncommit;\n", "LT13", is_whole=True),
    "long_line": Fault(f"comment on schema ledger is '{'x' * 100}';", "LT05"),
}

SQUAWK = {
    "required_column": Fault(
        "alter table ledger.refusal add column planted bigint not null;", "adding-required-field"
    ),
    "volatile_default": Fault(
        "alter table ledger.refusal add column planted uuid default gen_random_uuid();",
        "adding-field-with-default",
    ),
    "set_not_null": Fault(
        "alter table ledger.refusal alter column message set not null;",
        "adding-not-nullable-field",
    ),
    "drop_not_null": Fault(
        "alter table ledger.refusal alter column class drop not null;", "ban-drop-not-null"
    ),
    "column_type": Fault(
        "alter table ledger.refusal alter column message type bytea using null;",
        "changing-column-type",
    ),
    "renamed_column": Fault(
        "alter table ledger.refusal rename column message to planted;", "renaming-column"
    ),
    "renamed_table": Fault("alter table ledger.refusal rename to planted;", "renaming-table"),
    "dropped_column": Fault("alter table ledger.refusal drop column message;", "ban-drop-column"),
    "dropped_table": Fault("drop table ledger.refusal;", "ban-drop-table"),
    "checked_under_lock": Fault(
        "alter table ledger.refusal add constraint planted check (refusal_no > 0);",
        "constraint-missing-not-valid",
    ),
    "foreign_key_under_lock": Fault(
        "alter table ledger.refusal\n    add constraint planted foreign key (class)"
        " references ledger.class (class);",
        "adding-foreign-key-constraint",
    ),
    "unique_under_lock": Fault(
        "alter table ledger.refusal add constraint planted unique (refusal_no);",
        "disallowed-unique-constraint",
    ),
    "index_under_lock": Fault(
        "create index planted_ix on ledger.refusal (message);", "require-concurrent-index-creation"
    ),
    "dropped_index": Fault("drop index ledger.refusal_ix;", "require-concurrent-index-deletion"),
    "rebuilt_index": Fault("reindex table ledger.refusal;", "require-concurrent-reindex"),
    "domain": Fault(
        "create domain ledger.planted as text check (value <> '');",
        "ban-create-domain-with-constraint",
    ),
    "nested": Fault("begin;", "transaction-nesting"),
    "uncommitted": Fault(
        "begin;\ncreate table ledger.planted (planted_id bigint);\n",
        "ban-uncommitted-transaction",
        is_whole=True,
    ),
    "serial": Fault("create table ledger.planted (planted_id bigserial);", "prefer-identity"),
    "timestamp": Fault("create table ledger.planted (at timestamp);", "prefer-timestamp-tz"),
    "varchar": Fault("create table ledger.planted (label varchar(9));", "prefer-text-field"),
    "char": Fault("create table ledger.planted (label char(9));", "ban-char-field"),
    "truncate_cascade": Fault("truncate ledger.refusal cascade;", "ban-truncate-cascade"),
    "long_name": Fault(
        f"create table ledger.{'planted_' * 9} (planted_id bigint);", "identifier-too-long"
    ),
    "no_schema": Fault("create table planted (planted_id bigint);", "require-table-schema"),
    "dropped_trigger": Fault(
        "drop trigger refusal_10_guard on ledger.refusal;", "ban-drop-trigger"
    ),
    "dropped_constraint": Fault(
        "alter table ledger.refusal drop constraint refusal_pk;", "ban-drop-constraint"
    ),
    "reset_path": Fault(
        "alter function ledger.clock() reset search_path;", "ban-alter-function-options"
    ),
    "owner_who_logs_in": Fault("alter role fencepost_owner login;", "ban-alter-role-options"),
    "view_of_the_caller": Fault(
        "alter view audit.refusals reset (security_barrier);", "ban-alter-view-options"
    ),
    "row_security": Fault(
        "alter table ledger.refusal disable row level security;", "ban-alter-row-level-security"
    ),
    "replica_identity": Fault(
        "alter table ledger.refusal replica identity nothing;", "ban-replica-identity"
    ),
    "moved": Fault("alter table ledger.refusal set schema kernel;", "ban-set-schema"),
    "broken": Fault("create tabel ledger.planted ();", "syntax-error"),
}

PGSPOT = {
    "operator": Fault(function("perform 1 = 1;", f"{DEFINER}''"), "PS001"),
    "replaced_elsewhere": Fault(
        function("null;").replace("create function ledger", "create or replace function elsewhere"),
        "PS002",
    ),
    "definer_without_path": Fault(function("null;", "security definer"), "PS003"),
    "empty_path": Fault(function("null;", f"{DEFINER}''"), "PS004"),
    "path_without_pg_temp": Fault(function("null;", f"{DEFINER}pg_catalog"), "PS004"),
    "pg_temp_first": Fault(function("null;", f"{DEFINER}pg_temp, pg_catalog"), "PS004"),
    "path_into_public": Fault(function("null;", f"{DEFINER}pg_catalog, public, pg_temp"), "PS004"),
    "helper_without_path": Fault(function("null;", ""), "PS005"),
    "aggregate_elsewhere": Fault(
        "create or replace aggregate elsewhere.planted (bigint) (sfunc = int8pl, stype = bigint);",
        "PS007",
    ),
    "case_under_another_path": Fault(
        function("perform case 1 when 1 then 1 end;", f"{DEFINER}''"), "PS009"
    ),
    "transform_elsewhere": Fault(
        "create or replace transform for elsewhere.planted language plpgsql\n"
        "    (from sql with function elsewhere.planted(internal));",
        "PS006",
    ),
    "server_perhaps": Fault(
        "create server if not exists planted foreign data wrapper planted;", "PS013"
    ),
    "schema_perhaps": Fault("create schema if not exists planted;", "PS010"),
    "sequence_perhaps": Fault("create sequence if not exists elsewhere.planted;", "PS011"),
    "table_perhaps": Fault(
        "create table if not exists elsewhere.planted (planted_id bigint);", "PS012"
    ),
    "index_perhaps": Fault(
        "create index if not exists planted_ix on elsewhere.planted (planted_id);", "PS014"
    ),
    "view_elsewhere": Fault("create or replace view elsewhere.planted as select 1;", "PS015"),
    "unqualified_function": Fault(function("perform lower('A');", f"{DEFINER}''"), "PS016"),
    "unqualified_table": Fault(function("perform from refusal;", f"{DEFINER}''"), "PS017"),
    "unqualified_type": Fault(function("perform 'x'::text;", f"{DEFINER}''"), "PS017"),
    "quoted_path": Fault(function("null;", f"{DEFINER}'pg_catalog, pg_temp'"), "PS018"),
}

# -- what the parse trees must show ----------------------------------------------------------------

PGLAST = {
    "concatenated": Fault(
        function("execute 'select ' || p_text;", arguments="p_text text"), "EXECUTE"
    ),
    "assert": Fault(function("assert true;"), "ASSERT"),
    "into_strict": Fault(
        function("select class into strict v from ledger.refusal;", declare="v text;"),
        "INTO STRICT",
    ),
    "raise_a_row": Fault(
        function("raise log '%', v;", declare="v ledger.refusal;"), "RAISE with a row"
    ),
    "notify": Fault(function("perform pg_notify('a', 'b');"), "pg_notify()"),
    "dblink": Fault(function("perform dblink_connect('a');"), "dblink_connect()"),
    "advisory_lock": Fault(
        function("perform pg_advisory_xact_lock(1);"), "pg_advisory_xact_lock()"
    ),
    "large_object": Fault(function("perform lo_import('/etc/passwd');"), "lo_import()"),
    "standing_clock": Fault(function("perform now();"), "now()"),
    "owner_for_identity": Fault(function("perform current_user;"), "SVFOP_CURRENT_USER"),
    "when_others": Fault(
        function("begin null; exception when others then null; end;"), "WHEN OTHERS"
    ),
    "temporary_table": Fault(function("create temporary table t (i bigint);"), "temporary table t"),
    "cursor_argument": Fault(
        function("null;", arguments="p_cursor refcursor"), "argument of type refcursor"
    ),
    "any_argument": Fault(
        function("null;", f"{DEFINER}pg_catalog, pg_temp", arguments="p_any anyelement"),
        "argument of type anyelement",
    ),
    "record_result": Fault(function("return null;", returns="record"), "result of type record"),
    "declared_type": Fault(
        function("null;", declare="v receipt;"), "unqualified type receipt in DECLARE"
    ),
    "declared_row": Fault(
        function("null;", declare="v refusal%rowtype;"), "unqualified type refusal%rowtype"
    ),
    "relation": Fault(function("perform from refusal;"), "unqualified relation refusal"),
    "helper": Fault(function("perform digest('{}');"), "unqualified function digest"),
    "foreign_function": Fault(function("perform evil.f();"), "function of schema evil"),
    "our_schema_in_path": Fault(
        function("null;", f"{DEFINER}pg_catalog, ledger, pg_temp"),
        "'pg_catalog', 'ledger', 'pg_temp'",
    ),
    "no_path": Fault(function("null;", ""), "planted_no_path"),
    "granted_to_public": Fault("grant execute on function ledger.clock() to public;", "to public"),
    "left_to_public": Fault(
        "alter default privileges grant execute on functions to public;", "alter default privileges"
    ),
    "deferred_trigger": Fault(
        "create constraint trigger planted after insert on ledger.refusal\n"
        "    deferrable for each row execute function ledger.tg_refusal__guard();",
        "deferrable planted",
    ),
    "narrow_key": Fault("create table ledger.planted (planted_id integer);", "planted.planted_id"),
    "perhaps": Fault("create table if not exists ledger.planted (planted_id bigint);", "perhaps"),
    "cascade": Fault("drop table ledger.planted cascade;", "cascade"),
    "evict_by_text": Fault(
        function("execute 'select ' || p_text;", arguments="p_text text").replace(
            "ledger.planted", "watchdog.planted"
        ),
        "EXECUTE",
        is_privileged=True,
    ),
    "evict_for_everybody": Fault(
        "grant execute on function watchdog.evict(interval) to public;",
        "to public",
        is_privileged=True,
    ),
    "evict_without_path": Fault(
        function("null;", "security definer").replace("ledger.planted", "watchdog.planted"),
        "planted_evict_without_path",
        is_privileged=True,
    ),
    "two_for_one_name": Fault(
        "create function ledger.clock(p_more bigint) returns bigint language sql\n"
        "    set search_path = pg_catalog, pg_temp as 'select 1';",
        "ledger.clock",
    ),
}

# -- what the checker of bodies must find ----------------------------------------------------------

BODIES = {
    "unused_variable": Fault(function("null;", declare="v text;"), 'unused variable "v"'),
    "unused_parameter": Fault(function("null;", arguments="p_x text"), 'unused parameter "p_x"'),
    "wrong_column": Fault(
        function("perform r.nonsense from ledger.refusal as r;"), "column r.nonsense does not exist"
    ),
    "wrong_table": Fault(function("perform from ledger.nonsense;"), "ledger.nonsense"),
    "wrong_field": Fault(
        function("raise log '%', v.nonsense;", declare="v ledger.refusal;"), "nonsense"
    ),
    "no_return": Fault(
        function("if ledger.clock() is null then return 1; end if;", returns="bigint"),
        "without RETURN",
    ),
    "unreachable": Fault(function("return; perform 1;"), "unreachable code"),
    "not_sanitised": Fault(
        function("execute 'select ' || p_text;", arguments="p_text text"), "not sanitized"
    ),
    "converted": Fault(
        function("select 1::numeric into v; raise log '%', v;", declare="v bigint;"),
        "target type is different type than source type",
    ),
    "needlessly_volatile": Fault(function("return 1;", returns="bigint"), "should be IMMUTABLE"),
    "too_few": Fault(
        function("select 1 into v, w; raise log '% %', v, w;", declare="v bigint; w bigint;"),
        "too few",
    ),
    "hushed": Fault(
        function("-- @plpgsql_check_options: without_warnings = on\n    null;", declare="v text;"),
        'unused variable "v"',
    ),
    "evict_what_is_not_there": Fault(
        function("perform a.nonsense from pg_stat_activity as a;").replace(
            "ledger.planted", "watchdog.planted"
        ),
        "column a.nonsense does not exist",
        is_privileged=True,
    ),
    "trigger": Fault(
        function("raise log '%', new.nonsense; return new;", returns="trigger")
        + "\ncreate trigger planted before insert on ledger.refusal\n"
        "    for each row execute function ledger.planted_trigger();",
        'record "new" has no field "nonsense"',
    ),
}


# -- the copy --------------------------------------------------------------------------------------


def plant(tree: Path, faults: Mapping[str, Fault]) -> None:
    """Make *tree* a part of this one, with a change for each of *faults*."""
    for folder in ("deploy", "revert", "verify"):
        shutil.copytree(PROJECT / folder / "foundation", tree / folder / "foundation")
    for name in (".sqlfluff", ".squawk.toml"):
        shutil.copy(PROJECT / name, tree)
    shutil.copytree(PROJECT / "tools", tree / "tools")
    (tree / ".venv-lint").symlink_to(PROJECT / ".venv-lint")
    plan = [
        line
        for line in (PROJECT / "sqitch.plan").read_text().splitlines()
        if line.startswith(("%", "foundation/"))
    ]
    shutil.copytree(PROJECT / "superuser" / "deploy", tree / "superuser" / "deploy")
    for deploy in (tree / "deploy", tree / "superuser" / "deploy"):
        (deploy / "planted").mkdir()
    for name, fault in faults.items():
        if not fault.is_privileged:
            plan.append(f"planted/{name} 2026-11-30T00:00:00Z P <p@example.invalid> # A fault.")
        text = fault.sql.replace("NAME", name)
        if not fault.is_whole:
            owner = "" if fault.is_privileged else "set local role fencepost_owner;\n"
            text = (
                f"-- Deploy fencepost:planted/{name} to pg\n\nbegin;\n"
                f"set local search_path = pg_catalog, pg_temp;\n{owner}\n{text}\n\ncommit;\n"
            )
        script(tree, name, fault).write_text(text)
    (tree / "sqitch.plan").write_text("\n".join(plan) + "\n")


def script(tree: Path, name: str, fault: Fault) -> Path:
    """Return the file that *fault* is planted in."""
    plan = tree / "superuser" if fault.is_privileged else tree
    return plan / "deploy" / "planted" / f"{name}.sql"


def by_script(output: str) -> dict[str, str]:
    """Return what *output* says of each planted script: in its line, or in those that follow it."""
    said: defaultdict[str, str] = defaultdict(str)
    script = ""
    for line in output.splitlines():
        if named := re.search(r"deploy/(\w+)/(\w+)\.sql", line):
            script = named[2] if named[1] == "planted" else named[0]
        if script:
            said[script] += f"{line}\n"
    return said


@pytest.fixture(scope="module")
def lint() -> None:
    subprocess.run([PROJECT / "tools" / "setup", "--lint"], check=True)


@pytest.mark.usefixtures("lint")
@pytest.mark.parametrize(
    ("linter", "faults"), [("sqlfluff", SQLFLUFF), ("squawk", SQUAWK), ("pgspot", PGSPOT)]
)
def test_a_fault_is_found_in_its_script(
    linter: str, faults: Mapping[str, Fault], tmp_path: Path
) -> None:
    plant(tmp_path, faults)

    ended = subprocess.run(
        [tmp_path / "tools" / "check-sql", linter], capture_output=True, text=True, check=False
    )

    said = by_script(ended.stdout + ended.stderr)
    missed = {name: said[name] for name, each in faults.items() if each.said not in said[name]}
    assert missed == {}
    assert set(said) == set(faults)
    assert ended.returncode == 1


@pytest.mark.usefixtures("lint")
def test_every_rule_that_is_asked_for_has_its_fault() -> None:
    sqlfluff = re.findall(r"\b(?:CP|LT)\d\d\b", (PROJECT / ".sqlfluff").read_text())
    squawk = tomllib.loads((PROJECT / ".squawk.toml").read_text())["included_rules"]
    listed = "from pgspot.codes import codes; print(*codes)"
    pgspot = subprocess.run(
        [PROJECT / ".venv-lint" / "bin" / "python", "-c", listed],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()

    assert {fault.said for fault in SQLFLUFF.values()} == set(sqlfluff)
    assert {fault.said for fault in SQUAWK.values()} >= set(squawk)
    # It has a text for PS008, and nothing that would say it.
    assert {fault.said for fault in PGSPOT.values()} == {*pgspot} - {"PS008"}


def test_a_fault_is_found_in_its_parse_tree(tmp_path: Path) -> None:
    plant(tmp_path, PGLAST)
    tests = tmp_path / "tests" / "pytest" / "static"
    tests.mkdir(parents=True)
    shutil.copy(PROJECT / "tests" / "pytest" / "static" / "test_deploy_scripts.py", tests)
    report = tmp_path / "report.xml"

    ended = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"),
            *("-c", str(PROJECT / "python_client" / "pyproject.toml"), "--rootdir", str(tmp_path)),
            *(f"--confcutdir={tmp_path}", f"--junitxml={report}", str(tests)),
        ],
        capture_output=True,
        check=False,
        env=os.environ | {"COLUMNS": "1000"},
    )

    failed = [
        f"{case.get('name')} {failure.get('message')}"
        for case in ET.parse(report).iter("testcase")  # noqa: S314 - it is pytest's
        for failure in case.iter("failure")
    ]
    missed = [
        name
        for name, each in PGLAST.items()
        if not any(each.said in text and named(name, text) for text in failed)
    ]
    assert missed == []
    assert ended.returncode == 1
    blamed = {text.partition("[")[2].partition("]")[0] for text in failed}
    assert {x for x in blamed if re.match("foundation/|superuser/(?!planted/)", x)} == set()


def named(name: str, text: str) -> bool:
    """Say whether *text* names the planted script, or what stands for two of one name."""
    return f"planted/{name}" in text or name == "two_for_one_name"


def test_a_fault_is_found_in_its_body(scratch_database: str, major: int, tmp_path: Path) -> None:
    if major != 15:
        pytest.skip("plpgsql_check is there for PostgreSQL 15 only; the run on 15 has it")
    plant(tmp_path, BODIES)
    subprocess.run([PROJECT / "tools" / "deploy", "--superuser", scratch_database], check=True)
    clean = bodies(PROJECT, scratch_database)
    for name, fault in BODIES.items():
        psql = ["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", scratch_database]
        subprocess.run([*psql, "-f", script(tmp_path, name, fault)], check=True)

    ended = bodies(tmp_path, scratch_database)

    # Others count roles, and this one survives its database.
    undo = "drop owned by fencepost_watchdog; drop role fencepost_watchdog"
    subprocess.run(["psql", "-X", "-q", "-d", scratch_database, "-c", undo], check=True)
    said = by_script(ended.stderr)
    missed = {name: said[name] for name, each in BODIES.items() if each.said not in said[name]}
    assert missed == {}
    assert ended.returncode == 1
    assert set(said) == set(BODIES)
    assert (clean.returncode, clean.stderr) == (0, "")


def test_no_body_at_all_is_a_fault_too(major: int) -> None:
    if major != 15:
        pytest.skip("plpgsql_check is there for PostgreSQL 15 only; the run on 15 has it")

    ended = bodies(PROJECT, "postgres")

    assert (ended.returncode, ended.stderr) == (
        1,
        "check-bodies: postgres has no function of ours\n",
    )


def bodies(tree: Path, database: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [tree / "tools" / "check-bodies", database], capture_output=True, text=True, check=False
    )

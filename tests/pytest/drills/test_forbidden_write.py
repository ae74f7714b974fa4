"""Every login tries what is not its own: the tables, the views, and the others' functions."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql
from psycopg.errors import InsufficientPrivilege
from psycopg.types.json import Jsonb

if TYPE_CHECKING:
    from tests.pytest.conftest import Connection, MakePrincipal, Superuser
    from tests.pytest.drills.conftest import Stage

ALL = {"api_version", "classes", "next_due", "ring"}
ASK = {"explain", "exercise_report", "health"}
RECONCILE = {"resolve_operation", "get_operation", "list_operations", "operation_history"}
OPERATE = RECONCILE | {
    *("begin_operation", "start_operation", "complete_operation", "fail_operation"),
    *("mark_operation_unknown", "renew_operation", "release_operation"),
}
MAY = {
    "worker": ALL
    | OPERATE
    | {"claim", "claim_many", "brief", "renew", "submit", "fail", "release"},
    "verifier": ALL
    | OPERATE
    | {"claim_verification", "bundle", "renew", "judge", "claim_promotion"}
    | {"promote", "outdate"},
    "reaper": ALL | {"reap", "checkpoint", "expire_operations", "prune_operations"},
    "sensor": ALL | {"begin_observation", "report_observation"},
    "admin": ALL
    | ASK
    | RECONCILE
    | {"define_class", "define_target", "register_principal", "enrol", "dismiss"}
    | {"authorise", "deauthorise"}
    | {"open_campaign", "cancel", "park", "redrive", "set_priority", "allow_repeat"}
    | {"pause", "resume", "retire_class", "retire_target", "new_epoch", "prune"},
    "auditor": ALL | ASK | {"check", "checkpoint"},
    "collector": {"api_version", "report_denial"},
}
"""Who may call what: written down here, not read from the database that is tried."""

DUTIES = sorted(MAY)


@pytest.fixture
def campaign(stage: Stage) -> int:
    """Return a campaign with an attempt, so that there is something to write to in every table."""
    stage.define_target()
    number = stage.open()
    stage.worker("echo right > answer").succeeds()
    return number


@pytest.mark.parametrize("duty", DUTIES)
def test_no_way_to_the_ledger_itself(
    stage: Stage, campaign: int, superuser: Superuser, duty: str
) -> None:
    """No table, no column, no helper, no view, no other role; and all that changed nothing."""
    session = stage.person(duty).connect(stage.database)
    god = superuser(stage.database)
    tables = names(god, "select table_name from information_schema.tables "
                        "where table_schema = 'ledger'")  # fmt: skip
    assert len(tables) >= 20
    views = names(god, "select viewname from pg_views where schemaname = 'audit'")
    assert sorted(views) == [
        *("attempts", "authorities", "bundles", "campaigns", "config"),
        *("enrolments", "events", "observations", "operation_events", "operations", "refusals"),
    ]
    before = dump(stage.database)

    tried: list[sql.SQL | sql.Composed] = [
        sql.SQL(statement).format(sql.Identifier("ledger", table))
        for table in tables
        for statement in (
            "select from {}",
            "insert into {} default values",
            "delete from {}",
            "truncate {} cascade",
            "alter table {} disable trigger all",
            "lock table {}",
            "drop table {}",
        )
    ]
    tried += [
        sql.SQL(statement).format(sql.Identifier("audit", view))
        for view in views
        for statement in ("insert into {} default values", "delete from {}", "drop view {}")
        # A join cannot be written through, nor a union.
        if view not in {"attempts", "enrolments", "refusals"} or statement.startswith("drop")
    ]
    if duty != "auditor":
        tried += [sql.SQL("select from {}").format(sql.Identifier("audit", view)) for view in views]
    tried += [
        sql.SQL("update ledger.campaign set state = 'confirmed'"),
        sql.SQL("update ledger.campaign_event set transition = 'confirm'"),
        sql.SQL("select lease_token_sha256 from ledger.campaign"),
        sql.SQL("select ledger.clock()"),
        sql.SQL("set role fencepost_owner"),
        sql.SQL("set session authorization fencepost_owner"),
        sql.SQL("create table kernel.mine ()"),
        sql.SQL("create table ledger.mine ()"),
        sql.SQL("create schema mine"),
        sql.SQL("create temporary table mine ()"),
        sql.SQL(
            "create or replace function kernel.api_version() returns integer "
            "language sql as 'select 2'"
        ),
        sql.SQL("set session_replication_role = replica"),
    ]
    for statement in tried:
        with pytest.raises(InsufficientPrivilege), session.transaction():
            session.execute(statement)

    assert dump(stage.database) == before
    assert stage.campaign(campaign)["state"] == "attempted"


@pytest.mark.parametrize("duty", DUTIES)
def test_only_its_own_functions(stage: Stage, superuser: Superuser, duty: str) -> None:
    session = stage.person(duty).connect(stage.database, autocommit=True)
    functions = superuser(stage.database).execute(
        """
        select p.proname, array(select format_type(t.type, null)
                                from unnest(p.proargtypes) with ordinality as t (type, n)
                                order by t.n)
        from pg_proc as p
        where p.pronamespace = 'kernel'::regnamespace
        """
    )
    codes = {}
    for name, types in functions:
        call = sql.SQL("select kernel.{}({})").format(
            sql.Identifier(name),
            sql.SQL(", ").join(sql.SQL("null::" + kind) for kind in types),
        )
        codes[name] = code_of(session, call)

    assert {name for name, code in codes.items() if code != "42501"} == MAY[duty]
    assert set(codes.values()) <= {"42501", "KN101", "ok"}
    assert set(codes) == set().union(*MAY.values())


def code_of(session: Connection, call: sql.Composed) -> str:
    """Make a call, and return the SQLSTATE that it raises."""
    try:
        session.execute(call)
    except psycopg.Error as error:
        return str(error.sqlstate)
    return "ok"


def test_a_worker_does_not_judge_what_it_made(stage: Stage, campaign: int) -> None:
    """Neither as a worker, nor as a principal that may do both."""
    worker = stage.person("worker").connect(stage.database, autocommit=True)
    (attempt,) = stage.attempts(campaign)
    under = {
        "p_class": stage.klass,
        "p_campaign_id": campaign,
        "p_generation": attempt["generation"],
        "p_token": uuid4(),
    }

    with pytest.raises(InsufficientPrivilege, match="permission denied for function judge"):
        stage.call(worker, "judge", **under, p_verdict="accepted")
    with pytest.raises(InsufficientPrivilege, match="permission denied for function promote"):
        stage.call(worker, "promote", **under)

    both = stage.person("worker", 1)
    number = other_campaign(stage)
    stage.grant(both, "verifier")
    stage.worker("echo right > answer", number=1).succeeds()
    session = both.connect(stage.database, autocommit=True)
    claims = "select campaign_id from kernel.claim_verification(p_class => %s, p_token => %s)"
    offered = session.execute(claims, (stage.klass, uuid4())).fetchall()
    assert stage.campaign(number)["state"] == "attempted"
    assert offered == [(campaign,)], "somebody else's, not its own"
    assert session.execute(claims, (stage.klass, uuid4())).fetchall() == []


def other_campaign(stage: Stage) -> int:
    stage.define_target("another")
    return stage.open("another")


def test_who_is_not_enrolled_is_forbidden_and_on_record(
    stage: Stage, campaign: int, principal: MakePrincipal
) -> None:
    """Of the right group, but not in this class: it learns nothing, not even what exists."""
    stranger = principal("stranger", "fencepost_worker", "fencepost_verifier", "fencepost_sensor")
    session = stranger.connect(stage.database, autocommit=True)
    held: dict[str, Any] = {"p_campaign_id": campaign, "p_generation": 1, "p_token": uuid4()}
    nothing = held | {"p_campaign_id": 999999}
    calls: list[tuple[str, dict[str, Any]]] = [
        ("claim", {"p_token": uuid4()}),
        ("brief", held),
        ("brief", nothing),
        ("renew", held),
        ("submit", held | {"p_fingerprint": "f", "p_approach": None, "p_result": Jsonb({})}),
        ("fail", held | {"p_reason": "no"}),
        ("release", nothing),
        ("claim_verification", {"p_token": uuid4()}),
        ("bundle", held),
        ("judge", held | {"p_verdict": "unverifiable", "p_reason": "no"}),
        ("claim_promotion", {"p_token": uuid4()}),
        ("promote", held),
        ("outdate", nothing | {"p_reason": "no"}),
        ("begin_observation", {"p_target": "answer", "p_token": uuid4()}),
        ("begin_observation", {"p_target": "no such", "p_token": uuid4()}),
        ("report_observation", {"p_target": "answer", "p_number": 1, "p_token": uuid4(),
                                "p_is_green": True}),
    ]  # fmt: skip
    before = stage.events(campaign)

    answers = []
    for klass in (stage.klass, "no-such-class"):
        for function, arguments in calls:
            answer = stage.call(session, function, p_class=klass, **arguments)
            assert answer["outcome"] == "forbidden", function
            given = {k: v for k, v in answer.items() if v is not None}
            answers.append((function, given.pop("class"), given))
    half = len(calls)
    assert [a[2] for a in answers[:half]] == [a[2] for a in answers[half:]], "it can tell apart"
    assert session.execute("select kernel.next_due(%s)", (stage.klass,)).fetchone() == (None,)
    assert session.execute("select kernel.classes()").fetchall() == []

    assert stage.events(campaign) == before
    assert [
        (refusal["principal"], refusal["class"], refusal["function"], refusal["outcome"])
        for refusal in stage.refusals()
    ] == [(stranger.name, klass, function, "forbidden") for function, klass, _ in answers]


def test_the_command_says_which_role_it_needs(stage: Stage, campaign: int) -> None:
    for duty, command in (("sensor", "worker"), ("worker", "verifier"), ("verifier", "reaper")):
        arguments = {
            "worker": ["worker", "--class", stage.klass, "--once", "--", "true"],
            "verifier": ["verifier", "--class", stage.klass, "--once"],
            "reaper": ["reaper", "--once"],
        }[command]
        program = stage.run(stage.person(duty), [stage.program, *arguments])

        assert program.wait() == 77, program.output
        assert f"fencepost_{command}" in program.output
    assert stage.campaign(campaign)["state"] == "attempted"


def names(connection: Connection, query: str) -> list[str]:
    return [row[0] for row in connection.execute(query.encode())]


def dump(database: str) -> list[str]:
    """Return all data of the ledger but the numbers of sequences, which a failed insert uses up."""
    done = subprocess.run(
        ["pg_dump", "--data-only", "--schema=ledger", database],
        capture_output=True,
        text=True,
        check=True,
    )
    return [line for line in done.stdout.splitlines() if "restrict" not in line]

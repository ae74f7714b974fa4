"""The verification list against a deployed database, by the command that an operator runs."""

from __future__ import annotations

import json
import os
import subprocess
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from fencepost.operations import Store, evidence, schema
from fencepost.operations.preflight import preflight
from fencepost.operations.verification import Verification, psycopg_stores

if TYPE_CHECKING:
    from collections.abc import Callable

    from fencepost.operations import Claim
    from tests.pytest.conftest import Connection
    from tests.pytest.operations.conftest import Office

PROJECT = Path(__file__).resolve().parents[3]
FENCEPOST = PROJECT / ".venv" / "bin" / "fencepost"

CLIENT = """
import os

import psycopg


class Client:
    def __init__(self):
        self.connection = psycopg.connect(os.environ["CLIENT_DSN"], autocommit=True)

    def query(self, text, values):
        return self.connection.execute(text, values).fetchall()

    def close(self):
        self.connection.close()
"""


def run(
    *arguments: str, folder: Path, environment: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [FENCEPOST, "operations", *arguments],
        cwd=folder,
        env=os.environ | (environment or {}),
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def verified(office: Office) -> Office:
    """Return the office with what the verification needs."""
    office.authorise("verification", "nowhere")
    return office


def options(office: Office) -> list[str]:
    return [
        *("verify", "--class", office.campaign_class, "--environment", "staging"),
        *("--operator", "somebody", "--commit", "0123abcd" * 5, "--output", "evidence.json"),
    ]


def test_an_operator_verifies_a_database_and_has_it_in_writing(
    verified: Office, tmp_path: Path
) -> None:
    office = verified
    done = subprocess.run(
        [
            *("make", "verify-operations", f"DSN={office.conninfo()}"),
            f"REAPER_DSN={office.conninfo('reaper')}",
            "TARGET_ENVIRONMENT=staging",
            f"EVIDENCE={tmp_path / 'evidence.json'}",
            f"VERIFY=--class {office.campaign_class}",
        ],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    text = (tmp_path / "evidence.json").read_text()
    document: dict[str, Any] = json.loads(text)
    assert evidence.faults(document) == []
    assert document["schemaVersion"] == "context-action/durable-operation-verification@1"
    assert document["target"]["environment"] == "staging"
    preflight = document["checks"]["preflight"]["result"]["checks"]
    assert {"worker:kernel-api-1", "worker:role", "reaper:role", "migration:relations"} <= {
        *preflight
    }
    assert "migration:registry-not-readable" in preflight
    postgres = document["checks"]["postgres"]
    assert postgres["status"] == "ok"
    assert "prune:bounded" in postgres["result"]["checks"]
    assert postgres["result"]["isolation"] == "read committed"
    assert postgres["result"]["host"] == "localhost"
    integration = document["checks"]["integration"]["result"]
    assert integration["numPassedTests"] == integration["numTotalTests"] == 4
    assert document["checks"]["redis"] == {
        "outcome": "skipped",
        "available": False,
        "status": "unknown",
    }
    place = conninfo_to_dict(office.conninfo())
    for name in ("user", "host", "passfile", "dbname"):
        assert str(place[name]) not in text
    assert [each.operation_state for each in office.store().iter_operations("unknown")] == []


def test_with_the_client_that_the_application_has(verified: Office, tmp_path: Path) -> None:
    office = verified
    (tmp_path / "ours.py").write_text(CLIENT)
    done = run(
        *options(office),
        *("--dsn", office.conninfo(), "--reaper-dsn", office.conninfo("reaper")),
        *("--client", "ours:Client", "--placeholders", "formatted"),
        folder=tmp_path,
        environment={"PYTHONPATH": str(tmp_path), "CLIENT_DSN": office.conninfo()},
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_database_that_cannot_be_used_is_no_success(office: Office, tmp_path: Path) -> None:
    """Nobody is authorised for a verification there."""
    done = run(
        *options(office),
        *("--dsn", office.conninfo(), "--reaper-dsn", office.conninfo("reaper")),
        folder=tmp_path,
    )
    assert done.returncode == 1
    assert "FAILED postgres claim:repeat" in done.stdout
    assert "FAILED postgres lease:started-is-unknown" in done.stdout
    assert run("evidence", "evidence.json", folder=tmp_path).returncode == 0
    required = run("evidence", "--require-success", "evidence.json", folder=tmp_path)
    assert required.returncode == 1
    assert "postgres: failure" in required.stderr


def test_a_worker_that_is_to_reap_is_a_failed_check_that_says_what_to_do(
    verified: Office, tmp_path: Path
) -> None:
    done = run(*options(verified), "--dsn", verified.conninfo(), folder=tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "FAILED preflight reaper:role: " in done.stdout
    assert "may not call kernel.expire_operations, kernel.prune_operations" in done.stdout
    assert "give REAPER_DSN=, --reaper-dsn" in done.stdout
    document, wrong = evidence.read(tmp_path / "evidence.json")
    assert wrong == []
    preflight = document["checks"]["preflight"]
    assert (preflight["outcome"], preflight["result"]["status"]) == ("failure", "failed")
    assert "failed:reaper:role:give-reaper-dsn-of-fencepost_reaper" in preflight["result"]["checks"]
    assert evidence.incomplete(document) == [
        "preflight: failure",
        *(f"{name}: skipped" for name in ("integration", "postgres", "queue")),
    ]


def test_a_reaper_that_is_to_work_is_one_too(verified: Office, tmp_path: Path) -> None:
    done = run(*options(verified), "--dsn", verified.conninfo("reaper"), folder=tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "FAILED preflight worker:role: " in done.stdout
    assert "failed:worker:role:give-dsn-of-fencepost_worker" in (
        (tmp_path / "evidence.json").read_text()
    )


def test_a_database_without_the_kernel_is_a_failed_check(
    office: Office, maintenance: Connection, tmp_path: Path
) -> None:
    name = f"{office.database}_bare"
    maintenance.execute(sql.SQL("create database {}").format(sql.Identifier(name)))
    try:
        dsn = office.people["worker"].conninfo(name)
        done = run(*options(office), "--dsn", dsn, folder=tmp_path)
    finally:
        maintenance.execute(sql.SQL("drop database {} with (force)").format(sql.Identifier(name)))
    assert done.returncode == 1, done.stdout + done.stderr
    assert "FAILED preflight worker:kernel: " in done.stdout
    document, wrong = evidence.read(tmp_path / "evidence.json")
    assert wrong == []
    assert (
        "failed:worker:kernel:deploy-the-kernel"
        in (document["checks"]["preflight"]["result"]["checks"])
    )


READABLE = (
    "grant usage on schema sqitch to public; grant select on all tables in schema sqitch to public"
)
SPOILED = {
    "a body of another version": (
        "create or replace function kernel.api_version() returns integer return 1",
        "migration:functions",
        "1 another: kernel.api_version",
    ),
    "a function that is gone": (
        "drop function kernel.operation_history",
        "migration:functions",
        "1 missing: kernel.operation_history",
    ),
    "another function of a name": (
        "create function kernel.api_version(p_more text) returns integer return 1",
        "migration:functions",
        "1 another: kernel.api_version",
    ),
    "a function of no script": (
        "create function ledger.surprise() returns integer return 1",
        "migration:functions",
        "1 of no script here: ledger.surprise",
    ),
    "a view that is gone": (
        "drop view audit.authorities",
        "migration:relations",
        "1 missing: audit.authorities",
    ),
    "a registry without the last change": (
        f"{READABLE}; delete from sqitch.changes where change = 'watch/authorities'",
        "migration:registry",
        "sqitch: 1 missing: watch/authorities",
    ),
}


@pytest.mark.parametrize("case", SPOILED)
def test_what_is_not_deployed_as_it_says_is_found_out(
    office: Office, scratch_database: str, case: str
) -> None:
    spoil, name, why = SPOILED[case]
    with closing(psycopg.connect(dbname=scratch_database, autocommit=True)) as connection:
        connection.execute(spoil.encode())
    people = office.people
    found = preflight(
        people["worker"].conninfo(scratch_database), people["reaper"].conninfo(scratch_database)
    )
    assert {name: why} == found.failed
    check = found.check()
    assert check.outcome == "failure"
    assert check.result is not None
    assert f"failed:{name}:deploy-this-commit" in check.result["checks"]


def test_what_the_registry_says_is_recorded_where_it_can_be_read(
    office: Office, scratch_database: str
) -> None:
    with closing(psycopg.connect(dbname=scratch_database, autocommit=True)) as connection:
        connection.execute(READABLE)
        row = connection.execute(
            "select change_id from sqitch.changes order by committed_at desc limit 1"
        ).fetchone()
        assert row is not None
    people = office.people
    found = preflight(
        people["worker"].conninfo(scratch_database), people["reaper"].conninfo(scratch_database)
    )
    assert found.failed == {}
    last = schema.changes()[-1].replace("/", ":")
    assert {f"migration:change:{row[0]}", f"migration:change:{last}", "migration:no-tag"} <= {
        *found.passed
    }


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--dsn", "password=secret"], 64),
        (["--dsn", "host=/nonexistent"], 69),
        (["--client", "nothing:there"], 64),
        (["--client", "json:nothing"], 64),
        (["--client", "json"], 64),
    ],
)
def test_wrong_usage_says_so(
    office: Office, tmp_path: Path, arguments: list[str], code: int
) -> None:
    dsn = [] if "--dsn" in arguments else ["--dsn", office.conninfo()]
    done = run(*options(office), *dsn, *arguments, folder=tmp_path)
    assert done.returncode == code, done.stderr
    assert "secret" not in done.stderr
    assert not (tmp_path / "evidence.json").exists()


# -- what a reaper runs ----------------------------------------------------------------------------


def test_a_reaper_takes_back_and_removes(office: Office, tmp_path: Path) -> None:
    store = office.store()
    claim = store.claim("started", "f", lease_for=timedelta(seconds=1))
    store.start(claim)
    store.complete(store.claim("done", "f"))
    reaper = ["--class", office.campaign_class, "--dsn", office.conninfo("reaper")]
    office.outlive(claim)
    done = run("expire", *reaper, folder=tmp_path)
    assert (done.returncode, done.stdout) == (0, "unknown started\n1 taken back\n")
    assert run("prune", *reaper, folder=tmp_path).stdout == "1 removed\n"
    assert [each.key for each in store.iter_operations()] == ["started"]
    worker = ["--class", office.campaign_class, "--dsn", office.conninfo()]
    assert run("prune", *worker, folder=tmp_path).returncode == 77
    unknown = ["--class", "nothing-there", "--dsn", office.conninfo("reaper")]
    assert run("prune", *unknown, folder=tmp_path).returncode == 64


def test_the_reaper_takes_back_what_its_owner_left(office: Office, tmp_path: Path) -> None:
    store = office.store()
    claims = [store.claim(key, "f", lease_for=timedelta(seconds=1)) for key in ("begun", "started")]
    store.start(claims[1])
    for claim in claims:
        office.outlive(claim)
    done = subprocess.run(
        [FENCEPOST, "reaper", "--once", "--dsn", office.conninfo("reaper")],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "operation=begun state=released" in done.stdout + done.stderr
    states = {each.key: each.operation_state for each in store.iter_operations()}
    assert states["started"] == "unknown"
    assert "begun" not in states or states["begun"] == "released"


# -- checks that can fail --------------------------------------------------------------------------


class Forgetful(Store):
    """Says of every claim that it is the caller's."""

    def claim(self, key: str, fingerprint: str, **options: Any) -> Claim:
        claim = super().claim(key, fingerprint, **options)
        return type(claim)(
            **{name: getattr(claim, name) for name in claim.__dataclass_fields__}
            | {"status": type(claim.status).OWNER}
        )


def test_a_store_that_does_not_keep_its_promises_is_found_out(verified: Office) -> None:
    from contextlib import contextmanager

    @contextmanager
    def stores() -> Any:
        connection = verified.connect()
        yield Forgetful(connection, verified.campaign_class, kind="verification", target="nowhere")
        connection.close()

    make: Callable[[], Any] = stores
    reapers = psycopg_stores(verified.conninfo("reaper"), verified.campaign_class)
    verification = Verification(make, reapers, patience=2.0)
    failed = {
        **verification.postgres().failed,
        **verification.integration().failed,
        **verification.queue().failed,
    }
    assert {"claim:repeat", "replay:object", "claim:atomic", "unknown:diagnostic-kept"} <= set(
        failed
    )

"""The recipes work as they are written."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

from fencepost import cli
from tests.pytest.docs.conftest import PEOPLE, blocks, service

if TYPE_CHECKING:
    from tests.pytest.conftest import Connection, Principal
    from tests.pytest.docs.conftest import MakeStage, Stage

PROJECT = Path(__file__).resolve().parents[3]
HOWTO = PROJECT / "docs" / "howto"


@pytest.fixture
def shop(stage: MakeStage, tmp_path: Path) -> Stage:
    """Return a stage with everything that add-a-class.md makes, and the sample repository."""
    scene = stage(*PEOPLE)
    scene.folder = PROJECT
    scene.instead = {
        "/srv/git/numerals.git": str(tmp_path / "numerals.git"),
        "/srv/evidence": str(tmp_path / "evidence"),
        '"observe_every": "1 second"': '"observe_every": "1 day"',
    }
    scene.shell("examples/make-repository /srv/git/numerals.git")
    for block in blocks(HOWTO / "add-a-class.md"):
        if block.language in {"sql", "console"} and "create role" not in block.text:
            scene.play(block)
    return scene


def test_every_recipe_has_its_test() -> None:
    names = {path.stem.replace("-", "_") for path in HOWTO.iterdir()}
    assert names == {
        "add_a_class",
        "audit_a_database",
        "connect_with_tls",  # by tests/pytest/client/test_tls.py
        "deploy_with_sqitch",
        "make_principals",
        "record_denied_writes",  # by tests/pytest/denials
        "relay_events",
        "run_a_verifier",
        "run_a_worker",
        "run_behind_pgbouncer",  # the settings, by tests/pytest/client/conformance
        "write_a_sensor",
    }


def test_add_a_class_makes_principals_who_may_act(stage: MakeStage, players: list[str]) -> None:
    scene = stage()
    players.extend(PEOPLE)
    for block in blocks(HOWTO / "add-a-class.md"):
        if block.language == "sql" and "create role" in block.text:
            scene.play(block)
            for name in PEOPLE:  # \password, as the recipe says
                subprocess.run(
                    [PROJECT / "tools" / "principal", name], stdout=subprocess.DEVNULL, check=True
                )
        elif block.language in {"sql", "console"}:
            scene.play(block)
    assert "sensor" in scene.psql("sensor", ["select session_user;"])[0]


def make_principals(stage: MakeStage, players: list[str], cluster: Path) -> Stage:
    """Return the stage when make-principals.md was followed."""
    scene = stage()
    players.extend(PEOPLE)
    services = Path(scene.environment["PGSERVICEFILE"])
    services.write_text(services.read_text() + service("postgres", scene.database, cluster))
    for block in blocks(HOWTO / "make-principals.md"):
        scene.play(block)
    for name in PEOPLE:
        subprocess.run(
            [PROJECT / "tools" / "principal", name], stdout=subprocess.DEVNULL, check=True
        )
    return scene


def test_make_principals_gives_every_duty_its_settings(
    stage: MakeStage, players: list[str], cluster: Path, maintenance: Connection
) -> None:
    make_principals(stage, players, cluster)

    found = maintenance.execute(
        """
        select r.rolname, r.rolconnlimit, s.setconfig
        from pg_roles as r
        left join pg_db_role_setting as s on s.setrole = r.oid and s.setdatabase = 0
        where r.rolname = any (%s)
        """,
        (list(PEOPLE),),
    ).fetchall()
    settings = {name: dict(each.split("=", 1) for each in config) for name, _, config in found}
    limits = {name: limit for name, limit, _ in found}

    assert set(settings) == set(PEOPLE)
    assert min(limits.values()) == 4
    assert {name: each["statement_timeout"] for name, each in settings.items()} == {
        "worker_a": "1min",
        "worker_b": "1min",
        "verifier": "1min",
        "sensor": "1min",
        "reaper": "5min",
        "admin": "30min",
        "auditor": "1h",
    }
    common = {"lock_timeout": "10s", "search_path": "pg_catalog", "temp_file_limit": "256MB"}
    assert all(each.items() >= common.items() for each in settings.values())
    assert [name for name, each in settings.items() if "log_statement" in each] == ["admin"]


def test_make_principals_is_well_for_the_audit(
    stage: MakeStage, players: list[str], cluster: Path
) -> None:
    scene = make_principals(stage, players, cluster)
    ran = subprocess.run(
        [PROJECT / "tools" / "audit", "--dsn", f"dbname={scene.database}", "roles/settings"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout


def test_make_principals_says_what_a_client_can_change(
    stage: MakeStage, players: list[str], cluster: Path, maintenance: Connection
) -> None:
    text = (HOWTO / "make-principals.md").read_text(encoding="utf-8")
    said = dict(re.findall(r"(?m)^\| `([a-z_ ]+)` \| (yes|no) \|", text))
    assert len(said) == 8
    scene = make_principals(stage, players, cluster)
    before = settings_of(maintenance, "admin")

    with psycopg.connect(f"service=admin dbname={scene.database}", autocommit=True) as admin:
        for setting, is_free in said.items():
            if setting == "connection limit":
                attempts = [f"alter role current_user {setting} 100"]
            else:
                attempts = [f"set {setting} = default", f"set {setting} = {other(setting)}"]
                attempts += [f"alter role current_user {each}" for each in attempts]
                if is_free == "no":  # "to default" is where a session begins: the role's own
                    attempts = attempts[1::2]
            for attempt in attempts:
                assert (changed(admin, attempt) == "done") is (is_free == "yes"), attempt
        admin.execute("alter role current_user reset all")

    kept = settings_of(maintenance, "admin")
    assert kept == {name: before[name] for name in kept}
    assert set(kept) == {name for name, is_free in said.items() if is_free == "no"}


def test_the_limits_of_make_principals_hold(
    stage: MakeStage, players: list[str], cluster: Path
) -> None:
    """What a client cannot change, it runs into."""
    scene = make_principals(stage, players, cluster)
    with psycopg.connect(f"service=auditor dbname={scene.database}", autocommit=True) as auditor:
        with pytest.raises(psycopg.errors.ConfigurationLimitExceeded, match="temporary file size"):
            auditor.execute(
                "select count(*) from (select from generate_series(1, 2000000) as i "
                "order by repeat('x', 200) || i) as s"
            )
        for _ in range(3):
            psycopg.connect(f"service=auditor dbname={scene.database}")
        with pytest.raises(psycopg.OperationalError, match="too many connections for role"):
            psycopg.connect(f"service=auditor dbname={scene.database}")


def settings_of(maintenance: Connection, name: str) -> dict[str, str]:
    """Return what is set of a role, its limit of connections included."""
    row = maintenance.execute(
        """
        select r.rolconnlimit, s.setconfig from pg_roles as r
        left join pg_db_role_setting as s on s.setrole = r.oid and s.setdatabase = 0
        where r.rolname = %s
        """,
        (name,),
    ).fetchone()
    assert row is not None
    return {"connection limit": str(row[0])} | dict(each.split("=", 1) for each in row[1] or ())


def other(setting: str) -> str:
    """Return a value for a setting other than that of the recipe."""
    return {"search_path": "public", "log_statement": "none"}.get(setting, "7")


def changed(connection: psycopg.Connection[Any], statement: str) -> str:
    try:
        connection.execute(statement.encode())
    except psycopg.errors.InsufficientPrivilege as error:
        return error.diag.message_primary or ""
    return "done"


def test_write_a_sensor_shows_what_comes_out(shop: Stage) -> None:
    for block in blocks(HOWTO / "write-a-sensor.md"):
        shop.play(block)


@pytest.fixture
def campaign(shop: Stage) -> Stage:
    """Return the stage when a campaign is open."""
    shop.play(blocks(HOWTO / "write-a-sensor.md")[0])
    return shop


def test_relay_events_does_what_it_says(campaign: Stage, tmp_path: Path) -> None:
    (tmp_path / "outbox").mkdir()
    campaign.instead["/srv/outbox"] = str(tmp_path / "outbox")
    for block in blocks(HOWTO / "relay-events.md"):
        campaign.play(block)


def test_run_a_worker_and_run_a_verifier_do_what_they_say(campaign: Stage) -> None:
    commands = [
        command
        for page in ("run-a-worker.md", "run-a-verifier.md")
        for block in blocks(HOWTO / page)
        for _, command, _ in block.said()
    ]
    assert commands.pop(0) == "pip install './python_client[cli]'"
    # Those that go on for ever are ended after one round. The agent of that name is the reader's.
    endless = [command for command in commands if "--once" not in command]
    assert endless == [
        "fencepost worker --class repair --service worker_a -- my-agent --fix",
        "fencepost verifier --class repair --service verifier --evidence-dir /srv/evidence",
    ]
    _, work, work_in_sandbox, judge, judge_once, judge_in_sandbox = commands
    assert "submitted" in campaign.shell(work)
    assert "rejected" in campaign.shell(judge.replace(" --class", " --once --class"))
    deadline = time.monotonic() + 60
    while "submitted" not in (said := campaign.shell(work_in_sandbox)):
        assert "no campaign" in said, "nothing but the backoff of the rejection is in the way"
        assert time.monotonic() < deadline
        time.sleep(0.2)
    assert "rejected" in campaign.shell(judge_in_sandbox)
    assert "idle" in campaign.shell(judge_once)


def test_the_reaper_of_run_a_worker_is_a_command_that_works(campaign: Stage) -> None:
    text = (HOWTO / "run-a-worker.md").read_text(encoding="utf-8")
    command = re.search(r"`(fencepost reaper [^`]*)`", text)
    assert command
    assert "nothing to take back" in campaign.shell(f"{' '.join(command[1].split())} --once")


def test_run_a_worker_names_the_keys_of_the_brief(campaign: Stage, tmp_path: Path) -> None:
    told = tmp_path / "told.json"
    campaign.shell(
        "fencepost worker --class repair --once --service worker_a -- "
        f"""sh -c 'cp "$FENCEPOST_BRIEF" "{told}"'"""
    )
    text = (HOWTO / "run-a-worker.md").read_text(encoding="utf-8")
    named = re.search(r"The brief's keys are (.*?)\.\n", text, re.DOTALL)
    assert named
    assert re.findall(r"`(\w+)`", named[1]) == list(json.loads(told.read_text(encoding="utf-8")))


def test_run_a_worker_names_the_exit_codes_of_the_command() -> None:
    text = (HOWTO / "run-a-worker.md").read_text(encoding="utf-8")
    codes = {int(code) for code in re.findall(r"^\| (\d+) \|", text, re.MULTILINE)}
    assert codes == {
        cli.OK,
        cli.USAGE,
        cli.NO_SERVER,
        cli.TROUBLE,
        cli.KERNEL_UNFIT,
        cli.WRONG_ROLE,
    }


@pytest.mark.timeout(900)  # four deployments of the whole plan
def test_deploy_with_sqitch(
    stage: MakeStage, deployer: Principal, maintenance: Connection, major: int, players: list[str]
) -> None:
    scene = stage()
    cluster = Path(os.environ["FENCEPOST_CLUSTER"])
    scene.folder = PROJECT
    scene.environment = deployer.environment("postgres") | {
        "PGSERVICEFILE": scene.environment["PGSERVICEFILE"],
        "SQITCH_FULLNAME": "Recipe",
        "SQITCH_EMAIL": "recipe@localhost",
    }
    scene.instead = {"ledger_2": "recipe_ledger_2", "db:pg:ledger": "db:pg:recipe_ledger",
                     "create database ledger ": "create database recipe_ledger ",
                     "db:pg:shop": "db:pg:recipe_shop"}  # fmt: skip
    subprocess.run(
        [PROJECT / "tools" / "principal", "reaper", "fencepost_reaper"],
        stdout=subprocess.DEVNULL,
        check=True,
    )
    players.append("reaper")
    services = Path(scene.environment["PGSERVICEFILE"]).with_name("services_of_ledger")
    services.write_text(service("reaper", "recipe_ledger", cluster))
    superusers = replace(
        scene,
        environment=scene.environment
        | {
            "PGUSER": "postgres",
            "PGPASSFILE": str(cluster / "pass" / "postgres"),
            "PGSERVICEFILE": str(services),
        },
    )
    try:
        maintenance.execute("create database recipe_shop")
        maintenance.execute("grant create on database recipe_shop to deployer")
        for block in blocks(HOWTO / "deploy-with-sqitch.md"):
            if "superuser/sqitch" in block.text or block.text.startswith("reaper=>"):
                superusers.play(block)
            elif "postgres, template1" in block.text:
                close_the_other_databases(maintenance, block.text, cluster)
            elif block.text.startswith("-- as postgres"):
                for statement in scene.put(block.text).split("\n")[1:]:
                    if "create role deployer" not in statement:
                        maintenance.execute(statement.encode())
            elif "deployer_2" in block.text:
                second_deployer(scene, block.text, maintenance, major)
                players.append("deployer_2")
            else:
                scene.play(block)
        found = maintenance.execute("select count(*) from pg_roles where rolname ~ '^fencepost_'")
        assert found.fetchone() == (9,), "the roles stay"
        text = (HOWTO / "deploy-with-sqitch.md").read_text(encoding="utf-8")
        (revert,) = re.findall(r"`(superuser/sqitch revert [^`]*)`", text)
        superusers.shell(revert)
        scene.shell("sqitch revert -y --target db:pg:ledger")
    finally:
        for name in ("recipe_ledger", "recipe_ledger_2", "recipe_ledger_3", "recipe_shop"):
            maintenance.execute(f"drop database if exists {name} with (force)".encode())
        maintenance.execute("drop role if exists fencepost_watchdog")


def test_audit_a_database(stage: MakeStage, tmp_path: Path) -> None:
    scene = stage()
    scene.folder = PROJECT
    scene.instead = {
        "audit.json": str(tmp_path / "audit.json"),
        "audit.sarif": str(tmp_path / "audit.sarif"),
        "tools/audit": f"{sys.executable} tools/audit",
    }
    for block in blocks(HOWTO / "audit-a-database.md"):
        scene.play(block)
    assert json.loads((tmp_path / "audit.json").read_text())["format"] == 1
    assert json.loads((tmp_path / "audit.sarif").read_text())["version"] == "2.1.0"


def close_the_other_databases(maintenance: Connection, text: str, cluster: Path) -> None:
    """Do what the recipe says, see that a client does not get in any more, and undo it."""
    reaper = f"dbname=postgres user=reaper passfile={cluster / 'pass' / 'reaper'}"
    psycopg.connect(reaper).close()
    maintenance.execute(text.split("\n", 1)[1].encode())
    try:
        with pytest.raises(psycopg.OperationalError, match='denied for database "postgres"'):
            psycopg.connect(reaper)
    finally:
        maintenance.execute("grant connect, temporary on database postgres to public")
        maintenance.execute("grant connect on database template1 to public")


def second_deployer(scene: Stage, text: str, maintenance: Connection, major: int) -> None:
    """Deploy as another role: stopped with the recipe's own words, until the first lets it in."""
    folder = Path(os.environ["FENCEPOST_CLUSTER"]) / "pass"
    subprocess.run(
        [PROJECT / "tools" / "principal", "deployer_2"], stdout=subprocess.DEVNULL, check=True
    )
    maintenance.execute("alter role deployer_2 createrole")
    maintenance.execute("create database recipe_ledger_3 owner deployer_2")
    environment = scene.environment | {
        "PGUSER": "deployer_2",
        "PGPASSFILE": str(folder / "deployer_2"),
    }
    command = ["sqitch", "deploy", "--verify", "--target", "db:pg:recipe_ledger_3"]

    def deploy() -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command, cwd=PROJECT, env=environment, capture_output=True, text=True, check=False
        )

    statement = text.split("\n")[1].removesuffix(";")
    if major >= 16:
        refused = deploy()
        assert refused.returncode != 0
        assert statement in refused.stdout + refused.stderr
        subprocess.run(
            ["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-c", statement],
            env=scene.environment,
            check=True,
        )
    done = deploy()
    assert done.returncode == 0, done.stdout + done.stderr

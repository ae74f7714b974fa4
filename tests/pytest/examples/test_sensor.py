"""The sensor: two calls with the check between them, under a LOGIN role of its own."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from psycopg.types.json import Jsonb

from tests.pytest.conftest import wait_for

if TYPE_CHECKING:
    from tests.pytest.conftest import Connection, MakePrincipal, Principal, Superuser

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
CLASS = "repair"
TARGET = "it's a 'target'; \\ really"


@dataclass(frozen=True)
class Scene:
    """A class with one target and one enrolled sensor."""

    database: str
    sensor: Principal
    repository: Path
    evidence: Path

    def command(self, *check: str, target: str = TARGET, ref: str = "main") -> list[str]:
        return [
            str(EXAMPLES / "sensor"),
            *(CLASS, target, str(self.repository), ref, str(self.evidence)),
            *check,
        ]

    def look(
        self, *check: str, target: str = TARGET, ref: str = "main", **extra: str
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(*check, target=target, ref=ref),
            env=self.sensor.environment(self.database) | extra,
            capture_output=True,
            text=True,
            check=False,
        )


@pytest.fixture
def scene(database: str, principal: MakePrincipal, tmp_path: Path) -> Scene:
    subprocess.run([EXAMPLES / "make-repository", tmp_path / "sample.git"], check=True)
    sensor = principal("sensor", "fencepost_sensor")
    admin = principal("admin", "fencepost_admin").connect(database, autocommit=True)
    admin.execute("select kernel.define_class(p_class => %s)", (CLASS,))
    admin.execute(
        """
        select kernel.define_target(
            p_class         => %s,
            p_target        => %s,
            p_location      => '{}',
            p_desired_state => '{}',
            p_acceptance    => %s,
            p_policy        => %s
        )
        """,
        (CLASS, TARGET, Jsonb({"command": ["true"]}), Jsonb({"observe_every": "1 second"})),
    )
    admin.execute("select kernel.register_principal(p_principal => %s)", (sensor.name,))
    admin.execute(
        "select kernel.enrol(p_class => %s, p_principal => %s, p_duty => 'sensor')",
        (CLASS, sensor.name),
    )
    return Scene(database, sensor, tmp_path / "sample.git", tmp_path / "evidence")


def campaigns(connection: Connection) -> list[tuple[str, str, str]]:
    return connection.execute(
        "select target, state, opened_by from audit.campaigns where class = %s", (CLASS,)
    ).fetchall()


def test_red_opens_a_campaign_and_keeps_the_output(scene: Scene, superuser: Superuser) -> None:
    looked = scene.look("python3", "-B", "-m", "unittest")

    assert (looked.returncode, looked.stdout) == (
        0,
        f"{CLASS}/{TARGET} observation 1: red (open)\n",
    ), looked
    ledger = superuser(scene.database)
    assert campaigns(ledger) == [(TARGET, "ready", scene.sensor.name)]
    row = ledger.execute(
        "select is_green, summary, evidence_uri, evidence_sha256 from ledger.observation"
    ).fetchone()
    assert row is not None
    is_green, summary, uri, sha256 = row
    kept = Path(uri.removeprefix("file://"))
    assert not is_green
    assert summary.startswith("exit 1: ")
    assert "FAILED (failures=2)" in summary
    assert hashlib.sha256(kept.read_bytes()).digest() == sha256


def test_green_opens_nothing(scene: Scene, superuser: Superuser) -> None:
    looked = scene.look("true")

    assert (looked.returncode, looked.stderr) == (0, "")
    assert looked.stdout.startswith(f"{CLASS}/{TARGET} observation 1: green")
    assert campaigns(superuser(scene.database)) == []


def test_a_hostile_output_is_reported_as_far_as_it_is_text(
    scene: Scene, superuser: Superuser
) -> None:
    script = r"printf 'a\000b\377c '; head -c 100000 /dev/zero | tr '\0' x; echo \'\; :x; exit 3"
    looked = scene.look("sh", "-c", script)

    assert looked.returncode == 0, looked
    row = superuser(scene.database).execute("select summary from ledger.observation").fetchone()
    assert row is not None
    assert row[0].startswith("exit 3: xxx")
    assert row[0].endswith("x'; :x")


def test_the_check_sees_nothing_of_the_connection(scene: Scene) -> None:
    seen = scene.evidence.with_name("seen")
    # An export is only seen by the check's own shell: `env` lists what it was given.
    looked = scene.look("sh", "-c", f"env > {seen}", SECRET_OF_MINE="x")

    assert looked.returncode == 0, looked
    names = {line.split("=", 1)[0] for line in seen.read_text().splitlines()}
    assert names == {"HOME", "LANG", "PATH", "PWD", "TMPDIR"}


def test_no_transaction_is_open_while_the_check_runs(scene: Scene, superuser: Superuser) -> None:
    gate = scene.evidence.with_name("gate")
    with subprocess.Popen(
        scene.command("sh", "-c", f"echo > {gate}; while [ -e {gate} ]; do sleep 0.05; done"),
        env=scene.sensor.environment(scene.database),
        stdout=subprocess.DEVNULL,
    ) as sensor:
        wait_for(gate.exists, "the check runs", within=20)
        sessions = (
            superuser()
            .execute("select state from pg_stat_activity where usename = %s", (scene.sensor.name,))
            .fetchall()
        )
        gate.unlink()
    assert sessions == []
    assert sensor.returncode == 0


@pytest.mark.parametrize("check", [["no-such-program"], ["/etc/hostname"]])
def test_a_check_that_cannot_start_is_no_observation(
    scene: Scene, superuser: Superuser, check: list[str]
) -> None:
    looked = scene.look(*check)

    assert (looked.returncode, looked.stdout) == (75, "")
    assert f"cannot start {check[0]}: nothing seen" in looked.stderr
    assert campaigns(superuser(scene.database)) == []


def test_a_ref_that_is_not_there_is_no_observation(scene: Scene, superuser: Superuser) -> None:
    looked = scene.look("true", ref="refs/heads/none")

    assert (looked.returncode, looked.stdout) == (75, "")
    assert "refs/heads/none: nothing seen" in looked.stderr
    assert campaigns(superuser(scene.database)) == []


def test_no_answer_in_time_is_red(scene: Scene, superuser: Superuser) -> None:
    looked = scene.look("sleep", "60", SENSOR_TIME_LIMIT="1")

    assert looked.stdout == f"{CLASS}/{TARGET} observation 1: red (open)\n", looked
    row = superuser(scene.database).execute("select summary from ledger.observation").fetchone()
    assert row is not None
    assert row[0].startswith("exit 124")


def test_stopped_in_mid_check_it_leaves_neither_process_nor_folder(
    scene: Scene, tmp_path: Path
) -> None:
    temporary, number = tmp_path / "temporary", tmp_path / "number"
    temporary.mkdir()
    with subprocess.Popen(
        scene.command("sh", "-c", f"echo $$ > {number}.new; mv {number}.new {number}; sleep 60"),
        env=scene.sensor.environment(scene.database) | {"TMPDIR": str(temporary)},
    ) as sensor:
        wait_for(number.exists, "the number is there", within=20)
        sensor.send_signal(signal.SIGTERM)

    assert sensor.returncode == 143
    assert list(temporary.iterdir()) == []
    check = Path("/proc") / number.read_text().strip()
    wait_for(lambda: not check.exists(), "the check is gone", within=20)


def test_one_that_is_not_enrolled_is_refused(scene: Scene, principal: MakePrincipal) -> None:
    stranger = principal("stranger", "fencepost_sensor")
    refused = subprocess.run(
        scene.command("true"),
        env=stranger.environment(scene.database),
        capture_output=True,
        text=True,
        check=False,
    )

    assert (refused.returncode, refused.stdout) == (77, "")
    assert "forbidden" in refused.stderr


def test_an_unknown_target_and_a_wrong_password_are_told_apart_from_a_refusal(
    scene: Scene, tmp_path: Path
) -> None:
    unknown = scene.look("true", target="no such target")
    assert (unknown.returncode, unknown.stdout) == (69, "")
    assert "no such target" in unknown.stderr

    wrong = tmp_path / "passfile"
    wrong.write_text(f"*:*:*:{scene.sensor.name}:wrong\n")
    wrong.chmod(0o600)
    refused = scene.look("true", PGPASSFILE=str(wrong))
    assert (refused.returncode, refused.stdout) == (69, "")
    assert "password authentication failed" in refused.stderr


def test_a_service_file_will_do_as_well(scene: Scene, tmp_path: Path) -> None:
    service = tmp_path / "pg_service.conf"
    service.write_text(
        f"[ledger]\nhost={os.environ['PGHOST']}\nport={os.environ['PGPORT']}\n"
        f"user={scene.sensor.name}\ndbname={scene.database}\npassfile={scene.sensor.passfile}\n"
    )
    looked = subprocess.run(
        scene.command("true"),
        env={
            "PATH": os.environ["PATH"],
            "PGSERVICE": "ledger",
            "PGSERVICEFILE": str(service),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert looked.returncode == 0, looked


def test_called_wrongly_it_says_how() -> None:
    wrong = subprocess.run(
        [EXAMPLES / "sensor", "repair"], capture_output=True, text=True, check=False
    )
    assert wrong.returncode == 64
    assert wrong.stderr.startswith("usage: sensor CLASS TARGET")

"""Attacks with what every role may do on a server, whatever was granted."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import psycopg

from tests.pytest.attacks.attack import Residual, attack
from tests.pytest.conftest import DUTIES

if TYPE_CHECKING:
    from tests.pytest.attacks.scene import Scene

PASSWORD = "Who has a client's password"
BELL = "Looking for work"
CROWD = 30


@attack(
    "stores what it likes in large objects",
    "No client stores anything but through the kernel.",
    residual=Residual(
        PASSWORD,
        "It fills the disk, and neither touches nor reads the ledger.",
        is_closed=True,
    ),
)
def store_large_objects(scene: Scene) -> bool:
    sensor = scene.hand("sensor")
    sensor.do("select lo_from_bytea(0, 'anything')")
    sensor.do("select lo_creat(-1)")
    return scene.count("pg_largeobject_metadata") > 0


@attack(
    "rings the doorbell when nothing has happened",
    "The bell rings when there is something to do.",
    residual=Residual(BELL, "A false ring costs an empty look; it moves nothing."),
)
def ring_falsely(scene: Scene) -> bool:
    listener, sensor = scene.hand("worker"), scene.hand("auditor")
    before = scene.states()
    listener.do(f"listen {scene.kernel.channel}")
    sensor.do(f"notify {scene.kernel.channel}, 'guarded'")
    heard = listener.heard()
    assert scene.states() == before
    return heard != []


@attack(
    "listens at the doorbell, for what its payload says",
    "Who listens learns the name of a class and nothing else.",
)
def listen_at_the_bell(scene: Scene) -> bool:
    listener, worker = scene.hand("sensor"), scene.hand("worker")
    listener.do(f"listen {scene.kernel.channel}")
    lease = scene.claim(worker)
    worker.do(scene.kernel.complete(lease))
    worker.do("select kernel.ring('guarded')")
    return any(payload != "guarded" for payload in listener.heard())


@attack(
    "enters a database of the server that nobody has closed, and makes its objects there",
    "A client enters its own database and no other.",
    residual=Residual(
        "Other databases",
        "The ledger is not reachable from there; REVOKE CONNECT ON DATABASE … FROM PUBLIC closes "
        "them.",
        measure="revoke connect on database postgres, template1 from public",
        undo="grant connect on database postgres, template1 to public",
    ),
)
def enter_another_database(scene: Scene) -> bool:
    try:
        elsewhere = scene.hand("worker", database="postgres")
    except psycopg.OperationalError:
        return False
    return elsewhere.do("create temporary table t (i integer)").is_ok


@attack(
    "connects from the server to wherever it likes, by dblink",
    "No client opens connections from the server.",
)
def connect_from_the_server(scene: Scene) -> bool:
    # 08001 says that a connection was tried. There is no server at this port.
    answer = scene.hand("worker").do(
        "select public.dblink_connect('x', 'host=127.0.0.1 port=1 user=a password=b dbname=c')"
    )
    return answer.sqlstate == "08001"


@attack(
    "opens connection after connection",
    "One client does not take the connections of the others.",
    residual=Residual(
        PASSWORD,
        "A CONNECTION LIMIT on the role bounds it; the kernel sets none.",
        measure="alter role {sensor} connection limit 8",
        undo="alter role {sensor} connection limit -1",
    ),
)
def take_the_connections(scene: Scene) -> bool:
    try:
        for _ in range(CROWD):
            scene.hand("sensor")
    except psycopg.OperationalError as error:
        return "too many connections" not in str(error)
    return True


@attack(
    "burns a processor",
    "What a client may compute is bounded.",
    residual=Residual(
        PASSWORD,
        "It computes with its own privileges, in its own session.",
        is_closed=True,
    ),
)
def burn_a_processor(scene: Scene) -> bool:
    worker = scene.hand("worker")
    worker.do("set statement_timeout = 0")
    worker.begin("with recursive n as (select 1 union all select * from n) select count(*) from n")
    time.sleep(0.5)
    scene.evict(worker)
    burns = f"select from pg_stat_activity where pid = {worker.pid} and state = 'active'"
    did = scene.god.do(burns).tag == "SELECT 1"
    scene.god.do(f"select pg_terminate_backend({worker.pid}, 5000)")
    return did


@attack(
    "reads others' statements where they are counted",
    "One client does not see what another sends.",
)
def read_counted_statements(scene: Scene) -> bool:
    scene.god.do("create extension pg_stat_statements schema public")
    scene.claim(scene.hand("worker"))
    counted = (
        "select s.query from public.pg_stat_statements as s join pg_database as d on d.oid = s.dbid"
        " where d.datname = current_database()"
    )
    assert scene.god.do(counted).shows("claim(")
    return any(scene.hand(duty).do(counted).shows("claim(") for duty in DUTIES if duty != "worker")

"""Attacks with nothing but what roles were granted, or got without being granted it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.pytest.attacks.attack import Residual, attack, core
from tests.pytest.attacks.kernels import SECRET
from tests.pytest.conftest import DUTIES

if TYPE_CHECKING:
    from tests.pytest.attacks.scene import Scene

PASSWORD = "Who has a client's password"


def _relations(scene: Scene, kinds: str) -> list[str]:
    rows = scene.look(
        "select c.oid::regclass::text as name from pg_class as c"
        f" where c.relnamespace = '{scene.kernel.private}'::regnamespace"
        f" and c.relkind::text = any ('{kinds}') order by 1"
    )
    return [
        name if "." in name else f"{scene.kernel.private}.{name}"
        for row in rows
        if (name := row["name"])
    ]


@attack(
    "calls what is another duty's to call",
    "A client calls the functions of its own duty and no others.",
)
def call_what_is_anothers(scene: Scene) -> bool:
    for duty in DUTIES:
        if duty != "admin":
            scene.hand(duty).do(scene.kernel.pause())
    return scene.try_to_claim(scene.hand("worker")) is None


@attack(
    "reads, writes, empties, locks and alters every table",
    "No client has any privilege on a table.",
)
def reach_for_the_tables(scene: Scene) -> bool:
    for duty in ("worker", "verifier", "auditor"):
        hand = scene.hand(duty)
        for table in _relations(scene, "{r}"):
            for statement in (
                f"select 1 from {table} limit 1",
                f"delete from {table} where false",
                f"truncate {table}",
                f"lock table {table}",
                f"alter table {table} set (fillfactor = 90)",
                f"drop table {table}",
            ):
                if hand.do(f"begin; {statement}; rollback").is_ok:
                    return True
    return False


@attack(
    "writes one column and reads others, by privileges on columns",
    "No client has any privilege on a column.",
)
def reach_for_the_columns(scene: Scene) -> bool:
    lease = scene.claim(scene.hand("worker"))
    for duty in DUTIES:
        hand = scene.hand(duty)
        for table in ("naive.campaign", "ledger.attempt"):
            hand.do(f"""update {table} set result = '{{"is": "forged"}}'""")
    return "forged" in (scene.state(lease)["result"] or "")


@attack(
    "moves the sequences on that events are numbered by",
    "No client moves a sequence.",
)
def move_the_sequences(scene: Scene) -> bool:
    return any(
        scene.hand(duty).do(f"select nextval('{sequence}')").is_ok
        for duty in ("worker", "auditor")
        for sequence in _relations(scene, "{S}")
    )


@attack(
    "makes temporary tables, functions and domains",
    "No client makes a temporary object.",
)
def make_a_temporary_table(scene: Scene) -> bool:
    return any(scene.hand(duty).do("create temporary table t (i integer)").is_ok for duty in DUTIES)


@attack(
    "makes a table in public",
    "No client makes an object in a schema.",
)
def make_a_table(scene: Scene) -> bool:
    return any(
        scene.hand(duty).do(f"create table {schema}.t (i integer)").is_ok
        for duty in DUTIES
        for schema in ("public", scene.kernel.public, scene.kernel.private)
    )


@attack(
    "makes a schema",
    "No client makes a schema.",
)
def make_a_schema(scene: Scene) -> bool:
    return any(scene.hand(duty).do("create schema mine").is_ok for duty in DUTIES)


@attack(
    "installs an extension that is trusted to be installed by anybody",
    "No client installs an extension.",
)
def install_an_extension(scene: Scene) -> bool:
    return any(scene.hand(duty).do("create extension citext").is_ok for duty in DUTIES)


@attack(
    "grants to everybody what it was granted itself",
    "No client passes a privilege on.",
)
def pass_a_privilege_on(scene: Scene) -> bool:
    def open_to_all() -> int:
        return scene.count(
            "pg_proc as p cross join aclexplode(coalesce(p.proacl, acldefault('f', p.proowner)))"
            f" as a where p.pronamespace = '{scene.kernel.public}'::regnamespace and a.grantee = 0"
        )

    before = open_to_all()
    for duty in ("worker", "admin"):
        hand = scene.hand(duty)
        for function in scene.functions(hand):
            hand.do(f"grant execute on function {function['signature']} to public")
    return open_to_all() > before


@attack(
    "calls a function that a later migration made and granted to nobody",
    "A function that was granted to nobody is called by nobody.",
)
def call_what_a_migration_added(scene: Scene) -> bool:
    scene.god.do(
        f"set role {scene.kernel.owner}; create function {scene.kernel.public}.later()"
        " returns text language sql security definer as"
        f" $$ select c::text from {scene.kernel.open_table()} as c limit 1 $$; reset role"
    )
    return scene.hand("worker").do(f"select {scene.kernel.public}.later()").shows(SECRET)


@attack(
    "has a cheap function of its own looked at the rows that a view leaves out",
    "A view shows what it shows, and to no function what it leaves out.",
)
def look_behind_a_view(scene: Scene) -> bool:
    for duty in ("worker", "auditor"):
        hand = scene.hand(duty)
        hand.do(
            "create function pg_temp.leak(text) returns boolean language plpgsql cost 0.0000001 as"
            " $$ begin raise notice 'leaked %', $1; return true; end $$"
        )
        views = hand.do(
            "select c.oid::regclass::text from pg_class as c join pg_namespace as n"
            " on n.oid = c.relnamespace where c.relkind = 'v' and n.nspname !~ '^pg_'"
            " and n.nspname <> 'information_schema' and has_schema_privilege(n.oid, 'usage')"
            " and has_table_privilege(c.oid, 'select')"
        )
        for view in views.values:
            columns = hand.do(
                "select attname from pg_attribute where attnum > 0"
                f" and attrelid = '{view}'::regclass"
            )
            for column in columns.values:
                hand.notices.clear()
                shown = hand.do(f'select * from {view} where pg_temp.leak("{column}"::text)')
                leaked = [notice for notice in hand.notices if "leaked" in notice]
                if len(leaked) > len(shown.rows):
                    return True
    return False


@attack(
    "reads the source of every function",
    "What a function does is its owner's secret.",
    residual=Residual(
        PASSWORD,
        "The source is published; no body holds a password, a key or a token.",
    ),
)
def read_the_source(scene: Scene) -> bool:
    bodies = scene.hand("worker").do(
        "select p.proname, p.prosrc from pg_proc as p join pg_namespace as n"
        f" on n.oid = p.pronamespace where n.nspname in ('{scene.kernel.public}',"
        f" '{scene.kernel.private}')"
    )
    if scene.kernel.name != "naive":
        assert not bodies.shows(SECRET)
    return len(bodies.rows) > 10


@attack(
    "reads how many rows and bytes every table has",
    "How much is in the ledger is known to auditors only.",
    residual=Residual(PASSWORD, "Counts and sizes are to be taken as public; no row is shown."),
)
def read_sizes(scene: Scene) -> bool:
    counts = scene.hand("sensor").do(
        "select relname, pg_relation_size(oid) from pg_class where oid ="
        " (select oid from pg_class where relname = 'campaign' limit 1)"
    )
    return counts.value == "campaign"


@attack(
    "reads who holds which locks",
    "Who holds which locks is known to administrators only.",
    residual=Residual(
        PASSWORD,
        "It names relations and processes, and no row.",
        is_closed=True,
    ),
)
def read_the_locks(scene: Scene) -> bool:
    worker, sensor = scene.hand("worker"), scene.hand("sensor")
    worker.do("begin")
    scene.claim(worker)
    locks = sensor.do(f"select mode from pg_locks where pid = {worker.pid}")
    return locks.rows != []


@attack(
    "provokes errors, and reads rows in them",
    "No error shows a row.",
)
def read_an_error(scene: Scene) -> bool:
    lease = scene.claim(scene.hand("worker"))
    rival = scene.hand("rival")
    calls = (
        scene.kernel.complete(lease, generation=999),
        scene.kernel.complete(lease, result="[]"),
        scene.kernel.heartbeat(lease, generation=2**60),
        scene.kernel.complete(lease, result='"' + "x" * 70_000 + '"'),
    )
    return any(rival.do(call).shows(SECRET) for call in calls)


@attack(
    "runs code without any function, in a DO block",
    "No client runs procedural code of its own.",
    residual=Residual(
        PASSWORD,
        "The code runs with the client's own privileges, which are to call its functions.",
        is_closed=True,
    ),
)
def run_a_block(scene: Scene) -> bool:
    return scene.hand("worker").do("do $$ begin perform 1; end $$").is_ok


@attack(
    "issues whatever definitions a client may",
    "No client issues a definition.",
    residual=Residual(
        PASSWORD,
        "What it may define concerns objects of its own, of which it can make none.",
        is_closed=True,
    ),
)
def define_anything(scene: Scene) -> bool:
    worker = scene.hand("worker")
    return any(
        worker.do(statement).is_ok
        for statement in (
            "create temporary sequence s",
            "alter default privileges revoke execute on functions from public",
            f"comment on schema {scene.kernel.public} is 'mine'",
            (
                f"create statistics {scene.kernel.public}.s on state, generation"
                f" from {scene.kernel.open_table()}"
            ),
            f"create type {scene.kernel.public}.r as range (subtype = integer)",
        )
    )


@attack(
    "tries what the server keeps for superusers: programs, files, settings, roles, slots",
    "No client reaches the server's files, programs or configuration.",
    naive=core("Each needs a superuser or a predefined role."),
)
def reach_for_the_server(scene: Scene) -> bool:
    worker = scene.hand("worker")
    return any(
        worker.do(statement).is_ok
        for statement in (
            "copy (select 1) to program 'cat'",
            "copy (select 1) to '/tmp/fencepost-copy'",
            "select pg_read_file('postgresql.conf')",
            "select pg_ls_dir('.')",
            "select lo_import('/etc/passwd')",
            "alter system set fsync = off",
            "create role mine",
            "create database mine",
            "create tablespace mine location '/tmp'",
            "select pg_create_physical_replication_slot('mine')",
            "select pg_create_logical_replication_slot('mine', 'test_decoding')",
            "create event trigger mine on ddl_command_start execute function pg_temp.f()",
            "create server mine foreign data wrapper postgres_fdw",
            "create language plperlu",
            "select pg_reload_conf()",
            "select pg_switch_wal()",
        )
    )

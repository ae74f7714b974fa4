"""Attacks by membership, and by what sessions of one role may do to each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import psycopg

from tests.pytest.attacks.attack import attack, core
from tests.pytest.attacks.kernels import SECRET
from tests.pytest.conftest import DUTIES

if TYPE_CHECKING:
    from tests.pytest.attacks.scene import Hand, Scene


@attack(
    "becomes the owner by SET ROLE",
    "Nobody who calls the kernel may become its owner.",
)
def become_the_owner(scene: Scene) -> bool:
    return any(
        scene.hand(duty)
        .do(f"set role {scene.kernel.owner}; select c::text from {scene.kernel.open_table()} as c")
        .shows(SECRET)
        for duty in DUTIES
    )


@attack(
    "grants itself another duty's role, and predefined ones, by CREATEROLE",
    "Nobody who calls the kernel makes himself a member of anything.",
    naive={18: "From 16 on CREATEROLE grants only roles of which it has the ADMIN OPTION."},
)
def grant_oneself_a_role(scene: Scene) -> bool:
    admin = scene.hand("admin")
    name = scene.name("admin")
    granted = False
    for role in (scene.name("verifier"), "fencepost_verifier", "pg_read_all_data"):
        if admin.do(f"grant {role} to {name}").is_ok:
            granted = True
            scene.god.do(f"revoke {role} from {name}")
    return granted


@attack(
    "sets its role to every role that there is",
    "Whatever role a session sets, it may do no more than before.",
)
def try_every_role(scene: Scene) -> bool:
    def reach(hand: Hand) -> int:
        readable = hand.do(
            "select c.oid from pg_class as c join pg_namespace as n on n.oid = c.relnamespace"
            " where n.nspname in ('naive', 'ledger', 'kernel', 'audit')"
            " and has_schema_privilege(n.oid, 'usage') and has_table_privilege(c.oid, 'select')"
        )
        return len(readable.rows) + len(scene.functions(hand))

    roles = [row["rolname"] for row in scene.look("select rolname from pg_roles")]
    for duty in DUTIES:
        hand = scene.hand(duty)
        before = reach(hand)
        for role in roles:
            if hand.do(f'set role "{role}"').is_ok and reach(hand) > before:
                return True
            hand.do("reset role")
    return False


@attack(
    "logs in as the owner, whose password it has learned",
    "Nobody logs in as the owner.",
)
def log_in_as_the_owner(scene: Scene) -> bool:
    owner = scene.kernel.owner
    kept = scene.look(f"select rolpassword as p from pg_authid where rolname = '{owner}'")[0]["p"]
    scene.god.do(f"alter role {owner} password 'learned'")
    conninfo = psycopg.conninfo.make_conninfo(
        scene.people[scene.name("worker")].conninfo(scene.database), user=owner,
        password="learned", passfile="/dev/null",
    )  # fmt: skip
    try:
        psycopg.connect(conninfo).close()
    except psycopg.OperationalError as error:
        return "not permitted to log in" not in str(error)
    else:
        return True
    finally:
        restored = "null" if kept is None else f"'{kept}'"
        scene.god.do(f"alter role {owner} password {restored}")


@attack(
    "reads what another worker's session runs, with its token in it",
    "One worker does not see what another sends.",
)
def read_anothers_statements(scene: Scene) -> bool:
    worker, other = scene.hand("worker"), scene.hand("worker", 1)
    scene.claim(worker)
    seen = other.do(f"select query from pg_stat_activity where pid = {worker.pid}")
    return seen.shows("claim(")


@attack(
    "reads everybody's statements by a predefined role",
    "No client has a predefined role.",
)
def read_everybodys_statements(scene: Scene) -> bool:
    worker, auditor = scene.hand("worker"), scene.hand("auditor")
    scene.claim(worker)
    seen = auditor.do(f"select query from pg_stat_activity where pid = {worker.pid}")
    return seen.shows("claim(")


@attack(
    "ends another worker's session",
    "One worker does not end another's session.",
)
def end_anothers_session(scene: Scene) -> bool:
    worker, other = scene.hand("worker"), scene.hand("worker", 1)
    other.do(f"select pg_terminate_backend({worker.pid}, 5000)")
    return not scene.is_there(worker.pid)


@attack(
    "drops all that it owns, so that its own privileges go",
    "No client takes privileges away, its own neither.",
    naive=core("DROP OWNED takes away only what the dropper has granted."),
)
def drop_what_one_owns(scene: Scene) -> bool:
    scene.hand("worker").do("drop owned by current_user")
    return scene.try_to_claim(scene.hand("worker")) is None


@attack(
    "drops all that its group owns, so that the other members' privileges go",
    "No client takes its group's privileges away.",
    naive=core("DROP OWNED takes away only what the dropper has granted."),
)
def drop_what_the_group_owns(scene: Scene) -> bool:
    group = "naive_verifier" if scene.kernel.name == "naive" else "fencepost_worker"
    granted = (
        "pg_proc as p cross join aclexplode(p.proacl) as a where p.proacl is not null"
        f" and a.grantee = '{group}'::regrole"
    )
    before = scene.count(granted)
    assert before
    scene.hand("worker").do(f"drop owned by {group}")
    return scene.count(granted) < before


@attack(
    "has its role set within a function that runs with its owner's rights",
    "No function changes who its caller is.",
    naive=core("PostgreSQL refuses it within such a function."),
)
def set_the_role_within(scene: Scene) -> bool:
    for number, statement in enumerate(
        ("set role none", "reset session authorization", f"set role {scene.kernel.owner}")
    ):
        function = f"{scene.kernel.public}.within{number}()"
        scene.god.do(
            f"set role {scene.kernel.owner}; create function {function}"
            f" returns void language plpgsql security definer as $$ begin {statement}; end $$;"
            f" reset role; grant execute on function {function} to public"
        )
    worker = scene.hand("worker")
    return any(
        worker.do(f"select {scene.kernel.public}.within{number}()").is_ok for number in (0, 2)
    )

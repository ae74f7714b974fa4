"""Attacks on functions of a shape that can be made to do what they were not written for.

None of them names a function: they look in the catalogue for one of the shape that they may
execute, as an attacker would, and attack every one that there is.
"""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import TYPE_CHECKING

from tests.pytest.attacks.attack import attack
from tests.pytest.attacks.kernels import SECRET, text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.pytest.attacks.scene import Hand, Scene

VALUES = {
    "bigint": "1", "integer": "1", "smallint": "1", "boolean": "true", "uuid": "gen_random_uuid()",
    "jsonb": "'{}'", "interval": "interval '1 minute'", "bytea": "sha256('e')",
    "text[]": "array['x']", "uuid[]": "array[gen_random_uuid()]",
    "timestamp with time zone": "now()",
}  # fmt: skip
POLYMORPHIC = (
    "exists (select from unnest(p.proargtypes::oid[]) as a"
    " where a in ('anyelement'::regtype, 'anyarray'::regtype, 'anynonarray'::regtype,"
    " 'anyenum'::regtype, 'anycompatible'::regtype, '\"any\"'::regtype, 'record'::regtype))"
)


def _parameters(arguments: str | None) -> list[list[str]]:
    """Return name and type of each of a function's parameters."""
    stripped = (argument.strip() for argument in (arguments or "").split(","))
    return [argument.split(" ", 1) for argument in stripped if " " in argument]


def _poisoned(scene: Scene, hand: Hand, payload: str) -> Iterator[str]:
    """Yield a call for every text that a function takes, with *payload* as that text."""
    for function in scene.functions(hand):
        pairs = _parameters(function["arguments"])
        for poisoned, type_ in pairs:
            if type_ != "text":
                continue
            given = ", ".join(
                f"{name} => "
                + (
                    text(payload) if name == poisoned
                    else "'guarded'" if name == "p_class"
                    else VALUES.get(kind, "'x'")
                )
                for name, kind in pairs
            )  # fmt: skip
            yield f"select {function['schema']}.{function['name']}({given})"


def _hands(scene: Scene) -> list[Hand]:
    return [scene.hand(duty) for duty in ("worker", "verifier", "sensor", "auditor")]


@attack(
    "casts a type of its own to text, by code of its own, inside a function that takes any type",
    "No function takes a value whose cast is the caller's code.",
)
def cast_in_an_argument_of_any_type(scene: Scene) -> bool:
    worker = scene.hand("worker")
    scene.loot(worker)
    worker.do("create temporary table evil (a integer)")
    worker.do(
        "create function pg_temp.evil_text(evil) returns text language plpgsql as"
        " $$ begin perform pg_temp.spy(1); return ''; end $$"
    )
    worker.do("create cast (evil as text) with function pg_temp.evil_text(evil) as assignment")
    for function in scene.functions(worker, POLYMORPHIC):
        worker.do(f"select {function['schema']}.{function['name']}(row(1)::evil)")
    return scene.was_looted(worker)


@attack(
    "passes a cursor whose query is code of its own",
    "No function reads from a cursor that its caller opened.",
)
def pass_a_cursor(scene: Scene) -> bool:
    worker = scene.hand("worker")
    scene.loot(worker)
    for function in scene.functions(worker, "'refcursor'::regtype = any (p.proargtypes::oid[])"):
        worker.do(
            "begin; declare mine cursor for select pg_temp.spy(1);"
            f" select {function['schema']}.{function['name']}('mine'); commit"
        )
    return scene.was_looted(worker)


@attack(
    "goes on reading from a cursor that a function returned",
    "No function returns a cursor that reads on with its owner's rights.",
)
def keep_a_cursor(scene: Scene) -> bool:
    worker = scene.hand("worker")
    for function in scene.functions(worker, "p.prorettype = 'refcursor'::regtype"):
        answer = worker.do(
            f"begin; select {function['schema']}.{function['name']}() as name; fetch all from list"
        )
        worker.do("rollback")
        if answer.shows(SECRET):
            return True
    return False


@attack(
    "calls an overload from before there were generations",
    "A function has one signature: none that was superseded can be called.",
)
def call_a_superseded_overload(scene: Scene) -> bool:
    worker = scene.hand("worker")
    names = [function["name"] for function in scene.functions(worker)]
    for function in scene.functions(worker):
        if names.count(function["name"]) > 1:
            given = ", ".join(
                name + " => " + VALUES.get(kind, "'x'")
                for name, kind in _parameters(function["arguments"])
            )
            worker.do(f"select {function['schema']}.{function['name']}({given})")
    return scene.state(1)["state"] != "ready"


@attack(
    "puts the kernel's own trigger function on a table of its own, to write events",
    "No event is written but by a move.",
)
def borrow_a_trigger_function(scene: Scene) -> bool:
    verifier = scene.hand("verifier")
    before = scene.logged()
    verifier.do(
        "create temporary table mine (id bigint, lease_owner text, state text, class text,"
        " campaign_id bigint, event_no bigint)"
    )
    triggers = verifier.do(
        "select p.oid::regprocedure::text from pg_proc as p join pg_namespace as n"
        " on n.oid = p.pronamespace where p.prorettype = 'trigger'::regtype and p.prosecdef"
        " and n.nspname not in ('pg_catalog', 'information_schema')"
    )
    for number, function in enumerate(triggers.values):
        verifier.do(
            f"create trigger t{number} after insert on mine"
            f" for each row execute function {function}"
        )
        verifier.do("insert into mine values (5, 'somebody', 'confirmed', 'guarded', 5, 99)")
        verifier.do(f"drop trigger t{number} on mine")
    return scene.logged() > before


@attack(
    "passes an expression where a function takes a text, and reads the error",
    "No text that a caller passes is run as SQL, and no error shows what a campaign holds.",
)
def inject_an_expression(scene: Scene) -> bool:
    payload = f"(select c::text from {scene.kernel.open_table()} as c limit 1)::int"
    return any(
        hand.do(call).shows(SECRET)
        for hand in _hands(scene)
        for call in _poisoned(scene, hand, payload)
    )


@attack(
    "passes a second statement where a function takes a text",
    "No text that a caller passes is run as SQL.",
)
def inject_a_statement(scene: Scene) -> bool:
    payload = (
        f"{scene.kernel.open_table()} set attempts = attempts; comment on schema"
        f" {scene.kernel.private} is 'I was here'; --"
    )
    for hand in _hands(scene):
        for call in _poisoned(scene, hand, payload):
            hand.do(call)
    where = f"obj_description('{scene.kernel.private}'::regnamespace, 'pg_namespace') as comment"
    payload = payload.split(" set ", 1)[0] + payload[payload.index(";") :]
    for hand in _hands(scene):
        for call in _poisoned(scene, hand, payload):
            hand.do(call)
    return scene.look(f"select {where}")[0]["comment"] == "I was here"


@attack(
    "lets a function that belongs to a superuser start a program on the server",
    "No function belongs to a role that can do more than the ledger needs.",
)
def run_a_program(scene: Scene) -> bool:
    trace = Path("/tmp") / f"fencepost-{secrets.token_hex(8)}"
    program = f"; copy (select current_user) to program 'cat > {trace}'; --"
    try:
        for hand in _hands(scene):
            for call in _poisoned(scene, hand, scene.kernel.open_table() + program):
                hand.do(call)
        return trace.exists()
    finally:
        trace.unlink(missing_ok=True)


@attack(
    "names columns of the table in a document that a function takes",
    "A document says nothing but what its function reads from it.",
)
def assign_by_document(scene: Scene) -> bool:
    worker = scene.hand("worker")
    lease = scene.claim(worker)
    document = '{"state": "verified", "generation": 77, "lease_owner": null}'
    for function in scene.functions(worker, "'jsonb'::regtype = any (p.proargtypes::oid[])"):
        worker.do(
            f"select {function['schema']}.{function['name']}({lease.campaign}, {text(document)})"
        )
    worker.do(scene.kernel.complete(lease, result=document))
    found = scene.state(lease)
    return found["state"] == "verified" or found["generation"] == "77"

"""Attacks on how names are looked up inside a function that runs with its owner's rights."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.pytest.attacks.attack import attack

if TYPE_CHECKING:
    from tests.pytest.attacks.scene import Hand, Scene

TYPES = ("timestamptz", "jsonb", "text", "bytea", "uuid")


def _works(scene: Scene, hand: Hand) -> None:
    """Claim, prolong, look and hand in, whatever comes of it."""
    wanted = scene.kernel.mint()
    lease = scene.kernel.leased(hand.do(scene.kernel.claim(wanted)), wanted)
    if lease is not None:
        hand.do(scene.kernel.heartbeat(lease))
        hand.do(scene.kernel.reveal(lease))
        hand.do(scene.kernel.complete(lease))


def _decoy(scene: Scene, hand: Hand, table: str, columns: str) -> None:
    hand.do(f"create temporary table {table} ({columns})")
    hand.do(f"grant all on pg_temp.{table} to public")


@attack(
    "puts a temporary table of its own in front of the log's",
    "A claim leaves its event in the ledger, whatever temporary tables the session has.",
)
def shadow_the_log(scene: Scene) -> bool:
    worker = scene.hand("worker")
    columns = "id bigint, campaign_id bigint, kind text, actor text, at timestamptz, payload text"
    for table in ("event", "campaign_event"):
        _decoy(scene, worker, table, columns)
    before = scene.logged()
    return scene.try_to_claim(worker) is not None and scene.logged() == before


@attack(
    "puts a temporary table with a lease that was never granted in front of the campaigns'",
    "A lease is prolonged only where the ledger has it.",
)
def shadow_the_campaigns(scene: Scene) -> bool:
    worker = scene.hand("worker")
    worker.do(f"create temporary table campaign (like {scene.kernel.open_table()})")
    worker.do("grant all on pg_temp.campaign to public")
    worker.do(
        "insert into pg_temp.campaign (id, state, generation, attempts, acceptance, secret,"
        " lease_expires) values (7, 'leased', 99, 0, '', '', now() + interval '1 day')"
    )
    lease = scene.kernel.mint()
    call = scene.kernel.heartbeat(type(lease)(7, 99, lease.token))
    return worker.do(call).is_done


@attack(
    "makes temporary domains, named like types that functions declare, whose check runs its code",
    "No code of a caller runs with the owner's rights, whatever temporary types there are.",
)
def shadow_a_type(scene: Scene) -> bool:
    worker = scene.hand("worker")
    scene.loot(worker)
    for name in TYPES:
        worker.do(f"create domain pg_temp.{name} as pg_catalog.{name} check (pg_temp.spy(value))")
        worker.do(f"grant usage on type pg_temp.{name} to public")
    _works(scene, worker)
    return scene.was_looted(worker)


@attack(
    "makes functions of common names in a schema ahead of pg_catalog",
    "A function called in the kernel is PostgreSQL's, whatever path the session has.",
)
def shadow_a_function(scene: Scene) -> bool:
    worker = scene.hand("worker")
    scene.loot(worker)
    worker.do("create schema ahead")
    worker.do("grant usage on schema ahead to public")
    worker.do(
        "create function ahead.lower(text) returns text language plpgsql as"
        " $$ begin perform pg_temp.spy(1); return pg_catalog.lower($1); end $$"
    )
    worker.do(
        "create function ahead.now() returns timestamptz language plpgsql as"
        " $$ begin perform pg_temp.spy(1); return pg_catalog.now(); end $$"
    )
    worker.do("set search_path = ahead, pg_catalog, naive")
    _works(scene, worker)
    return scene.was_looted(worker)


@attack(
    "makes an equality of its own in a schema ahead of pg_catalog",
    "An operator used in the kernel is PostgreSQL's, whatever path the session has.",
)
def shadow_an_operator(scene: Scene) -> bool:
    worker = scene.hand("worker")
    scene.loot(worker)
    worker.do(
        "create function public.same(text, text) returns boolean language plpgsql as"
        " $$ begin perform pg_temp.spy(1); return pg_catalog.texteq($1, $2); end $$"
    )
    worker.do("create operator public.= (leftarg = text, rightarg = text, function = public.same)")
    worker.do("set search_path = public, pg_catalog, naive")
    _works(scene, worker)
    return scene.was_looted(worker)


@attack(
    "keeps a search_path of its own for every later session of its role",
    "What a function does is the same, whatever path its caller's role has.",
)
def keep_a_path(scene: Scene) -> bool:
    worker = scene.hand("worker")
    worker.do("alter role current_user set search_path = pg_temp, public, naive")
    try:
        later = scene.hand("worker")
        for table in ("event", "campaign_event"):
            _decoy(
                scene, later, table,
                "id bigint, campaign_id bigint, kind text, actor text, at timestamptz,"
                " payload text",
            )  # fmt: skip
        before = scene.logged()
        return scene.try_to_claim(later) is not None and scene.logged() == before
    finally:
        worker.do("alter role current_user reset search_path")

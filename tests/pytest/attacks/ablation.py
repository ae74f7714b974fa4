"""The controls that the boundary rests on: what takes each away, and what then gets through."""

from __future__ import annotations

from dataclasses import dataclass

LEASE = "text, bigint, bigint, bytea, text[]"
SUBMIT = "kernel.submit(text, bigint, bigint, uuid, text, text, jsonb, text, bytea)"


@dataclass(frozen=True)
class Control:
    """A control of the deployed kernel."""

    what: str
    without: str
    """What a superuser runs in a copy of the deployed database to take it away."""
    reopens: tuple[str, ...]
    """The attacks that succeed then."""
    holds: tuple[str, ...] = ()
    """Attacks that it is against, too, and that another control still stops."""
    undo: str = ""
    """What gives it back, where it concerns more than that database."""


def edited(function: str, old: str, new: str) -> str:
    """Return what replaces *old* by *new* in a function, and fails where it is not there."""
    return (
        "do $edit$ declare v_old text := pg_get_functiondef("
        f"'{function}'::regprocedure); v_new text := replace(v_old, $old${old}$old$,"
        f" $new${new}$new$); begin if v_new = v_old then raise 'not in {function}';"
        " end if; execute v_new; end $edit$;"
    )


def functions(clause: str) -> str:
    """Return what alters every function that runs with its owner's rights."""
    return (
        "do $$ declare f regprocedure; begin for f in select oid from pg_proc"
        " where prosecdef and pronamespace in ('kernel'::regnamespace, 'ledger'::regnamespace)"
        f" loop execute format('alter function %s {clause}', f); end loop; end $$;"
    )


def offered(head: str, body: str, owner: str = "fencepost_owner", declared: str = "") -> str:
    """Return what makes a function that no change of the plan may make, for workers to call."""
    return (
        f"create function kernel.{head} language plpgsql security definer"
        f" set search_path = pg_catalog, pg_temp as $f$ declare {declared} begin {body} end $f$;"
        f" alter function kernel.{head.split('(', maxsplit=1)[0]} owner to {owner};"
        f" grant execute on function kernel.{head.split('(', maxsplit=1)[0]} to fencepost_worker;"
    )


TEMPORARY = (
    "do $$ begin execute format('grant temporary on database %I to public',"
    " current_database()); end $$;"
)
SHADOWS = (
    "shadow_the_log", "shadow_the_campaigns", "shadow_a_type", "shadow_a_function",
    "shadow_an_operator",
)  # fmt: skip

BY_HAND = (
    "alter table ledger.class disable trigger class_10_not_by_hand;"
    "update ledger.class {} where class = 'guarded';"
    "alter table ledger.class enable always trigger class_10_not_by_hand;"
)
"""A policy no longer has what kernel.define_class gave it."""

CONTROLS = [
    Control(
        "`ledger.clock()` goes on within a transaction (`now()` instead)",
        edited("ledger.clock()", "clock_timestamp()", "now()"),
        ("stop_the_clock_by_a_transaction", "stop_the_clock_by_a_message"),
    ),
    Control(
        "whose lease it is stands in the statement that locks (afterwards instead)",
        edited(
            f"ledger.lock_lease({LEASE})",
            """      and c.lease_principal = session_user
      and c.lease_principal_oid = v_oid
      and c.lease_token_sha256 = p_token_sha256
      and c.generation = p_generation
    for no key update;
""",
            """    for no key update;
    if (v_campaign.lease_principal = session_user
        and v_campaign.lease_token_sha256 = p_token_sha256
        and v_campaign.generation = p_generation) is not true then
        v_campaign := null;
    end if;
""",
        ),
        ("keep_the_lock_of_a_refused_call",),
    ),
    Control(
        "a lease is its principal's (whoever knows the token instead)",
        edited(
            f"ledger.lock_lease({LEASE})",
            """      and c.lease_principal = session_user
      and c.lease_principal_oid = v_oid
      and c.lease_token_sha256""",
            "      and c.lease_token_sha256",
        ),
        (),
        holds=("complete_anothers_lease",),
    ),
    Control(
        "nothing is shown in the transaction that claims it",
        edited("ledger.require_committed(text, xid8)", "if p_xid =", "if false and p_xid ="),
        ("claim_read_and_roll_back", "claim_and_fail_in_one_message", "claim_to_a_savepoint"),
    ),
    Control(
        "calls under READ COMMITTED only",
        edited(
            "ledger.enter()",
            "if current_setting('transaction_isolation') <> 'read committed'",
            "if false",
        ),
        ("claim_from_an_old_snapshot", "claim_in_a_serializable_session"),
    ),
    Control(
        "`synchronous_commit` is raised by every call",
        edited("ledger.enter()", "in ('off', 'local', 'remote_write')", "= 'never'"),
        ("call_without_waiting",),
    ),
    Control(
        "`client_min_messages` is pinned by every function",
        functions("reset client_min_messages"),
        ("read_the_plans", "read_the_variables"),
    ),
    Control(
        "the size of a document is bounded",
        edited("ledger.require_size(text, jsonb)", "> 65536", "> 1000000000"),
        ("store_without_measure",),
    ),
    Control(
        "a class has a number of seats",
        BY_HAND.format("set seats = null"),
        ("claim_everything", "claim_at_once"),
    ),
    Control(
        "lost leases count against a budget",
        BY_HAND.format("set loss_budget = 1000"),
        ("abandon_over_and_over",),
    ),
    Control(
        "a refusal leaves a line in the server's log",
        edited(
            "ledger.refuse(text, text, text, text, bigint, bigint, bigint, text)",
            "raise log",
            "raise debug",
        ),
        ("be_refused_and_roll_back",),
    ),
    Control(
        "triggers fire whatever `session_replication_role` is",
        "do $$ declare t record; begin for t in select tgname, tgrelid::regclass as rel from"
        " pg_trigger where not tgisinternal loop execute format("
        "'alter table %s enable trigger %I', t.rel, t.tgname); end loop; end $$;",
        ("silence_the_triggers",),
    ),
    Control(
        "clients have no USAGE on `ledger`",
        "grant usage on schema ledger to public;",
        ("lock_by_preparing",),
        holds=("reach_for_the_tables", "reach_for_the_columns", "move_the_sequences"),
    ),
    Control(
        "what the owner makes is granted to nobody by itself",
        "alter default privileges for role fencepost_owner grant execute on functions to public;",
        ("call_what_a_migration_added",),
    ),
    Control(
        "nobody is told what exists where he is not enrolled",
        edited(
            SUBMIT,
            "if not ledger.is_enrolled(p_class, 'worker') then",
            "if false then",
        ),
        ("tell_what_exists",),
    ),
    Control(
        "a claim shares the class with whoever pauses it",
        edited("ledger.hold_class(text)", "for key share", "for share"),
        ("keep_a_pause_waiting",),
    ),
    Control(
        "the clock is read when the row is had (the statement's beginning instead)",
        edited(SUBMIT, "v_now := ledger.clock()", "v_now := statement_timestamp()"),
        ("outwait_the_expiry",),
    ),
    Control(
        "a generation must be named, and must be equal (not unequal instead)",
        edited(
            "ledger.require_campaign(text, bigint, bigint)",
            "p_generation is not null",
            "true",
        )
        + edited(
            f"ledger.lock_lease({LEASE})",
            "c.generation = p_generation",
            "(c.generation <> p_generation) is not true",
        ),
        ("pass_no_generation",),
    ),
    Control(
        "a refusal is an answer (an exception instead)",
        edited(
            "ledger.refuse(text, text, text, text, bigint, bigint, bigint, text)",
            "raise log",
            "raise exception",
        ),
        ("be_refused_without_a_row",),
    ),
    Control(
        "the bell says the class and nothing else",
        edited("kernel.ring(text)", "'fencepost', p_class", "'fencepost', p_class || ': leased'"),
        ("listen_at_the_bell",),
    ),
    Control(
        "no advisory locks",
        edited("ledger.enter()", "begin\n", "begin\n    perform pg_advisory_xact_lock(42);\n"),
        ("take_the_advisory_lock",),
    ),
    Control(
        "no SQL made of what a caller passes",
        offered(
            "search(p_order text) returns setof bigint",
            "return query execute 'select campaign_id from ledger.campaign order by ' || p_order;",
        ),
        ("inject_an_expression",),
    ),
    Control(
        "no function of a superuser's",
        offered(
            "maintain(p_table text) returns void", "execute 'analyze ' || p_table;", "postgres"
        ),
        ("inject_a_statement", "run_a_program"),
    ),
    Control(
        "no argument of any type, and no temporary objects",
        offered("note(p_what anyelement) returns integer", "return length(p_what::text);")
        + TEMPORARY,
        ("cast_in_an_argument_of_any_type",),
    ),
    Control(
        "no cursor as an argument, and no temporary objects",
        offered(
            "consume(p_rows refcursor) returns integer",
            "fetch p_rows into v_row; return 1;",
            declared="v_row record;",
        )
        + TEMPORARY,
        ("pass_a_cursor",),
    ),
    Control(
        "a function is granted to its own duty",
        "grant execute on function kernel.pause(text, text) to public;",
        (),
        holds=("call_what_is_anothers",),
    ),
    Control(
        "a function is granted to its own duty, and asks for it, too",
        "grant execute on function kernel.pause(text, text) to public;"
        + edited("kernel.pause(text, text)", "if not ledger.session_is('admin')", "if false"),
        ("call_what_is_anothers",),
    ),
    Control(
        "who worked on it may not judge it",
        edited(
            "ledger.bar_of(oid, text, bigint, integer, boolean)",
            "return 'self_verdict'",
            "return null",
        ),
        ("judge_ones_own_attempt",),
    ),
    Control(
        "nobody may pass a privilege on",
        "grant execute on function kernel.api_version() to fencepost_worker with grant option;",
        ("pass_a_privilege_on",),
    ),
    Control(
        "the owner cannot log in",
        "alter role fencepost_owner login;",
        ("log_in_as_the_owner",),
        undo="alter role fencepost_owner nologin",
    ),
    Control(
        "no client is a member of the owner",
        "grant fencepost_owner to {worker};",
        ("become_the_owner",),
        holds=("write_the_log",),
        undo="revoke fencepost_owner from {worker}",
    ),
    Control(
        "TEMPORARY is revoked from PUBLIC",
        TEMPORARY,
        ("make_a_temporary_table",),
        holds=(*SHADOWS, "borrow_a_trigger_function", "cast_in_an_argument_of_any_type"),
    ),
    Control(
        "`search_path = pg_catalog, pg_temp` (`''` instead)",
        functions("set search_path = ''''"),
        (),
        holds=SHADOWS,
    ),
    Control(
        "both of these",
        functions("set search_path = ''''") + TEMPORARY,
        ("shadow_a_type",),
    ),
]

-- Deploy fencepost:operation/operation_key to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create or replace function ledger.own_target(p_target text, p_location jsonb)
    returns text
    language sql
    immutable
    set search_path = pg_catalog, pg_temp
as $fn$
    select coalesce(
        (p_location ->> 'repository') || '#' || (p_location ->> 'ref'),
        'target:' || p_target
    );
$fn$;

comment on function ledger.own_target(text, jsonb) is
$doc$How an operation names the target's own place, which only a promotion writes to: for Git
REPOSITORY#REF, as its location spells them; for anything else target:NAME.$doc$;

create or replace function ledger.operation_key(
    p_class       text,
    p_epoch       integer,
    p_campaign_id bigint,
    p_attempt_no  integer,
    p_kind        text,
    p_target      text,
    p_ordinal     integer
)
    returns text
    language sql
    stable
    set search_path = pg_catalog, pg_temp
as $fn$
    select 'fencepost:' || encode(ledger.digest(jsonb_build_array(
        o.ledger_uuid, p_class, p_epoch, p_campaign_id, p_attempt_no, p_kind, p_target, p_ordinal
    )), 'hex')
    from ledger.origin as o;
$fn$;

comment on function ledger.operation_key(text, integer, bigint, integer, text, text, integer) is
$doc$The key of an attempt's operation, the same whenever it is asked for: fencepost: and 64 hex
digits. Another ledger, also one restored from a copy with another epoch, has other keys.$doc$;

commit;

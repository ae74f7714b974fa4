-- Deploy fencepost:observation/as_observation to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create or replace function ledger.as_observation(
    p_receipt     kernel.receipt,
    p_observation ledger.observation default null
)
    returns kernel.observation
    language sql
    immutable
    set search_path = pg_catalog, pg_temp
as $fn$
    select row(
        p_receipt.outcome, p_receipt.duplicate, p_receipt.moved, p_receipt.note,
        p_receipt.class, p_receipt.campaign_id, p_receipt.generation, p_receipt.state,
        p_receipt.lease_expires_at, p_receipt.message,
        p_observation.observation_no,
        case
            when p_observation.observation_no is not null then p_observation.slot_at is not null
        end
    )::kernel.observation;
$fn$;

comment on function ledger.as_observation(kernel.receipt, ledger.observation) is
$doc$A receipt as an observation; a refusal has none, and null in its fields.$doc$;

create or replace function ledger.lock_target(p_class text, p_target text)
    returns ledger.target
    language plpgsql
    volatile
    set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_target ledger.target;
begin
    select t.* into v_target
    from ledger.target as t
    where t.class = p_class and t.target = p_target
    for no key update;
    if not found then
        raise exception 'class % has no such target', p_class
            using errcode = 'KN107',
                  detail  = format('p_target is "%s".', left(p_target, 200)),
                  hint    = 'Define it with kernel.define_target.';
    end if;
    return v_target;
end
$fn$;

comment on function ledger.lock_target(text, text) is
$doc$Locks a target, the first lock of the one order (target, campaign, attempt, bundle).

Errors
    KN107 unknown_target$doc$;

commit;

-- Deploy fencepost:operation/settle_operations to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create or replace function ledger.open_operation_bars(p_campaign ledger.campaign, p_transition text)
    returns boolean
    language plpgsql
    stable
    set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_operations text;
begin
    select t.operations into v_operations
    from ledger.transition as t
    where t.transition = p_transition and t.from_state = p_campaign.state
    limit 1;
    return v_operations in ('closed', 'unstarted') and exists (
        select
        from ledger.operation as o
        where o.class = p_campaign.class
          and o.campaign_id = p_campaign.campaign_id
          and (o.state = 'unknown'
               or (o.state = 'pending'
                   and (v_operations = 'closed' or o.started_at is not null)))
    );
end
$fn$;

comment on function ledger.open_operation_bars(ledger.campaign, text) is
$doc$Whether an external operation of the campaign stands in the way of a transition, as
ledger.transition says: one that is open, or one that is started or unknown.$doc$;

create or replace function ledger.settle_operations(
    p_campaign   ledger.campaign,
    p_transition text,
    p_at         timestamptz
)
    returns void
    language sql
    volatile
    set search_path = pg_catalog, pg_temp
as $fn$
    -- A new epoch is begun where commits were lost: what was not started here may have been there.
    update ledger.operation as o
    set state               = f.state,
        revision            = o.revision + 1,
        reason              = format('its lease ended by %s', p_transition),
        started_at          = case f.state when 'unknown' then coalesce(o.started_at, p_at) end,
        updated_at          = p_at,
        last_event          = case f.state when 'released' then 'release' else 'abandon' end,
        last_content_sha256 = null
    from ledger.operation as x
    cross join lateral (
        select case
            when x.started_at is null and p_transition <> 'new_epoch' then 'released'
            else 'unknown'
        end as state
    ) as f
    where o.class = p_campaign.class
      and o.campaign_id = p_campaign.campaign_id
      and o.state = 'pending'
      and x.class = p_campaign.class
      and x.operation_key = o.operation_key;
$fn$;

comment on function ledger.settle_operations(ledger.campaign, text, timestamptz) is
$doc$Ends what a lease leaves open: an operation not yet started is released, a started one becomes
unknown. Nobody knows whether its effect happens; after a restore, not even whether it was started.

Parameters
    p_campaign    the campaign, locked
    p_transition  the move that ends the lease
    p_at          when

Writes
    ledger.operation, ledger.operation_event$doc$;

create or replace function ledger.dismiss_operations(
    p_class     text,
    p_principal text,
    p_duty      text,
    p_at        timestamptz
)
    returns void
    language sql
    volatile
    set search_path = pg_catalog, pg_temp
as $fn$
    update ledger.operation as o
    set state            = case when o.started_at is null then 'released' else 'unknown' end,
        revision         = o.revision + 1,
        lease_expires_at = null,
        reason           = 'its owner was dismissed',
        updated_at       = p_at,
        last_event       = case when o.started_at is null then 'release' else 'abandon' end,
        last_content_sha256 = null
    where o.class = p_class
      and o.campaign_id is null
      and o.state = 'pending'
      and o.duty = p_duty
      and o.principal = p_principal;
$fn$;

comment on function ledger.dismiss_operations(text, text, text, timestamptz) is
$doc$Ends the operations without a campaign that a dismissed principal has open, as
ledger.settle_operations does those of a lease.

Writes
    ledger.operation, ledger.operation_event$doc$;

create or replace function ledger.doubt_operations(p_class text, p_at timestamptz)
    returns void
    language sql
    volatile
    set search_path = pg_catalog, pg_temp
as $fn$
    update ledger.operation as o
    set state               = 'unknown',
        revision            = o.revision + 1,
        lease_expires_at    = null,
        reason              = 'a new epoch has begun',
        started_at          = coalesce(o.started_at, p_at),
        updated_at          = p_at,
        last_event          = 'abandon',
        last_content_sha256 = null
    where o.class = p_class and o.campaign_id is null and o.state = 'pending';
$fn$;

comment on function ledger.doubt_operations(text, timestamptz) is
$doc$Makes every operation without a campaign unknown that is open as a new epoch begins: in the
time that was lost it may have been started, and ended.

Writes
    ledger.operation, ledger.operation_event$doc$;

create or replace function ledger.unknown_operations(p_class text, p_campaign_id bigint)
    returns jsonb
    language sql
    stable
    set search_path = pg_catalog, pg_temp
as $fn$
    select coalesce(jsonb_agg(
        jsonb_build_object(
            'operation_key', o.operation_key,
            'kind', o.kind,
            'target', o.target,
            'ordinal', o.ordinal,
            'attempt_no', o.attempt_no,
            'incarnation', o.incarnation,
            'revision', o.revision,
            'expected', o.expected,
            'reason', o.reason,
            'diagnostic', o.diagnostic
        )
        order by o.updated_at, o.operation_key
    ), '[]')
    from (
        select x.*
        from ledger.operation as x
        where x.class = p_class and x.campaign_id = p_campaign_id and x.state = 'unknown'
        order by x.updated_at, x.operation_key
        limit 100
    ) as o;
$fn$;

comment on function ledger.unknown_operations(text, bigint) is
$doc$The campaign's operations of which nobody knows whether they took effect, oldest first, for the
holder of its lease to reconcile: a jsonb array of at most 100.$doc$;

commit;

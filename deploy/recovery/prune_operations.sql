-- Deploy fencepost:recovery/prune_operations to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create type kernel.pruning as (
    outcome          text,
    duplicate        boolean,
    moved            boolean,
    note             text,
    class            text,
    campaign_id      bigint,
    generation       bigint,
    state            text,
    lease_expires_at timestamptz,
    message          text,
    removed          integer,
    is_more          boolean
);

comment on type kernel.pruning is 'What pruning answers: a receipt, and how much went.';
comment on column kernel.pruning.is_more is 'There is more to prune: call again.';

create or replace function kernel.prune_operations(
    p_class      text,
    p_limit      integer  default 1000,
    p_older_than interval default null
)
    returns kernel.pruning
    language plpgsql
    volatile
    security definer
    set search_path = pg_catalog, pg_temp
    set client_min_messages = warning
    set timezone = 'UTC'
    set datestyle = 'ISO, MDY'
    set intervalstyle = 'postgres'
    set bytea_output = 'hex'
    set standard_conforming_strings = on
    set lock_timeout = '5s'
as $fn$
declare
    v_class   ledger.class;
    v_now     timestamptz;
    v_before  timestamptz;
    v_removed text[];
    v_receipt kernel.receipt;
    v_pruning kernel.pruning;
begin
    perform ledger.enter();
    perform ledger.require_class(p_class);
    perform ledger.require('p_limit', p_limit is not null);
    if p_limit not between 1 and 100000 then
        raise exception 'a limit of % is out of range', p_limit
            using errcode = 'KN104',
                  detail  = 'At once 1 to 100000 operations are pruned.',
                  hint    = 'Call again while is_more.';
    end if;
    if not ledger.session_is('reaper') then
        v_receipt := ledger.forbid('prune_operations', p_class);
        v_pruning.outcome   := v_receipt.outcome;
        v_pruning.duplicate := v_receipt.duplicate;
        v_pruning.moved     := v_receipt.moved;
        v_pruning.class     := v_receipt.class;
        v_pruning.message   := v_receipt.message;
        return v_pruning;
    end if;
    v_class := ledger.known_class(p_class);
    -- In seconds, as every length is compared.
    if extract(epoch from p_older_than) < extract(epoch from v_class.operation_retention)
        or extract(epoch from p_older_than) > 3155760000
    then
        raise exception 'an age of % is out of range', p_older_than
            using errcode = 'KN104',
                  detail  = format('The class keeps operations for %s; the bound is 36525 days.',
                                   v_class.operation_retention),
                  hint    = 'Pass null for what the class says, or set operation_retention.';
    end if;

    v_now    := ledger.clock();
    -- A month is compared as 30 days above; before the 1st of March it has fewer.
    v_before := least(v_now - p_older_than, v_now - v_class.operation_retention);
    -- State and age are tested again on the row as it is when its lock is had.
    with old as (
        select o.operation_key
        from ledger.operation as o
        where o.class = p_class
          and o.campaign_id is null
          and o.state in ('completed', 'failed', 'released')
          and o.updated_at < v_before
        order by o.updated_at, o.operation_key
        limit p_limit
        for update skip locked
    ),
    gone as (
        delete from ledger.operation as o
        using old as x
        where o.class = p_class and o.operation_key = x.operation_key
        returning o.operation_key
    )
    select coalesce(array_agg(g.operation_key), '{}') into v_removed from gone as g;

    delete from ledger.operation_event as e
    where e.class = p_class and e.operation_key = any (v_removed);

    v_pruning.outcome   := 'ok';
    v_pruning.duplicate := false;
    v_pruning.moved     := false;
    v_pruning.class     := p_class;
    v_pruning.removed   := cardinality(v_removed);
    v_pruning.is_more   := v_pruning.removed = p_limit;
    return v_pruning;
end
$fn$;

comment on function kernel.prune_operations(text, integer, interval) is
$doc$Removes operations without a campaign that ended long ago, oldest first, with their history.

Parameters
    p_class       the class
    p_limit       how many at most, 1 to 100000
    p_older_than  how long ago they must have ended, not less than the class's operation_retention;
                  null means that

Completed, failed and released ones go when they are older than that, not when they are just as old.
Pending ones stay, and unknown ones stay until they are resolved. Those of a campaign go with it.

Answers
    ok (removed, is_more), forbidden

Errors
    KN101, KN102, KN104, KN106, KN111, KN112

Writes
    ledger.operation, ledger.operation_event (deleted)$doc$;

grant execute on function kernel.prune_operations(text, integer, interval) to fencepost_reaper;

commit;

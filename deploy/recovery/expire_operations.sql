-- Deploy fencepost:recovery/expire_operations to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create or replace function kernel.expire_operations(p_class text, p_limit integer default 100)
    returns setof kernel.operation
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
    v_now       timestamptz;
    v_operation ledger.operation;
begin
    perform ledger.enter();
    perform ledger.require_class(p_class);
    perform ledger.require('p_limit', p_limit is not null);
    if p_limit not between 1 and 10000 then
        raise exception 'a limit of % is out of range', p_limit
            using errcode = 'KN104',
                  detail  = 'At once 1 to 10000 operations are expired.',
                  hint    = 'Call again until fewer rows than the limit come back.';
    end if;
    if not ledger.session_is('reaper') then
        return next ledger.as_operation(ledger.forbid('expire_operations', p_class));
        return;
    end if;
    perform ledger.known_class(p_class);

    -- skip locked: an owner that is just reporting wins, and so does a renewal.
    v_now := ledger.clock();
    for v_operation in
        select o.*
        from ledger.operation as o
        where o.class = p_class and o.state = 'pending' and o.lease_expires_at <= v_now
        order by o.lease_expires_at
        limit p_limit
        for no key update skip locked
    loop
        v_now := ledger.clock();
        update ledger.operation as o
        set state               = case
                                      when o.started_at is null then 'released'
                                      else 'unknown'
                                  end,
            revision            = o.revision + 1,
            lease_expires_at    = null,
            reason              = case
                                      when o.started_at is null then 'its lease ran out'
                                      else 'its lease ran out after it had been started'
                                  end,
            updated_at          = v_now,
            last_event          = case when o.started_at is null then 'release' else 'expire' end,
            last_content_sha256 = null
        where o.class = p_class and o.operation_key = v_operation.operation_key
        returning o.* into v_operation;
        return next ledger.done_with(v_operation, true);
    end loop;
end
$fn$;

comment on function kernel.expire_operations(text, integer) is
$doc$Ends the operations without a campaign whose lease has run out: one that was started becomes
unknown, one that was not is released.

Parameters
    p_class  the class
    p_limit  how many at most, 1 to 10000; oldest first

Returns each as it stands now.

Answers
    ok, forbidden

Errors
    KN101, KN102, KN104 (p_limit), KN106, KN111, KN112

Writes
    ledger.operation, ledger.operation_event$doc$;

grant execute on function kernel.expire_operations(text, integer) to fencepost_reaper;

commit;

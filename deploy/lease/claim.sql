-- Deploy fencepost:lease/claim to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create or replace function kernel.claim(
    p_class     text,
    p_token     uuid,
    p_label     text     default null,
    p_lease_for interval default null
)
    returns setof kernel.lease
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
    rows 1
as $fn$
declare
    v_class ledger.class;
begin
    perform ledger.enter();
    perform ledger.require_class(p_class);
    perform ledger.require('p_token', p_token is not null);
    perform ledger.require_text('p_label', p_label, 200);
    if not ledger.is_enrolled(p_class, 'worker') then
        return next ledger.as_lease(ledger.forbid('claim', p_class));
        return;
    end if;
    v_class := ledger.known_class(p_class);
    perform ledger.lease_length(v_class, p_lease_for);

    return query
    select o.*
    from ledger.claim_one(
        'claim', v_class, ledger.token_digest(p_token), p_label, p_lease_for
    ) as o;
end
$fn$;

comment on function kernel.claim(text, uuid, text, interval) is
$doc$Leases the next ready campaign of a class to the caller; no row where none is ready.

Parameters
    p_class      the class
    p_token      made by the client for this claim alone, and passed with every call under it
    p_label      what the process calls itself, up to 200 bytes; for people
    p_lease_for  from the class's lease_min to its lease_max; null means lease_default

Repeated with the same token it returns the lease as it stands (duplicate). Commit before the work
begins: until then no other session sees the lease, and kernel.brief shows nothing. With several
claimers and few campaigns it can come back empty although one is ready: look again soon. Paused, or
with every seat taken, there is no row either.

Answers
    ok, forbidden, not_holder (the token is that of somebody else's lease, or of another kind)

Errors
    KN101, KN102, KN103, KN104 (p_lease_for), KN111, KN112

Writes
    ledger.campaign (ready to leased), ledger.seat, ledger.attempt, ledger.campaign_event$doc$;

grant execute on function kernel.claim(text, uuid, text, interval) to fencepost_worker;

commit;

-- Deploy fencepost:lease/claim_many to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create or replace function kernel.claim_many(
    p_class     text,
    p_tokens    uuid[],
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
    rows 10
as $fn$
declare
    v_class  ledger.class;
    v_token  uuid;
    v_is_dry boolean := false;
begin
    perform ledger.enter();
    perform ledger.require_class(p_class);
    perform ledger.require('p_tokens', p_tokens is not null);
    if array_ndims(p_tokens) > 1 then
        raise exception 'p_tokens is not a list'
            using errcode = 'KN102',
                  detail  = format('It has %s dimensions.', array_ndims(p_tokens)),
                  hint    = 'Pass an array of one dimension.';
    end if;
    perform ledger.require('p_tokens', array_position(p_tokens, null) is null);
    perform ledger.require_text('p_label', p_label, 200);
    if cardinality(p_tokens) not between 1 and 100
        or cardinality(p_tokens) <> (
            select count(distinct t.token) from unnest(p_tokens) as t (token)
        )
    then
        raise exception 'p_tokens is not a list of 1 to 100 different tokens'
            using errcode = 'KN104',
                  detail  = format('It has %s.', cardinality(p_tokens)),
                  hint    = 'Make one token for each campaign that is to be claimed.';
    end if;
    if not ledger.is_enrolled(p_class, 'worker') then
        return next ledger.as_lease(ledger.forbid('claim_many', p_class));
        return;
    end if;
    v_class := ledger.known_class(p_class);
    perform ledger.lease_length(v_class, p_lease_for);

    foreach v_token in array p_tokens loop
        if v_is_dry then
            -- Nothing more is ready; what is held already is returned all the same.
            return query
            select h.*
            from ledger.held_lease(
                'claim_many', v_class, ledger.token_digest(v_token), '{leased}', 'claim'
            ) as h;
        else
            return query
            select o.*
            from ledger.claim_one(
                'claim_many', v_class, ledger.token_digest(v_token), p_label, p_lease_for
            ) as o;
            v_is_dry := not found;
        end if;
    end loop;
end
$fn$;

comment on function kernel.claim_many(text, uuid[], text, interval) is
$doc$Leases as many campaigns as there are tokens, or as many as are ready, in one transaction.

Parameters
    p_class      the class
    p_tokens     1 to 100 different tokens, one for each lease
    p_label      what the process calls itself, up to 200 bytes; for people
    p_lease_for  from the class's lease_min to its lease_max; null means lease_default

Each lease has a generation of its own and is renewed, submitted and lost by itself.

Answers
    ok (one row per lease; duplicate where a token has its lease already), forbidden, not_holder (a
    token is that of somebody else's lease, or of another kind)

Errors
    KN101, KN102, KN103, KN104 (p_tokens, p_lease_for), KN111, KN112

Writes
    ledger.campaign (ready to leased), ledger.seat, ledger.attempt, ledger.campaign_event$doc$;

grant execute on function kernel.claim_many(text, uuid[], text, interval) to fencepost_worker;

commit;

-- Deploy fencepost:promotion/claim_promotion to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create or replace function ledger.is_place_taken(p_campaign ledger.campaign)
    returns boolean
    language sql
    stable
    set search_path = pg_catalog, pg_temp
as $fn$
    select exists (
        select
        from ledger.bundle as b
        join ledger.operation as o
            on o.class = p_campaign.class
            and o.kind = 'promote'
            and o.target = ledger.own_target(p_campaign.target, b.content -> 'location')
        where b.class = p_campaign.class
          and b.campaign_id = p_campaign.campaign_id
          and b.attempt_no = p_campaign.attempt_count
          and o.campaign_id <> p_campaign.campaign_id
          and (o.state = 'unknown' or (o.state = 'pending' and o.started_at is not null))
    );
$fn$;

comment on function ledger.is_place_taken(ledger.campaign) is
$doc$Whether another campaign's promotion to the same place is started or unknown: nothing can be
promoted there before that is known.$doc$;

create or replace function kernel.claim_promotion(
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
    v_class    ledger.class;
    v_token    bytea;
    v_now      timestamptz;
    v_seat_no  integer;
    v_campaign ledger.campaign;
begin
    perform ledger.enter();
    perform ledger.require_class(p_class);
    perform ledger.require('p_token', p_token is not null);
    perform ledger.require_text('p_label', p_label, 200);
    if not ledger.is_enrolled(p_class, 'verifier') then
        return next ledger.as_lease(ledger.forbid('claim_promotion', p_class));
        return;
    end if;
    v_class := ledger.known_class(p_class);
    perform ledger.lease_length(v_class, p_lease_for);

    v_token := ledger.token_digest(p_token);
    return query
    select h.* from ledger.held_lease('claim_promotion', v_class, v_token, '{promoting}') as h;
    if found or v_class.is_paused then
        return;
    end if;

    -- Looked for unlocked first: a claim that finds nothing locks nothing and writes nothing. In
    -- order, or the index by phase_since would do, which holds what is not due as well.
    v_now := ledger.clock();
    perform
    from ledger.campaign as c
    where c.class = p_class
      and c.state = 'accepted'
      and c.next_attempt_at <= v_now
      and ledger.judge_bar(c.class, c.campaign_id, c.attempt_count, c.separate_family) is null
      and not ledger.is_place_taken(c)
    order by c.next_attempt_at, c.campaign_id
    limit 1;
    if not found then
        return;
    end if;
    v_class := ledger.hold_class(p_class);
    if v_class.is_paused then
        return;
    end if;
    if v_class.verification_limit is not null then
        v_seat_no := ledger.take_seat(v_class, 'verification');
        if v_seat_no is null then
            return;
        end if;
    end if;

    v_now := ledger.clock();
    select c.* into v_campaign
    from ledger.campaign as c
    where c.class = p_class
      and c.state = 'accepted'
      and c.next_attempt_at <= v_now
      and ledger.judge_bar(c.class, c.campaign_id, c.attempt_count, c.separate_family) is null
      and not ledger.is_place_taken(c)
    order by c.next_attempt_at, c.campaign_id
    limit 1
    for no key update skip locked;
    if not found then
        return;
    end if;

    v_now := ledger.clock();
    v_campaign := ledger.grant_lease(v_campaign, v_class, v_token, p_label, p_lease_for, v_now);
    begin
        v_campaign := ledger.move(
            v_campaign, 'claim_promotion', 'promoting', v_now,
            jsonb_build_object('attempt', v_campaign.attempt_count, 'label', p_label)
        );
    exception
        when unique_violation then
            -- This very claim is being repeated while its first call was still under way.
            return query
            select h.*
            from ledger.held_lease('claim_promotion', v_class, v_token, '{promoting}') as h;
            return;
    end;
    perform ledger.sit(v_class, 'verification', v_seat_no, v_campaign.campaign_id);

    return next ledger.as_lease(ledger.answer_with(v_campaign, true), v_campaign, v_class);
end
$fn$;

comment on function kernel.claim_promotion(text, uuid, text, interval) is
$doc$Leases the next accepted attempt whose promotion was left unfinished; no row where none is.

Parameters
    p_class      the class
    p_token      made by the client for this claim alone, and passed with every call under it
    p_label      what the process calls itself, up to 200 bytes; for people
    p_lease_for  from the class's lease_min to its lease_max; null means lease_default

The verdict stands: what remains is to read the target, move it where that is still to be done, and
say what was found. Offers only what the caller might have judged. Repeated with the same token it
returns the lease as it stands (duplicate).

Paused, or with verification_limit leases held, there is no row.

Answers
    ok, forbidden, not_holder (the token is that of somebody else's lease, or of another kind)

Errors
    KN101, KN102, KN103, KN104 (p_lease_for), KN111, KN112

Writes
    ledger.campaign (accepted to promoting), ledger.campaign_event$doc$;

grant execute on function kernel.claim_promotion(text, uuid, text, interval)
    to fencepost_verifier;

commit;

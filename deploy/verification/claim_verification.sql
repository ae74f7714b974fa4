-- Deploy fencepost:verification/claim_verification to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create or replace function kernel.claim_verification(
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
    v_content  jsonb;
begin
    perform ledger.enter();
    perform ledger.require_class(p_class);
    perform ledger.require('p_token', p_token is not null);
    perform ledger.require_text('p_label', p_label, 200);
    if not ledger.is_enrolled(p_class, 'verifier') then
        return next ledger.as_lease(ledger.forbid('claim_verification', p_class));
        return;
    end if;
    v_class := ledger.known_class(p_class);
    perform ledger.lease_length(v_class, p_lease_for);

    -- An acceptance keeps its lease: it may have gone on to promoting.
    v_token := ledger.token_digest(p_token);
    return query
    select h.*
    from ledger.held_lease('claim_verification', v_class, v_token, '{verifying,promoting}') as h;
    if found or v_class.is_paused then
        return;
    end if;

    -- Looked for unlocked first: a claim that finds nothing locks nothing and writes nothing. In
    -- order, or the index by phase_since would do, which holds what is not due as well.
    v_now := ledger.clock();
    perform
    from ledger.campaign as c
    where c.class = p_class
      and c.state = 'attempted'
      and c.next_attempt_at <= v_now
      and ledger.judge_bar(c.class, c.campaign_id, c.attempt_count, c.separate_family) is null
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
      and c.state = 'attempted'
      and c.next_attempt_at <= v_now
      and ledger.judge_bar(c.class, c.campaign_id, c.attempt_count, c.separate_family) is null
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
            v_campaign, 'claim_verification', 'verifying', v_now,
            jsonb_build_object('attempt', v_campaign.attempt_count, 'label', p_label)
        );
    exception
        when unique_violation then
            -- This very claim is being repeated while its first call was still under way.
            return query
            select h.*
            from ledger.held_lease(
                'claim_verification', v_class, v_token, '{verifying,promoting}'
            ) as h;
            return;
    end;
    perform ledger.sit(v_class, 'verification', v_seat_no, v_campaign.campaign_id);

    select jsonb_build_object(
        'class', c.class,
        'campaign_id', c.campaign_id,
        'attempt_no', a.attempt_no,
        'target', c.target,
        'location', t.location,
        'desired_state', c.desired_state,
        'acceptance', c.acceptance,
        'result', a.result,
        'fingerprint', a.fingerprint
    ) into v_content
    from ledger.campaign as c
    join ledger.target as t on t.class = c.class and t.target = c.target
    join ledger.attempt as a
        on a.class = c.class and a.campaign_id = c.campaign_id and a.attempt_no = c.attempt_count
    where c.class = p_class and c.campaign_id = v_campaign.campaign_id;

    insert into ledger.bundle (class, campaign_id, attempt_no, content, sha256, made_at)
    values (p_class, v_campaign.campaign_id, v_campaign.attempt_count, v_content,
            ledger.digest(v_content), v_now)
    on conflict (class, campaign_id, attempt_no) do nothing;

    return next ledger.as_lease(ledger.answer_with(v_campaign, true), v_campaign, v_class);
end
$fn$;

comment on function kernel.claim_verification(text, uuid, text, interval) is
$doc$Leases the next submitted attempt that the caller may judge; no row where there is none.

Parameters
    p_class      the class
    p_token      made by the client for this claim alone, and passed with every call under it
    p_label      what the process calls itself, up to 200 bytes; for people
    p_lease_for  from the class's lease_min to its lease_max; null means lease_default

Offers nothing to a principal that worked on the campaign, nor to one of the worker's family where
the campaign wants another. The first claim of an attempt makes its bundle. Repeated with the same
token it returns the lease as it stands (duplicate).

Paused, or with verification_limit leases held, there is no row.

Answers
    ok, forbidden, not_holder (the token is that of somebody else's lease, or of another kind)

Errors
    KN101, KN102, KN103, KN104 (p_lease_for), KN111, KN112

Writes
    ledger.campaign (attempted to verifying), ledger.bundle, ledger.campaign_event$doc$;

grant execute on function kernel.claim_verification(text, uuid, text, interval)
    to fencepost_verifier;

commit;

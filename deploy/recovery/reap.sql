-- Deploy fencepost:recovery/reap to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create or replace function kernel.reap(p_class text, p_limit integer default 100)
    returns setof kernel.receipt
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
    c_written_every constant interval := interval '1 minute';
    v_class         ledger.class;
    v_now           timestamptz;
    v_left          integer := p_limit;
    v_at            timestamptz;
    v_reason        text;
    v_campaign      ledger.campaign;
    v_campaign_id   bigint;
    v_reaped        integer;
    v_locked        integer := 0;
    v_locked_before integer;
    v_open          integer;
    v_had           integer;
    v_is_had        boolean;
begin
    perform ledger.enter();
    perform ledger.require_class(p_class);
    perform ledger.require('p_limit', p_limit is not null);
    if p_limit not between 1 and 10000 then
        raise exception 'a limit of % is out of range', p_limit
            using errcode = 'KN104',
                  detail  = 'At once 1 to 10000 campaigns are reaped.',
                  hint    = 'Call again until fewer rows than the limit come back.';
    end if;
    if not ledger.session_is('reaper') then
        return next ledger.forbid('reap', p_class);
        return;
    end if;
    v_class := ledger.known_class(p_class);

    -- skip locked: a holder that is just reporting wins; a second reaper takes other rows. The
    -- expiry is tested again on the row as it is when its lock is had, so a renewal wins too.
    v_now := ledger.clock();
    for v_campaign_id in
        select c.campaign_id
        from ledger.campaign as c
        where c.class = p_class
          and c.lease_token_sha256 is not null
          and ledger.forfeit(c, v_now) is not null
        order by c.lease_expires_at
    loop
        exit when v_left = 0;
        v_is_had := true;
        perform from ledger.seat as s where s.class = p_class and s.campaign_id = v_campaign_id;
        if found then
            perform
            from ledger.seat as s
            where s.class = p_class and s.campaign_id = v_campaign_id
            for no key update skip locked;
            v_is_had := found;
        end if;
        -- Whoever is just reporting an effect has its operation locked, until its own transaction
        -- ends: that is not waited for either.
        select count(*)::integer into v_open
        from ledger.operation as o
        where o.class = p_class and o.campaign_id = v_campaign_id and o.state = 'pending';
        if v_is_had and v_open > 0 then
            perform
            from ledger.operation as o
            where o.class = p_class and o.campaign_id = v_campaign_id and o.state = 'pending'
            for no key update skip locked;
            get diagnostics v_had = row_count;
            v_is_had := v_had = v_open;
        end if;
        if v_is_had then
            select c.* into v_campaign
            from ledger.campaign as c
            where c.class = p_class
              and c.campaign_id = v_campaign_id
              and c.lease_token_sha256 is not null
              and ledger.forfeit(c, v_now) is not null
            for no key update skip locked;
            v_is_had := found;
        end if;
        if not v_is_had then
            -- Either its holder has just reported or renewed, or somebody keeps it locked.
            perform
            from ledger.campaign as c
            where c.class = p_class
              and c.campaign_id = v_campaign_id
              and c.lease_token_sha256 is not null
              and c.lease_expires_at <= v_now;
            v_locked := v_locked + found::integer;
            continue;
        end if;

        v_at     := ledger.clock();
        v_reason := ledger.forfeit(v_campaign, v_at);
        if v_reason is null then
            -- Its holder, dismissed when the row was found, was enrolled again: the lease stands.
            continue;
        end if;
        v_left     := v_left - 1;
        v_campaign := ledger.lose(
            v_campaign, v_class, v_at, v_reason,
            v_reason = 'the lease ran out' and not v_class.is_paused
        );
        return next ledger.answer_with(v_campaign, true, false, v_campaign.last_transition);
    end loop;

    -- Nobody may claim while the class is paused, so nobody is late, and no term began before it went
    -- on. The two conditions stay apart: the index knows phase_since and nothing else.
    v_now := ledger.clock();
    for v_campaign in
        select c.*
        from ledger.campaign as c
        where c.class = p_class
          and c.state in ('attempted', 'accepted')
          and not v_class.is_paused
          and ((c.state = 'attempted'
                and c.phase_since <= v_now - v_class.verify_within
                and (v_class.resumed_at <= v_now - v_class.verify_within) is not false)
               or (c.state = 'accepted'
                   and c.phase_since <= v_now - v_class.promote_within
                   and (v_class.resumed_at <= v_now - v_class.promote_within) is not false))
        limit v_left
        for no key update skip locked
    loop
        v_now := ledger.clock();
        v_campaign.parked_for := case v_campaign.state
            when 'attempted' then 'verify_within'
            else 'promote_within'
        end;
        v_campaign := ledger.move(
            v_campaign, 'expire', 'parked', v_now,
            jsonb_build_object('attempt', v_campaign.attempt_count,
                               'parked_for', v_campaign.parked_for)
        );
        v_left := v_left - 1;
        return next ledger.answer_with(v_campaign, true, false, v_campaign.last_transition);
    end loop;

    v_now := ledger.clock();
    for v_campaign in
        select c.*
        from ledger.campaign as c
        where c.class = p_class
          and c.state in ('ready', 'attempted', 'accepted')
          and c.campaign_id in (
              select o.campaign_id
              from ledger.operation as o
              where o.class = p_class
                and o.state = 'unknown'
                and o.inquiry_count >= v_class.unknown_limit
          )
        limit v_left
        for no key update skip locked
    loop
        v_now := ledger.clock();
        v_campaign.parked_for := 'unknown_limit';
        v_campaign := ledger.move(
            v_campaign, 'expire', 'parked', v_now,
            jsonb_build_object('attempt', v_campaign.attempt_count,
                               'parked_for', v_campaign.parked_for)
        );
        v_left := v_left - 1;
        return next ledger.answer_with(v_campaign, true, false, v_campaign.last_transition);
    end loop;

    -- A pass that says nothing new is written once in a while: an idle reaper writes no more.
    v_now    := ledger.clock();
    v_reaped := p_limit - v_left;
    select r.locked_count into v_locked_before
    from ledger.reaper_pass as r
    where r.class = p_class
    order by r.passed_at desc
    limit 1;
    if v_reaped > 0 or v_locked is distinct from v_locked_before or not exists (
        select
        from ledger.reaper_pass as r
        where r.class = p_class
          and r.principal = session_user
          and r.passed_at > v_now - c_written_every
          and r.passed_at <= v_now
    ) then
        insert into ledger.reaper_pass as r
            (class, principal, passed_at, reaped_count, locked_count)
        values
            (p_class, session_user, v_now, v_reaped, v_locked)
        on conflict (class, principal) do update
        set passed_at    = excluded.passed_at,
            reaped_count = r.reaped_count + excluded.reaped_count,
            locked_count = excluded.locked_count;
    end if;
end
$fn$;

comment on function kernel.reap(text, integer) is
$doc$Takes back every lease of a class that has run out or whose holder was dismissed, and parks
what has waited too long.

Parameters
    p_class  the class
    p_limit  how many moves at most, 1 to 10000

Needs nothing else to be alive: no dispatcher, no worker, no list of processes. Call it until it
returns fewer rows than p_limit. While the class is paused, losses are not counted, and nothing is
parked for having waited. Parks what waits while one of its external operations was looked into
unknown_limit times without an answer.

That it passed is written when it took something or found another number of leases locked, and
otherwise once a minute: a reaper with nothing to do writes no more than that.

Answers
    one ok row per move, its note the transition (lose, lose_verification, lose_promotion, expire);
    no row where there was nothing; or one row, forbidden

Errors
    KN101, KN102, KN104 (p_limit), KN106, KN111, KN112

Writes
    ledger.campaign, ledger.attempt, ledger.seat, ledger.campaign_event, ledger.operation,
    ledger.operation_event, ledger.reaper_pass$doc$;

grant execute on function kernel.reap(text, integer) to fencepost_reaper;

commit;

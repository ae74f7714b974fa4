-- Deploy fencepost:lease/claim_one to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create or replace function ledger.claim_one(
    p_function     text,
    p_class        ledger.class,
    p_token_sha256 bytea,
    p_label        text,
    p_lease_for    interval
)
    returns setof kernel.lease
    language plpgsql
    volatile
    rows 1
    set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_family   text;
    v_is_held  boolean := false;
    v_seat_no  integer;
    v_priority smallint;
    v_now      timestamptz;
    v_campaign ledger.campaign;
begin
    return query
    select h.*
    from ledger.held_lease(p_function, p_class, p_token_sha256, '{leased}', 'claim') as h;
    if found or p_class.is_paused then
        return;
    end if;

    -- The head of each priority, unlocked, by its head start in time; then the first of them that
    -- nobody else is just taking. Who has judged here does not work here.
    v_now := ledger.clock();
    for v_priority in
        select h.priority
        from (
            select p.priority::smallint, (
                select c.next_attempt_at
                from ledger.campaign as c
                where c.class = p_class.class
                  and c.state = 'ready'
                  and c.priority = p.priority::smallint
                  and c.next_attempt_at <= v_now
                order by c.next_attempt_at, c.campaign_id
                limit 1
            ) as due_at
            from generate_series(0, 3) as p (priority)
        ) as h
        where h.due_at is not null
        order by h.due_at - h.priority * p_class.priority_step, h.priority desc
    loop
        -- Not before something is due: a claim that finds nothing locks nothing and writes nothing.
        if not v_is_held then
            p_class   := ledger.hold_class(p_class.class);
            v_is_held := true;
            if p_class.is_paused then
                return;
            end if;
        end if;
        if p_class.seats is not null and v_seat_no is null then
            v_seat_no := ledger.take_seat(p_class, 'work');
            if v_seat_no is null then
                return;
            end if;
        end if;

        -- skip locked: two workers in the same instant take two campaigns, and neither waits. The
        -- row lock ends with this transaction; the lease does not.
        select c.* into v_campaign
        from ledger.campaign as c
        where c.class = p_class.class
          and c.state = 'ready'
          and c.priority = v_priority
          and c.next_attempt_at <= v_now
          and (
              -- Not "not exists": that is planned as a join with the whole log.
              select e.event_no
              from ledger.campaign_event as e
              where e.class = p_class.class
                and e.campaign_id = c.campaign_id
                and e.transition in ('claim_verification', 'claim_promotion')
                and e.by_principal = session_user
              limit 1
          ) is null
        order by c.next_attempt_at, c.campaign_id
        limit 1
        for no key update skip locked;
        exit when found;
    end loop;
    if v_campaign.campaign_id is null then
        return;
    end if;

    select p.family into v_family from ledger.principal as p where p.principal = session_user;

    v_now := ledger.clock();
    v_campaign.attempt_count := v_campaign.attempt_count + 1;
    v_campaign := ledger.grant_lease(
        v_campaign, p_class, p_token_sha256, p_label, p_lease_for, v_now
    );
    begin
        v_campaign := ledger.move(
            v_campaign, 'claim', 'leased', v_now,
            jsonb_build_object('attempt', v_campaign.attempt_count, 'label', p_label)
        );
    exception
        when unique_violation then
            -- This very claim is being repeated while its first call was still under way.
            return query
            select h.*
            from ledger.held_lease(p_function, p_class, p_token_sha256, '{leased}', 'claim') as h;
            return;
    end;
    perform ledger.sit(p_class, 'work', v_seat_no, v_campaign.campaign_id);

    insert into ledger.attempt
        (class, campaign_id, attempt_no, generation, principal, principal_oid, token_sha256,
         family, label, begun_at)
    values
        (p_class.class, v_campaign.campaign_id, v_campaign.attempt_count, v_campaign.generation,
         session_user, v_campaign.lease_principal_oid, p_token_sha256, v_family, p_label, v_now);

    return next ledger.as_lease(ledger.answer_with(v_campaign, true), v_campaign, p_class);
end
$fn$;

comment on function ledger.claim_one(text, ledger.class, bytea, text, interval) is
$doc$Leases the next ready campaign of a class to the session's principal; no row where none is.

Parameters
    p_function      the claiming function, without its schema
    p_class         the class
    p_token_sha256  the digest of the token
    p_label         what the process calls itself
    p_lease_for     how long; null means lease_default

Writes
    ledger.campaign (ready to leased), ledger.seat, ledger.attempt, ledger.campaign_event$doc$;

commit;

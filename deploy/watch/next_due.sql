-- Deploy fencepost:watch/next_due to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create or replace function kernel.next_due(p_class text)
    returns timestamptz
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
    v_due       timestamptz;
    v_is_paused boolean;
begin
    perform ledger.require_class(p_class);
    -- Who could claim nothing while the class is paused is not told that something is due.
    select c.is_paused into v_is_paused from ledger.class as c where c.class = p_class;
    if not v_is_paused and ledger.is_enrolled(p_class, 'worker') then
        -- The head of each priority, as a claim looks for it.
        select min(h.next_attempt_at) into v_due
        from generate_series(0, 3) as p (priority)
        cross join lateral (
            select c.next_attempt_at
            from ledger.campaign as c
            where c.class = p_class
              and c.state = 'ready'
              and c.priority = p.priority::smallint
            order by c.next_attempt_at
            limit 1
        ) as h;
    end if;
    if not v_is_paused and ledger.is_enrolled(p_class, 'verifier') then
        select least(
            v_due,
            (select min(c.next_attempt_at)
             from ledger.campaign as c
             where c.class = p_class and c.state = 'attempted'),
            (select min(c.next_attempt_at)
             from ledger.campaign as c
             where c.class = p_class and c.state = 'accepted')
        ) into v_due;
    end if;
    if ledger.is_enrolled(p_class, 'sensor') then
        -- A slot that somebody has begun is offered again only when he does not report it in time.
        select least(
            v_due,
            (select min(t.next_slot_at)
             from ledger.target as t
             where t.class = p_class and t.retired_at is null and t.slot_begun_at is null),
            (select min(greatest(t.next_slot_at, t.slot_begun_at + t.observe_within))
             from ledger.target as t
             where t.class = p_class and t.retired_at is null and t.slot_begun_at is not null)
        ) into v_due;
    end if;
    return v_due;
end
$fn$;

comment on function kernel.next_due(text) is
$doc$When something of class p_class is next due for the caller's duties: work, verification or
promotion, or a scheduled slot. A time gone by means now; null means that nothing waits, that the
class is paused, or that the caller is not enrolled. A hint for how long to sleep, not a promise
that a claim returns a row.

Errors
    KN101, KN102$doc$;

grant execute on function kernel.next_due(text) to
    fencepost_sensor, fencepost_worker, fencepost_verifier, fencepost_reaper,
    fencepost_admin, fencepost_auditor;

commit;

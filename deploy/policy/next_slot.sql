-- Deploy fencepost:policy/next_slot to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create or replace function ledger.next_slot(p_target ledger.target, p_at timestamptz)
    returns timestamptz
    language plpgsql
    stable
    set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_day  date;
    v_slot timestamptz;
begin
    if p_target.observe_every is not null then
        return p_target.next_slot_at + p_target.observe_every * (
            1 + greatest(0, floor(
                extract(epoch from p_at - p_target.next_slot_at)
                / extract(epoch from p_target.observe_every)
            ))::double precision
        );
    end if;

    -- One slot per local day. A time that summer time leaves out is as much later as the clock was
    -- put forward; of one that comes twice PostgreSQL takes the second.
    v_day := (p_at at time zone p_target.time_zone)::date;
    loop
        v_slot := (v_day + p_target.observe_at) at time zone p_target.time_zone;
        exit when v_slot > p_at;
        v_day := v_day + 1;
    end loop;
    return v_slot;
end
$fn$;

comment on function ledger.next_slot(ledger.target, timestamptz) is
$doc$The first scheduled slot of a target after p_at: a whole number of observe_every after the slot
that is due, or the next time of day in its zone.$doc$;

commit;

-- Deploy fencepost:campaign/event_guard to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create or replace function ledger.tg_campaign_event__guard()
    returns trigger
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
begin
    if tg_op = 'DELETE' and ledger.is_pruned_now(old.class, old.campaign_id) then
        return old;
    end if;
    if tg_op <> 'INSERT' then
        raise exception '% of ledger.campaign_event is refused', tg_op
            using errcode = 'KN902',
                  detail  = 'The log is append-only, until kernel.prune buries a campaign.',
                  hint    = 'Leave it; what was wrong is put right by a later move.';
    end if;

    -- Depth 2: fired by the insertion that the campaign's own trigger makes.
    if pg_trigger_depth() < 2
        or tg_relid <> 'ledger.campaign_event'::regclass
        or not exists (
            select
            from ledger.campaign as c
            where c.class = new.class
              and c.campaign_id = new.campaign_id
              and c.event_count = new.event_no
              and c.last_transition = new.transition
              and c.state = new.to_state
              and c.generation = new.generation
        )
    then
        raise exception 'an event is written by its move only'
            using errcode = 'KN901',
                  detail  = 'The log holds what happened to ledger.campaign and nothing else.',
                  hint    = 'Call the kernel function that makes the move.';
    end if;
    return new;
end
$fn$;

comment on function ledger.tg_campaign_event__guard() is
$doc$Lets an event in only from the trigger that logs a campaign's move, and never changes one.

Errors
    KN901 move_refused, KN902 append_only$doc$;

create trigger campaign_event_10_guard
    before insert or update or delete on ledger.campaign_event
    for each row execute function ledger.tg_campaign_event__guard();
create trigger campaign_event_20_no_truncate
    before truncate on ledger.campaign_event
    for each statement execute function ledger.tg__append_only();
alter table ledger.campaign_event enable always trigger campaign_event_10_guard;
alter table ledger.campaign_event enable always trigger campaign_event_20_no_truncate;

commit;

-- Deploy fencepost:log/bury to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create or replace function ledger.is_human_act(p_event ledger.campaign_event)
    returns boolean
    language sql
    immutable
    set search_path = pg_catalog, pg_temp
as $fn$
    -- A dismissal and a new epoch are one act each, and recorded as changes of the configuration.
    select p_event.transition in ('park', 'redrive', 'cancel', 'set_priority', 'allow_repeat')
        or (p_event.transition = 'open' and not p_event.detail ? 'observation');
$fn$;

comment on function ledger.is_human_act(ledger.campaign_event) is
$doc$Whether an event is what an admin did to that campaign.$doc$;

create or replace function ledger.tg_tombstone__set()
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
declare
    v_campaign ledger.campaign;
    v_now      timestamptz;
begin
    if tg_relid = 'ledger.tombstone'::regclass and ledger.session_is('admin') then
        select c.* into v_campaign
        from ledger.campaign as c
        where c.class = new.class and c.campaign_id = new.campaign_id
        for update;
        v_now := ledger.clock();
        perform
        from ledger.class as k
        where k.class = v_campaign.class and v_campaign.closed_at + k.retention <= v_now;
    end if;
    if v_campaign.campaign_id is null or not found then
        raise exception 'no tombstone is set'
            using errcode = 'KN901',
                  detail  = 'A campaign is buried by an admin, and long after it closed.',
                  hint    = 'Call kernel.prune.';
    end if;

    -- Nothing of it is believed: it says what stands in the ledger.
    new.target        := v_campaign.target;
    new.final_state   := v_campaign.state;
    new.generation    := v_campaign.generation;
    new.attempt_count := v_campaign.attempt_count;
    new.event_count   := v_campaign.event_count;
    new.opened_at     := v_campaign.opened_at;
    new.closed_at     := v_campaign.closed_at;
    select coalesce(
               array_agg(e.at order by e.event_no) filter (where ledger.is_human_act(e)), '{}'
           ),
           array_agg(e.epoch order by e.event_no), array_agg(e.xid order by e.event_no),
           array_agg(ledger.event_digest(e) order by e.event_no)
    into new.human_acts_at, new.event_epochs, new.event_xids, new.event_digests
    from ledger.campaign_event as e
    where e.class = new.class and e.campaign_id = new.campaign_id;
    new.pruned_at  := v_now;
    new.pruned_by  := session_user;
    new.pruned_xid := pg_current_xact_id();
    new.sha256     := ledger.tombstone_digest(new);
    return new;
end
$fn$;

comment on function ledger.tg_tombstone__set() is
$doc$Lets a tombstone be set by an admin, of a campaign that closed longer ago than its class keeps
it; and writes into it what stands in the ledger, whatever was to be inserted.

Errors
    KN901 move_refused$doc$;

create trigger tombstone_10_set
    before insert on ledger.tombstone
    for each row execute function ledger.tg_tombstone__set();
create trigger tombstone_20_append_only
    before update or delete on ledger.tombstone
    for each row execute function ledger.tg__append_only();
create trigger tombstone_30_no_truncate
    before truncate on ledger.tombstone
    for each statement execute function ledger.tg__append_only();
alter table ledger.tombstone enable always trigger tombstone_10_set;
alter table ledger.tombstone enable always trigger tombstone_20_append_only;
alter table ledger.tombstone enable always trigger tombstone_30_no_truncate;

create or replace function ledger.bury(p_campaign ledger.campaign)
    returns void
    language plpgsql
    volatile
    set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_keys text[];
begin
    insert into ledger.tombstone (class, campaign_id)
    values (p_campaign.class, p_campaign.campaign_id);

    delete from ledger.bundle as b
    where b.class = p_campaign.class and b.campaign_id = p_campaign.campaign_id;
    delete from ledger.verdict as v
    where v.class = p_campaign.class and v.campaign_id = p_campaign.campaign_id;
    delete from ledger.allowance as a
    where a.class = p_campaign.class and a.campaign_id = p_campaign.campaign_id;
    delete from ledger.attempt as a
    where a.class = p_campaign.class and a.campaign_id = p_campaign.campaign_id;
    with gone as (
        delete from ledger.operation as o
        where o.class = p_campaign.class and o.campaign_id = p_campaign.campaign_id
        returning o.operation_key
    )
    select array_agg(g.operation_key) into v_keys from gone as g;
    delete from ledger.operation_event as e
    where e.class = p_campaign.class and e.operation_key = any (v_keys);
    delete from ledger.campaign_event as e
    where e.class = p_campaign.class and e.campaign_id = p_campaign.campaign_id;
    delete from ledger.campaign as c
    where c.class = p_campaign.class and c.campaign_id = p_campaign.campaign_id;
end
$fn$;

comment on function ledger.bury(ledger.campaign) is
$doc$Sets the tombstone of a closed campaign and deletes its rows, in one transaction.

Writes
    ledger.tombstone; ledger.bundle, ledger.verdict, ledger.allowance, ledger.attempt,
    ledger.operation, ledger.operation_event, ledger.campaign_event, ledger.campaign (deleted)$doc$;

commit;

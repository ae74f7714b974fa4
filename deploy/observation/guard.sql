-- Deploy fencepost:observation/guard to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create or replace function ledger.tg_observation__guard()
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
    if tg_op = 'DELETE'
        and ledger.session_is('admin')
        and exists (
            select
            from ledger.class as c
            where c.class = old.class
              and coalesce(old.reported_at, old.begun_at) + c.retention <= ledger.clock()
        )
    then
        return old;
    end if;
    if tg_relid <> 'ledger.observation'::regclass
        or tg_op = 'DELETE'
        or old.reported_at is not null
        or row(new.class, new.target, new.observation_no, new.principal, new.principal_oid,
               new.token_sha256, new.begun_at, new.slot_at, new.seen_campaign_id, new.seen_state,
               new.seen_generation, new.last_campaign_id)
            is distinct from
           row(old.class, old.target, old.observation_no, old.principal, old.principal_oid,
               old.token_sha256, old.begun_at, old.slot_at, old.seen_campaign_id, old.seen_state,
               old.seen_generation, old.last_campaign_id)
    then
        raise exception '% of an observation is refused', tg_op
            using errcode = 'KN902',
                  detail  = 'An observation is begun once and reported once.',
                  hint    = 'Begin another observation.';
    end if;
    return new;
end
$fn$;

comment on function ledger.tg_observation__guard() is
$doc$Lets an observation be reported once and pruned after its time; nothing else of it changes.

Errors
    KN902 append_only$doc$;

create trigger observation_10_guard
    before update or delete on ledger.observation
    for each row execute function ledger.tg_observation__guard();
create trigger observation_20_no_truncate
    before truncate on ledger.observation
    for each statement execute function ledger.tg__append_only();
create trigger observation_30_not_by_hand
    after insert or update or delete on ledger.observation
    for each row
    when (
        current_user <> 'fencepost_owner'
        or session_user = 'fencepost_owner'
        or current_setting('role') <> 'none'
        or current_setting('session_replication_role') = 'replica'
    )
    execute function ledger.tg__not_by_hand();
alter table ledger.observation enable always trigger observation_10_guard;
alter table ledger.observation enable always trigger observation_20_no_truncate;
alter table ledger.observation enable always trigger observation_30_not_by_hand;

commit;

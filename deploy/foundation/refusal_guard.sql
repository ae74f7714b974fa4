-- Deploy fencepost:foundation/refusal_guard to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create or replace function ledger.tg_refusal__guard()
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
              and old.refused_at + c.refusal_retention <= ledger.clock()
        )
    then
        return old;
    end if;
    if tg_relid <> 'ledger.refusal'::regclass
        or tg_op = 'DELETE'
        or old.principal <> session_user
        or new.suppressed <> old.suppressed + 1
        or row(new.class, new.refusal_no, new.principal, new.function, new.outcome,
               new.campaign_id, new.generation, new.message, new.refused_at)
            is distinct from
           row(old.class, old.refusal_no, old.principal, old.function, old.outcome,
               old.campaign_id, old.generation, old.message, old.refused_at)
    then
        raise exception '% of a refusal is refused', tg_op
            using errcode = 'KN902',
                  detail  = 'Of a refusal only the count of those like it rises, one by one.',
                  hint    = 'Call kernel.prune for those that are older than the class keeps them.';
    end if;
    return new;
end
$fn$;

comment on function ledger.tg_refusal__guard() is
$doc$Lets a refusal count further ones of its own principal, and be pruned after its time; nothing
else of it changes: whoever was refused does not remove the trace.

Errors
    KN902 append_only$doc$;

create trigger refusal_10_guard
    before update or delete on ledger.refusal
    for each row execute function ledger.tg_refusal__guard();
create trigger refusal_20_no_truncate
    before truncate on ledger.refusal
    for each statement execute function ledger.tg__append_only();
create trigger refusal_30_not_by_hand
    after insert or update or delete on ledger.refusal
    for each row
    when (
        current_user <> 'fencepost_owner'
        or session_user = 'fencepost_owner'
        or current_setting('role') <> 'none'
        or current_setting('session_replication_role') = 'replica'
    )
    execute function ledger.tg__not_by_hand();
alter table ledger.refusal enable always trigger refusal_10_guard;
alter table ledger.refusal enable always trigger refusal_20_no_truncate;
alter table ledger.refusal enable always trigger refusal_30_not_by_hand;

commit;

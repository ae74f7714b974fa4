-- Deploy fencepost:denial/guard to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create or replace function ledger.is_past_denial(p_at timestamptz, p_now timestamptz)
    returns boolean
    language sql
    immutable
    set search_path = pg_catalog, pg_temp
as $fn$
    -- No class says for how long: this is the default of refusal_retention, in hours.
    select p_at + interval '2160 hours' <= p_now;
$fn$;

comment on function ledger.is_past_denial(timestamptz, timestamptz) is
$doc$Whether what was denied at p_at need not be kept any more at p_now: after 90 days.$doc$;

create or replace function ledger.tg_denial__guard()
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
    if tg_relid = 'ledger.denial'::regclass and ledger.session_is('collector') then
        if tg_op = 'INSERT'
            and new.reported_by = session_user
            and new.suppressed = 0
        then
            return new;
        end if;
        if tg_op = 'UPDATE'
            and new.suppressed = old.suppressed + 1
            and new.suppressed_until > coalesce(old.suppressed_until, '-infinity')
            and row(new.denial_no, new.session_id, new.line_no, new.denied_at, new.principal,
                    new.sqlstate, new.message, new.command, new.application, new.raised_in,
                    new.reported_at, new.reported_by)
                is not distinct from
                row(old.denial_no, old.session_id, old.line_no, old.denied_at, old.principal,
                    old.sqlstate, old.message, old.command, old.application, old.raised_in,
                    old.reported_at, old.reported_by)
        then
            return new;
        end if;
        if tg_op = 'DELETE'
            and ledger.is_past_denial(greatest(old.denied_at, old.reported_at), ledger.clock())
        then
            return old;
        end if;
    end if;
    raise exception '% of a denial is refused', tg_op
        using errcode = 'KN902',
              detail  = 'A denial is what a collector reported; only the count beside it rises.',
              hint    = 'Call kernel.report_denial as a collector; it removes what is 90 days old.';
end
$fn$;

comment on function ledger.tg_denial__guard() is
$doc$Lets a collector add a denial, count further ones, and remove what is 90 days old; nobody else,
and nothing else of it changes: whoever was denied does not remove the trace, nor forge one.

Errors
    KN902 append_only$doc$;

create trigger denial_10_guard
    before insert or update or delete on ledger.denial
    for each row execute function ledger.tg_denial__guard();
create trigger denial_20_no_truncate
    before truncate on ledger.denial
    for each statement execute function ledger.tg__append_only();
create trigger denial_30_not_by_hand
    after insert or update or delete on ledger.denial
    for each row
    when (
        current_user <> 'fencepost_owner'
        or session_user = 'fencepost_owner'
        or current_setting('role') <> 'none'
        or current_setting('session_replication_role') = 'replica'
    )
    execute function ledger.tg__not_by_hand();
alter table ledger.denial enable always trigger denial_10_guard;
alter table ledger.denial enable always trigger denial_20_no_truncate;
alter table ledger.denial enable always trigger denial_30_not_by_hand;

commit;

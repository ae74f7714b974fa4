-- Deploy fencepost:people/resume to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create or replace function kernel.resume(p_class text, p_reason text default null)
    returns kernel.receipt
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
    perform ledger.enter();
    perform ledger.require_class(p_class);
    perform ledger.require_text('p_reason', p_reason, 4096);
    if not ledger.session_is('admin') then
        return ledger.forbid('resume', p_class);
    end if;
    return ledger.set_paused('resume', p_class, false, p_reason);
end
$fn$;

comment on function kernel.resume(text, text) is
$doc$Lets a paused class go on.

Parameters
    p_class   the class
    p_reason  why, up to 4096 bytes; or null

Whatever waits for a verdict or a promotion has all of verify_within or promote_within again, from
now on.

Answers
    ok (duplicate: it was going on already), forbidden

Errors
    KN101, KN102, KN103, KN106, KN111, KN112

Writes
    ledger.class, ledger.config_event$doc$;

grant execute on function kernel.resume(text, text) to fencepost_admin;

commit;

-- Deploy fencepost:people/pause to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create or replace function ledger.set_paused(
    p_function  text,
    p_class     text,
    p_is_paused boolean,
    p_reason    text
)
    returns kernel.receipt
    language plpgsql
    volatile
    set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_before  ledger.class;
    v_now     timestamptz;
    v_receipt kernel.receipt;
begin
    perform ledger.known_class(p_class);
    select c.* into v_before
    from ledger.class as c
    where c.class = p_class
    for no key update;

    v_receipt.outcome   := 'ok';
    v_receipt.duplicate := v_before.is_paused = p_is_paused;
    v_receipt.moved     := false;
    v_receipt.class     := p_class;
    if v_receipt.duplicate then
        return v_receipt;
    end if;

    v_now := ledger.clock();
    update ledger.class as c
    set is_paused  = p_is_paused,
        resumed_at = case when p_is_paused then c.resumed_at else v_now end
    where c.class = p_class;
    perform ledger.log_config(
        p_class, p_function, p_class,
        jsonb_build_object('is_paused', v_before.is_paused),
        jsonb_build_object('is_paused', p_is_paused, 'reason', p_reason)
    );
    return v_receipt;
end
$fn$;

comment on function ledger.set_paused(text, text, boolean, text) is
$doc$Pauses or resumes a class and records it; ok and duplicate where it was so already.

Parameters
    p_function   pause or resume
    p_class      the class
    p_is_paused  what it shall be
    p_reason     why; or null

Writes
    ledger.class, ledger.config_event$doc$;

create or replace function kernel.pause(p_class text, p_reason text default null)
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
        return ledger.forbid('pause', p_class);
    end if;
    return ledger.set_paused('pause', p_class, true, p_reason);
end
$fn$;

comment on function kernel.pause(text, text) is
$doc$Stops a class: claims give no row and nothing is accepted.

Parameters
    p_class   the class
    p_reason  why, up to 4096 bytes; or null

Whatever finishes or records goes on: submissions, rejections, promotions, observations, the reaper.
Leases that are lost meanwhile are not counted against a budget. Nothing parks for verify_within or
promote_within: with nobody allowed to claim, nobody is late.

Answers
    ok (duplicate: it was so already), forbidden

Errors
    KN101, KN102, KN103, KN106, KN111, KN112

Writes
    ledger.class, ledger.config_event$doc$;

grant execute on function kernel.pause(text, text) to fencepost_admin;

commit;

-- Deploy fencepost:policy/deauthorise to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create or replace function kernel.deauthorise(
    p_class  text,
    p_duty   text,
    p_kind   text,
    p_target text
)
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
declare
    v_before  ledger.authority;
    v_receipt kernel.receipt;
begin
    perform ledger.enter();
    perform ledger.require_authority(p_class, p_duty, p_kind, p_target);
    if not ledger.session_is('admin') then
        return ledger.forbid('deauthorise', p_class);
    end if;
    perform ledger.known_class(p_class);

    v_receipt.outcome   := 'ok';
    v_receipt.duplicate := false;
    v_receipt.moved     := false;
    v_receipt.class     := p_class;

    delete from ledger.authority as a
    where a.class = p_class and a.duty = p_duty and a.kind = p_kind and a.target = p_target
    returning a.* into v_before;
    if not found then
        v_receipt.duplicate := true;
        return v_receipt;
    end if;
    perform ledger.log_config(
        p_class, 'deauthorise', concat_ws(' ', p_duty, p_kind, p_target), to_jsonb(v_before), null
    );
    return v_receipt;
end
$fn$;

comment on function kernel.deauthorise(text, text, text, text) is
$doc$Takes an authority away. What was begun under it may still be started, completed, failed or
resolved: begun is begun, and the truth about an effect is not refused.

Parameters
    p_class, p_duty, p_kind, p_target   as it was authorised

Answers
    ok (duplicate: there was none), forbidden

Errors
    KN101, KN102, KN103, KN106, KN111, KN112

Writes
    ledger.authority (deleted), ledger.config_event$doc$;

grant execute on function kernel.deauthorise(text, text, text, text) to fencepost_admin;

commit;

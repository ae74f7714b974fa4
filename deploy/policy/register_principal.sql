-- Deploy fencepost:policy/register_principal to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create or replace function kernel.register_principal(p_principal text, p_family text default null)
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
    v_now     timestamptz;
    v_role    record;
    v_before  ledger.principal;
    v_after   ledger.principal;
    v_receipt kernel.receipt;
begin
    perform ledger.enter();
    perform ledger.require('p_principal', p_principal is not null);
    perform ledger.require_text('p_principal', p_principal, 63);
    perform ledger.require_text('p_family', p_family, 200);
    if not ledger.session_is('admin') then
        return ledger.forbid('register_principal', '');
    end if;

    select r.oid, r.rolname, r.rolcanlogin, r.rolsuper into v_role
    from pg_catalog.pg_roles as r
    where r.rolname = p_principal;
    if not found or not v_role.rolcanlogin then
        raise exception 'there is no LOGIN role %', p_principal
            using errcode = 'KN109',
                  detail  = case when found then 'The role is NOLOGIN.'
                                 else 'No role has this name.' end,
                  hint    = 'Create it with CREATE ROLE … LOGIN, then register it.';
    end if;
    if v_role.rolsuper then
        raise exception 'role % is a superuser', p_principal
            using errcode = 'KN102',
                  detail  = 'A superuser is a member of every role and independent of nobody.',
                  hint    = 'Register a role without SUPERUSER.';
    end if;

    v_receipt.outcome   := 'ok';
    v_receipt.duplicate := false;
    v_receipt.moved     := false;

    v_now := ledger.clock();
    insert into ledger.principal as p
        (principal, principal_oid, family, registered_at, registered_by)
    values
        (v_role.rolname, v_role.oid, p_family, v_now, session_user)
    on conflict (principal) do nothing
    returning p.* into v_after;

    if not found then
        select p.* into v_before
        from ledger.principal as p
        where p.principal = v_role.rolname
        for no key update;

        if v_before.principal_oid = v_role.oid
            and v_before.family is not distinct from p_family
        then
            v_receipt.duplicate := true;
            return v_receipt;
        end if;

        v_now := ledger.clock();
        update ledger.principal as p
        set principal_oid = v_role.oid,
            family        = p_family,
            registered_at = v_now,
            registered_by = session_user
        where p.principal = v_role.rolname
        returning p.* into v_after;
    end if;

    perform ledger.log_config(
        '', 'register_principal', p_principal,
        case when v_before.principal is not null then to_jsonb(v_before) end, to_jsonb(v_after)
    );
    return v_receipt;
end
$fn$;

comment on function kernel.register_principal(text, text) is
$doc$Makes a LOGIN role known as a principal, with the model family that stands behind it.

Parameters
    p_principal  the role's name, as in pg_roles
    p_family     its model family, up to 200 bytes; null where it has none

A role that was dropped and made again must be registered and enrolled again: its OID is another.

Answers
    ok (duplicate: it was registered like that already), forbidden

Errors
    KN101, KN102, KN103, KN109 unknown_principal, KN111, KN112

Writes
    ledger.principal, ledger.config_event$doc$;

grant execute on function kernel.register_principal(text, text) to fencepost_admin;

commit;

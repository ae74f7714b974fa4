-- Deploy fencepost:policy/enrol to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create or replace function ledger.require_duty(p_duty text)
    returns void
    language plpgsql
    immutable
    set search_path = pg_catalog, pg_temp
as $fn$
begin
    perform ledger.require('p_duty', p_duty is not null);
    if p_duty not in ('sensor', 'worker', 'verifier') then
        raise exception 'there is no such duty'
            using errcode = 'KN102',
                  detail  = format('p_duty is "%s".', left(p_duty, 63)),
                  hint    = 'The duties are sensor, worker and verifier.';
    end if;
end
$fn$;

comment on function ledger.require_duty(text) is
$doc$Raises KN101 or KN102 unless p_duty is sensor, worker or verifier.$doc$;

create or replace function kernel.enrol(p_class text, p_principal text, p_duty text)
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
    v_oid     oid;
    v_before  ledger.enrolment;
    v_after   ledger.enrolment;
    v_receipt kernel.receipt;
begin
    perform ledger.enter();
    perform ledger.require_class(p_class);
    perform ledger.require('p_principal', p_principal is not null);
    perform ledger.require_text('p_principal', p_principal, 63);
    perform ledger.require_duty(p_duty);
    if not ledger.session_is('admin') then
        return ledger.forbid('enrol', p_class);
    end if;
    perform ledger.known_class(p_class);

    select p.principal_oid into v_oid
    from ledger.principal as p
    join pg_catalog.pg_roles as r on r.rolname = p.principal and r.oid = p.principal_oid
    where p.principal = p_principal;
    if not found then
        raise exception 'principal % is not registered as it is now', left(p_principal, 63)
            using errcode = 'KN109',
                  detail  = case when exists (
                                select from ledger.principal as p where p.principal = p_principal
                            ) then 'The role was dropped, or made anew, since it was registered.'
                                 else 'It was never registered.' end,
                  hint    = 'Call kernel.register_principal for it first.';
    end if;
    if not ledger.is_member(v_oid, 'fencepost_' || p_duty) then
        raise exception 'role % is not a direct, inheriting member of fencepost_%',
            p_principal, p_duty
            using errcode = 'KN115',
                  detail  = 'It is not granted, or through another role, or not inherited.',
                  hint    = format('Run: grant fencepost_%s to %I', p_duty, p_principal);
    end if;

    v_receipt.outcome   := 'ok';
    v_receipt.duplicate := false;
    v_receipt.moved     := false;
    v_receipt.class     := p_class;

    v_now := ledger.clock();
    insert into ledger.enrolment as e
        (class, duty, principal, principal_oid, enrolled_at, enrolled_by)
    values
        (p_class, p_duty, p_principal, v_oid, v_now, session_user)
    on conflict (class, duty, principal) do nothing
    returning e.* into v_after;

    if not found then
        select e.* into v_before
        from ledger.enrolment as e
        where e.class = p_class and e.duty = p_duty and e.principal = p_principal
        for no key update;

        if v_before.principal_oid = v_oid then
            v_receipt.duplicate := true;
            return v_receipt;
        end if;

        v_now := ledger.clock();
        update ledger.enrolment as e
        set principal_oid = v_oid,
            enrolled_at   = v_now,
            enrolled_by   = session_user
        where e.class = p_class and e.duty = p_duty and e.principal = p_principal
        returning e.* into v_after;
    end if;

    perform ledger.log_config(
        p_class, 'enrol', p_principal,
        case when v_before.class is not null then to_jsonb(v_before) end, to_jsonb(v_after)
    );
    return v_receipt;
end
$fn$;

comment on function kernel.enrol(text, text, text) is
$doc$Lets a registered principal act in a class for one duty.

Parameters
    p_class      the class
    p_principal  a registered LOGIN role, a direct and inheriting member of fencepost_<duty>
    p_duty       sensor, worker or verifier

Answers
    ok (duplicate: it was enrolled already), forbidden

Errors
    KN101, KN102, KN103, KN106, KN109 unknown_principal, KN111, KN112,
    KN115 not_a_member

Writes
    ledger.enrolment, ledger.config_event$doc$;

grant execute on function kernel.enrol(text, text, text) to fencepost_admin;

commit;

-- Deploy fencepost:people/dismiss to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create or replace function kernel.dismiss(p_class text, p_principal text, p_duty text)
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
    v_class       ledger.class;
    v_before      ledger.enrolment;
    v_campaign    ledger.campaign;
    v_campaign_id bigint;
    v_generation  bigint;
    v_states      text[];
    v_now         timestamptz;
    v_receipt     kernel.receipt;
begin
    perform ledger.enter();
    perform ledger.require_class(p_class);
    perform ledger.require('p_principal', p_principal is not null);
    perform ledger.require_text('p_principal', p_principal, 63);
    perform ledger.require_duty(p_duty);
    if not ledger.session_is('admin') then
        return ledger.forbid('dismiss', p_class);
    end if;
    -- Held: several seats are locked below; kernel.define_class would lock them in another order.
    v_class := ledger.hold_class(p_class);

    -- A slip in the name must not read as done. Whoever was ever registered stays known.
    perform from ledger.principal as p where p.principal = p_principal;
    if not found then
        raise exception 'there is no principal %', p_principal
            using errcode = 'KN109',
                  detail  = 'It was never registered; whoever once was stays known.',
                  hint    = 'Write its name as audit.enrolments does.';
    end if;

    v_receipt.outcome   := 'ok';
    v_receipt.duplicate := false;
    v_receipt.moved     := false;
    v_receipt.class     := p_class;

    delete from ledger.enrolment as e
    where e.class = p_class and e.duty = p_duty and e.principal = p_principal
    returning e.* into v_before;
    if not found then
        v_receipt.duplicate := true;
        return v_receipt;
    end if;

    -- In the order of their ids: two dismissals at once do not wait for each other in a circle.
    v_states := case p_duty
        when 'worker'   then array['leased']
        when 'verifier' then array['verifying', 'promoting']
        else '{}'
    end;
    for v_campaign_id, v_generation in
        select c.campaign_id, c.generation
        from ledger.campaign as c
        where c.class = p_class
          and c.lease_token_sha256 is not null
          and c.lease_principal = p_principal
          and c.state = any (v_states)
        order by c.campaign_id
    loop
        perform ledger.lock_seat(p_class, v_campaign_id, v_generation);
        select c.* into v_campaign
        from ledger.campaign as c
        where c.class = p_class
          and c.campaign_id = v_campaign_id
          and c.lease_principal = p_principal
          and c.state = any (v_states)
        for no key update;
        continue when not found;

        v_now := ledger.clock();
        perform ledger.lose(v_campaign, v_class, v_now, 'its holder was dismissed', false);
        v_receipt.moved := true;
    end loop;

    v_now := ledger.clock();
    perform ledger.dismiss_operations(p_class, p_principal, p_duty, v_now);
    perform ledger.log_config(p_class, 'dismiss', p_principal, to_jsonb(v_before), null);
    return v_receipt;
end
$fn$;

comment on function kernel.dismiss(text, text, text) is
$doc$Takes a principal's enrolment away, and with it every lease that it holds for that duty.

Parameters
    p_class      the class
    p_principal  the principal
    p_duty       sensor, worker or verifier

Leases taken away like this do not count as losses of their campaigns. Its operations without a
campaign are released, and become unknown where they were started.

Answers
    ok (duplicate: it was not enrolled; moved: leases were taken away), forbidden

Errors
    KN101, KN102, KN103, KN106, KN109 unknown_principal, KN111, KN112

Writes
    ledger.enrolment, ledger.config_event, ledger.campaign, ledger.attempt,
    ledger.campaign_event, ledger.operation, ledger.operation_event$doc$;

grant execute on function kernel.dismiss(text, text, text) to fencepost_admin;

commit;

-- Deploy fencepost:denial/report_denial to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create or replace function ledger.is_client(p_role text)
    returns boolean
    language sql
    stable
    set search_path = pg_catalog, pg_temp
as $fn$
    select exists (
        select
        from pg_catalog.pg_auth_members as m
        join pg_catalog.pg_roles as g on g.oid = m.roleid
        join pg_catalog.pg_roles as r on r.oid = m.member
        where r.rolname = p_role
          and g.rolname in ('fencepost_worker', 'fencepost_verifier', 'fencepost_reaper',
                            'fencepost_sensor', 'fencepost_admin', 'fencepost_auditor',
                            'fencepost_collector')
    ) or exists (
        select from ledger.principal as p where p.principal = p_role
    );
$fn$;

comment on function ledger.is_client(text) is
$doc$Whether a role is a member of one of the groups, inheriting or not, or was registered as a
principal, also where it has been dropped since.$doc$;

create or replace function kernel.report_denial(
    p_session_id  text,
    p_line_no     bigint,
    p_denied_at   timestamptz,
    p_role        text,
    p_sqlstate    text,
    p_message     text,
    p_command     text default null,
    p_application text default null,
    p_raised_in   text default null
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
    c_per_minute constant integer := 60;    -- as of refusals
    v_now        timestamptz;
    v_oldest     timestamptz;
    v_newest     ledger.denial;
    v_receipt    kernel.receipt;
begin
    perform ledger.enter();
    perform ledger.require('p_session_id', p_session_id is not null);
    perform ledger.require('p_line_no', p_line_no is not null);
    perform ledger.require('p_denied_at', p_denied_at is not null);
    perform ledger.require('p_role', p_role is not null);
    perform ledger.require('p_sqlstate', p_sqlstate is not null);
    perform ledger.require('p_message', p_message is not null);
    perform ledger.require_text('p_role', p_role, 63);
    perform ledger.require_bytes('p_message', p_message, 4096);
    perform ledger.require_text('p_command', p_command, 200);
    perform ledger.require_bytes('p_application', p_application, 200);
    perform ledger.require_bytes('p_raised_in', p_raised_in, 200);
    if p_session_id !~ '^[0-9a-f]{1,16}\.[0-9a-f]{1,8}$' then
        raise exception 'p_session_id is not that of a session in the server''s log'
            using errcode = 'KN102',
                  detail  = 'It is two hexadecimal numbers with a point between them.',
                  hint    = 'Pass session_id of jsonlog, the sixth column of csvlog, or %c.';
    end if;
    if p_sqlstate <> '42501' then
        raise exception 'p_sqlstate is not that of a denial'
            using errcode = 'KN102',
                  detail  = 'A permission that is missing is logged as 42501.',
                  hint    = 'Report what was logged as 42501 insufficient_privilege only.';
    end if;
    if p_line_no < 1 then
        raise exception 'a line number of % is out of range', p_line_no
            using errcode = 'KN104',
                  detail  = 'The lines of a session are counted from 1.',
                  hint    = 'Pass line_num of jsonlog, the seventh column of csvlog, or %l.';
    end if;
    v_now := ledger.clock();
    if not isfinite(p_denied_at) or p_denied_at > v_now + interval '1 day' then
        raise exception 'a denial at % is out of range', p_denied_at
            using errcode = 'KN104',
                  detail  = format('It is %s here, and a line is not of tomorrow.', v_now),
                  hint    = 'Pass the time of the line with its time zone.';
    end if;
    if not ledger.session_is('collector') then
        return ledger.forbid('report_denial', '');
    end if;

    v_receipt.outcome   := 'ok';
    v_receipt.duplicate := false;
    v_receipt.moved     := false;
    if not ledger.is_client(p_role) then
        v_receipt.note := 'not_a_client';
        return v_receipt;
    end if;
    if ledger.is_past_denial(p_denied_at, v_now) then
        v_receipt.note := 'too_old';
        return v_receipt;
    end if;
    perform
    from ledger.denial as d
    where d.session_id = p_session_id and d.line_no = p_line_no and d.denied_at = p_denied_at;
    if found then
        v_receipt.duplicate := true;
        return v_receipt;
    end if;

    -- A minute of the log, however late it is reported.
    select d.denied_at into v_oldest
    from ledger.denial as d
    where d.principal = p_role and d.denied_at <= p_denied_at
    order by d.denied_at desc, d.denial_no desc
    offset c_per_minute - 1
    limit 1;

    if v_oldest > p_denied_at - interval '1 minute' then
        select d.* into v_newest
        from ledger.denial as d
        where d.principal = p_role and d.denied_at <= p_denied_at
        order by d.denied_at desc, d.denial_no desc
        limit 1
        for no key update;

        -- The log is read in its order: what is not after the last one counted was counted.
        if v_newest.suppressed_until >= p_denied_at then
            v_receipt.duplicate := true;
            return v_receipt;
        end if;
        update ledger.denial as d
        set suppressed       = d.suppressed + 1,
            suppressed_until = p_denied_at
        where d.denial_no = v_newest.denial_no;
        v_receipt.note := 'suppressed';
        return v_receipt;
    end if;

    insert into ledger.denial
        (session_id, line_no, denied_at, principal, sqlstate, message, command, application,
         raised_in, reported_at, reported_by)
    values
        (p_session_id, p_line_no, p_denied_at, p_role, p_sqlstate, p_message, p_command,
         p_application, p_raised_in, v_now, session_user)
    on conflict (session_id, line_no, denied_at) do nothing;
    if not found then
        v_receipt.duplicate := true;
        return v_receipt;
    end if;

    -- Two for one: what is old goes as long as anything comes.
    delete from ledger.denial as d
    where d.denial_no in (
              select x.denial_no from ledger.denial as x order by x.denial_no limit 2
          )
      and ledger.is_past_denial(greatest(d.denied_at, d.reported_at), v_now);
    return v_receipt;
end
$fn$;

comment on function kernel.report_denial(
    text, bigint, timestamptz, text, text, text, text, text, text
) is
$doc$Records that the server itself denied something to a principal, as a line of its log says.

Parameters
    p_session_id   the session that was denied it, as the log names it
    p_line_no      the line's number within that session
    p_denied_at    the line's time
    p_role         the role that had logged in
    p_sqlstate     42501: nothing else is a denial
    p_message      the primary message, up to 4096 bytes
    p_command      the command tag, up to 200 bytes
    p_application  what the session called itself, up to 200 bytes
    p_raised_in    the server's function that raised it, up to 200 bytes; null: not logged

Session, line and time are the line's identity: one that is reported again, also by another
collector or after a restart of either side, is a duplicate. A principal's denials beyond 60 in a
minute of the log get no row: they are counted in "suppressed" of its newest one before them, those
of one millisecond once. Denials are kept for 90 days.

Answers
    ok (note: not_a_client, too_old: nothing was recorded; suppressed: it was counted), forbidden

Errors
    KN101, KN102, KN103, KN104 (p_line_no, p_denied_at), KN111, KN112

Writes
    ledger.denial (one row, or one count; two that are past their time are removed)$doc$;

grant execute on function kernel.report_denial(
    text, bigint, timestamptz, text, text, text, text, text, text
) to fencepost_collector;

commit;

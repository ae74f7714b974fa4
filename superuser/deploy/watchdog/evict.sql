-- Deploy fencepost_superuser:watchdog/evict to pg
--
-- The role belongs to the cluster: it is made where it is missing, and stays. It owns this one
-- function, so that nobody who calls it, and no function of the kernel, can signal anything else.

begin;
set local search_path = pg_catalog, pg_temp;

do $do$
declare
    c_options constant text := case
        when current_setting('server_version_num')::integer < 160000 then ''
        else ' with inherit true, set false'
    end;
    v_role pg_catalog.pg_roles;
begin
    select r.* into v_role from pg_catalog.pg_roles as r where r.rolname = 'fencepost_watchdog';
    if not found then
        create role fencepost_watchdog nologin;
    elsif v_role.rolcanlogin or v_role.rolsuper or v_role.rolbypassrls or v_role.rolcreaterole
        or v_role.rolcreatedb or v_role.rolreplication or not v_role.rolinherit then
        raise exception 'role "fencepost_watchdog" exists and is not as the watchdog has to be'
            using detail = 'It is NOLOGIN, inherits, and has no attribute of its own.',
                  hint   = 'Rename that role, or take LOGIN and its attributes from it.';
    end if;
    execute 'grant pg_signal_backend, pg_read_all_stats to fencepost_watchdog' || c_options;
end
$do$;

create schema watchdog;

comment on schema watchdog is 'Ends sessions that hold a transaction open; see watchdog.evict.';

grant usage on schema watchdog to fencepost_watchdog, fencepost_reaper, fencepost_admin;

create type watchdog.eviction as (
    pid              integer,
    principal        name,
    application_name text,
    state            text,
    open_for         interval,
    was_ended        boolean
);

comment on type watchdog.eviction is 'A session that watchdog.evict has ended.';
comment on column watchdog.eviction.open_for is 'How long its transaction was open.';
comment on column watchdog.eviction.was_ended is 'False where it had ended by itself.';

revoke usage on type watchdog.eviction from public;

create function watchdog.evict(p_older_than interval)
    returns setof watchdog.eviction
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
    v_now      timestamptz;
    v_eviction watchdog.eviction;
begin
    if p_older_than is null or p_older_than < interval '1 second'
        or p_older_than > interval '1 day' then
        raise exception 'sessions are not evicted after %', coalesce(p_older_than::text, 'null')
            using errcode = 'invalid_parameter_value',
                  detail  = 'A transaction may be open for 1 second to 1 day.',
                  hint    = 'Call it with the time that the longest honest transaction takes.';
    end if;

    -- What was seen earlier in this transaction is not what is so now.
    perform pg_stat_clear_snapshot();
    v_now := clock_timestamp();
    for v_eviction in
        select a.pid, pg_get_userbyid(a.usesysid), a.application_name, a.state,
               v_now - a.xact_start, false
        from pg_catalog.pg_stat_activity as a
        where a.datname = current_database()
          and a.backend_type = 'client backend'
          and a.pid <> pg_backend_pid()
          and a.xact_start <= v_now - p_older_than
          -- Whose role was dropped meanwhile is a member of nothing, and goes on in its session.
          and (
              a.usename is null
              -- A principal of the ledger: a member of a group that is given the kernel. A superuser
              -- counts as a member of every role, so also as one of the owner.
              or not pg_has_role(a.usesysid, 'fencepost_owner', 'member')
              and exists (
                  select from pg_catalog.pg_namespace as n
                  cross join aclexplode(n.nspacl) as g
                  where n.nspname = 'kernel' and g.grantee not in (0, n.nspowner)
                    and pg_has_role(a.usesysid, g.grantee, 'member')
              )
              -- Auditors and admins may read for long, statement after statement as a dump does;
              -- nobody may lock for long, or idle.
              and not (
                  (a.state = 'active' or a.state_change > v_now - p_older_than)
                  and a.backend_xid is null
                  and (pg_has_role(a.usesysid, 'fencepost_auditor', 'member')
                       or pg_has_role(a.usesysid, 'fencepost_admin', 'member'))
              )
          )
        order by a.xact_start, a.pid
    loop
        v_eviction.was_ended := pg_terminate_backend(v_eviction.pid);
        raise log 'fencepost evicted % with pid % for %: % with a transaction open for %',
            v_eviction.principal, v_eviction.pid, session_user, v_eviction.state,
            v_eviction.open_for;
        return next v_eviction;
    end loop;
end
$fn$;

comment on function watchdog.evict(interval) is
$doc$Ends the sessions of the ledger's principals in this database whose transaction is open for
longer than p_older_than: idle in it, or at work. An auditor's or admin's that only reads is let be.
So are sessions of others, but not those whose role was dropped: nothing tells any more what it was.
Returns those it ended; each is a line in the server's log, and nothing in the ledger, which the
owner of this function cannot write.

Parameters
    p_older_than  from 1 second to 1 day

Errors
    22023 invalid_parameter_value$doc$;

revoke execute on function watchdog.evict(interval) from public;
grant execute on function watchdog.evict(interval) to fencepost_reaper, fencepost_admin;
alter function watchdog.evict(interval) owner to fencepost_watchdog;

commit;

-- Verify fencepost_superuser:watchdog/evict on pg

begin;
\ir ../../../verify/_support/asserts_on.psql
reset role;

do $verify$
declare
    c_settings constant text[] := array[
        'search_path=pg_catalog, pg_temp', 'client_min_messages=warning', 'TimeZone=UTC',
        'DateStyle=ISO, MDY', 'IntervalStyle=postgres', 'bytea_output=hex',
        'standard_conforming_strings=on', 'lock_timeout=5s'
    ];
    v_watchdog pg_catalog.pg_roles;
    v_schema   pg_catalog.pg_namespace;
    v_proc     pg_catalog.pg_proc;
    v_found    text[];
begin
    select r.* into strict v_watchdog from pg_catalog.pg_roles as r
    where r.rolname = 'fencepost_watchdog';
    assert not (v_watchdog.rolcanlogin or v_watchdog.rolsuper or v_watchdog.rolbypassrls
                or v_watchdog.rolcreaterole or v_watchdog.rolcreatedb or v_watchdog.rolreplication),
        'the watchdog does not log in, and has no attribute';
    v_found := array(
        select format('%s%s', m.roleid::regrole, case when m.admin_option then ' with admin' end)
        from pg_catalog.pg_auth_members as m
        where m.member = v_watchdog.oid
          and coalesce((to_jsonb(m) ->> 'inherit_option')::boolean, v_watchdog.rolinherit)
        order by 1
    );
    assert v_found = array['pg_read_all_stats', 'pg_signal_backend']
        and v_found = array(
            select m.roleid::regrole::text from pg_catalog.pg_auth_members as m
            where m.member = v_watchdog.oid order by 1
        ), format('the watchdog sees and signals sessions, and no more; found %s', v_found);
    v_found := array(
        select m.member::regrole::text from pg_catalog.pg_auth_members as m
        where m.roleid = v_watchdog.oid order by 1
    );
    assert v_found = '{}', format('nobody is a member of the watchdog, found %s', v_found);
    assert not exists (
        select from pg_catalog.pg_db_role_setting as s where s.setrole = v_watchdog.oid
    ), 'the watchdog has no settings';

    select n.* into strict v_schema from pg_catalog.pg_namespace as n
    where n.nspname = 'watchdog';
    assert (select r.rolsuper from pg_catalog.pg_roles as r where r.oid = v_schema.nspowner),
        'schema watchdog belongs to a superuser';
    assert obj_description(v_schema.oid, 'pg_namespace') <> '', 'the schema is documented';
    v_found := array(
        select format('%s %s%s', case a.grantee when 0 then 'public' else a.grantee::regrole::text
                                 end, lower(a.privilege_type),
                      case when a.is_grantable then ' with grant option' end)
        from aclexplode(v_schema.nspacl) as a
        where a.grantee <> v_schema.nspowner
        order by 1
    );
    assert v_found = array[
        'fencepost_admin usage', 'fencepost_reaper usage', 'fencepost_watchdog usage'
    ], format('reapers and admins use schema watchdog, found %s', v_found);

    v_found := array(
        select p.oid::regprocedure::text from pg_catalog.pg_proc as p
        where p.pronamespace = v_schema.oid or p.proowner = v_watchdog.oid
    );
    assert v_found = array['watchdog.evict(interval)'],
        format('the watchdog owns one function, found %s', v_found);
    select p.* into strict v_proc from pg_catalog.pg_proc as p
    where p.oid = 'watchdog.evict(interval)'::regprocedure;
    assert v_proc.proowner = v_watchdog.oid and v_proc.prosecdef,
        'watchdog.evict runs with the watchdog''s rights';
    assert v_proc.proconfig = c_settings,
        format('watchdog.evict pins what its meaning depends on, found %s', v_proc.proconfig);
    assert v_proc.provolatile = 'v' and not v_proc.proisstrict
        and v_proc.proretset and v_proc.prorettype = 'watchdog.eviction'::regtype,
        'watchdog.evict returns setof watchdog.eviction';
    v_found := array(
        select format('%s%s', case a.grantee when 0 then 'public' else a.grantee::regrole::text end,
                      case when a.is_grantable then ' with grant option' end)
        from aclexplode(coalesce(v_proc.proacl, acldefault('f', v_proc.proowner))) as a
        where a.grantee <> v_proc.proowner
        order by 1
    );
    assert v_found = array['fencepost_admin', 'fencepost_reaper'],
        format('reapers and admins evict, found %s', v_found);
    assert obj_description(v_proc.oid, 'pg_proc') <> '', 'watchdog.evict is documented';

    v_found := array(
        select format('%s %s', a.attname, format_type(a.atttypid, a.atttypmod))
        from pg_catalog.pg_attribute as a
        join pg_catalog.pg_class as c on c.oid = a.attrelid
        where c.oid = 'watchdog.eviction'::regclass and a.attnum > 0 and not a.attisdropped
        order by a.attnum
    );
    assert v_found = array[
        'pid integer', 'principal name', 'application_name text', 'state text',
        'open_for interval', 'was_ended boolean'
    ], format('an eviction says who and for how long, found %s', v_found);
    assert not exists (
        select from pg_catalog.pg_type as t
        cross join aclexplode(coalesce(t.typacl, acldefault('T', t.typowner))) as a
        where t.oid = 'watchdog.eviction'::regtype and a.grantee <> t.typowner
    ), 'nobody builds on the type';
end
$verify$;

rollback;

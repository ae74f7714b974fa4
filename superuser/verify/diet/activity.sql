-- Verify fencepost_superuser:diet/activity on pg

begin;
\ir ../../../verify/_support/asserts_on.psql
reset role;

do $verify$
declare
    c_shown constant text[] := array(
        select format('%s by %s', o.object, r.name)
        from (
            select p.oid::regprocedure::text, p.proname
            from pg_catalog.pg_proc as p
            where p.pronamespace = 'pg_catalog'::regnamespace
              and (p.proname like 'pg\_stat\_get\_backend\_%' or p.proname like '%blocking\_pids'
                   or p.proname in ('pg_stat_get_activity', 'pg_lock_status'))
            union all
            values ('pg_stat_activity', 'pg_stat_activity'), ('pg_locks', 'pg_locks')
        ) as o (object, name)
        cross join unnest(array['fencepost_owner', 'pg_read_all_stats']) as r (name)
        where r.name = 'pg_read_all_stats' or o.name in ('pg_stat_activity', 'pg_stat_get_activity')
        order by 1
    );
    v_found text[];
begin
    v_found := array(
        select format('%s by %s%s', o.object,
                      case a.grantee when 0 then 'public' else a.grantee::regrole::text end,
                      case when a.is_grantable then ' with grant option'
                           when a.privilege_type not in ('EXECUTE', 'SELECT')
                               then format(' (%s)', a.privilege_type) end)
        from (
            select p.oid::regprocedure::text, p.proowner,
                   coalesce(p.proacl, acldefault('f', p.proowner))
            from pg_catalog.pg_proc as p
            where p.pronamespace = 'pg_catalog'::regnamespace
              and (p.proname like 'pg\_stat\_get\_backend\_%' or p.proname like '%blocking\_pids'
                   or p.proname in ('pg_stat_get_activity', 'pg_lock_status'))
            union all
            select c.oid::regclass::text, c.relowner,
                   coalesce(c.relacl, acldefault('r', c.relowner))
            from pg_catalog.pg_class as c
            where c.oid in ('pg_stat_activity'::regclass, 'pg_locks'::regclass)
        ) as o (object, owner, acl)
        cross join aclexplode(o.acl) as a
        where a.grantee <> o.owner
        order by 1
    );
    assert v_found = c_shown, format(
        'monitors see what others do, and health what it needs; only expected: %s; only found: %s',
        array(select unnest(c_shown) except select unnest(v_found)),
        array(select unnest(v_found) except select unnest(c_shown)));
end
$verify$;

rollback;

-- Deploy fencepost_superuser:diet/activity to pg
--
-- What a session of the same role has asked, and who holds which lock. Monitors are members of
-- pg_read_all_stats; kernel.health looks as fencepost_owner.

begin;
set local search_path = pg_catalog, pg_temp;

do $do$
declare
    c_change constant text := 'diet/activity';
    v_object record;
    v_role   text;
begin
    for v_object in
        -- A view of the catalogue calls its function with the rights of who looks.
        select 'execute' as privilege,
               format('function pg_catalog.%I(%s)', p.proname,
                      pg_get_function_identity_arguments(p.oid)) as object,
               coalesce(p.proacl, acldefault('f', p.proowner)) as acl,
               p.proname = 'pg_stat_get_activity' as for_health
        from pg_catalog.pg_proc as p
        where p.pronamespace = 'pg_catalog'::regnamespace
          and p.proname ~ ('^(pg_stat_get_activity|pg_stat_get_backend_.*|pg_lock_status'
                           || '|pg_(safe_snapshot_)?blocking_pids)$')
        union all
        select 'select', format('pg_catalog.%I', c.relname),
               coalesce(c.relacl, acldefault('r', c.relowner)),
               c.relname = 'pg_stat_activity'
        from pg_catalog.pg_class as c
        where c.oid in ('pg_catalog.pg_stat_activity'::regclass, 'pg_catalog.pg_locks'::regclass)
        order by 2
    loop
        perform fencepost_superuser.take(c_change, v_object.privilege, v_object.object,
                                         v_object.acl);
        foreach v_role in array array['pg_read_all_stats', 'fencepost_owner'] loop
            if v_role <> 'fencepost_owner' or v_object.for_health then
                perform fencepost_superuser.give(c_change, v_object.privilege, v_object.object,
                                                 v_object.acl, v_role);
            end if;
        end loop;
    end loop;
end
$do$;

commit;

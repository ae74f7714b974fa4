-- Severity: low
-- Title: Clients can watch the other sessions
-- Why: Who is connected, since when, and what it waits for and holds; of its own role also the
--   query. The views' functions show the same.
-- Source: PostgreSQL, "The Cumulative Statistics System", pg_locks
-- Needs: nothing
select o.object,
       format('PUBLIC has %s', a.privilege_type) as found,
       -- After a restore it is deployed, and some of it lost.
       case when current_setting('audit.found')::jsonb -> 'superuser'
                ? 'schema fencepost_superuser'
            then format(E'revoke %1$s on %2$s from public;\ngrant %1$s on %2$s to %3$s',
                        lower(a.privilege_type), o.object,
                        -- kernel.health looks as the owner.
                        case when o.name in ('pg_stat_activity', 'pg_stat_get_activity')
                             then 'pg_read_all_stats, fencepost_owner'
                             else 'pg_read_all_stats' end)
            else E'-- In a dedicated database, as a superuser:\n'
                 '\\setenv PGDATABASE :DBNAME\n'
                 '\\! superuser/sqitch deploy --verify --target db:pg:'
       end as remedy
from (
    select format('pg_catalog.%I', c.relname), c.relname, c.relacl
    from pg_catalog.pg_class as c
    where c.relnamespace = 'pg_catalog'::regnamespace
      and c.relname in ('pg_stat_activity', 'pg_locks')
    union all
    select format('function %s', p.oid::regprocedure), p.proname,
           coalesce(p.proacl, pg_catalog.acldefault('f', p.proowner))
    from pg_catalog.pg_proc as p
    where p.pronamespace = 'pg_catalog'::regnamespace
      and p.proname ~ ('^(pg_stat_get_activity|pg_stat_get_backend_.*|pg_lock_status'
                       || '|pg_(safe_snapshot_)?blocking_pids)$')
) as o (object, name, acl)
cross join pg_catalog.aclexplode(o.acl) as a
where a.grantee = 0 and a.privilege_type in ('SELECT', 'EXECUTE')

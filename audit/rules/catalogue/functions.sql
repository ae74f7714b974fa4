-- Severity: low
-- Title: Clients can call functions of PostgreSQL's own that they have no use for
-- Why: EXECUTE on them is PUBLIC's by default, and only a superuser can take it away. One
--   statement with advisory locks stops the whole server; the others store, forge, watch or end.
-- Source: PostgreSQL, "System Administration Functions", "Large Objects"
-- Needs: nothing
select f.family as object,
       format('%s functions are open to clients: %s', count(*), f.harm) as found,
       -- After a restore it is deployed, and some of it lost.
       case when current_setting('audit.found')::jsonb -> 'superuser'
                ? 'schema fencepost_superuser'
            then format('revoke execute on function %s from public',
                        string_agg(p.oid::regprocedure::text, ', '
                                   order by p.oid::regprocedure::text))
                 || coalesce(
                     format(E';\ngrant execute on function %s to %s',
                            string_agg(p.oid::regprocedure::text, ', '
                                       order by p.oid::regprocedure::text),
                            f.needed_by), '')
            else E'-- In a dedicated database, as a superuser:\n'
                 '\\setenv PGDATABASE :DBNAME\n'
                 '\\! superuser/sqitch deploy --verify --target db:pg:'
       end as remedy
from (
    values
    ('advisory locks', '^pg_(try_)?advisory_', 'they fill the table of locks',
     'pg_database_owner'),
    ('large objects', '^(lo_|loread$|lowrite$)', 'they store what no table shows', null),
    ('messages in the log of changes', '^pg_logical_emit_message$', 'they forge entries', null),
    ('signals', '^pg_(terminate|cancel)_backend$', 'sessions of one role end each other',
     'pg_signal_backend')
) as f (family, pattern, harm, needed_by)
join pg_catalog.pg_proc as p
    on p.pronamespace = 'pg_catalog'::regnamespace and p.proname ~ f.pattern
where exists (
    select
    from pg_catalog.aclexplode(coalesce(p.proacl, pg_catalog.acldefault('f', p.proowner))) as a
    where a.grantee = 0
)
group by f.family, f.harm, f.needed_by

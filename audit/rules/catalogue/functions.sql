-- Severity: low
-- Title: Clients can call functions of PostgreSQL's own that they have no use for
-- Why: EXECUTE on them is PUBLIC's by default, and only a superuser can take it away. One
--   statement with advisory locks stops the whole server; the others store, forge, watch or end.
-- Source: PostgreSQL, "System Administration Functions", "Large Objects"
-- Needs: nothing
select f.family as object,
       format('%s functions are open to clients: %s', count(*), f.harm) as found,
       format('revoke execute on function %s from public',
              string_agg(p.oid::regprocedure::text, ', ' order by p.oid::regprocedure::text))
           as remedy
from (
    values
    ('advisory locks', '^pg_(try_)?advisory_(xact_)?lock', 'they fill the table of locks'),
    ('large objects', '^(lo_|loread$|lowrite$)', 'they store what no table shows'),
    ('messages in the log of changes', '^pg_logical_emit_message$', 'they forge entries'),
    ('signals', '^pg_(terminate|cancel)_backend$', 'sessions of one role end each other')
) as f (family, pattern, harm)
join pg_catalog.pg_proc as p
    on p.pronamespace = 'pg_catalog'::regnamespace and p.proname ~ f.pattern
where exists (
    select
    from pg_catalog.aclexplode(coalesce(p.proacl, pg_catalog.acldefault('f', p.proowner))) as a
    where a.grantee = 0
)
group by f.family, f.harm

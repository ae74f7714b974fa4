-- Severity: critical
-- Title: A function of PostgreSQL's own was altered
-- Why: The kernel calls it, with the rights of the ledger's owner; and as a definer it lends its
--   callers a superuser's.
-- Source: PostgreSQL, pg_proc.dat and system_functions.sql, where none is a definer or has settings
-- Needs: nothing
select p.oid::regprocedure::text as object,
       a.found,
       format(a.remedy, p.oid::regprocedure) as remedy
from pg_catalog.pg_proc as p
join pg_catalog.pg_language as l on l.oid = p.prolang
cross join lateral (
    values
    (p.prosecdef, 'it is a definer', 'alter routine %s security invoker'),
    (p.proconfig is not null, 'it has ' || array_to_string(p.proconfig, ', '),
     'alter routine %s reset all'),
    (l.lanname not in ('internal', 'c', 'sql')
         or l.lanname = 'sql' and p.prosqlbody is null
            and p.prosrc not in (
                'select pg_catalog.quote_literal($1::pg_catalog.text)',
                'select pg_catalog.quote_nullable($1::pg_catalog.text)',
                'select $1 operator(pg_catalog.||) $2::pg_catalog.text',
                'select $1::pg_catalog.text operator(pg_catalog.||) $2'
            ),
     format('its body is another, in language %s', l.lanname),
     '-- No statement brings %s back: dump, initdb, and restore.')
) as a (is_so, found, remedy)
where p.pronamespace = 'pg_catalog'::regnamespace and p.oid < 16384 and a.is_so

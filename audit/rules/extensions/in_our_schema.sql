-- Severity: high
-- Title: An extension stands in a schema of ours
-- Why: Its objects are open to PUBLIC by default, under the kernel's name.
-- Source: CVE-2022-2625; PostgreSQL, CREATE EXTENSION
-- Needs: nothing
select x.extname as object,
       format('it is in schema %s', n.nspname) as found,
       case when x.extrelocatable
            then format(E'create schema if not exists extensions;\n'
                        'alter extension %I set schema extensions', x.extname)
            else format('drop extension %I', x.extname) end as remedy
from pg_catalog.pg_extension as x
join pg_catalog.pg_namespace as n on n.oid = x.extnamespace
where n.nspname in ('kernel', 'ledger', 'audit')

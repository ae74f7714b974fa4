-- Severity: critical
-- Title: A table inherits from one of ours
-- Why: Its rows are the parent's for every query, and no trigger of the parent's has seen them.
-- Source: PostgreSQL, "Inheritance"; docs/limits.md
-- Needs: nothing
select c.oid::regclass::text as object,
       format('it inherits from %s', p.oid::regclass) as found,
       format('alter table %s no inherit %s', c.oid::regclass, p.oid::regclass) as remedy
from pg_catalog.pg_inherits as i
join pg_catalog.pg_class as c on c.oid = i.inhrelid
join pg_catalog.pg_class as p on p.oid = i.inhparent
join pg_catalog.pg_namespace as n on n.oid = p.relnamespace
where n.nspname in ('kernel', 'ledger', 'audit') and c.relkind in ('r', 'f', 'p')

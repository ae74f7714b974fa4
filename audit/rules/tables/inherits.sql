-- Severity: critical
-- Title: A table inherits from one of ours, or one of ours from another
-- Why: A child's rows are the parent's for every query, and no trigger of the parent's has seen them;
--   whoever may write a parent writes its children.
-- Source: PostgreSQL, "Inheritance"; docs/limits.md
-- Needs: nothing
select c.oid::regclass::text as object,
       format('it inherits from %s', p.oid::regclass) as found,
       case when p.relkind = 'p'
           then format('alter table %s detach partition %s', p.oid::regclass, c.oid::regclass)
           else format('alter table %s no inherit %s', c.oid::regclass, p.oid::regclass)
       end as remedy
from pg_catalog.pg_inherits as i
join pg_catalog.pg_class as c on c.oid = i.inhrelid
join pg_catalog.pg_class as p on p.oid = i.inhparent
where exists (
    select from pg_catalog.pg_namespace as n
    where n.oid in (c.relnamespace, p.relnamespace) and n.nspname in ('kernel', 'ledger', 'audit')
) and c.relkind in ('r', 'f', 'p')

-- Severity: low
-- Title: A table of ours has another replica identity than it was deployed with
-- Why: FULL writes every column of the row that was into the log of changes. With NOTHING, or an
--   index that goes, a table that is published refuses the kernel's updates.
-- Source: PostgreSQL, ALTER TABLE, REPLICA IDENTITY
-- Needs: nothing
select c.oid::regclass::text as object,
       'its replica identity is '
           || case c.relreplident when 'f' then 'FULL' when 'n' then 'NOTHING' else 'an index' end
           as found,
       format('alter table %s replica identity default', c.oid::regclass) as remedy
from pg_catalog.pg_class as c
join pg_catalog.pg_namespace as n on n.oid = c.relnamespace
where n.nspname in ('kernel', 'ledger', 'audit') and c.relkind = 'r' and c.relreplident <> 'd'

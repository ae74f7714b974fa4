-- Severity: medium
-- Title: Somebody else's table refers to one of ours
-- Why: What deletes or updates a row of ours looks into that table, waits for its locks and may be
--   refused for its rows. What its foreign key then does, and its triggers, run in our call.
-- Source: PostgreSQL, "Foreign Keys"
-- Needs: nothing
select format('%I on %s', k.conname, k.conrelid::regclass) as object,
       format('it refers to %s', k.confrelid::regclass) as found,
       format('alter table %s drop constraint %I', k.conrelid::regclass, k.conname) as remedy
from pg_catalog.pg_constraint as k
join pg_catalog.pg_class as t on t.oid = k.confrelid
join pg_catalog.pg_namespace as n on n.oid = t.relnamespace
join pg_catalog.pg_class as c on c.oid = k.conrelid
join pg_catalog.pg_namespace as m on m.oid = c.relnamespace
where k.contype = 'f' and k.conparentid = 0
  and n.nspname in ('kernel', 'ledger', 'audit')
  and m.nspname not in ('kernel', 'ledger', 'audit')

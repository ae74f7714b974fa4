-- Severity: critical
-- Title: The check of a foreign key is switched off
-- Why: `alter table ... disable trigger all` takes foreign keys along; rows may point at nothing
--   since.
-- Source: PostgreSQL, ALTER TABLE
-- Needs: nothing
select format('%s on %s', k.conname, t.tgrelid::regclass) as object,
       'its trigger is DISABLED or fires elsewhere only' as found,
       format('alter table %s enable trigger %I', t.tgrelid::regclass, t.tgname) as remedy
from pg_catalog.pg_trigger as t
join pg_catalog.pg_class as c on c.oid = t.tgrelid
join pg_catalog.pg_namespace as n on n.oid = c.relnamespace
join pg_catalog.pg_constraint as k on k.oid = t.tgconstraint
where n.nspname in ('kernel', 'ledger', 'audit') and t.tgisinternal and t.tgenabled <> 'O'

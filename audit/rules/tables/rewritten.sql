-- Severity: note
-- Title: A table of ours was written anew
-- Why: ALTER TABLE ... TYPE ... USING puts what it likes into every row, past all triggers, and leaves
--   nothing else behind. VACUUM FULL and CLUSTER write a table anew as well, and change no row.
-- Source: PostgreSQL, ALTER TABLE, "Database File Layout"; docs/limits.md
-- Needs: nothing
select c.oid::regclass::text as object,
       'its file is another than it was made with' as found,
       '-- Where it was no VACUUM FULL: call kernel."check" with a checkpoint that was kept elsewhere.'
           as remedy
from pg_catalog.pg_class as c
join pg_catalog.pg_namespace as n on n.oid = c.relnamespace
where n.nspname in ('kernel', 'ledger', 'audit') and c.relkind = 'r' and c.relfilenode <> c.oid

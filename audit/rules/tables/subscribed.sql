-- Severity: high
-- Title: A subscription writes a table of ours
-- Why: Whoever writes the other server writes the ledger, past every function, and nothing but the
--   triggers against hands refuses it.
-- Source: PostgreSQL, "Logical Replication: Security"; docs/limits.md
-- Needs: nothing
select t.oid::regclass::text as object,
       format('subscription %I writes it', s.subname) as found,
       format(E'alter subscription %1$I disable;\n'
                  'alter subscription %1$I set (slot_name = none);\n'
                  'drop subscription %1$I;\n', s.subname)
           || coalesce(format('-- Then drop slot %I at the publisher.', s.subslotname),
                       '-- It had no slot at the publisher.') as remedy
from pg_catalog.pg_subscription as s
join pg_catalog.pg_database as d on d.oid = s.subdbid and d.datname = current_database()
join pg_catalog.pg_subscription_rel as r on r.srsubid = s.oid
join pg_catalog.pg_class as t on t.oid = r.srrelid
join pg_catalog.pg_namespace as n on n.oid = t.relnamespace
where n.nspname in ('kernel', 'ledger', 'audit')

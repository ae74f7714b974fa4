-- Severity: medium
-- Title: An event trigger that is not a superuser's watches this database
-- Why: It runs in every session that makes or alters something, a superuser's included, and so does
--   what its function's owner writes into that.
-- Source: PostgreSQL, "Event Triggers"
-- Needs: nothing
select format('event trigger %I', t.evtname) as object,
       format('it belongs to %s and calls %s of %s', r.rolname, t.evtfoid::regprocedure, o.rolname)
           as found,
       format('drop event trigger %I', t.evtname) as remedy
from pg_catalog.pg_event_trigger as t
join pg_catalog.pg_roles as r on r.oid = t.evtowner
join pg_catalog.pg_proc as p on p.oid = t.evtfoid
join pg_catalog.pg_roles as o on o.oid = p.proowner
where not (r.rolsuper and o.rolsuper)

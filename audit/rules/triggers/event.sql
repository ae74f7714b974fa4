-- Severity: medium
-- Title: An event trigger that is not a superuser's watches this database
-- Why: It runs in every session that makes or alters something, the deployer's included.
-- Source: PostgreSQL, "Event Triggers"
-- Needs: nothing
select format('event trigger %I', t.evtname) as object,
       format('it belongs to %s and calls %s', r.rolname, t.evtfoid::regprocedure) as found,
       format('drop event trigger %I', t.evtname) as remedy
from pg_catalog.pg_event_trigger as t
join pg_catalog.pg_roles as r on r.oid = t.evtowner
where not r.rolsuper

-- Severity: note
-- Title: A client's password has run out, or has no end
-- Why: A password that never ends is in the hands of whoever once copied it.
-- Source: CIS PostgreSQL Benchmark, password management
-- Needs: the right to read pg_authid, which superusers have
-- Seen when: has_table_privilege('pg_catalog.pg_authid', 'select')
select distinct r.rolname as object,
       case when r.rolvaliduntil < now() then format('it was valid until %s', r.rolvaliduntil)
            else 'it has no VALID UNTIL' end as found,
       format('alter role %I valid until %L', r.rolname, (now() + interval '1 year')::date)
           as remedy
from jsonb_to_recordset(current_setting('audit.memberships')::jsonb)
    as w (member name, "group" name, login boolean, inherits boolean, sets boolean)
join pg_catalog.pg_authid as r on r.rolname = w.member
where w.login and w."group" <> 'fencepost_owner' and (w.inherits or w.sets)
  and r.rolpassword is not null
  and coalesce(r.rolvaliduntil not between now() and '9999-12-31', true)

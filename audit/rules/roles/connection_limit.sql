-- Severity: low
-- Title: A client may open as many connections as the server has
-- Why: One client, or one password in the wrong hands, keeps everybody out.
-- Source: CIS PostgreSQL Benchmark 5.5; DISA STIG for PostgreSQL 16, sessions per user
-- Needs: nothing
select distinct r.rolname as object,
       'it has no CONNECTION LIMIT' as found,
       format('alter role %I connection limit 8', r.rolname) as remedy
from jsonb_to_recordset(current_setting('audit.memberships')::jsonb)
    as w (member name, "group" name, login boolean, inherits boolean, sets boolean)
join pg_catalog.pg_roles as r on r.rolname = w.member
where w.login and w."group" <> 'fencepost_owner' and (w.inherits or w.sets) and r.rolconnlimit = -1

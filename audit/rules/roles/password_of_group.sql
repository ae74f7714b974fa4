-- Severity: medium
-- Title: A group has a password
-- Why: A group is nobody who logs in. With LOGIN, whoever set the password, or once copied it, is
--   the owner of the ledger, or every member of a duty.
-- Source: PostgreSQL, CREATE ROLE; deploy/foundation/roles.sql
-- Needs: the right to read pg_authid, which superusers have
-- Seen when: has_table_privilege('pg_catalog.pg_authid', 'select')
select r.rolname as object,
       'it has a password' as found,
       format('alter role %I password null', r.rolname) as remedy
from jsonb_array_elements_text(
    current_setting('audit.expected')::jsonb -> 'roles'
) as e (name)
join pg_catalog.pg_authid as r on r.rolname = e.name
where r.rolpassword is not null

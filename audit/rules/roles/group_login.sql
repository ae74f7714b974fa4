-- Severity: critical
-- Title: A group can log in
-- Why: Who logs in as the owner has every right on the ledger, and who logs in as a group is
--   nobody that could be told apart from the others.
-- Source: DISA STIG for PostgreSQL 16, objects owned by authorised principals
-- Needs: nothing
select r.rolname as object,
       'it has LOGIN' as found,
       format('alter role %I nologin', r.rolname) as remedy
from jsonb_array_elements_text(
    current_setting('audit.expected')::jsonb -> 'roles'
) as e (name)
join pg_catalog.pg_roles as r on r.rolname = e.name
where r.rolcanlogin

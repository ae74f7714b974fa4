-- Severity: medium
-- Title: A client's password is kept as MD5
-- Why: Who reads the hash can log in with it.
-- Source: PostgreSQL, "Password Authentication"
-- Needs: the right to read pg_authid, which superusers have
-- Seen when: has_table_privilege('pg_catalog.pg_authid', 'select')
select distinct r.rolname as object,
       'its password is hashed with MD5' as found,
       format(E'set password_encryption = ''scram-sha-256'';\n\\password %I', r.rolname) as remedy
from jsonb_to_recordset(current_setting('audit.memberships')::jsonb)
    as w (member name, login boolean)
join pg_catalog.pg_authid as r on r.rolname = w.member
where w.login and r.rolpassword like 'md5%'

-- Severity: critical
-- Title: pg_hba.conf lets somebody in without asking
-- Why: `trust` takes every connection that the line covers for the role it names, the owner's and
--   a superuser's included.
-- Source: PostgreSQL, "Trust Authentication"
-- Needs: EXECUTE on pg_hba_file_rules(), which superusers have
-- Seen when: has_function_privilege('pg_catalog.pg_hba_file_rules()', 'execute')
select format('%s, line %s', coalesce(to_jsonb(h) ->> 'file_name', current_setting('hba_file')),
              h.line_number) as object,
       concat_ws(' ', h.type, array_to_string(h.database, ','), array_to_string(h.user_name, ','),
                 h.address, h.auth_method) as found,
       E'-- Write scram-sha-256 in place of trust; then\nselect pg_catalog.pg_reload_conf()' as remedy
from pg_catalog.pg_hba_file_rules() as h
where h.auth_method = 'trust'

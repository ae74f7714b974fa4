-- Severity: medium
-- Title: pg_hba.conf takes a password that can be listened to or replayed
-- Why: `password` sends it as it is; of `md5` the kept hash is as good as the password. `ident`
--   believes the other machine.
-- Source: PostgreSQL, "Password Authentication", "Ident Authentication"
-- Needs: EXECUTE on pg_hba_file_rules(), which superusers have
-- Seen when: has_function_privilege('pg_catalog.pg_hba_file_rules()', 'execute')
select format('%s, line %s', coalesce(to_jsonb(h) ->> 'file_name', current_setting('hba_file')),
              h.line_number) as object,
       concat_ws(' ', h.type, array_to_string(h.database, ','), array_to_string(h.user_name, ','),
                 h.address, h.auth_method) as found,
       format(E'-- Write scram-sha-256 in place of %s; then\nselect pg_catalog.pg_reload_conf()',
              h.auth_method) as remedy
from pg_catalog.pg_hba_file_rules() as h
where h.auth_method in ('password', 'md5') or h.auth_method = 'ident' and h.type <> 'local'

-- Severity: medium
-- Title: The server's sessions begin with a setting that changes what statements do
-- Why: It holds for every session, the kernel's calls included: triggers do not fire, calls fail,
--   comparisons mean something else, or what is damaged or foreign is let pass.
-- Source: PostgreSQL, "Client Connection Defaults", "Compatibility", "Developer Options"
-- Needs: nothing
select s.name as object,
       format('it is %s', s.reset_val) as found,
       format(E'alter system set %I = %L;\nselect pg_catalog.pg_reload_conf()', s.name, s.boot_val) as remedy
from pg_catalog.pg_settings as s
where s.name in (
      'allow_system_table_mods', 'createrole_self_grant', 'default_transaction_isolation',
      'default_transaction_read_only', 'event_triggers', 'ignore_checksum_failure',
      'ignore_system_indexes', 'lo_compat_privileges', 'row_security',
      'session_replication_role', 'transform_null_equals', 'zero_damaged_pages'
  )
  and s.source in ('configuration file', 'command line', 'environment variable')
  and s.reset_val <> s.boot_val

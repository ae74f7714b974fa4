-- Severity: low
-- Title: A client's idle transactions and long statements are not ended
-- Why: An idle transaction keeps its row locks and holds vacuum back. A client can change these
--   timeouts for its session; they bound the careless, not the hostile.
-- Source: PostgreSQL, "Statement Behavior"; CIS PostgreSQL Benchmark, timeouts
-- Needs: nothing
select r.rolname as object,
       format('it has no %s', t.setting) as found,
       format('alter role %I set %I = %L', r.rolname, t.setting, t.value) as remedy
from (
    select distinct w.member
    from jsonb_to_recordset(current_setting('audit.memberships')::jsonb)
        as w (member name, "group" name, login boolean, inherits boolean, sets boolean)
    where w.login and w."group" <> 'fencepost_owner' and (w.inherits or w.sets)
) as c
join pg_catalog.pg_roles as r on r.rolname = c.member
cross join (
    values ('idle_in_transaction_session_timeout', '60s'), ('statement_timeout', '5min')
) as t (setting, value)
where not exists (
      select from pg_catalog.pg_db_role_setting as x
      cross join unnest(x.setconfig) as s (setting)
      where x.setrole in (r.oid, 0)
        and x.setdatabase in (
            0, (select d.oid from pg_catalog.pg_database as d where d.datname = current_database())
        )
        and split_part(s.setting, '=', 1) = t.setting
        and s.setting !~ '=0[a-z]*$'
  )
  and not exists (
      select from pg_catalog.pg_settings as p
      where p.name = t.setting and p.reset_val <> '0'
        and p.source in ('configuration file', 'command line')
  )

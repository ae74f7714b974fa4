-- Severity: medium
-- Title: Lines of the log do not say whose session it was
-- Why: A denied write counts for nothing if nobody can be asked.
-- Source: CIS PostgreSQL Benchmark 3.1, log_line_prefix
-- Needs: nothing
select p.name as object,
       format('it is %L, without %s', p.setting, e.escape) as found,
       E'alter system set log_line_prefix = ''%m [%p] %q%u@%d '';\nselect pg_catalog.pg_reload_conf()'
           as remedy
from pg_catalog.pg_settings as p
join pg_catalog.pg_settings as d on d.name = 'log_destination'
cross join (values ('%u'), ('%d')) as e (escape)
where p.name = 'log_line_prefix'
  and strpos(p.setting, e.escape) = 0
  and d.setting !~ 'csvlog|jsonlog'

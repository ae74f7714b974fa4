-- Severity: note
-- Title: The log is written for people only
-- Why: What brings denied writes into the ledger reads jsonlog or csvlog.
-- Source: PostgreSQL, log_destination
-- Needs: nothing
select s.name as object,
       format('it is %s', s.setting) as found,
       E'alter system set log_destination = ''stderr,jsonlog'';\n'
           '-- logging_collector has to be on, which takes a restart.\nselect pg_catalog.pg_reload_conf()'
           as remedy
from pg_catalog.pg_settings as s
where s.name = 'log_destination' and s.setting !~ 'csvlog|jsonlog'

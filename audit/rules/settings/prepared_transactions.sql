-- Severity: medium
-- Title: A client can leave a transaction behind that holds locks and has no session
-- Why: PREPARE TRANSACTION outlives its connection; no timeout and no watchdog reaches it.
-- Source: PostgreSQL, max_prepared_transactions
-- Needs: nothing
select s.name as object,
       format('it is %s', s.setting) as found,
       E'alter system set max_prepared_transactions = 0;\n-- It takes a restart.' as remedy
from pg_catalog.pg_settings as s
where s.name = 'max_prepared_transactions' and s.setting <> '0'

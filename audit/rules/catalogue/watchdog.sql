-- Severity: low
-- Title: Nobody ends a session that holds a transaction open
-- Why: Its locks stand before other clients, and vacuum cannot remove what it might still see. A
--   client lifts its own timeouts.
-- Source: PostgreSQL, idle_in_transaction_session_timeout; docs/howto/deploy-with-sqitch.md
-- Needs: nothing
select format('database %I', current_database()) as object,
       'it has no watchdog.evict' as found,
       E'-- In a dedicated database, as a superuser:\n'
           '\\setenv PGDATABASE :DBNAME\n'
           '\\! superuser/sqitch deploy --verify --target db:pg:'
           as remedy
where not exists (
    select
    from jsonb_object_keys(current_setting('audit.found')::jsonb -> 'superuser') as f (object)
    where f.object like 'function watchdog.evict(%'
)

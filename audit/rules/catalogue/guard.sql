-- Severity: note
-- Title: Nothing stands before DDL by clients but their privileges
-- Why: An event trigger, which only a superuser can make, would refuse every command that makes
--   or alters something, temporary objects included.
-- Source: PostgreSQL, "Event Triggers"
-- Needs: nothing
select format('database %I', current_database()) as object,
       'it has no event trigger on ddl_command_start' as found,
       E'-- In a dedicated database, as a superuser:\n'
           '\\setenv PGDATABASE :DBNAME\n'
           '\\! superuser/sqitch deploy --verify --target db:pg:'
           as remedy
where not exists (
    select from pg_catalog.pg_event_trigger as t
    where t.evtevent = 'ddl_command_start' and t.evtenabled in ('O', 'A')
)

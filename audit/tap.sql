-- The audit for pg_prove, with psql and a shell alone: pg_prove -d DATABASE audit/tap.sql, from the
-- project's folder. A rule is a test; what is below medium is TODO, what cannot be seen is SKIP.
\set ECHO none
\set VERBOSITY terse
\set SHOW_CONTEXT never
\pset format unaligned
\pset tuples_only on
\set expected `cat audit/expected.json`
\set catalogue `cat audit/catalogue.sql`
\set rows `cat audit/rows.sql`
\set memberships `cat audit/memberships.sql`
\set clients `cat audit/clients.sql`
\set actors `cat audit/actors.sql`
\set untried `cat audit/untried.sql`
\set hold `cat audit/hold.sql`
\set probe `cat audit/probe.sql`
\set script `script=$(mktemp) && sh audit/tap.sh > "$script" && echo "$script"`
\set probes `script=$(mktemp) && sh audit/tap.sh probes > "$script" && echo "$script"`

begin transaction isolation level read committed, read only;
\i audit/settings.psql

\qecho `echo 1..$(ls audit/rules/*/*.sql | wc -l)`
\qecho '# Before any remedy: set search_path = pg_catalog, pg_temp;'

select set_config('audit.expected', :'expected', true) as done,
       set_config('audit.held', 'false', true) as held,
       has_language_privilege('plpgsql', 'usage') as is_there \gset
\if :is_there
    :hold
    ;
\endif
select set_config('audit.found', c.catalogue::text, true) as done
from (
    :catalogue
) as c \gset
select set_config('audit.memberships', m.memberships::text, true) as done
from (
    :memberships
) as m \gset
select set_config('audit.clients', c.clients::text, true) as done
from (
    :clients
) as c \gset
select set_config('audit.actors', a.actors::text, true) as actors
from (
    :actors
) as a \gset
select set_config('audit.untried', u.untried::text, true) as untried
from (
    :untried
) as u \gset
select pg_has_role('fencepost_owner', 'usage')
           and not current_setting('audit.untried')::jsonb ?| array(
               select jsonb_object_keys(current_setting('audit.expected')::jsonb -> 'rows')
           ) as readable,
       current_setting('is_superuser') as is_superuser \gset
\set rows_read null
\if :readable
    \if :is_superuser
        set local role fencepost_owner;
    \endif
    select r.rows as rows_read
    from (
        :rows
    ) as r \gset
    reset role;
\endif
select set_config('audit.found',
                  (current_setting('audit.found')::jsonb
                   || jsonb_build_object('rows', :'rows_read'::jsonb))::text, true) as done \gset
\i :script
rollback;

begin transaction isolation level read committed, read write;
\i audit/settings.psql
select set_config('audit.actors', :'actors', true) as done,
       set_config('audit.untried', :'untried', true) as done_too \gset
\i :probes
rollback;
\setenv script :script
\setenv probes :probes
\! rm -- "$script" "$probes"

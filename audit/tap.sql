-- The audit for pg_prove, with psql and a shell alone: pg_prove -d DATABASE audit/tap.sql, from the
-- project's folder. A rule is a test; what is below medium is TODO, what cannot be seen is SKIP.
\set ECHO none
\pset format unaligned
\pset tuples_only on
\set expected `cat audit/expected.json`
\set catalogue `cat audit/catalogue.sql`
\set rows `cat audit/rows.sql`
\set memberships `cat audit/memberships.sql`
\set probe `cat audit/probe.sql`
\set script `script=$(mktemp) && sh audit/tap.sh > "$script" && echo "$script"`
\set probes `script=$(mktemp) && sh audit/tap.sh probes > "$script" && echo "$script"`

begin transaction isolation level repeatable read, read only;
set local search_path = pg_catalog, pg_temp;
set local statement_timeout = '30s';
set local lock_timeout = '1s';
set local client_min_messages = error;
set local quote_all_identifiers = off;

\qecho `echo 1..$(ls audit/rules/*/*.sql | wc -l)`

select set_config('audit.expected', :'expected', true) as done \gset
select pg_has_role('fencepost_owner', 'usage') as readable \gset
\if :readable
    :rows \gset
\else
    \set rows null
\endif
select set_config('audit.found',
                  (c.catalogue || jsonb_build_object('rows', :'rows'::jsonb))::text, true) as done
from (
    :catalogue
) as c \gset
select set_config('audit.memberships', m.memberships::text, true) as done
from (
    :memberships
) as m \gset
\i :script
rollback;

begin transaction isolation level repeatable read;
set local search_path = pg_catalog, pg_temp;
set local statement_timeout = '30s';
set local lock_timeout = '1s';
set local client_min_messages = error;
\i :probes
rollback;
\setenv script :script
\setenv probes :probes
\! rm -- "$script" "$probes"

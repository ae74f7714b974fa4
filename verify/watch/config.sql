-- Verify fencepost:watch/config on pg

begin;

\set view audit.config
select $list$
    class           text
    config_event_no bigint
    action          text
    subject         text
    by_principal    name
    at              timestamp with time zone
    before          jsonb
    after           jsonb
$list$ as columns \gset
\ir ../_support/assert_view.psql

rollback;

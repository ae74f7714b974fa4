-- Verify fencepost:watch/bundles on pg

begin;

\set view audit.bundles
select $list$
    class       text
    campaign_id bigint
    attempt_no  integer
    content     jsonb
    sha256      bytea
    made_at     timestamp with time zone
$list$ as columns \gset
\ir ../_support/assert_view.psql

rollback;

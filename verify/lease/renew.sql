-- Verify fencepost:lease/renew on pg

begin;

\set function kernel.renew
select $list$
    p_class       text
    p_campaign_id bigint
    p_generation  bigint
    p_token       uuid
    p_lease_for   interval default null::interval
$list$ as arguments \gset
\set returns kernel.lease
\set callers 'fencepost_worker fencepost_verifier'
\ir ../_support/assert_kernel_function.psql

rollback;

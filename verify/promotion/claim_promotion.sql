-- Verify fencepost:promotion/claim_promotion on pg

begin;

\set function ledger.is_place_taken
\set arguments 'p_campaign ledger.campaign'
\set returns boolean
\set volatility stable
\ir ../_support/assert_helper.psql

\set function kernel.claim_promotion
select $list$
    p_class     text
    p_token     uuid
    p_label     text     default null::text
    p_lease_for interval default null::interval
$list$ as arguments \gset
\set returns 'setof kernel.lease'
\set callers fencepost_verifier
\ir ../_support/assert_kernel_function.psql

rollback;

-- Verify fencepost:lease/claim_many on pg

begin;

\set function kernel.claim_many
select $list$
    p_class     text
    p_tokens    uuid[]
    p_label     text     default null::text
    p_lease_for interval default null::interval
$list$ as arguments \gset
\set returns 'setof kernel.lease'
\set callers fencepost_worker
\ir ../_support/assert_kernel_function.psql

rollback;

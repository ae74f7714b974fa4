-- Verify fencepost:foundation/receipt on pg

begin;

\set type kernel.receipt
select $list$
    outcome          text
    duplicate        boolean
    moved            boolean
    note             text
    class            text
    campaign_id      bigint
    generation       bigint
    state            text
    lease_expires_at timestamp with time zone
    message          text
$list$ as attributes \gset
\ir ../_support/assert_type.psql

rollback;

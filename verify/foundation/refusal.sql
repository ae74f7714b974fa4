-- Verify fencepost:foundation/refusal on pg

begin;

\set relation ledger.refusal
select $list$
    class       text                     not null
    refusal_no  bigint                   not null generated always as identity
    principal   name                     not null
    function    text                     not null
    outcome     text                     not null
    campaign_id bigint
    generation  bigint
    message     text                     not null
    refused_at  timestamp with time zone not null
    suppressed  bigint                   not null default 0
$list$ as columns, $list$
    refusal_is_not_ok
    refusal_outcome_fk
    refusal_pk
    refusal_suppressed_is_a_count
$list$ as constraints, $list$
    refusal_principal_ix (principal, refusal_no)
$list$ as indexes
\gset
\ir ../_support/assert_table.psql

rollback;

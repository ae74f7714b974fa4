-- Verify fencepost:verification/verdict on pg

begin;

\set relation ledger.verdict
select $list$
    class           text                     not null
    campaign_id     bigint                   not null
    attempt_no      integer                  not null
    generation      bigint                   not null
    verdict         text                     not null
    principal       name                     not null
    principal_oid   oid                      not null
    token_sha256    bytea                    not null
    family          text
    fingerprint     text
    command         text
    exit_code       integer
    reason          text
    evidence_uri    text
    evidence_sha256 bytea
    judged_at       timestamp with time zone not null
    content_sha256  bytea                    not null
$list$ as columns, $list$
    verdict_acceptance_passed_the_command
    verdict_attempt_fk
    verdict_gives_a_reason
    verdict_is_known
    verdict_pk
    verdict_rests_on_evidence
$list$ as constraints, $list$
    verdict_final_uq unique (class, campaign_id, attempt_no): verdict <> 'unverifiable'
$list$ as indexes
\gset
\ir ../_support/assert_table.psql

\set relation ledger.verdict
select $list$
    verdict_10_kept before delete or update, each row: tg__kept_with_campaign
    verdict_20_no_truncate before truncate, each statement: tg__append_only
    verdict_30_not_by_hand after any write by hand: tg__not_by_hand
$list$ as triggers \gset
\ir ../_support/assert_triggers.psql

rollback;

-- Verify fencepost:attempt/attempt on pg

begin;

\set relation ledger.attempt
select $list$
    class                   text                     not null
    campaign_id             bigint                   not null
    attempt_no              integer                  not null
    generation              bigint                   not null
    principal               name                     not null
    principal_oid           oid                      not null
    token_sha256            bytea                    not null
    family                  text
    label                   text
    begun_at                timestamp with time zone not null
    submitted_at            timestamp with time zone
    submitted_sha256        bytea
    fingerprint             text
    approach                text
    result                  jsonb
    evidence_uri            text
    evidence_sha256         bytea
    promotion_generation    bigint
    promotion_principal     name
    promotion_principal_oid oid
    promotion_token_sha256  bytea
    promotion_sha256        bytea
    promoted_at             timestamp with time zone
    ended_at                timestamp with time zone
    ended_sha256            bytea
    ending                  text
    reason                  text
$list$ as columns, $list$
    attempt_campaign_fk
    attempt_ending_is_known
    attempt_ends_at_a_time
    attempt_generation_uq
    attempt_is_judged_only_when_submitted
    attempt_pk
    attempt_promotion_is_whole
    attempt_submission_is_whole
$list$ as constraints, '' as indexes
\gset
\ir ../_support/assert_table.psql

rollback;

-- Verify fencepost:observation/observation on pg

begin;

\set relation ledger.observation
select $list$
    class             text                     not null
    target            text                     not null
    observation_no    bigint                   not null
    principal         name                     not null
    principal_oid     oid                      not null
    token_sha256      bytea                    not null
    begun_at          timestamp with time zone not null
    slot_at           timestamp with time zone
    seen_campaign_id  bigint
    seen_state        text
    seen_generation   bigint
    last_campaign_id  bigint
    reported_at       timestamp with time zone
    is_green          boolean
    summary           text
    evidence_uri      text
    evidence_sha256   bytea
    report_sha256     bytea
    note              text
    moved_campaign_id bigint
$list$ as columns, $list$
    observation_pk
    observation_report_is_whole
    observation_saw_a_whole_campaign
    observation_target_fk
    observation_token_uq
$list$ as constraints, '' as indexes
\gset
\ir ../_support/assert_table.psql

\set type kernel.observation
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
    number           bigint
    is_scheduled     boolean
$list$ as attributes \gset
\ir ../_support/assert_type.psql

rollback;

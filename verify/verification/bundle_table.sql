-- Verify fencepost:verification/bundle_table on pg

begin;

\set relation ledger.bundle
select $list$
    class       text                     not null
    campaign_id bigint                   not null
    attempt_no  integer                  not null
    content     jsonb                    not null
    sha256      bytea                    not null
    made_at     timestamp with time zone not null
$list$ as columns, $list$
    bundle_attempt_fk
    bundle_digest_is_a_sha256
    bundle_pk
$list$ as constraints, '' as indexes
\gset
\ir ../_support/assert_table.psql

\set relation ledger.bundle
select $list$
    bundle_10_kept before delete or update, each row: tg__kept_with_campaign
    bundle_20_no_truncate before truncate, each statement: tg__append_only
    bundle_30_not_by_hand after any write by hand: tg__not_by_hand
$list$ as triggers \gset
\ir ../_support/assert_triggers.psql

\set type kernel.bundle
select $list$
    outcome              text
    duplicate            boolean
    moved                boolean
    note                 text
    class                text
    campaign_id          bigint
    generation           bigint
    state                text
    lease_expires_at     timestamp with time zone
    message              text
    attempt_no           integer
    target               text
    location             jsonb
    desired_state        jsonb
    acceptance           jsonb
    result               jsonb
    fingerprint          text
    refused_fingerprints text[]
    bundle_sha256        bytea
    promotes             boolean
    operations           jsonb
$list$ as attributes \gset
\ir ../_support/assert_type.psql

rollback;

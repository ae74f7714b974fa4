-- Verify fencepost:watch/observations on pg

begin;

\set view audit.observations
select $list$
    class             text
    target            text
    observation_no    bigint
    principal         name
    begun_at          timestamp with time zone
    slot_at           timestamp with time zone
    seen_campaign_id  bigint
    seen_state        text
    seen_generation   bigint
    reported_at       timestamp with time zone
    is_green          boolean
    summary           text
    evidence_uri      text
    evidence_sha256   bytea
    note              text
    moved_campaign_id bigint
$list$ as columns \gset
\ir ../_support/assert_view.psql

rollback;

-- Verify fencepost:watch/attempts on pg

begin;

\set view audit.attempts
select $list$
    class           text
    campaign_id     bigint
    attempt_no      integer
    generation      bigint
    principal       name
    family          text
    label           text
    begun_at        timestamp with time zone
    submitted_at    timestamp with time zone
    fingerprint     text
    approach        text
    result          jsonb
    evidence_uri    text
    evidence_sha256 bytea
    ended_at        timestamp with time zone
    ending          text
    reason          text
    verdict         text
    verdict_by      name
    verdict_at      timestamp with time zone
    exit_code       integer
    verdict_reason  text
    promoted_at     timestamp with time zone
    promoted_by     name
$list$ as columns \gset
\ir ../_support/assert_view.psql

rollback;

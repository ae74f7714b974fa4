-- Verify fencepost:lease/assignment on pg

begin;

\set type kernel.assignment
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
    attempt_limit        interval
    target               text
    location             jsonb
    desired_state        jsonb
    acceptance           jsonb
    observation          jsonb
    attempts             jsonb
    refused_fingerprints text[]
    previous_campaign_id bigint
    operations           jsonb
$list$ as attributes \gset
\ir ../_support/assert_type.psql

rollback;

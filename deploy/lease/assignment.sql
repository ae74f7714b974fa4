-- Deploy fencepost:lease/assignment to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create type kernel.assignment as (
    outcome              text,
    duplicate            boolean,
    moved                boolean,
    note                 text,
    class                text,
    campaign_id          bigint,
    generation           bigint,
    state                text,
    lease_expires_at     timestamptz,
    message              text,
    attempt_no           integer,
    attempt_limit        interval,
    target               text,
    location             jsonb,
    desired_state        jsonb,
    acceptance           jsonb,
    observation          jsonb,
    attempts             jsonb,
    refused_fingerprints text[],
    previous_campaign_id bigint,
    operations           jsonb
);

comment on type kernel.assignment is 'What a worker is told of the campaign that it holds.';
comment on column kernel.assignment.observation is
    'The red observation that opened the campaign; null where an admin opened it. An object of '
    'number, is_green, summary, evidence_uri, evidence_sha256 (hex), reported_at.';
comment on column kernel.assignment.attempts is
    'Every earlier attempt, also of the campaigns it inherits from, oldest first. An array of '
    'objects of campaign_id, attempt_no, ending, reason, approach, fingerprint, principal, '
    'begun_at, ended_at.';
comment on column kernel.assignment.refused_fingerprints is
    'A submission with one of these is answered "repeated".';
comment on column kernel.assignment.operations is
    'External operations of the campaign of which nobody knows whether they took effect, oldest '
    'first: to be resolved before anything is submitted. An array of objects of operation_key, '
    'kind, target, ordinal, attempt_no, incarnation, revision, expected, reason, diagnostic.';

commit;

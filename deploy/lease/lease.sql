-- Deploy fencepost:lease/lease to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create type kernel.lease as (
    outcome          text,
    duplicate        boolean,
    moved            boolean,
    note             text,
    class            text,
    campaign_id      bigint,
    generation       bigint,
    state            text,
    lease_expires_at timestamptz,
    message          text,
    attempt_no       integer,
    attempt_limit    interval,
    lease_cap_at     timestamptz
);

comment on type kernel.lease is
    'What a claim or a renewal answers: a receipt, and what its holder needs to keep the lease.';
comment on column kernel.lease.generation is 'To be passed with every call under this lease.';
comment on column kernel.lease.attempt_no is 'The attempt that is made, judged or promoted.';
comment on column kernel.lease.attempt_limit is 'How long the worker''s command may run.';
comment on column kernel.lease.lease_cap_at is 'No renewal leads beyond this.';

commit;

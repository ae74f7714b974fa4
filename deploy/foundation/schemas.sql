-- Deploy fencepost:foundation/schemas to pg

begin;
set local search_path = pg_catalog, pg_temp;

create schema ledger authorization fencepost_owner;
create schema kernel authorization fencepost_owner;
create schema audit authorization fencepost_owner;

set local role fencepost_owner;

comment on schema ledger is 'Private. Tables, triggers and helpers; no caller has usage.';
comment on schema kernel is
    'Public. The functions that are the only way to write the ledger, and the types they return.';
comment on schema audit is 'Read-only views for auditors. They show no token.';

-- For the role, not the schema: "in schema" revokes nothing from a default that is global.
alter default privileges for role fencepost_owner revoke execute on functions from public;
-- Who may use a type can build a column on it somewhere else, and a revert cannot drop it then.
alter default privileges for role fencepost_owner revoke usage on types from public;

grant usage on schema kernel to
    fencepost_sensor, fencepost_worker, fencepost_verifier, fencepost_reaper,
    fencepost_admin, fencepost_auditor, fencepost_collector;
grant usage on schema audit to fencepost_auditor;

commit;

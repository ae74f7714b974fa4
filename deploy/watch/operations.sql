-- Deploy fencepost:watch/operations to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create view audit.operations with (security_barrier) as
select o.class, o.operation_key, o.incarnation, o.revision, o.state, o.campaign_id, o.attempt_no,
       o.generation, o.duty, o.kind, o.target, o.ordinal, o.fingerprint, o.expected, o.principal,
       o.label, o.begun_at, o.lease_expires_at, o.started_at, o.read_back, o.result, o.result_text,
       o.diagnostic, o.reason, o.inquiry_count, o.created_at, o.updated_at, o.reconciled_by,
       o.reconciled_at
from ledger.operation as o;

comment on view audit.operations is
    'Every external operation as it stands, without its token.';

grant select on audit.operations to fencepost_auditor;

commit;

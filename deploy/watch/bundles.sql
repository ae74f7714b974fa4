-- Deploy fencepost:watch/bundles to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create view audit.bundles with (security_barrier) as
select b.class, b.campaign_id, b.attempt_no, b.content, b.sha256, b.made_at
from ledger.bundle as b;

comment on view audit.bundles is 'Every bundle that was made to be judged, with its digest.';

grant select on audit.bundles to fencepost_auditor;

commit;

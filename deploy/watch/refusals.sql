-- Deploy fencepost:watch/refusals to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create view audit.refusals with (security_barrier) as
select r.class, r.refusal_no, r.principal, r.function, r.outcome, r.campaign_id, r.generation,
       r.message, r.refused_at as at, r.suppressed
from ledger.refusal as r;

comment on view audit.refusals is 'Every call that was not carried out, and why.';

grant select on audit.refusals to fencepost_auditor;

commit;

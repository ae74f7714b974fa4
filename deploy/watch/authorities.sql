-- Deploy fencepost:watch/authorities to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create view audit.authorities with (security_barrier) as
select a.class, a.duty, a.kind, a.target, a.is_standalone, a.attempt_limit, a.granted_at,
       a.granted_by
from ledger.authority as a;

comment on view audit.authorities is 'Which external operations each class allows, per duty.';

grant select on audit.authorities to fencepost_auditor;

commit;

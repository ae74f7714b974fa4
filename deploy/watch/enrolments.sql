-- Deploy fencepost:watch/enrolments to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create view audit.enrolments with (security_barrier) as
select e.class, e.duty, e.principal, e.principal_oid, p.family, e.enrolled_at, e.enrolled_by
from ledger.enrolment as e
join ledger.principal as p on p.principal = e.principal;

comment on view audit.enrolments is 'Who may act in which class, for which duty, of which family.';

grant select on audit.enrolments to fencepost_auditor;

commit;

-- Deploy fencepost:watch/config to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create view audit.config with (security_barrier) as
select f.class, f.config_event_no, f.action, f.subject, f.by_principal, f.at, f.before, f.after
from ledger.config_event as f;

comment on view audit.config is 'Who changed what of the configuration, from and to what.';

grant select on audit.config to fencepost_auditor;

commit;

-- Deploy fencepost:watch/refusals to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create view audit.refusals with (security_barrier) as
select 'kernel'::text as source, r.class, r.refusal_no, r.principal, r.function, r.outcome,
       r.campaign_id, r.generation, r.message, r.refused_at as at, r.suppressed,
       null::text as command, null::text as application, null::text as raised_in,
       null::text as session_id, null::bigint as line_no, null::timestamptz as reported_at,
       null::name as reported_by
from ledger.refusal as r
union all
select 'server', null, d.denial_no, d.principal, null, d.sqlstate, null, null, d.message,
       d.denied_at, d.suppressed, d.command, d.application, d.raised_in, d.session_id, d.line_no,
       d.reported_at, d.reported_by
from ledger.denial as d;

comment on view audit.refusals is
    'Every call that the kernel did not carry out, and every denial by the server itself that a '
    'collector brought from its log.';
comment on column audit.refusals.source is
    'kernel: an outcome; server: an SQLSTATE, of no class, and a time as the log has it.';
comment on column audit.refusals.session_id is
    'With line_no: where the server''s log has it.';
comment on column audit.refusals.reported_by is 'The collector that brought it, which is believed.';

grant select on audit.refusals to fencepost_auditor;

commit;

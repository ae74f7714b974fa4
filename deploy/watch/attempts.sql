-- Deploy fencepost:watch/attempts to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create view audit.attempts with (security_barrier) as
select a.class, a.campaign_id, a.attempt_no, a.generation, a.principal, a.family, a.label,
       a.begun_at, a.submitted_at, a.fingerprint, a.approach, a.result, a.evidence_uri,
       a.evidence_sha256, a.ended_at, a.ending, a.reason, v.verdict, v.principal as verdict_by,
       v.judged_at as verdict_at, v.exit_code, v.reason as verdict_reason, a.promoted_at,
       case when a.promoted_at is not null then a.promotion_principal end as promoted_by
from ledger.attempt as a
left join ledger.verdict as v
    on v.class = a.class
    and v.campaign_id = a.campaign_id
    and v.attempt_no = a.attempt_no
    and v.verdict <> 'unverifiable';

comment on view audit.attempts is
    'Every attempt with its verdict, where it has one, without its token.';

grant select on audit.attempts to fencepost_auditor;

commit;

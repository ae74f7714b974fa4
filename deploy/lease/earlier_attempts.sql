-- Deploy fencepost:lease/earlier_attempts to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create or replace function ledger.earlier_attempts(p_class text, p_campaign_id bigint)
    returns jsonb
    language sql
    stable
    set search_path = pg_catalog, pg_temp
as $fn$
    select coalesce(jsonb_agg(jsonb_build_object(
        'campaign_id', a.campaign_id,
        'attempt_no', a.attempt_no,
        'ending', a.ending,
        'reason', a.reason,
        'approach', a.approach,
        'fingerprint', a.fingerprint,
        'principal', a.principal,
        'begun_at', a.begun_at,
        'ended_at', a.ended_at
    ) order by a.campaign_id, a.attempt_no), '[]')
    from ledger.lineage(p_class, p_campaign_id) as l (campaign_id)
    join ledger.attempt as a
        on a.class = p_class and a.campaign_id = l.campaign_id
    where a.ended_at is not null;
$fn$;

comment on function ledger.earlier_attempts(text, bigint) is
$doc$The ended attempts of a campaign and those it inherits from: a jsonb array, oldest first.$doc$;

create or replace function ledger.refused_fingerprints(p_class text, p_campaign_id bigint)
    returns text[]
    language sql
    stable
    set search_path = pg_catalog, pg_temp
as $fn$
    -- A rejected attempt is known by the worker's fingerprint and by the verifier's own.
    select coalesce(array_agg(distinct f.fingerprint order by f.fingerprint), '{}')
    from ledger.lineage(p_class, p_campaign_id) as l (campaign_id)
    join ledger.attempt as a
        on a.class = p_class and a.campaign_id = l.campaign_id
    left join ledger.verdict as v
        on v.class = p_class
        and v.campaign_id = a.campaign_id
        and v.attempt_no = a.attempt_no
        and v.verdict = 'rejected'
    cross join lateral (values (a.fingerprint), (v.fingerprint)) as f (fingerprint)
    where a.ending in ('failed', 'rejected', 'contradicted')
      and f.fingerprint is not null;
$fn$;

comment on function ledger.refused_fingerprints(text, bigint) is
$doc$The fingerprints of attempts that failed, were rejected or were contradicted, inherited ones
included. Outdated and lost attempts are not among them: the same outcome may be right.$doc$;

commit;

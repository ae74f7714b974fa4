-- Deploy fencepost:verification/judge_bar to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create or replace function ledger.bar_of(
    p_principal_oid   oid,
    p_class           text,
    p_campaign_id     bigint,
    p_attempt_no      integer,
    p_separate_family boolean
)
    returns text
    language plpgsql
    stable
    set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_principal     name;
    v_worker_oid    oid;
    v_worker_family text;
    v_family        text;
begin
    -- Its name is not an argument: the collation of "name" would be that of the other arguments
    -- too, and then no index would serve them.
    select r.rolname into v_principal from pg_catalog.pg_roles as r where r.oid = p_principal_oid;

    -- Who tried it does not judge it. A lease given back without a result is no try.
    perform
    from ledger.attempt as a
    where a.class = p_class
      and a.campaign_id = p_campaign_id
      and a.ending is distinct from 'released'
      and (a.principal = v_principal or a.principal_oid = p_principal_oid);
    if found then
        return 'self_verdict';
    end if;

    select a.principal_oid, a.family into v_worker_oid, v_worker_family
    from ledger.attempt as a
    where a.class = p_class and a.campaign_id = p_campaign_id and a.attempt_no = p_attempt_no;

    -- By OID: a role that was renamed still is who it was.
    perform
    from pg_catalog.pg_roles as w
    where w.oid = v_worker_oid
      and (pg_has_role(w.oid, p_principal_oid, 'member')
           or pg_has_role(p_principal_oid, w.oid, 'member'));
    if found then
        return 'self_verdict';
    end if;

    if p_separate_family then
        select p.family into v_family
        from ledger.principal as p
        where p.principal = v_principal;
        if (v_family <> v_worker_family) is not true then
            return 'same_family';
        end if;
    end if;
    return null;
end
$fn$;

comment on function ledger.bar_of(oid, text, bigint, integer, boolean) is
$doc$Why a principal may not judge or promote an attempt; null where it may.

Parameters
    p_principal_oid                        the principal
    p_class, p_campaign_id, p_attempt_no   the attempt
    p_separate_family                      whether the campaign wants another model family

self_verdict: it made an attempt of this campaign, or one of the two is a member of the other.
same_family: the families are equal, or one of them is not registered.$doc$;

create or replace function ledger.judge_bar(
    p_class           text,
    p_campaign_id     bigint,
    p_attempt_no      integer,
    p_separate_family boolean
)
    returns text
    language sql
    stable
    set search_path = pg_catalog, pg_temp
as $fn$
    select ledger.bar_of(ledger.session_oid(), p_class, p_campaign_id, p_attempt_no,
                         p_separate_family);
$fn$;

comment on function ledger.judge_bar(text, bigint, integer, boolean) is
$doc$Why the session's principal may not judge or promote an attempt, as ledger.bar_of says.$doc$;

create or replace function ledger.has_judge(p_campaign ledger.campaign)
    returns boolean
    language sql
    stable
    set search_path = pg_catalog, pg_temp
as $fn$
    select exists (
        select
        from ledger.enrolment as e
        join pg_catalog.pg_roles as r on r.rolname = e.principal and r.oid = e.principal_oid
        where e.class = p_campaign.class
          and e.duty = 'verifier'
          and ledger.is_member(e.principal_oid, 'fencepost_verifier')
          and ledger.bar_of(e.principal_oid, p_campaign.class, p_campaign.campaign_id,
                            p_campaign.attempt_count, p_campaign.separate_family) is null
    );
$fn$;

comment on function ledger.has_judge(ledger.campaign) is
$doc$Whether any verifier that is enrolled may judge and promote a campaign's newest attempt.$doc$;

commit;

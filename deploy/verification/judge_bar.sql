-- Deploy fencepost:verification/judge_bar to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create or replace function ledger.judge_bar(
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
    v_oid            constant oid := ledger.session_oid();
    v_worker_oid     oid;
    v_worker_family  text;
    v_session_family text;
begin
    -- Who tried it does not judge it. A lease given back without a result is no try.
    perform
    from ledger.attempt as a
    where a.class = p_class
      and a.campaign_id = p_campaign_id
      and a.ending is distinct from 'released'
      and (a.principal = session_user or a.principal_oid = v_oid);
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
      and (pg_has_role(w.oid, v_oid, 'member') or pg_has_role(v_oid, w.oid, 'member'));
    if found then
        return 'self_verdict';
    end if;

    if p_separate_family then
        select p.family into v_session_family
        from ledger.principal as p
        where p.principal = session_user;
        if (v_session_family <> v_worker_family) is not true then
            return 'same_family';
        end if;
    end if;
    return null;
end
$fn$;

comment on function ledger.judge_bar(text, bigint, integer, boolean) is
$doc$Why the session's principal may not judge or promote an attempt; null where it may.

Parameters
    p_class, p_campaign_id, p_attempt_no   the attempt
    p_separate_family                      whether the campaign wants another model family

self_verdict: it made an attempt of this campaign, or one of the two is a member of the other.
same_family: the families are equal, or one of them is not registered.$doc$;

commit;

-- Deploy fencepost:observation/took_part to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create or replace function ledger.took_part(
    p_class       text,
    p_campaign_id bigint,
    p_attempt_no  integer
)
    returns boolean
    language sql
    stable
    set search_path = pg_catalog, pg_temp
as $fn$
    select exists (
        select
        from ledger.attempt as a
        where a.class = p_class
          and a.campaign_id = p_campaign_id
          and a.attempt_no = p_attempt_no
          and (session_user in (a.principal, a.promotion_principal)
               or ledger.session_oid() in (a.principal_oid, a.promotion_principal_oid))
    ) or exists (
        select
        from ledger.verdict as v
        where v.class = p_class
          and v.campaign_id = p_campaign_id
          and v.attempt_no = p_attempt_no
          and (v.principal = session_user or v.principal_oid = ledger.session_oid())
    );
$fn$;

comment on function ledger.took_part(text, bigint, integer) is
$doc$Whether the session's principal was worker, verifier or promoter of an attempt.$doc$;

commit;

-- Deploy fencepost:promotion/settle_promotion to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create or replace function ledger.repeated_promotion(
    p_function       text,
    p_class          text,
    p_campaign_id    bigint,
    p_generation     bigint,
    p_token_sha256   bytea,
    p_content_sha256 bytea
)
    returns kernel.receipt
    language plpgsql
    volatile
    set search_path = pg_catalog, pg_temp
as $fn$
begin
    perform
    from ledger.attempt as a
    where a.class = p_class
      and a.campaign_id = p_campaign_id
      and a.promotion_generation = p_generation
      and a.promotion_principal = session_user
      and a.promotion_principal_oid = ledger.session_oid()
      and a.promotion_token_sha256 = p_token_sha256
      and a.promotion_sha256 = p_content_sha256;
    if found then
        return ledger.answer_with(ledger.campaign_of(p_class, p_campaign_id), false, true);
    end if;
    return ledger.refuse_lease(p_function, p_class, p_campaign_id, p_generation, p_token_sha256);
end
$fn$;

comment on function ledger.repeated_promotion(text, text, bigint, bigint, bytea, bytea) is
$doc$The answer to a promote or outdate whose lease is not held any more.

Parameters
    p_function        the function called, without its schema
    p_class, p_campaign_id, p_generation, p_token_sha256   as the caller named them
    p_content_sha256  the digest of what it said

ok and duplicate where this very call settled the promotion before, however far the campaign has
moved since; else what ledger.refuse_lease says.$doc$;

create or replace function ledger.settle_promotion(
    p_campaign       ledger.campaign,
    p_content_sha256 bytea,
    p_promoted_at    timestamptz
)
    returns void
    language sql
    volatile
    set search_path = pg_catalog, pg_temp
as $fn$
    update ledger.attempt as a
    set promotion_generation    = p_campaign.generation,
        promotion_principal     = p_campaign.lease_principal,
        promotion_principal_oid = p_campaign.lease_principal_oid,
        promotion_token_sha256  = p_campaign.lease_token_sha256,
        promotion_sha256        = p_content_sha256,
        promoted_at             = p_promoted_at
    where a.class = p_campaign.class
      and a.campaign_id = p_campaign.campaign_id
      and a.attempt_no = p_campaign.attempt_count;
$fn$;

comment on function ledger.settle_promotion(ledger.campaign, bytea, timestamptz) is
$doc$Records under which lease the live attempt's promotion was settled.

Parameters
    p_campaign        the campaign, locked, its lease still in it
    p_content_sha256  the digest of the call, by which its repeat is recognised
    p_promoted_at     when it was promoted; null where it was outdated

Writes
    ledger.attempt$doc$;

commit;

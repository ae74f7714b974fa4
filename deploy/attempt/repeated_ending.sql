-- Deploy fencepost:attempt/repeated_ending to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create or replace function ledger.repeated_ending(
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
      and a.generation = p_generation
      and a.principal = session_user
      and a.principal_oid = ledger.session_oid()
      and a.token_sha256 = p_token_sha256
      and p_content_sha256 in (a.submitted_sha256, a.ended_sha256);
    if found then
        return ledger.answer_with(ledger.campaign_of(p_class, p_campaign_id), false, true);
    end if;
    return ledger.refuse_lease(p_function, p_class, p_campaign_id, p_generation, p_token_sha256);
end
$fn$;

comment on function ledger.repeated_ending(text, text, bigint, bigint, bytea, bytea) is
$doc$The answer to a submit, fail or release whose lease is not held any more.

Parameters
    p_function        the function called, without its schema
    p_class, p_campaign_id, p_generation, p_token_sha256   as the caller named them
    p_content_sha256  the digest of what it said

ok and duplicate where this very call ended the attempt before, however far the campaign has moved
since; else what ledger.refuse_lease says.$doc$;

commit;

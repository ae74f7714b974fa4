-- Deploy fencepost:people/allow_repeat to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create or replace function kernel.allow_repeat(
    p_class       text,
    p_campaign_id bigint,
    p_generation  bigint,
    p_fingerprint text,
    p_reason      text
)
    returns kernel.receipt
    language plpgsql
    volatile
    security definer
    set search_path = pg_catalog, pg_temp
    set client_min_messages = warning
    set timezone = 'UTC'
    set datestyle = 'ISO, MDY'
    set intervalstyle = 'postgres'
    set bytea_output = 'hex'
    set standard_conforming_strings = on
    set lock_timeout = '5s'
as $fn$
declare
    v_content  bytea;
    v_campaign ledger.campaign;
    v_now      timestamptz;
begin
    perform ledger.enter();
    perform ledger.require_campaign(p_class, p_campaign_id, p_generation);
    perform ledger.require('p_fingerprint', p_fingerprint is not null);
    perform ledger.require_text('p_fingerprint', p_fingerprint, 200);
    perform ledger.require('p_reason', p_reason is not null);
    perform ledger.require_text('p_reason', p_reason, 4096);
    if not ledger.session_is('admin') then
        return ledger.forbid('allow_repeat', p_class);
    end if;

    v_content  := ledger.digest(jsonb_build_array('allow_repeat', p_fingerprint, p_reason));
    v_campaign := ledger.lock_act(p_class, p_campaign_id, p_generation);
    if v_campaign.campaign_id is null then
        return ledger.refuse_act('allow_repeat', p_class, p_campaign_id, p_generation, v_content);
    end if;

    v_now := ledger.clock();
    insert into ledger.allowance (class, campaign_id, fingerprint, reason, allowed_by, allowed_at)
    values (p_class, p_campaign_id, p_fingerprint, p_reason, session_user, v_now)
    on conflict (class, campaign_id, fingerprint) do nothing;
    if not found then
        return ledger.answer_with(v_campaign, false, true);
    end if;

    v_campaign := ledger.move(
        v_campaign, 'allow_repeat', v_campaign.state, v_now,
        jsonb_build_object('fingerprint', p_fingerprint, 'reason', p_reason), v_content
    );
    return ledger.answer_with(v_campaign, false);
end
$fn$;

comment on function kernel.allow_repeat(text, bigint, bigint, text, text) is
$doc$Lets a campaign submit an outcome again that was refused as repeated.

Parameters
    p_class, p_campaign_id   the campaign
    p_generation             the generation that the admin saw
    p_fingerprint            the outcome, up to 200 bytes
    p_reason                 why it may be right this time, up to 4096 bytes

Answers
    ok (duplicate: it was allowed already), forbidden, stale, illegal

Errors
    KN101, KN102, KN103, KN108, KN111, KN112

Writes
    ledger.allowance, ledger.campaign, ledger.campaign_event$doc$;

grant execute on function kernel.allow_repeat(text, bigint, bigint, text, text)
    to fencepost_admin;

commit;

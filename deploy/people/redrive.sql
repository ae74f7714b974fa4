-- Deploy fencepost:people/redrive to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create or replace function kernel.redrive(
    p_class       text,
    p_campaign_id bigint,
    p_generation  bigint,
    p_reason      text   default null,
    p_budgets     text[] default null
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
    c_budgets  constant text[] := array[
        'attempt', 'loss', 'release', 'verification_loss', 'promotion_loss', 'abstain', 'unknown'
    ];
    v_named    text[];
    v_budgets  text[];
    v_content  bytea;
    v_campaign ledger.campaign;
    v_attempt  ledger.attempt;
    v_verdict  text;
    v_to_state text;
    v_now      timestamptz;
begin
    perform ledger.enter();
    perform ledger.require_campaign(p_class, p_campaign_id, p_generation);
    perform ledger.require_text('p_reason', p_reason, 4096);
    -- Each goes by its name in the policy too, which is what parked_for says: loss_budget.
    v_named := array(
        select regexp_replace(b.budget, '_(budget|limit)$', '') from unnest(p_budgets) as b (budget)
    );
    if exists (
        select from unnest(v_named) as b (budget) where (b.budget = any (c_budgets)) is not true
    ) then
        raise exception 'there is no such budget'
            using errcode = 'KN102',
                  detail  = format('p_budgets has %s.',
                                   left(array_to_string(p_budgets, ', ', 'null'), 200)),
                  hint    = format('The budgets are %s.', array_to_string(c_budgets, ', '));
    end if;
    if not ledger.session_is('admin') then
        return ledger.forbid('redrive', p_class);
    end if;

    -- Each once and in one order, so that the same act has the same digest.
    select coalesce(array_agg(b.budget order by b.place), '{}') into v_budgets
    from unnest(c_budgets) with ordinality as b (budget, place)
    where p_budgets is null or b.budget = any (v_named);

    v_content := ledger.digest(jsonb_build_array('redrive', p_reason, to_jsonb(v_budgets)));
    select c.* into v_campaign
    from ledger.campaign as c
    where c.class = p_class
      and c.campaign_id = p_campaign_id
      and c.generation = p_generation
      and c.state = 'parked'
    for no key update;
    if not found then
        return ledger.refuse_act('redrive', p_class, p_campaign_id, p_generation, v_content);
    end if;

    -- Back to where it stood, and no further than its last verdict allows.
    v_attempt := ledger.live_attempt(v_campaign);
    select v.verdict into v_verdict
    from ledger.verdict as v
    where v.class = p_class
      and v.campaign_id = p_campaign_id
      and v.attempt_no = v_attempt.attempt_no
      and v.verdict <> 'unverifiable';
    v_to_state := case
        when v_attempt.submitted_at is null then 'ready'
        when v_verdict is null then 'attempted'
        when v_campaign.promotes and v_attempt.promoted_at is null then 'accepted'
        else 'verified'
    end;

    v_now := ledger.clock();
    if 'attempt' = any (v_budgets) then
        v_campaign.failure_count := 0;
    end if;
    if 'loss' = any (v_budgets) then
        v_campaign.loss_count := 0;
    end if;
    if 'release' = any (v_budgets) then
        v_campaign.release_count := 0;
    end if;
    if 'verification_loss' = any (v_budgets) then
        v_campaign.verification_loss_count := 0;
    end if;
    if 'promotion_loss' = any (v_budgets) then
        v_campaign.promotion_loss_count := 0;
    end if;
    if 'abstain' = any (v_budgets) then
        v_campaign.abstain_floor := v_campaign.generation;
    end if;
    if 'unknown' = any (v_budgets) then
        update ledger.operation as o
        set inquiry_count       = 0,
            revision            = o.revision + 1,
            updated_at          = v_now,
            last_event          = 'ask_again',
            last_content_sha256 = null
        where o.class = p_class
          and o.campaign_id = p_campaign_id
          and o.state = 'unknown'
          and o.inquiry_count > 0;
    end if;
    v_campaign.next_attempt_at := v_now;
    v_campaign.phase_since     := v_now;
    v_campaign := ledger.move(
        v_campaign, 'redrive', v_to_state, v_now,
        jsonb_build_object('reason', p_reason, 'was_parked_for', v_campaign.parked_for,
                           'budgets', to_jsonb(v_budgets)),
        v_content
    );
    return ledger.answer_with(v_campaign, true);
end
$fn$;

comment on function kernel.redrive(text, bigint, bigint, text, text[]) is
$doc$Sends a parked campaign on, with budgets restored.

Parameters
    p_class, p_campaign_id   the campaign
    p_generation             the generation that the admin saw
    p_reason                 why, up to 4096 bytes; or null
    p_budgets                which budgets begin anew: any of attempt, loss, release,
                             verification_loss, promotion_loss, abstain, unknown, also written as in
                             the policy, loss_budget; null means all. Releases beyond their own
                             budget count as losses until that one begins anew, too

It goes on from where it stood: ready where no submitted attempt is live, attempted where there is
no verdict, accepted where an accepted result has still to be promoted, else verified.

Answers
    ok (duplicate: redriven before by this act), forbidden, stale, illegal

Errors
    KN101, KN102, KN103, KN108, KN111, KN112

Writes
    ledger.campaign (parked to ready, attempted, accepted or verified), ledger.campaign_event;
    ledger.operation (what counts against unknown_limit)$doc$;

grant execute on function kernel.redrive(text, bigint, bigint, text, text[]) to fencepost_admin;

commit;

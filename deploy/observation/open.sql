-- Deploy fencepost:observation/open to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create or replace function ledger.open(
    p_target         ledger.target,
    p_at             timestamptz,
    p_observation_no bigint default null,
    p_token_sha256   bytea  default null,
    p_reason         text   default null
)
    returns ledger.campaign
    language plpgsql
    volatile
    set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_class    ledger.class := ledger.known_class(p_target.class);
    v_previous ledger.campaign;
    v_campaign ledger.campaign;
begin
    -- Locked, lest it be pruned meanwhile: what is gone when the lock is had is not inherited from.
    -- Its number by max(): the last row of the target in order of the numbers would be looked for
    -- among those of the whole class, where few targets have nearly all of them.
    select c.* into v_previous
    from ledger.campaign as c
    where c.class = p_target.class
      and c.campaign_id = (
          select max(l.campaign_id)
          from ledger.campaign as l
          where l.class = p_target.class and l.target = p_target.target
      )
    for key share;
    if v_previous.closed_at + v_class.reopen_within > p_at is not true then
        v_previous := null;
    end if;

    v_campaign.class                  := p_target.class;
    v_campaign.target                 := p_target.target;
    v_campaign.opened_by              := session_user;
    v_campaign.opening_observation_no := p_observation_no;
    v_campaign.opening_token_sha256   := p_token_sha256;
    v_campaign.previous_campaign_id   := v_previous.campaign_id;
    v_campaign.desired_state          := p_target.desired_state;
    v_campaign.acceptance             := p_target.acceptance;
    v_campaign.promotes               := v_class.promotes;
    v_campaign.separate_family        := v_class.separate_family;
    v_campaign.needs_evidence         := v_class.needs_evidence;

    insert into ledger.campaign as c
        (class, target, state, opened_at, opened_by, opening_observation_no, opening_token_sha256,
         previous_campaign_id, desired_state, acceptance, promotes, separate_family,
         needs_evidence, failure_count, loss_count, release_count, verification_loss_count,
         promotion_loss_count, failure_reason, next_attempt_at, phase_since,
         last_transition, last_at, last_detail, last_content_sha256)
    values
        (v_campaign.class, v_campaign.target, 'ready', p_at, v_campaign.opened_by,
         v_campaign.opening_observation_no, v_campaign.opening_token_sha256,
         v_campaign.previous_campaign_id, v_campaign.desired_state, v_campaign.acceptance,
         v_campaign.promotes, v_campaign.separate_family, v_campaign.needs_evidence,
         coalesce(v_previous.failure_count, 0), coalesce(v_previous.loss_count, 0),
         coalesce(v_previous.release_count, 0), coalesce(v_previous.verification_loss_count, 0),
         coalesce(v_previous.promotion_loss_count, 0), v_previous.failure_reason, p_at, p_at,
         'open', p_at,
         jsonb_strip_nulls(jsonb_build_object(
             'observation', p_observation_no, 'previous', v_previous.campaign_id,
             'reason', p_reason
         )),
         ledger.opening_digest(v_campaign))
    returning c.* into v_campaign;
    return v_campaign;
end
$fn$;

comment on function ledger.open(ledger.target, timestamptz, bigint, bytea, text) is
$doc$Opens a campaign of a target that has none open.

Parameters
    p_target          the target, locked; its class is held
    p_at              when, read after the lock
    p_observation_no  the red observation; null where an admin opens it
    p_token_sha256    the digest of the admin's token; null where an observation opens it
    p_reason          why, as an admin says

What acceptance means is copied from target and class and stays. Opened within reopen_within of the
target's last campaign it names that one and inherits its counts, its attempts and the fingerprints
that are refused.

Writes
    ledger.campaign, and by its trigger ledger.campaign_event$doc$;

commit;

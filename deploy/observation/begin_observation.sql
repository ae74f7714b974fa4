-- Deploy fencepost:observation/begin_observation to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create or replace function kernel.begin_observation(
    p_class  text,
    p_target text,
    p_token  uuid
)
    returns kernel.observation
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
    v_token       bytea;
    v_oid         oid;
    v_target      ledger.target;
    v_observation ledger.observation;
    v_receipt     kernel.receipt;
    v_now         timestamptz;
begin
    perform ledger.enter();
    perform ledger.require_class(p_class);
    perform ledger.require('p_target', p_target is not null);
    perform ledger.require_text('p_target', p_target, 200);
    perform ledger.require('p_token', p_token is not null);
    if not ledger.is_enrolled(p_class, 'sensor') then
        return ledger.as_observation(ledger.forbid('begin_observation', p_class));
    end if;

    v_token  := ledger.token_digest(p_token);
    v_oid    := ledger.session_oid();
    v_target := ledger.lock_target(p_class, p_target);

    v_receipt.outcome   := 'ok';
    v_receipt.duplicate := false;
    v_receipt.moved     := false;
    v_receipt.class     := p_class;

    select o.* into v_observation
    from ledger.observation as o
    where o.class = p_class and o.target = p_target and o.token_sha256 = v_token;
    if found then
        if v_observation.principal <> session_user or v_observation.principal_oid <> v_oid then
            return ledger.as_observation(ledger.refuse(
                'begin_observation', 'not_holder', p_class,
                'this token is that of another principal''s observation'
            ));
        end if;
        v_receipt.duplicate := true;
        return ledger.as_observation(v_receipt, v_observation);
    end if;

    if v_target.retired_at is not null then
        return ledger.as_observation(ledger.refuse(
            'begin_observation', 'illegal', p_class, 'this target is retired'
        ));
    end if;

    v_now := ledger.clock();
    v_observation.class          := p_class;
    v_observation.target         := p_target;
    v_observation.observation_no := v_target.observation_no + 1;
    v_observation.principal      := session_user;
    v_observation.principal_oid  := v_oid;
    v_observation.token_sha256   := v_token;
    v_observation.begun_at       := v_now;
    if v_target.next_slot_at <= v_now
        and (v_target.slot_begun_at is null
             or v_target.slot_begun_at + v_target.observe_within <= v_now)
    then
        v_observation.slot_at  := v_target.next_slot_at;
        v_target.slot_begun_at := v_now;
    end if;

    -- What is open as the sensor begins to look: a report speaks of this and of nothing later.
    select c.campaign_id, c.state, c.generation
    into v_observation.seen_campaign_id, v_observation.seen_state, v_observation.seen_generation
    from ledger.campaign as c
    where c.class = p_class
      and c.target = p_target
      and c.state not in ('confirmed', 'cancelled', 'lapsed');
    select max(c.campaign_id) into v_observation.last_campaign_id
    from ledger.campaign as c
    where c.class = p_class and c.target = p_target;

    update ledger.target as t
    set observation_no = v_observation.observation_no,
        slot_begun_at  = v_target.slot_begun_at
    where t.class = p_class and t.target = p_target;
    insert into ledger.observation
        (class, target, observation_no, principal, principal_oid, token_sha256, begun_at, slot_at,
         seen_campaign_id, seen_state, seen_generation, last_campaign_id)
    values
        (p_class, p_target, v_observation.observation_no, v_observation.principal,
         v_observation.principal_oid, v_observation.token_sha256, v_observation.begun_at,
         v_observation.slot_at, v_observation.seen_campaign_id, v_observation.seen_state,
         v_observation.seen_generation, v_observation.last_campaign_id);

    return ledger.as_observation(v_receipt, v_observation);
end
$fn$;

comment on function kernel.begin_observation(text, text, uuid) is
$doc$Begins an observation of a target: call it before looking, and report afterwards.

Parameters
    p_class   the class
    p_target  the target
    p_token   made by the sensor for this observation alone, and passed with the report

Takes the target's next number, and notes which campaign is open now, in which state and generation.
It is scheduled where a slot is due that nobody else has begun within observe_within. Repeated with
the same token it returns the same observation (duplicate).

Answers
    ok, forbidden, not_holder (the token is that of somebody else's observation), illegal (the
    target is retired)

Errors
    KN101, KN102, KN103, KN107 unknown_target, KN111, KN112

Writes
    ledger.observation, ledger.target$doc$;

grant execute on function kernel.begin_observation(text, text, uuid) to fencepost_sensor;

commit;

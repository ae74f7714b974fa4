-- Deploy fencepost:observation/report_observation to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create or replace function kernel.report_observation(
    p_class           text,
    p_target          text,
    p_number          bigint,
    p_token           uuid,
    p_is_green        boolean,
    p_summary         text  default null,
    p_evidence_uri    text  default null,
    p_evidence_sha256 bytea default null
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
    v_oid          oid;
    v_content      bytea;
    v_class        ledger.class;
    v_target       ledger.target;
    v_observation  ledger.observation;
    v_campaign     ledger.campaign;
    v_last_id      bigint;
    v_note         text;
    v_move         text;
    v_to_state     text;
    v_now          timestamptz;
    v_next_slot_at timestamptz;
    v_receipt      kernel.receipt;
begin
    perform ledger.enter();
    perform ledger.require_class(p_class);
    perform ledger.require('p_target', p_target is not null);
    perform ledger.require_text('p_target', p_target, 200);
    perform ledger.require('p_number', p_number is not null);
    perform ledger.require('p_token', p_token is not null);
    perform ledger.require('p_is_green', p_is_green is not null);
    perform ledger.require_text('p_summary', p_summary, 4096);
    perform ledger.require_evidence(p_evidence_uri, p_evidence_sha256);
    if not ledger.is_enrolled(p_class, 'sensor') then
        return ledger.forbid('report_observation', p_class);
    end if;

    v_oid     := ledger.session_oid();
    v_content := ledger.digest(jsonb_build_array(
        'report', p_is_green, p_summary, p_evidence_uri, encode(p_evidence_sha256, 'hex')
    ));

    -- Unlocked: a report that is not the beginner's must not lock the target.
    select o.* into v_observation
    from ledger.observation as o
    where o.class = p_class and o.target = p_target and o.observation_no = p_number;
    if not found then
        perform from ledger.target as t where t.class = p_class and t.target = p_target;
        if not found then
            raise exception 'class % has no such target', p_class
                using errcode = 'KN107',
                      detail  = format('p_target is "%s".', left(p_target, 200)),
                      hint    = 'Define it with kernel.define_target.';
        end if;
        raise exception 'this target has no observation %', p_number
            using errcode = 'KN110',
                  detail  = 'Each target numbers its own; kernel.prune removes old ones.',
                  hint    = 'Report the number that kernel.begin_observation returned.';
    end if;
    if v_observation.principal <> session_user
        or v_observation.principal_oid <> v_oid
        or v_observation.token_sha256 <> ledger.token_digest(p_token)
    then
        return ledger.refuse(
            'report_observation', 'not_holder', p_class,
            'an observation is reported by who began it, with its token'
        );
    end if;

    v_class  := ledger.hold_class(p_class);
    v_target := ledger.lock_target(p_class, p_target);
    select o.* into v_observation
    from ledger.observation as o
    where o.class = p_class and o.target = p_target and o.observation_no = p_number;
    if v_observation.report_sha256 = v_content then
        v_receipt.outcome     := 'ok';
        v_receipt.duplicate   := true;
        v_receipt.moved       := false;
        v_receipt.note        := v_observation.note;
        v_receipt.class       := p_class;
        v_receipt.campaign_id := v_observation.moved_campaign_id;
        return v_receipt;
    elsif v_observation.reported_at is not null then
        return ledger.refuse(
            'report_observation', 'stale', p_class,
            'this observation has been reported, and otherwise'
        );
    end if;

    select c.* into v_campaign
    from ledger.campaign as c
    where c.class = p_class
      and c.target = p_target
      and c.state not in ('confirmed', 'cancelled', 'lapsed')
    for no key update;
    select max(c.campaign_id) into v_last_id
    from ledger.campaign as c
    where c.class = p_class and c.target = p_target;
    v_now   := ledger.clock();

    perform
    from ledger.observation as o
    where o.class = p_class
      and o.target = p_target
      and o.observation_no > p_number
      and o.reported_at is not null;
    if found then
        v_note := 'superseded';
    elsif v_campaign.campaign_id is null then
        if not p_is_green then
            v_note := case
                when v_observation.last_campaign_id is distinct from v_last_id
                    or v_observation.seen_campaign_id is not null then 'superseded'
                when v_target.quiet_until > v_now then 'quiet'
                when v_class.retired_at is not null or v_target.retired_at is not null
                    then 'retired'
            end;
            v_move := case when v_note is null then 'open' end;
        end if;
    elsif v_campaign.state = 'verified' then
        v_note := case
            when v_observation.slot_at is null then 'not_scheduled'
            when v_observation.seen_campaign_id is distinct from v_campaign.campaign_id
                then 'superseded'
            when v_observation.seen_state <> 'verified'
                or v_observation.seen_generation <> v_campaign.generation
                or v_observation.begun_at < v_campaign.phase_since + v_target.settle
                then 'not_settled'
            when ledger.took_part(p_class, v_campaign.campaign_id, v_campaign.attempt_count)
                then 'not_independent'
            when p_is_green and ledger.open_operation_bars(v_campaign, 'confirm')
                then 'operation_open'
        end;
        if v_note is null then
            v_move := case when p_is_green then 'confirm' else 'contradict' end;
        end if;
    elsif v_campaign.state = 'ready' and p_is_green then
        v_note := case
            when v_observation.slot_at is null then 'not_scheduled'
            when v_observation.seen_campaign_id is distinct from v_campaign.campaign_id
                or v_observation.seen_state <> 'ready'
                or v_observation.seen_generation <> v_campaign.generation
                then 'superseded'
            when exists (
                select
                from ledger.attempt as a
                where a.class = p_class
                  and a.campaign_id = v_campaign.campaign_id
                  and a.submitted_at is not null
            ) then 'in_progress'
            -- Green may be the work of an effect that nobody has reported yet.
            when exists (
                select
                from ledger.operation as o
                where o.class = p_class
                  and o.campaign_id = v_campaign.campaign_id
                  and o.state in ('pending', 'unknown', 'completed')
            ) then 'operation_open'
        end;
        v_move := case when v_note is null then 'lapse' end;
    else
        v_note := 'in_progress';
    end if;

    if v_move = 'open' then
        v_campaign := ledger.open(v_target, v_now, p_number);
    elsif v_move is not null then
        v_to_state := case v_move
            when 'confirm' then 'confirmed'
            when 'lapse'   then 'lapsed'
        end;
        if v_move = 'confirm' then
            perform ledger.end_attempt(v_campaign, 'confirmed', v_now);
        elsif v_move = 'contradict' then
            perform ledger.end_attempt(
                v_campaign, 'contradicted', v_now,
                coalesce(p_summary, 'the next scheduled observation was red')
            );
            v_campaign.failure_count   := v_campaign.failure_count + 1;
            v_campaign.failure_reason  :=
                coalesce(p_summary, 'the next scheduled observation was red');
            v_campaign.parked_for      := ledger.spent_budget(v_campaign, v_class, 'work');
            v_campaign.next_attempt_at :=
                ledger.retry_at(v_class, v_campaign.failure_count, v_now);
            v_to_state := case when v_campaign.parked_for is null then 'ready' else 'parked' end;
        end if;
        v_campaign := ledger.move(
            v_campaign, v_move, v_to_state, v_now,
            jsonb_build_object('observation', p_number, 'parked_for', v_campaign.parked_for)
        );
    end if;

    update ledger.observation as o
    set reported_at       = v_now,
        is_green          = p_is_green,
        summary           = p_summary,
        evidence_uri      = p_evidence_uri,
        evidence_sha256   = p_evidence_sha256,
        report_sha256     = v_content,
        note              = coalesce(v_note, v_move),
        moved_campaign_id = case when v_move is not null then v_campaign.campaign_id end
    where o.class = p_class and o.target = p_target and o.observation_no = p_number;

    -- The slot is consumed by the first report of it; the next is the next one not yet past.
    if v_observation.slot_at = v_target.next_slot_at then
        v_next_slot_at := ledger.next_slot(v_target, v_now);
        update ledger.target as t
        set next_slot_at  = v_next_slot_at,
            slot_begun_at = null
        where t.class = p_class and t.target = p_target;
    end if;

    if v_campaign.campaign_id is null then
        v_receipt.outcome   := 'ok';
        v_receipt.duplicate := false;
        v_receipt.moved     := false;
        v_receipt.note      := v_note;
        v_receipt.class     := p_class;
        return v_receipt;
    end if;
    return ledger.answer_with(v_campaign, v_move is not null, false, coalesce(v_note, v_move));
end
$fn$;

comment on function kernel.report_observation(
    text, text, bigint, uuid, boolean, text, text, bytea
) is
$doc$Reports what an observation saw, and makes the move that follows from it, if one does.

Parameters
    p_class, p_target  the target
    p_number           the number that begin_observation returned
    p_token            the token it was begun with
    p_is_green         whether the target is as it should be
    p_summary          what was seen, up to 4096 bytes; or null
    p_evidence_uri     where the evidence is kept, up to 4096 bytes; or null
    p_evidence_sha256  its digest, 32 bytes; null with the URI

Moves something only where no later-numbered observation has been reported. Red opens a campaign
where none was open as it began and none has been opened since, and no quiet_for runs. Scheduled,
green confirms and red contradicts a campaign that was verified, under this generation, at least
"settle" before it began; its sensor must have been neither worker nor verifier of the attempt.
Scheduled green lapses a campaign that was ready, under this generation, with nothing submitted and
no external operation open or completed; nor does it confirm while one is open.

Answers
    ok (note: the move, or why there was none: superseded, quiet, retired, not_scheduled,
    not_settled, not_independent, in_progress, operation_open; duplicate: reported before with this
    content), forbidden, not_holder, stale (reported before with other content)

Errors
    KN101, KN102, KN103, KN107, KN110, KN111, KN112

Writes
    ledger.observation, ledger.target; ledger.campaign (opened; verified to confirmed, ready or
    parked; ready to lapsed), ledger.attempt, ledger.campaign_event$doc$;

grant execute on function kernel.report_observation(
    text, text, bigint, uuid, boolean, text, text, bytea
) to fencepost_sensor;

commit;

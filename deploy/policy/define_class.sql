-- Deploy fencepost:policy/define_class to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create or replace function kernel.define_class(p_class text, p_policy jsonb default '{}')
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
    c_year     constant interval := interval '366 days';
    c_century  constant interval := interval '36525 days';
    v_policy   ledger.class;
    v_present  ledger.class;
    v_receipt  kernel.receipt;
begin
    perform ledger.enter();
    perform ledger.require_class(p_class);
    perform ledger.require_object('p_policy', p_policy);
    if not ledger.session_is('admin') then
        return ledger.forbid('define_class', p_class);
    end if;

    perform ledger.policy_keys(p_policy, array[
        'lease_default', 'lease_min', 'lease_max', 'lease_cap', 'attempt_limit', 'attempt_budget',
        'loss_budget', 'release_budget', 'verification_loss_budget', 'promotion_loss_budget',
        'abstain_budget', 'verify_within', 'promote_within', 'backoff_base', 'backoff_cap',
        'backoff_jitter', 'reopen_within', 'promotes', 'separate_family', 'needs_evidence',
        'seats', 'verification_limit', 'priority_step', 'retention', 'refusal_retention',
        'operation_retention', 'unknown_limit'
    ]);

    v_policy.class          := p_class;
    v_policy.lease_default :=
        ledger.policy_span(p_policy, 'lease_default', '15 minutes', '1 second', '31 days');
    v_policy.lease_min :=
        ledger.policy_span(p_policy, 'lease_min', '1 second', '1 second', '31 days');
    v_policy.lease_max :=
        ledger.policy_span(p_policy, 'lease_max', '4 hours', '1 second', '31 days');
    v_policy.lease_cap :=
        ledger.policy_span(p_policy, 'lease_cap', '24 hours', '1 second', '31 days');
    v_policy.attempt_limit :=
        ledger.policy_span(p_policy, 'attempt_limit', '1 hour', '1 second', '31 days');
    v_policy.verify_within :=
        ledger.policy_span(p_policy, 'verify_within', '7 days', '1 second', c_year);
    v_policy.promote_within :=
        ledger.policy_span(p_policy, 'promote_within', '1 day', '1 second', c_year);
    v_policy.backoff_base :=
        ledger.policy_span(p_policy, 'backoff_base', '1 minute', '0', '31 days');
    v_policy.backoff_cap :=
        ledger.policy_span(p_policy, 'backoff_cap', '1 hour', '0', '31 days');
    v_policy.reopen_within :=
        ledger.policy_span(p_policy, 'reopen_within', '1 day', '0', c_year);

    v_policy.attempt_budget :=
        ledger.policy_number(p_policy, 'attempt_budget', 5, 1, 1000000, true)::integer;
    v_policy.loss_budget :=
        ledger.policy_number(p_policy, 'loss_budget', 5, 1, 1000000, true)::integer;
    v_policy.release_budget :=
        ledger.policy_number(p_policy, 'release_budget', 10, 0, 1000000, true)::integer;
    v_policy.verification_loss_budget :=
        ledger.policy_number(p_policy, 'verification_loss_budget', 5, 1, 1000000, true)::integer;
    v_policy.promotion_loss_budget :=
        ledger.policy_number(p_policy, 'promotion_loss_budget', 5, 1, 1000000, true)::integer;
    v_policy.abstain_budget :=
        ledger.policy_number(p_policy, 'abstain_budget', 3, 1, 1000000, true)::integer;
    v_policy.backoff_jitter :=
        ledger.policy_number(p_policy, 'backoff_jitter', 0.2, 0, 1, false);

    v_policy.priority_step :=
        ledger.policy_span(p_policy, 'priority_step', '1 hour', '0', '31 days');
    v_policy.retention :=
        ledger.policy_span(p_policy, 'retention', '90 days', '0', c_century);
    v_policy.refusal_retention :=
        ledger.policy_span(p_policy, 'refusal_retention', '90 days', '0', c_century);
    v_policy.operation_retention :=
        ledger.policy_span(p_policy, 'operation_retention', '30 days', '0', c_century);
    v_policy.unknown_limit :=
        ledger.policy_number(p_policy, 'unknown_limit', 5, 1, 1000000, true)::integer;

    -- Null is no limit, written or left out.
    if p_policy -> 'seats' <> 'null' then
        v_policy.seats :=
            ledger.policy_number(p_policy, 'seats', null, 1, 10000, true)::integer;
    end if;
    if p_policy -> 'verification_limit' <> 'null' then
        v_policy.verification_limit :=
            ledger.policy_number(p_policy, 'verification_limit', null, 1, 10000, true)::integer;
    end if;

    v_policy.promotes        := ledger.policy_flag(p_policy, 'promotes', false);
    v_policy.separate_family := ledger.policy_flag(p_policy, 'separate_family', false);
    v_policy.needs_evidence  := ledger.policy_flag(p_policy, 'needs_evidence', false);

    if not (v_policy.lease_min <= v_policy.lease_default
            and v_policy.lease_default <= v_policy.lease_max
            and v_policy.lease_max <= v_policy.lease_cap) then
        raise exception 'the lease lengths of class % contradict each other', p_class
            using errcode = 'KN104',
                  detail  = format('lease_min %s, lease_default %s, lease_max %s, lease_cap %s.',
                                   v_policy.lease_min, v_policy.lease_default,
                                   v_policy.lease_max, v_policy.lease_cap),
                  hint    = 'Choose lease_min <= lease_default <= lease_max <= lease_cap.';
    end if;
    if v_policy.backoff_base > v_policy.backoff_cap then
        raise exception 'backoff_base is longer than backoff_cap'
            using errcode = 'KN104',
                  detail  = format('backoff_base %s, backoff_cap %s.',
                                   v_policy.backoff_base, v_policy.backoff_cap),
                  hint    = 'Choose backoff_base <= backoff_cap.';
    end if;

    v_policy.epoch     := 0;
    v_policy.is_paused := false;
    insert into ledger.class select v_policy.* on conflict (class) do nothing;
    if not found then
        -- for update: it waits for every claim under way; none is missed when seats are set.
        select c.* into v_present from ledger.class as c where c.class = p_class for update;
        v_policy.epoch      := v_present.epoch;
        v_policy.is_paused  := v_present.is_paused;
        v_policy.resumed_at := v_present.resumed_at;
        v_policy.retired_at := v_present.retired_at;
    end if;
    if v_present.retired_at is not null then
        return ledger.refuse('define_class', 'illegal', p_class, 'this class is retired');
    end if;

    v_receipt.outcome   := 'ok';
    v_receipt.duplicate := v_present is not distinct from v_policy;
    v_receipt.moved     := false;
    v_receipt.class     := p_class;
    if v_receipt.duplicate then
        return v_receipt;
    end if;

    if v_present.class is not null then
        update ledger.class as c
        set lease_default            = v_policy.lease_default,
            lease_min                = v_policy.lease_min,
            lease_max                = v_policy.lease_max,
            lease_cap                = v_policy.lease_cap,
            attempt_limit            = v_policy.attempt_limit,
            attempt_budget           = v_policy.attempt_budget,
            loss_budget              = v_policy.loss_budget,
            release_budget           = v_policy.release_budget,
            verification_loss_budget = v_policy.verification_loss_budget,
            promotion_loss_budget    = v_policy.promotion_loss_budget,
            abstain_budget           = v_policy.abstain_budget,
            verify_within            = v_policy.verify_within,
            promote_within           = v_policy.promote_within,
            backoff_base             = v_policy.backoff_base,
            backoff_cap              = v_policy.backoff_cap,
            backoff_jitter           = v_policy.backoff_jitter,
            reopen_within            = v_policy.reopen_within,
            promotes                 = v_policy.promotes,
            separate_family          = v_policy.separate_family,
            needs_evidence           = v_policy.needs_evidence,
            seats                    = v_policy.seats,
            verification_limit       = v_policy.verification_limit,
            priority_step            = v_policy.priority_step,
            retention                = v_policy.retention,
            refusal_retention        = v_policy.refusal_retention,
            operation_retention      = v_policy.operation_retention,
            unknown_limit            = v_policy.unknown_limit
        where c.class = p_class;
    end if;
    perform ledger.set_seats(p_class, 'work', v_policy.seats);
    perform ledger.set_seats(p_class, 'verification', v_policy.verification_limit);
    perform ledger.log_config(
        p_class, 'define_class', p_class,
        case when v_present.class is not null then to_jsonb(v_present) end, to_jsonb(v_policy)
    );
    return v_receipt;
end
$fn$;

comment on function kernel.define_class(text, jsonb) is
$doc$Makes a class of campaigns, or replaces its policy.

Parameters
    p_class   its name, [a-z][a-z0-9_-]{0,62}
    p_policy  an object; a missing key takes its default. Durations are text:
              lease_default 15 minutes, lease_min 1 second, lease_max 4 hours, lease_cap 24 hours,
              attempt_limit 1 hour, verify_within 7 days, promote_within 1 day,
              backoff_base 1 minute, backoff_cap 1 hour, reopen_within 1 day, priority_step 1 hour,
              retention 90 days, refusal_retention 90 days, operation_retention 30 days.
              Numbers: attempt_budget 5, loss_budget 5, release_budget 10,
              verification_loss_budget 5, promotion_loss_budget 5, abstain_budget 3,
              unknown_limit 5, backoff_jitter 0.2; seats and verification_limit null: no limit.
              Flags: promotes, separate_family, needs_evidence, each false.

What acceptance means (promotes, separate_family, needs_evidence) is frozen into a campaign when it
opens; the rest is read live. Fewer seats than leases take free seats away at once, and held ones as
they fall free. A change waits for the claims under way; where so many claim that it is told to try
again (55P03), pause the class first.

Answers
    ok (duplicate: the policy was that already), forbidden, illegal (the class is retired)

Errors
    KN101, KN102, KN103, KN104, KN105, KN111, KN112

Writes
    ledger.class, ledger.seat, ledger.config_event$doc$;

grant execute on function kernel.define_class(text, jsonb) to fencepost_admin;

commit;

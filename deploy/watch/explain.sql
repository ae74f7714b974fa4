-- Deploy fencepost:watch/explain to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create or replace function kernel.explain(p_class text, p_campaign_id bigint)
    returns text
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
    v_now      timestamptz;
    v_class    ledger.class;
    v_campaign ledger.campaign;
    v_target   ledger.target;
    v_event    ledger.campaign_event;
    v_kind     text;
    v_who      text;
    v_limit    integer;
    v_term     text;
    v_effects  jsonb;
    v_where    text;
    v_next     text;
begin
    perform ledger.require_class(p_class);
    perform ledger.require('p_campaign_id', p_campaign_id is not null);
    if not (ledger.session_is('auditor') or ledger.session_is('admin')) then
        return null;
    end if;
    v_class    := ledger.known_class(p_class);
    v_campaign := ledger.campaign_of(p_class, p_campaign_id);
    v_now      := ledger.clock();
    select t.* into v_target
    from ledger.target as t
    where t.class = p_class and t.target = v_campaign.target;

    -- What brought it here, and not what was done to it meanwhile.
    select e.* into v_event
    from ledger.campaign_event as e
    where e.class = p_class
      and e.campaign_id = p_campaign_id
      and e.from_state <> e.to_state
    order by e.event_no desc
    limit 1;
    v_where := concat(
        format('Campaign %s of target %s is %s since %s: %s, event %s, by %s',
               v_campaign.campaign_id, v_campaign.target, v_campaign.state, v_event.at,
               v_event.transition, v_event.event_no, v_event.by_principal),
        ' (' || left(v_event.detail ->> 'reason', 500) || ')',
        '.'
    );

    if v_campaign.state = 'leased' then
        v_kind := 'work';
        v_who  := 'Worker';
    elsif v_campaign.state in ('verifying', 'promoting') then
        v_kind := 'verification';
        v_who  := 'Verifier';
    elsif v_campaign.state = 'ready' then
        v_kind := 'work';
        v_who  := 'A worker that has not judged it';
        v_limit := v_class.seats;
    elsif v_campaign.state in ('attempted', 'accepted') then
        v_kind := 'verification';
        v_who  := 'A verifier that has not worked on it';
        v_limit := v_class.verification_limit;
    end if;

    v_term := case
        when v_class.is_paused then ' All of its term begins anew then.'
        when v_campaign.state = 'attempted' then format(
            ' Without a verdict it parks at %s.',
            greatest(v_campaign.phase_since, v_class.resumed_at) + v_class.verify_within)
        else format(
            ' Unless it is promoted it parks at %s.',
            greatest(v_campaign.phase_since, v_class.resumed_at) + v_class.promote_within)
    end;

    v_next := case
        when v_campaign.state in ('leased', 'verifying', 'promoting') then concat(
            format('%s %s (%s) holds it until %s%s. ',
                   v_who, v_campaign.lease_principal,
                   coalesce(v_campaign.lease_label, 'no label'), v_campaign.lease_expires_at,
                   case
                       when v_campaign.lease_expires_at <= v_now then ', which is over'
                       else ''
                   end),
            case v_campaign.state
                when 'leased' then 'It submits, fails or releases it'
                when 'verifying' then 'It accepts, rejects or abstains'
                else 'It moves the target, or finds that it has moved on'
            end,
            '; after that time the reaper takes it back.',
            case
                when v_class.is_paused and v_campaign.state = 'verifying'
                    then ' The class is paused, and nothing is accepted; kernel.resume lets it.'
            end
        )
        when v_campaign.state in ('ready', 'attempted', 'accepted') then concat(
            case
                when v_class.is_paused
                    then 'The class is paused: nobody may claim it. kernel.resume lets it go on.'
                when v_campaign.state <> 'ready' and not ledger.has_judge(v_campaign)
                    then 'No verifier that is enrolled may judge it: each worked on it, or is not '
                         'independent of who did. kernel.enrol another.'
                when v_campaign.next_attempt_at > v_now
                    then format('%s may claim it from %s.', v_who, v_campaign.next_attempt_at)
                when v_limit is not null and not exists (
                    select from ledger.seat as s
                    where s.class = p_class and s.kind = v_kind and s.campaign_id is null
                )
                    then format('All seats are taken, of which there are %s. %s may claim it when '
                                'one falls free.', v_limit, v_who)
                else format('%s may claim it now.', v_who)
            end,
            case v_campaign.state
                when 'ready' then null
                else v_term
            end
        )
        when v_campaign.state = 'verified' then format(
            'It waits for a scheduled observation begun from %s on: green confirms it, red sends '
            'it back. The next slot is at %s.',
            v_campaign.phase_since + v_target.settle, v_target.next_slot_at)
        when v_campaign.state = 'parked' then format(
            '%s, and it waits for a person: kernel.redrive or kernel.cancel, with generation %s.',
            case
                when v_campaign.parked_for = 'admin' then 'An admin has set it aside'
                else format('What ran out is %s', v_campaign.parked_for)
            end,
            v_campaign.generation)
        else format('It was closed at %s and moves no more.', v_campaign.closed_at)
    end;
    if v_campaign.state in ('ready', 'leased', 'parked') and v_campaign.failure_reason is not null
    then
        v_next := v_next || format(
            ' Of attempt_budget %s, %s attempts came to nothing; the last: %s',
            v_class.attempt_budget, v_campaign.failure_count,
            left(v_campaign.failure_reason, 500));
    end if;
    v_effects := ledger.unknown_operations(p_class, p_campaign_id);
    if v_effects <> '[]' then
        v_next := v_next || format(
            ' Nobody knows whether %s of its external operations took effect (%s): it is not '
            'submitted, accepted or promoted before kernel.resolve_operation says.',
            jsonb_array_length(v_effects), v_effects -> 0 ->> 'operation_key');
    end if;
    return v_where || ' ' || v_next;
end
$fn$;

comment on function kernel.explain(text, bigint) is
$doc$Says in plain words where a campaign is, who brought it there, and what would move it on. For
auditors and admins; null to anybody else.

Parameters
    p_class, p_campaign_id   the campaign

Errors
    KN101, KN102, KN106, KN108$doc$;

grant execute on function kernel.explain(text, bigint) to fencepost_auditor, fencepost_admin;

commit;

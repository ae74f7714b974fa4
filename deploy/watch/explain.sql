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

    select e.* into v_event
    from ledger.campaign_event as e
    where e.class = p_class
      and e.campaign_id = p_campaign_id
      and e.from_state <> e.to_state
    order by e.event_no desc
    limit 1;
    v_where := format(
        'Campaign %s of target %s is %s since %s: %s, event %s, by %s.',
        v_campaign.campaign_id, v_campaign.target, v_campaign.state, v_event.at,
        v_event.transition, v_event.event_no, v_event.by_principal
    );

    v_next := case v_campaign.state
        when 'ready' then
            case
                when v_class.is_paused then 'The class is paused; kernel.resume lets it go on.'
                when v_campaign.next_attempt_at > v_now
                    then format('It may be claimed from %s.', v_campaign.next_attempt_at)
                when v_class.seats is not null and not exists (
                    select from ledger.seat as s
                    where s.class = p_class and s.kind = 'work' and s.campaign_id is null
                ) then format('All %s seats of the class are taken.', v_class.seats)
                else 'A worker may claim it now.'
            end
            || case
                when v_campaign.failure_reason is not null
                    then format(' The last attempt came to nothing: %s',
                                left(v_campaign.failure_reason, 500))
                else ''
            end
        when 'leased' then format(
            'Worker %s (%s) holds it until %s%s. It submits, fails or releases it; after that time '
            'the reaper takes it back.',
            v_campaign.lease_principal, coalesce(v_campaign.lease_label, 'no label'),
            v_campaign.lease_expires_at,
            case when v_campaign.lease_expires_at <= v_now then ', which is over' else '' end)
        when 'attempted' then
            case
                when v_class.is_paused then 'The class is paused; kernel.resume lets it go on.'
                when v_campaign.next_attempt_at > v_now
                    then format('A verifier may take it from %s.', v_campaign.next_attempt_at)
                else 'A verifier that did not work on it may take it now.'
            end
            || format(' It parks at %s.', v_campaign.phase_since + v_class.verify_within)
        when 'verifying' then format(
            'Verifier %s (%s) judges it, until %s.',
            v_campaign.lease_principal, coalesce(v_campaign.lease_label, 'no label'),
            v_campaign.lease_expires_at)
        when 'accepted' then format(
            'A verifier must take up its promotion; it parks at %s.',
            v_campaign.phase_since + v_class.promote_within)
        when 'promoting' then format(
            'Verifier %s (%s) moves the target, until %s.',
            v_campaign.lease_principal, coalesce(v_campaign.lease_label, 'no label'),
            v_campaign.lease_expires_at)
        when 'verified' then format(
            'It waits for a scheduled observation begun after %s; the next is due at %s.',
            v_campaign.phase_since + v_target.settle, v_target.next_slot_at)
        when 'parked' then format(
            'It is parked for %s and waits for a person: kernel.redrive or kernel.cancel, with '
            'generation %s.', v_campaign.parked_for, v_campaign.generation)
        else format('It was closed at %s and moves no more.', v_campaign.closed_at)
    end;
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

-- Deploy fencepost:campaign/guard to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create or replace function ledger.tg_campaign__guard()
    returns trigger
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
    v_move  ledger.transition;
    v_from  text;
    v_same  ledger.campaign;
    v_lease text;
begin
    if tg_relid = 'ledger.campaign'::regclass
        and tg_op = 'DELETE'
        and old.closed_at is not null
        and ledger.session_is('admin')
        and ledger.is_pruned_now(old.class, old.campaign_id)
    then
        return old;
    end if;
    if tg_relid <> 'ledger.campaign'::regclass or tg_op = 'DELETE' then
        raise exception '% of a campaign is refused', tg_op
            using errcode = 'KN901',
                  detail  = 'A campaign is deleted by kernel.prune only, long after it closed.',
                  hint    = 'Cancel it with kernel.cancel.';
    end if;

    if tg_op = 'INSERT' then
        v_from := 'none';
        if new.generation <> 0 or new.event_count <> 0 or new.attempt_count <> 0 then
            raise exception 'a campaign begins with generation 0 and no history'
                using errcode = 'KN901',
                      detail  = format('It has generation %s, %s events and %s attempts.',
                                       new.generation, new.event_count, new.attempt_count),
                      hint    = 'Open it with kernel.open_campaign.';
        end if;
    else
        v_from := old.state;
        if row(new.class, new.campaign_id, new.target, new.opened_at, new.opened_by,
               new.opening_observation_no, new.opening_token_sha256, new.previous_campaign_id,
               new.desired_state, new.acceptance,
               new.promotes, new.separate_family, new.needs_evidence)
            is distinct from
           row(old.class, old.campaign_id, old.target, old.opened_at, old.opened_by,
               old.opening_observation_no, old.opening_token_sha256, old.previous_campaign_id,
               old.desired_state, old.acceptance,
               old.promotes, old.separate_family, old.needs_evidence)
        then
            raise exception 'what a campaign was opened with never changes'
                using errcode = 'KN903',
                      detail  = 'Key, target, opening, desired state, acceptance and policy stay.',
                      hint    = 'Cancel the campaign and open another.';
        end if;

        v_same := old;
        v_same.lease_expires_at := new.lease_expires_at;
        if v_same is not distinct from new then
            -- A renewal, the one change without an event: by its holder, to a later expiry.
            if (new.lease_expires_at > old.lease_expires_at) is not true
                or old.lease_principal is distinct from session_user
            then
                raise exception 'a lease is renewed by its holder, to a later expiry'
                    using errcode = 'KN901',
                          detail  = format('Its holder is %s; it ends %s and would end %s.',
                                           coalesce(old.lease_principal, 'nobody'),
                                           coalesce(old.lease_expires_at::text, 'never'),
                                           coalesce(new.lease_expires_at::text, 'never')),
                          hint    = 'Call the kernel function that does what you want.';
            end if;
            return new;
        end if;
    end if;

    select t.* into v_move
    from ledger.transition as t
    where t.transition = new.last_transition
      and t.from_state = v_from
      and t.to_state = new.state;
    if not found then
        raise exception 'no move % leads from % to %', new.last_transition, v_from, new.state
            using errcode = 'KN901',
                  detail  = 'The legal moves are the rows of ledger.transition.',
                  hint    = 'Call the kernel function that makes the move.';
    end if;

    if not exists (
        select from unnest(v_move.duties) as d (duty) where ledger.session_is(d.duty)
    ) then
        raise exception 'role % does not make the move %', session_user, v_move.transition
            using errcode = 'KN901',
                  detail  = format('It is made by %s.', array_to_string(v_move.duties, ' or ')),
                  hint    = 'Connect as a direct, inheriting member of that group.';
    end if;

    if tg_op = 'UPDATE' then
        if v_move.operations in ('closed', 'unstarted')
            and ledger.open_operation_bars(old, v_move.transition)
        then
            raise exception 'an external operation of the campaign is open'
                using errcode = 'KN901',
                      detail  = format('The move %s is made with none.', v_move.transition),
                      hint    = 'Conclude or resolve it first: see audit.operations.';
        end if;
        if new.generation <> old.generation + v_move.generation_step then
            raise exception 'the move % takes the generation from % to %',
                v_move.transition, old.generation,
                old.generation + v_move.generation_step
                using errcode = 'KN901',
                      detail  = format('It would be %s.', new.generation),
                      hint    = 'Call the kernel function that makes the move.';
        end if;

        v_lease := case
            when v_move.lease = 'takes' and new.lease_principal is distinct from session_user
                then 'taken by its maker'
            when v_move.lease in ('keeps', 'returns')
                and old.lease_principal is distinct from session_user
                then 'made by its holder'
            when v_move.lease = 'keeps'
                and row(new.lease_principal, new.lease_principal_oid, new.lease_token_sha256,
                        new.lease_granted_at, new.lease_expires_at)
                    is distinct from
                    row(old.lease_principal, old.lease_principal_oid, old.lease_token_sha256,
                        old.lease_granted_at, old.lease_expires_at)
                then 'made under one lease'
        end;
        if v_lease is not null then
            raise exception 'the move % is %', v_move.transition, v_lease
                using errcode = 'KN901',
                      detail  = format('The holder was %s and would be %s; this session is %s.',
                                       coalesce(old.lease_principal, 'nobody'),
                                       coalesce(new.lease_principal, 'nobody'), session_user),
                      hint    = 'Call the kernel function that makes the move.';
        end if;

        -- The priority changes by set_priority alone, and an act within a state changes nothing
        -- else.
        v_same := new;
        v_same.priority := old.priority;
        if v_move.lease = 'stays' then
            v_same := old;
            v_same.generation          := new.generation;
            v_same.last_transition     := new.last_transition;
            v_same.last_at             := new.last_at;
            v_same.last_detail         := new.last_detail;
            v_same.last_content_sha256 := new.last_content_sha256;
        end if;
        if v_move.transition = 'set_priority' then
            v_same.priority := new.priority;
        end if;
        if v_same is distinct from new then
            raise exception 'the move % changes something else', v_move.transition
                using errcode = 'KN901',
                      detail  = format('It does not change %s.', (
                                    select string_agg(n.key, ', ' order by n.key)
                                    from jsonb_each(to_jsonb(new)) as n (key, value)
                                    where n.value is distinct from to_jsonb(v_same) -> n.key
                                )),
                      hint    = 'Call the kernel function that makes the move.';
        end if;
        new.event_count := old.event_count + 1;
    else
        new.event_count := 1;
    end if;
    return new;
end
$fn$;

comment on function ledger.tg_campaign__guard() is
$doc$Lets a campaign change only by a legal move of the session's own duty, or by a renewal; lets it
be deleted only when it is buried.

It does not ask which function runs: the owner and superusers at the keyboard are refused as well.
Numbers the move's event.

Errors
    KN901 move_refused, KN903 frozen_column$doc$;

create or replace function ledger.tg_campaign__log()
    returns trigger
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
    v_epoch integer;
    v_from  text := 'none';
    v_holder name := new.lease_principal;
    v_late  boolean := false;
begin
    if tg_relid <> 'ledger.campaign'::regclass then
        raise exception 'this trigger belongs to ledger.campaign'
            using errcode = 'KN901',
                  detail  = format('It was fired for %s.', tg_relid::regclass),
                  hint    = 'Call the kernel function that makes the move.';
    end if;

    if tg_op = 'UPDATE' then
        if new.event_count = old.event_count then
            return null;    -- a renewal: no event
        end if;
        v_from   := old.state;
        v_holder := coalesce(new.lease_principal, old.lease_principal);
        v_late   := old.lease_expires_at <= new.last_at
            and old.generation = new.generation
            and old.state <> new.state;
    end if;

    select c.epoch into v_epoch from ledger.class as c where c.class = new.class;

    insert into ledger.campaign_event
        (class, campaign_id, event_no, transition, from_state, to_state, generation, by_principal,
         holder, is_late, next_attempt_at, at, epoch, xid, detail, content_sha256)
    values
        (new.class, new.campaign_id, new.event_count, new.last_transition, v_from, new.state,
         new.generation, session_user, v_holder, coalesce(v_late, false), new.next_attempt_at,
         new.last_at, v_epoch, pg_current_xact_id(), new.last_detail, new.last_content_sha256);
    return null;
end
$fn$;

comment on function ledger.tg_campaign__log() is
$doc$Writes the event of a move, in the move's own transaction: both stand or neither.

Errors
    KN901 move_refused (fired for another table)

Writes
    ledger.campaign_event$doc$;

create trigger campaign_10_guard
    before insert or update or delete on ledger.campaign
    for each row execute function ledger.tg_campaign__guard();
create trigger campaign_20_log
    after insert or update on ledger.campaign
    for each row execute function ledger.tg_campaign__log();
create trigger campaign_30_no_truncate
    before truncate on ledger.campaign
    for each statement execute function ledger.tg__append_only();
alter table ledger.campaign enable always trigger campaign_10_guard;
alter table ledger.campaign enable always trigger campaign_20_log;
alter table ledger.campaign enable always trigger campaign_30_no_truncate;

commit;

-- Deploy fencepost:operation/operation_guard to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create or replace function ledger.tg_operation__guard()
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
    v_from   text := 'none';
    v_move   ledger.operation_transition;
    v_same   ledger.operation;
    v_wrong  text;
begin
    if tg_relid = 'ledger.operation'::regclass and tg_op = 'DELETE' then
        if old.state not in ('pending', 'unknown')
            and ledger.is_pruned_now(old.class, old.campaign_id)
        then
            return old;
        end if;
        if old.campaign_id is null
            and old.state not in ('pending', 'unknown')
            and ledger.session_is('reaper')
            and exists (
                select
                from ledger.class as c
                where c.class = old.class
                  and old.updated_at < ledger.clock() - c.operation_retention
            )
        then
            return old;
        end if;
    end if;
    if tg_relid <> 'ledger.operation'::regclass or tg_op = 'DELETE' then
        raise exception '% of an operation is refused', tg_op
            using errcode = 'KN901',
                  detail  = 'An operation is deleted by kernel.prune_operations, long after it '
                            'ended, or with its campaign; never while it is open or unknown.',
                  hint    = 'Resolve it with kernel.resolve_operation.';
    end if;

    if tg_op = 'UPDATE' then
        v_from := old.state;
        v_same := old;
        v_same.lease_expires_at := new.lease_expires_at;
        if v_same is not distinct from new then
            -- A renewal, the one change without an event: by its owner, to a later end.
            if (new.lease_expires_at > old.lease_expires_at) is not true
                or old.principal is distinct from session_user
            then
                raise exception 'an operation is renewed by its owner, to a later end'
                    using errcode = 'KN901',
                          detail  = format('Its owner is %s; it ends %s and would end %s.',
                                           old.principal,
                                           coalesce(old.lease_expires_at::text, 'never'),
                                           coalesce(new.lease_expires_at::text, 'never')),
                          hint    = 'Call kernel.renew_operation.';
            end if;
            return new;
        end if;
    end if;

    select t.* into v_move
    from ledger.operation_transition as t
    where t.event = new.last_event and t.from_state = v_from and t.to_state = new.state;
    if not found then
        raise exception 'no event % leads from % to %', new.last_event, v_from, new.state
            using errcode = 'KN901',
                  detail  = 'The legal moves are the rows of ledger.operation_transition.',
                  hint    = 'Call the kernel function that makes the move.';
    end if;
    if not exists (
        select from unnest(v_move.duties) as d (duty) where ledger.session_is(d.duty)
    ) then
        raise exception 'role % does not make the move %', session_user, v_move.event
            using errcode = 'KN901',
                  detail  = format('It is made by %s.', array_to_string(v_move.duties, ' or ')),
                  hint    = 'Connect as a direct, inheriting member of that group.';
    end if;

    if tg_op = 'INSERT' then
        v_wrong := case
            when new.revision <> 1 or new.event_count <> 0 or new.started_at is not null
                then 'begins with revision 1 and no history'
            when new.principal is distinct from session_user then 'is begun by its owner'
        end;
        new.event_count := 1;
    else
        v_wrong := case
            when row(new.class, new.operation_key, new.campaign_id)
                is distinct from row(old.class, old.operation_key, old.campaign_id)
                then 'keeps its key'
            when v_move.event = 'begin'
                and (new.incarnation = old.incarnation or new.revision <> 1)
                then 'begins anew as another incarnation'
            when v_move.event <> 'begin'
                and (new.incarnation <> old.incarnation or new.revision <> old.revision + 1)
                then 'keeps its incarnation, and its revision rises by one'
            when v_move.event <> 'begin'
                and row(new.kind, new.target, new.ordinal, new.fingerprint, new.created_at,
                        new.attempt_no, new.generation)
                    is distinct from
                    row(old.kind, old.target, old.ordinal, old.fingerprint, old.created_at,
                        old.attempt_no, old.generation)
                then 'keeps what it was begun with'
            when v_move.event not in ('begin', 'take_over')
                and row(new.principal, new.principal_oid, new.token_sha256, new.duty, new.expected,
                        new.label, new.begun_at, new.begun_xid)
                    is distinct from
                    row(old.principal, old.principal_oid, old.token_sha256, old.duty, old.expected,
                        old.label, old.begun_at, old.begun_xid)
                then 'keeps its owner'
            when v_move.event in ('begin', 'take_over')
                and new.principal is distinct from session_user
                then 'is taken by its owner'
            when v_move.event in ('start', 'complete', 'fail', 'mark_unknown')
                and old.principal is distinct from session_user
                then 'is moved by its owner'
            when v_move.event = 'take_over' and (old.lease_expires_at > new.updated_at) is not false
                then 'is taken over when its lease has run out'
            when v_move.is_started is distinct from (old.started_at is not null)
                and v_move.is_started is not null
                then case when v_move.is_started then 'has to be started' else 'was started' end
            when (new.started_at is distinct from old.started_at)
                <> (v_move.event = 'start'
                    or (v_move.event = 'abandon' and old.started_at is null))
                then 'is started by being started, once'
        end;
        new.event_count := old.event_count + 1;
    end if;
    if v_wrong is not null then
        raise exception 'the move % is not made so: an operation %', v_move.event, v_wrong
            using errcode = 'KN901',
                  detail  = format('It would lead from %s to %s, with revision %s and owner %s.',
                                   v_from, new.state, new.revision, new.principal),
                  hint    = 'Call the kernel function that makes the move.';
    end if;
    return new;
end
$fn$;

comment on function ledger.tg_operation__guard() is
$doc$Lets an operation change only by a legal move of the session's own duty, or by a renewal; lets
it be deleted only when it ended long ago, or with its campaign.

It does not ask which function runs: the owner and superusers at the keyboard are refused as well.
Numbers the move's event.

Errors
    KN901 move_refused$doc$;

create or replace function ledger.tg_operation__log()
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
    v_from  text    := 'none';
    v_late  boolean := false;
begin
    if tg_relid <> 'ledger.operation'::regclass then
        raise exception 'this trigger belongs to ledger.operation'
            using errcode = 'KN901',
                  detail  = format('It was fired for %s.', tg_relid::regclass),
                  hint    = 'Call the kernel function that makes the move.';
    end if;

    if tg_op = 'UPDATE' then
        if new.event_count = old.event_count then
            return null;    -- a renewal: no event
        end if;
        v_from := old.state;
        v_late := new.last_event in ('complete', 'fail', 'mark_unknown')
            and (old.state = 'unknown' or coalesce(old.lease_expires_at <= new.updated_at, false));
    end if;

    select c.epoch into v_epoch from ledger.class as c where c.class = new.class;

    insert into ledger.operation_event
        (class, operation_key, event_no, incarnation, revision, event, from_state, to_state,
         by_principal, owner, token_sha256, campaign_id, is_late, reason, diagnostic, at, epoch,
         xid, content_sha256)
    values
        (new.class, new.operation_key, new.event_count, new.incarnation, new.revision,
         new.last_event, v_from, new.state, session_user, new.principal, new.token_sha256,
         new.campaign_id, v_late, new.reason, new.diagnostic, new.updated_at, v_epoch,
         pg_current_xact_id(), new.last_content_sha256);
    return null;
end
$fn$;

comment on function ledger.tg_operation__log() is
$doc$Writes the event of an operation's move, in the move's own transaction: both stand or neither.

Errors
    KN901 move_refused (fired for another table)

Writes
    ledger.operation_event$doc$;

create or replace function ledger.tg_operation_event__guard()
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
begin
    if tg_relid = 'ledger.operation_event'::regclass and tg_op = 'DELETE' and not exists (
        select
        from ledger.operation as o
        where o.class = old.class and o.operation_key = old.operation_key
    ) then
        return old;
    end if;
    if tg_op <> 'INSERT' then
        raise exception '% of ledger.operation_event is refused', tg_op
            using errcode = 'KN902',
                  detail  = 'The history is append-only, until its operation is pruned.',
                  hint    = 'Leave it; what was wrong is put right by a later move.';
    end if;

    -- Depth 2: fired by the insertion that the operation's own trigger makes.
    if pg_trigger_depth() < 2
        or tg_relid <> 'ledger.operation_event'::regclass
        or not exists (
            select
            from ledger.operation as o
            where o.class = new.class
              and o.operation_key = new.operation_key
              and o.event_count = new.event_no
              and o.last_event = new.event
              and o.state = new.to_state
              and o.revision = new.revision
        )
    then
        raise exception 'an event is written by its move only'
            using errcode = 'KN901',
                  detail  = 'The history holds what happened to ledger.operation, nothing else.',
                  hint    = 'Call the kernel function that makes the move.';
    end if;
    return new;
end
$fn$;

comment on function ledger.tg_operation_event__guard() is
$doc$Lets an event in only from the trigger that logs an operation's move, and never changes one.

Errors
    KN901 move_refused, KN902 append_only$doc$;

create trigger operation_10_guard
    before insert or update or delete on ledger.operation
    for each row execute function ledger.tg_operation__guard();
create trigger operation_20_log
    after insert or update on ledger.operation
    for each row execute function ledger.tg_operation__log();
create trigger operation_30_no_truncate
    before truncate on ledger.operation
    for each statement execute function ledger.tg__append_only();
alter table ledger.operation enable always trigger operation_10_guard;
alter table ledger.operation enable always trigger operation_20_log;
alter table ledger.operation enable always trigger operation_30_no_truncate;

create trigger operation_event_10_guard
    before insert or update or delete on ledger.operation_event
    for each row execute function ledger.tg_operation_event__guard();
create trigger operation_event_20_no_truncate
    before truncate on ledger.operation_event
    for each statement execute function ledger.tg__append_only();
alter table ledger.operation_event enable always trigger operation_event_10_guard;
alter table ledger.operation_event enable always trigger operation_event_20_no_truncate;

commit;

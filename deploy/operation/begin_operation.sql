-- Deploy fencepost:operation/begin_operation to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create or replace function ledger.campaign_operation_bar(
    p_campaign  ledger.campaign,
    p_class     ledger.class,
    p_operation ledger.operation
)
    returns kernel.receipt
    language plpgsql
    volatile
    set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_attempt    ledger.attempt := ledger.live_attempt(p_campaign);
    v_location   jsonb;
    v_own        text;
    v_is_own     boolean;
    v_authority  ledger.authority;
    v_count      integer;
    v_outcome    text;
    v_message    text;
begin
    -- Where its target is: as it is now, and as it was when there came to be something to judge.
    select t.location into v_location
    from ledger.target as t
    where t.class = p_class.class and t.target = p_campaign.target;
    v_is_own := p_operation.target = ledger.own_target(p_campaign.target, v_location);
    select b.content -> 'location' into v_location
    from ledger.bundle as b
    where b.class = p_class.class
      and b.campaign_id = p_campaign.campaign_id
      and b.attempt_no = v_attempt.attempt_no;
    if found then
        v_own    := ledger.own_target(p_campaign.target, v_location);
        v_is_own := v_is_own or p_operation.target = v_own;
    else
        select t.location into v_location
        from ledger.target as t
        where t.class = p_class.class and t.target = p_campaign.target;
    end if;

    v_authority := ledger.authority_over(
        p_class.class, p_operation.duty, p_operation.kind, p_operation.target,
        p_campaign.campaign_id, v_attempt.attempt_no, v_location ->> 'repository'
    );
    if v_authority.class is null or v_is_own <> (p_operation.kind = 'promote') then
        v_outcome := 'forbidden';
        v_message := 'no authority of the class covers this kind and target';
    elsif p_operation.kind = 'promote' and p_campaign.state <> 'promoting' then
        v_outcome := 'illegal';
        v_message := format('nothing is promoted in state %s', p_campaign.state);
    elsif p_operation.kind = 'promote' and p_operation.target <> v_own then
        v_outcome := 'forbidden';
        v_message := 'the target has been given another place since';
    elsif p_operation.kind = 'promote'
        and (p_operation.expected -> 'after' ->> 'commit')
            is distinct from (v_attempt.result ->> 'commit')
    then
        v_outcome := 'bundle_mismatch';
        v_message := 'the new value is not the result that was accepted';
    end if;
    if v_outcome is null then
        -- What is not known is reconciled before it is tried again; what is done is done.
        select case when o.state = 'completed' then 'illegal' else 'operation_open' end
        into v_outcome
        from ledger.operation as o
        where o.class = p_class.class
          and o.operation_key <> p_operation.operation_key
          and ((o.campaign_id = p_campaign.campaign_id
                and o.kind = p_operation.kind
                and o.target = p_operation.target
                and (o.state in ('pending', 'unknown')
                     or (o.state = 'completed' and o.attempt_no = v_attempt.attempt_no)))
               or (p_operation.kind = 'promote'
                   and o.kind = 'promote'
                   and o.target = p_operation.target
                   and (o.state = 'unknown'
                        or (o.state = 'pending' and o.started_at is not null))))
        order by (o.state = 'completed')
        limit 1;
        v_message := case v_outcome
            when 'illegal' then 'another ordinal of this operation has been completed'
            when 'operation_open' then 'another operation on this target is open or unknown'
        end;
    end if;
    if v_outcome is null and v_authority.attempt_limit is not null then
        select count(*)::integer into v_count
        from ledger.operation as o
        where o.class = p_class.class
          and o.campaign_id = p_campaign.campaign_id
          and o.attempt_no = v_attempt.attempt_no
          and o.duty = p_operation.duty
          and o.kind = p_operation.kind
          and o.state <> 'released'
          and o.operation_key <> p_operation.operation_key
          and ledger.covers(v_authority.target, o.target, o.campaign_id, o.attempt_no,
                            v_location ->> 'repository');
        if v_count >= v_authority.attempt_limit then
            v_outcome := 'limit';
            v_message := format('an attempt may have %s such operations',
                                v_authority.attempt_limit);
        end if;
    end if;
    if v_outcome is null then
        return null;
    end if;
    return ledger.refuse(
        'begin_operation', v_outcome, p_class.class, v_message, p_campaign.campaign_id,
        p_operation.generation, p_campaign.generation, p_campaign.state
    );
end
$fn$;

comment on function ledger.campaign_operation_bar(
    ledger.campaign, ledger.class, ledger.operation
) is
$doc$Why the holder of a campaign may not begin an operation, recorded; null where it may.

Parameters
    p_campaign   the campaign, locked
    p_class      its class
    p_operation  what is to be begun: duty, kind, target, key, expected and generation are read

Answers
    forbidden (no authority, or the target's own place by another kind than promote), illegal,
    bundle_mismatch, operation_open, limit$doc$;

create or replace function ledger.begun_before(p_operation ledger.operation)
    returns kernel.operation
    language plpgsql
    volatile
    set search_path = pg_catalog, pg_temp
as $fn$
begin
    if p_operation.state = 'released' then
        return ledger.as_operation(ledger.refuse(
            'begin_operation', 'stale', p_operation.class,
            'what this token began has been released: begin with another one',
            p_operation.campaign_id, p_operation.generation
        ));
    end if;
    return ledger.done_with(
        p_operation, false, true,
        p_status => case p_operation.state
            when 'pending' then 'owner'
            when 'unknown' then 'unknown'
            else 'replay'
        end
    );
end
$fn$;

comment on function ledger.begun_before(ledger.operation) is
$doc$The answer to a begin_operation that was made before with this token: the operation as it
stands.

Answers
    ok (owner, replay or unknown), stale (it has been released)$doc$;

create or replace function kernel.begin_operation(
    p_class           text,
    p_operation_token uuid,
    p_kind            text,
    p_target          text,
    p_fingerprint     text,
    p_campaign_id     bigint   default null,
    p_generation      bigint   default null,
    p_token           uuid     default null,
    p_ordinal         integer  default 1,
    p_expected        jsonb    default null,
    p_key             text     default null,
    p_label           text     default null,
    p_lease_for       interval default null
)
    returns kernel.operation
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
    v_class    ledger.class;
    v_content  bytea;
    v_new      ledger.operation;
    v_present  ledger.operation;
    v_campaign ledger.campaign;
    v_bar      kernel.receipt;
    v_now      timestamptz;
    v_is_mine  boolean;
    v_is_there boolean;
begin
    perform ledger.enter();
    perform ledger.require_class(p_class);
    perform ledger.require('p_operation_token', p_operation_token is not null);
    perform ledger.require_kind(p_kind);
    perform ledger.require('p_target', p_target is not null);
    perform ledger.require_text('p_target', p_target, 1000);
    perform ledger.require('p_fingerprint', p_fingerprint is not null);
    perform ledger.require_text('p_fingerprint', p_fingerprint, 200);
    perform ledger.require('p_ordinal', p_ordinal is not null);
    perform ledger.require_text('p_key', p_key, 512);
    perform ledger.require_text('p_label', p_label, 200);
    if p_expected is not null then
        perform ledger.require_object('p_expected', p_expected);
    end if;
    if p_expected ? 'after' and jsonb_typeof(p_expected -> 'after') <> 'object' then
        raise exception 'what the target must show afterwards is not an object'
            using errcode = 'KN102',
                  detail  = format('"after" is of type %s.',
                                   jsonb_typeof(p_expected -> 'after')),
                  hint    = 'Write {"after": {"commit": "…"}}.';
    end if;
    if p_campaign_id is not null and p_expected -> 'after' = '{}' then
        raise exception 'nothing is said of what the target must show afterwards'
            using errcode = 'KN102',
                  detail  = '"after" is an empty object, which every state would match.',
                  hint    = 'Write {"after": {"commit": "…"}}, or no "after".';
    end if;
    if p_kind = 'promote' and not coalesce(p_expected ?& array['before', 'after', 'fence'], false)
    then
        raise exception 'a promotion says what it found and what it shall bring about'
            using errcode = 'KN102',
                  detail  = format('p_expected lacks %s.', array_to_string(array(
                                select k.key from unnest('{before,after,fence}'::text[]) as k (key)
                                where (p_expected ? k.key) is not true
                            ), ', ')),
                  hint    = 'Write {"before": …, "after": {"commit": "…"}, "fence": …}.';
    end if;
    if p_ordinal not between 1 and 1000 then
        raise exception 'an ordinal of % is out of range', p_ordinal
            using errcode = 'KN104',
                  detail  = 'It is a whole number from 1 to 1000.',
                  hint    = 'Pass 1, or the next where those before failed or were released.';
    end if;
    if num_nulls(p_campaign_id, p_generation, p_token) not in (0, 3) then
        raise exception 'an operation is of a campaign''s lease or of none'
            using errcode = 'KN101',
                  detail  = format('Of the three that name a lease %s are null.',
                                   num_nulls(p_campaign_id, p_generation, p_token)),
                  hint    = 'Pass p_campaign_id, p_generation and p_token, or none of the three.';
    end if;
    if p_campaign_id is null and (p_key is null or p_ordinal <> 1) then
        raise exception 'an operation without a campaign goes by a key of the caller''s'
            using errcode = 'KN101',
                  detail  = format('p_key is %s, p_ordinal %s.',
                                   case when p_key is null then 'null' else 'given' end, p_ordinal),
                  hint    = 'Pass p_key, and leave p_ordinal at 1.';
    end if;
    if p_key like 'fencepost:%' then
        raise exception 'p_key is not a key of the caller''s'
            using errcode = 'KN102',
                  detail  = 'It begins with fencepost:, as the kernel''s own do.',
                  hint    = 'Pass a key that says what is done for whom.';
    end if;
    if p_campaign_id is not null
        and (num_nonnulls(p_key, p_lease_for) > 0 or not coalesce(p_expected ? 'after', false))
    then
        raise exception 'a campaign''s operation lives and is named by its lease'
            using errcode = 'KN102',
                  detail  = concat_ws(', ',
                                case when p_key is not null then 'p_key is given' end,
                                case when p_lease_for is not null then 'p_lease_for is given' end,
                                case when (p_expected ? 'after') is not true
                                    then 'p_expected has no "after"' end) || '.',
                  hint    = 'Pass p_expected with "after"; leave p_key and p_lease_for null.';
    end if;
    if not ledger.does_operations(p_class) then
        return ledger.as_operation(ledger.forbid('begin_operation', p_class));
    end if;

    v_class   := ledger.known_class(p_class);
    v_content := ledger.digest(jsonb_build_array(
        'begin', p_campaign_id, p_generation, p_kind, p_target, p_fingerprint, p_ordinal,
        p_expected, p_key
    ));
    v_new.class         := p_class;
    v_new.operation_key := p_key;
    v_new.revision      := 1;
    v_new.state         := 'pending';
    v_new.campaign_id   := p_campaign_id;
    v_new.generation    := p_generation;
    v_new.kind          := p_kind;
    v_new.target        := p_target;
    v_new.ordinal       := p_ordinal;
    v_new.fingerprint   := p_fingerprint;
    v_new.expected      := p_expected;
    v_new.principal     := session_user;
    v_new.principal_oid := ledger.session_oid();
    v_new.token_sha256  := ledger.token_digest(p_operation_token);
    v_new.label         := p_label;
    v_new.inquiry_count := 0;
    v_new.last_event    := 'begin';
    v_new.last_content_sha256 := v_content;

    if p_campaign_id is null then
        perform ledger.lease_length(v_class, p_lease_for);
        v_new.duty := case
            when ledger.is_enrolled(p_class, 'worker')
                and (ledger.authority_over(p_class, 'worker', p_kind, p_target)).class is not null
                then 'worker'
            when ledger.is_enrolled(p_class, 'verifier')
                and (ledger.authority_over(p_class, 'verifier', p_kind, p_target)).class is not null
                then 'verifier'
        end;
        if v_new.duty is null then
            return ledger.as_operation(ledger.refuse(
                'begin_operation', 'forbidden', p_class,
                'no authority of the class covers this kind and target'
            ));
        end if;
        -- Held: the class is not retired while an operation of it begins.
        v_class := ledger.hold_class(p_class);
    else
        -- Recognised before the lease is judged: this call was carried out.
        select o.* into v_present
        from ledger.operation as o
        where o.class = p_class
          and o.campaign_id = p_campaign_id
          and o.generation = p_generation
          and o.token_sha256 = v_new.token_sha256;
        if found and ledger.is_repeated_operation(
            p_class, v_present.operation_key, v_new.token_sha256, v_content
        ) then
            return ledger.begun_before(v_present);
        elsif found then
            return ledger.as_operation(ledger.refuse(
                'begin_operation', 'stale', p_class, 'this token has begun another operation',
                p_campaign_id, p_generation
            ));
        end if;

        if p_kind = 'promote' then
            -- The target is the first of the locks; a call that is refused keeps none.
            perform
            from ledger.target as t
            where t.class = p_class
              and t.target = (
                  select c.target
                  from ledger.campaign as c
                  where c.class = p_class
                    and c.campaign_id = p_campaign_id
                    and c.generation = p_generation
                    and c.lease_principal = session_user
                    and c.lease_token_sha256 = ledger.token_digest(p_token)
              )
            for no key update;
        end if;
        v_campaign := ledger.lock_lease(
            p_class, p_campaign_id, p_generation, ledger.token_digest(p_token),
            '{leased,verifying,promoting}'
        );
        if v_campaign.campaign_id is null then
            return ledger.as_operation(ledger.refuse_lease(
                'begin_operation', p_class, p_campaign_id, p_generation,
                ledger.token_digest(p_token)
            ));
        end if;
        v_new.duty       := case v_campaign.state when 'leased' then 'worker' else 'verifier' end;
        v_new.attempt_no := v_campaign.attempt_count;
        if not ledger.is_enrolled(p_class, v_new.duty) then
            return ledger.as_operation(ledger.forbid('begin_operation', p_class));
        end if;
        -- It may have been paused while this call waited for the lock.
        v_class := ledger.known_class(p_class);
        v_now   := ledger.clock();
        if v_campaign.lease_expires_at <= v_now then
            return ledger.as_operation(ledger.refuse(
                'begin_operation', 'expired', p_class, 'the lease has run out', p_campaign_id,
                p_generation, v_campaign.generation, v_campaign.state
            ));
        end if;
        v_new.operation_key := ledger.operation_key(
            p_class, v_class.epoch, p_campaign_id, v_new.attempt_no, p_kind, p_target, p_ordinal
        );
        -- What was completed before a new epoch is done, under the key that it had then.
        select o.* into v_present
        from ledger.operation as o
        where o.class = p_class
          and o.campaign_id = p_campaign_id
          and o.attempt_no = v_new.attempt_no
          and o.kind = p_kind
          and o.target = p_target
          and o.fingerprint = p_fingerprint
          and o.state = 'completed'
          and o.operation_key <> ledger.operation_key(
              p_class, v_class.epoch, p_campaign_id, o.attempt_no, o.kind, o.target, o.ordinal
          )
        limit 1;
        if found then
            return ledger.done_with(v_present, false, p_status => 'replay');
        end if;
        v_bar := ledger.campaign_operation_bar(v_campaign, v_class, v_new);
        if v_bar.outcome is not null then
            return ledger.as_operation(v_bar);
        end if;
    end if;

    -- Whoever inserts the row owns it; whoever does not finds one, unless it is pruned meanwhile.
    v_new.incarnation := gen_random_uuid();
    v_new.begun_xid   := pg_current_xact_id();
    loop
        -- Unlocked: who only asks is in nobody's way, the owner's least of all. What there is to be
        -- taken is locked, and read again.
        select o.* into v_present
        from ledger.operation as o
        where o.class = p_class and o.operation_key = v_new.operation_key;
        v_is_there := found;
        v_now      := ledger.clock();
        if v_present.state = 'released'
            or (v_present.state = 'pending' and v_present.lease_expires_at <= v_now)
        then
            select o.* into v_present
            from ledger.operation as o
            where o.class = p_class and o.operation_key = v_new.operation_key
            for no key update;
            v_is_there := found;
            v_class    := ledger.known_class(p_class);
            v_now      := ledger.clock();
        end if;
        v_new.begun_at   := v_now;
        v_new.created_at := v_now;
        v_new.updated_at := v_now;
        if p_campaign_id is null then
            v_new.lease_expires_at := v_now + ledger.lease_length(v_class, p_lease_for);
        end if;
        exit when v_is_there;

        if v_class.is_paused then
            return ledger.as_operation(ledger.refuse(
                'begin_operation', 'paused', p_class, 'the class is paused: nothing begins',
                p_campaign_id, p_generation, v_campaign.generation, v_campaign.state
            ));
        end if;
        if v_class.retired_at is not null then
            return ledger.as_operation(ledger.refuse(
                'begin_operation', 'illegal', p_class, 'this class is retired'
            ));
        end if;
        v_new.event_count := 0;
        insert into ledger.operation as o
        select v_new.*
        on conflict (class, operation_key) do nothing
        returning o.* into v_present;
        if found then
            return ledger.done_with(v_present, true, p_status => 'owner');
        end if;
    end loop;

    v_is_mine := v_present.principal = session_user
        and v_present.principal_oid = v_new.principal_oid
        and v_present.token_sha256 = v_new.token_sha256;
    if v_is_mine then
        if ledger.is_repeated_operation(
            p_class, v_new.operation_key, v_new.token_sha256, v_content
        ) then
            return ledger.begun_before(v_present);
        end if;
        return ledger.as_operation(ledger.refuse(
            'begin_operation', 'stale', p_class, 'this token has begun another operation',
            p_campaign_id, p_generation
        ));
    elsif v_present.state <> 'released'
        and row(v_present.fingerprint, v_present.kind, v_present.target)
            <> row(p_fingerprint, p_kind, p_target)
    then
        return ledger.done_with(v_present, false, p_status => 'conflict');
    elsif v_present.state in ('completed', 'failed') then
        return ledger.done_with(v_present, false, p_status => 'replay');
    elsif v_present.state = 'unknown' then
        return ledger.done_with(v_present, false, p_status => 'unknown');
    elsif v_present.state = 'pending'
        and (p_campaign_id is not null or v_present.lease_expires_at > v_now)
    then
        -- A campaign's is never taken over under the lease that began it, not even when that has
        -- just run out.
        return ledger.done_with(
            v_present, false, p_status => 'pending',
            p_retry_after => greatest(
                coalesce(v_present.lease_expires_at, v_campaign.lease_expires_at) - v_now,
                interval '0'
            )
        );
    elsif v_present.state = 'pending' and v_present.started_at is not null then
        update ledger.operation as o
        set state               = 'unknown',
            revision            = o.revision + 1,
            lease_expires_at    = null,
            reason              = 'its lease ran out after it had been started',
            updated_at          = v_now,
            last_event          = 'expire',
            last_content_sha256 = null
        where o.class = p_class and o.operation_key = v_new.operation_key
        returning o.* into v_present;
        return ledger.done_with(v_present, true, p_status => 'unknown');
    elsif v_class.is_paused then
        return ledger.as_operation(ledger.refuse(
            'begin_operation', 'paused', p_class, 'the class is paused: nothing begins',
            p_campaign_id, p_generation, v_campaign.generation, v_campaign.state
        ));
    elsif v_class.retired_at is not null then
        return ledger.as_operation(ledger.refuse(
            'begin_operation', 'illegal', p_class, 'this class is retired'
        ));
    end if;

    -- Nothing has been done: it is released, or its lease ran out before it was started.
    update ledger.operation as o
    set incarnation      = case
                               when o.state = 'released' then v_new.incarnation
                               else o.incarnation
                           end,
        revision         = case when o.state = 'released' then 1 else o.revision + 1 end,
        state            = 'pending',
        attempt_no       = v_new.attempt_no,
        generation       = v_new.generation,
        duty             = v_new.duty,
        kind             = v_new.kind,
        target           = v_new.target,
        ordinal          = v_new.ordinal,
        fingerprint      = v_new.fingerprint,
        expected         = v_new.expected,
        principal        = v_new.principal,
        principal_oid    = v_new.principal_oid,
        token_sha256     = v_new.token_sha256,
        label            = v_new.label,
        begun_at         = v_now,
        begun_xid        = v_new.begun_xid,
        lease_expires_at = v_new.lease_expires_at,
        reason           = null,
        created_at       = case when o.state = 'released' then v_now else o.created_at end,
        updated_at       = v_now,
        last_event       = case when o.state = 'released' then 'begin' else 'take_over' end,
        last_content_sha256 = v_content
    where o.class = p_class and o.operation_key = v_new.operation_key
    returning o.* into v_present;
    return ledger.done_with(v_present, true, p_status => 'owner');
end
$fn$;

comment on function kernel.begin_operation(
    text, uuid, text, text, text, bigint, bigint, uuid, integer, jsonb, text, text, interval
) is
$doc$Records the intent to do an external operation before anything is done, and says whose it is.

Parameters
    p_class            the class
    p_operation_token  a uuid that the client makes for this operation; every later call of its
                       owner passes it
    p_kind             [a-z][a-z0-9_.-]{0,62}; promote is the verifier's move of the target's place
    p_target           what the effect is on, up to 1000 bytes; for Git, REPOSITORY#REF
    p_fingerprint      identifies the request, up to 200 bytes: the same key with another one is a
                       conflict
    p_campaign_id, p_generation, p_token   as in the lease, for an operation of its attempt; or all
                       null
    p_ordinal          1 to 1000: another one only where those before failed or were released
    p_expected         {"before": …, "after": {…}, "fence": …}, up to 65536 bytes: how the target
                       was found, what it must show afterwards, the fence as read. A campaign's
                       operation needs "after", which says something, and a promotion all three;
                       else null will do
    p_key              without a campaign, the caller's key: up to 512 bytes, not blank, not
                       beginning with fencepost:
    p_label            what the owner calls itself, up to 200 bytes, for people; or null
    p_lease_for        without a campaign, from lease_min to lease_max; null means lease_default

A campaign's operation needs an unexpired lease, lives as long as that, and goes by a key that the
kernel derives. The status says whose it is. owner: the caller's, to be done after start_operation.
pending: another's, look again after retry_after. replay: it is completed or failed, with its
result. unknown: nobody knows, see resolve_operation. conflict: the key stands for another request,
and nothing more is told. An operation whose lease ran out is taken over where it was not started,
and becomes unknown where it was.

Answers
    ok (status owner, pending, replay, unknown or conflict; duplicate: begun before with this token
    and content), forbidden (not enrolled, or no authority covers it), stale, not_holder, illegal,
    expired, paused, limit, operation_open, bundle_mismatch (promote: "after" has not the accepted
    "commit")

Errors
    KN101, KN102, KN103, KN104, KN106, KN108, KN111, KN112

Writes
    ledger.operation, ledger.operation_event$doc$;

grant execute on function kernel.begin_operation(
    text, uuid, text, text, text, bigint, bigint, uuid, integer, jsonb, text, text, interval
) to fencepost_worker, fencepost_verifier;

commit;

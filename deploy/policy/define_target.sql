-- Deploy fencepost:policy/define_target to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create or replace function ledger.checked_acceptance(p_acceptance jsonb)
    returns jsonb
    language plpgsql
    immutable
    set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_time_limit numeric;
    v_bad        text;
begin
    perform ledger.require_object('p_acceptance', p_acceptance);
    perform ledger.policy_keys(p_acceptance, array['command', 'time_limit_s', 'protected']);

    if jsonb_typeof(p_acceptance -> 'command') is distinct from 'array'
        or p_acceptance -> 'command' = '[]'
        or exists (
            select from jsonb_array_elements(p_acceptance -> 'command') as e (word)
            where jsonb_typeof(e.word) <> 'string'
        )
        or btrim(p_acceptance -> 'command' ->> 0) = ''
    then
        raise exception 'the acceptance command is not a list of words'
            using errcode = 'KN102',
                  detail  = 'It is an array of texts; the first, the program, is not blank.',
                  hint    = 'Write {"command": ["make", "test"]}; it runs without a shell.';
    end if;

    v_time_limit := ledger.policy_number(p_acceptance, 'time_limit_s', 600, 1, 86400, true);

    if p_acceptance ? 'protected' then
        if jsonb_typeof(p_acceptance -> 'protected') <> 'array' then
            raise exception 'the protected paths are not a list'
                using errcode = 'KN102',
                      detail  = format('They are of type %s.',
                                       jsonb_typeof(p_acceptance -> 'protected')),
                      hint    = 'Write {"protected": ["tests", "Makefile"]}.';
        end if;
        select e.path #>> '{}' into v_bad
        from jsonb_array_elements(p_acceptance -> 'protected') as e (path)
        where jsonb_typeof(e.path) <> 'string'
           or octet_length(e.path #>> '{}') not between 1 and 4096
           or (e.path #>> '{}') ~ '(^/)|(^|/)[.]{1,2}(/|$)|//'
        limit 1;
        if found then
            raise exception 'a protected path is not relative to the repository: %',
                left(v_bad, 200)
                using errcode = 'KN102',
                      detail  = 'It is a text of 1 to 4096 bytes, and stays below the root.',
                      hint    = 'Write "tests/unit": no leading "/", no "." and no ".." in it.';
        end if;
    end if;

    return jsonb_build_object(
        'command', p_acceptance -> 'command',
        'time_limit_s', v_time_limit,
        'protected', coalesce(p_acceptance -> 'protected', '[]')
    );
end
$fn$;

comment on function ledger.checked_acceptance(jsonb) is
$doc$The acceptance with its defaults filled in: time_limit_s 600, protected [].

Errors
    KN101, KN102, KN103, KN104, KN105$doc$;

create or replace function ledger.checked_time_of_day(p_policy jsonb)
    returns ledger.target
    language plpgsql
    stable
    set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_schedule ledger.target;
begin
    if p_policy ? 'observe_every' or not (p_policy ? 'observe_at' and p_policy ? 'time_zone') then
        raise exception 'a target has one schedule'
            using errcode = 'KN102',
                  detail  = format('The policy has %s.', array_to_string(array(
                                select k.key
                                from unnest(
                                    '{observe_every,observe_at,time_zone}'::text[]
                                ) as k (key)
                                where p_policy ? k.key
                            ), ' and ')),
                  hint    = 'Write observe_every, or observe_at together with time_zone.';
    end if;
    if (p_policy ->> 'observe_at') !~ '^([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9])?$'
        or jsonb_typeof(p_policy -> 'observe_at') <> 'string'
    then
        raise exception 'policy observe_at is not a time of day'
            using errcode = 'KN102',
                  detail  = format('It is %s.', left((p_policy -> 'observe_at')::text, 200)),
                  hint    = 'Write "06:30" or "06:30:00".';
    end if;
    perform
    from pg_catalog.pg_timezone_names as z
    where z.name = p_policy ->> 'time_zone'
      and z.name ~ '/|^UTC$'
      and z.name !~ '^(posix|right)/';
    if not found then
        raise exception 'policy time_zone is not an IANA name'
            using errcode = 'KN102',
                  detail  = format('It is %s.', left((p_policy -> 'time_zone')::text, 200)),
                  hint    = 'Write "Europe/Berlin" or "UTC".';
    end if;
    v_schedule.observe_at := (p_policy ->> 'observe_at')::time;
    v_schedule.time_zone  := p_policy ->> 'time_zone';
    return v_schedule;
end
$fn$;

comment on function ledger.checked_time_of_day(jsonb) is
$doc$A target with the schedule of a policy that has observe_at and time_zone, and nothing else set.

Errors
    KN102 argument_malformed$doc$;

create or replace function kernel.define_target(
    p_class         text,
    p_target        text,
    p_location      jsonb,
    p_desired_state jsonb,
    p_acceptance    jsonb,
    p_policy        jsonb default '{}'
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
    v_class          ledger.class;
    v_acceptance     jsonb;
    v_schedule       ledger.target;
    v_observe_within interval;
    v_settle         interval;
    v_authority      text;
    v_now            timestamptz;
    v_before         ledger.target;
    v_after          ledger.target;
    v_receipt        kernel.receipt;
begin
    perform ledger.enter();
    perform ledger.require_class(p_class);
    perform ledger.require('p_target', p_target is not null);
    perform ledger.require_text('p_target', p_target, 200);
    if p_target ~ '[[:cntrl:]]' then
        raise exception 'the name of a target has a control character'
            using errcode = 'KN102',
                  detail  = format('It is character %s of the name.',
                                   regexp_instr(p_target, '[[:cntrl:]]')),
                  hint    = 'Use printable characters.';
    end if;
    perform ledger.require_object('p_location', p_location);
    perform ledger.require_object('p_desired_state', p_desired_state);
    perform ledger.require_object('p_policy', p_policy);
    if p_location ? 'repository' and p_location ? 'ref'
        and (p_location ->> 'ref') !~ '^refs/'
    then
        raise exception 'the ref of a location is not written out'
            using errcode = 'KN102',
                  detail  = format('It is "%s".', left(p_location ->> 'ref', 200)),
                  hint    = 'Write "refs/heads/main".';
    end if;
    perform ledger.require_text('p_location', ledger.own_target(p_target, p_location), 1000);
    if not ledger.session_is('admin') then
        return ledger.forbid('define_target', p_class);
    end if;
    -- Held: an authority that is being granted waits, and then sees this target.
    perform from ledger.class as c where c.class = p_class for no key update;
    v_class := ledger.known_class(p_class);

    v_acceptance := ledger.checked_acceptance(p_acceptance);
    perform ledger.policy_keys(
        p_policy, array['observe_every', 'observe_at', 'time_zone', 'observe_within', 'settle']
    );
    if p_policy ? 'observe_at' or p_policy ? 'time_zone' then
        v_schedule := ledger.checked_time_of_day(p_policy);
    else
        v_schedule.observe_every :=
            ledger.policy_span(p_policy, 'observe_every', '1 day', '1 second', '31 days');
    end if;
    v_observe_within :=
        ledger.policy_span(p_policy, 'observe_within', '10 minutes', '1 second', '31 days');
    v_settle :=
        ledger.policy_span(p_policy, 'settle', '0', '0', '31 days');

    if v_class.retired_at is not null then
        return ledger.refuse('define_target', 'illegal', p_class, 'this class is retired');
    end if;
    select concat_ws(' ', a.duty, a.kind, a.target) into v_authority
    from ledger.authority as a
    where a.class = p_class
      and a.kind <> 'promote'
      and ledger.could_cover(
          a.target, ledger.own_target(p_target, p_location), p_location ->> 'repository'
      )
    order by a.duty, a.kind, a.target
    limit 1;
    if found then
        return ledger.refuse(
            'define_target', 'illegal', p_class,
            format('the authority "%s" could cover the place of this target, which only a '
                   'promotion writes to', v_authority)
        );
    end if;

    v_receipt.outcome   := 'ok';
    v_receipt.duplicate := false;
    v_receipt.moved     := false;
    v_receipt.class     := p_class;

    v_now := ledger.clock();
    insert into ledger.target as t
        (class, target, location, desired_state, acceptance,
         observe_every, observe_at, time_zone, observe_within, settle, next_slot_at)
    values
        (p_class, p_target, p_location, p_desired_state, v_acceptance,
         v_schedule.observe_every, v_schedule.observe_at, v_schedule.time_zone,
         v_observe_within, v_settle,
         case
             when v_schedule.observe_every is not null then v_now
             else ledger.next_slot(v_schedule, v_now)
         end)
    on conflict (class, target) do nothing
    returning t.* into v_after;

    if not found then
        select t.* into v_before
        from ledger.target as t
        where t.class = p_class and t.target = p_target
        for no key update;

        if v_before.retired_at is not null then
            return ledger.refuse('define_target', 'illegal', p_class, 'this target is retired');
        end if;
        v_now := ledger.clock();
        v_after := v_before;
        v_after.location       := p_location;
        v_after.desired_state  := p_desired_state;
        v_after.acceptance     := v_acceptance;
        v_after.observe_every  := v_schedule.observe_every;
        v_after.observe_at     := v_schedule.observe_at;
        v_after.time_zone      := v_schedule.time_zone;
        v_after.observe_within := v_observe_within;
        v_after.settle         := v_settle;
        if v_after is not distinct from v_before then
            v_receipt.duplicate := true;
            return v_receipt;
        end if;
        -- A shorter distance must not wait for a slot of the longer one; a slot that is due stays.
        v_after.next_slot_at := case
            when v_schedule.observe_every is not null
                then least(v_before.next_slot_at, v_now + v_schedule.observe_every)
            when v_before.next_slot_at <= v_now
                then v_before.next_slot_at
            else ledger.next_slot(v_after, v_now)
        end;

        update ledger.target as t
        set location       = v_after.location,
            desired_state  = v_after.desired_state,
            acceptance     = v_after.acceptance,
            observe_every  = v_after.observe_every,
            observe_at     = v_after.observe_at,
            time_zone      = v_after.time_zone,
            observe_within = v_after.observe_within,
            settle         = v_after.settle,
            next_slot_at   = v_after.next_slot_at
        where t.class = p_class and t.target = p_target;
    end if;

    perform ledger.log_config(
        p_class, 'define_target', p_target,
        case when v_before.class is not null then to_jsonb(v_before) end, to_jsonb(v_after)
    );
    return v_receipt;
end
$fn$;

comment on function kernel.define_target(text, text, jsonb, jsonb, jsonb, jsonb) is
$doc$Makes a target of a class, or replaces what is said of it. Its first slot is due at once,
or at the next such time of day.

Parameters
    p_class          the class
    p_target         its name, up to 200 bytes without control characters
    p_location       where it is; for Git {"repository": path or URL, "ref": "refs/heads/main"}, of
                     together not more than 999 bytes
    p_desired_state  what it should be like, for the worker; an object
    p_acceptance     {"command": [argv…], "time_limit_s": 600, "protected": [path…]}: what the
                     verifier runs, without a shell, for how many seconds, and which paths of the
                     repository a submission may not touch
    p_policy         observe_every 1 day (1 second to 31 days), or observe_at ("06:30") with
                     time_zone ("Europe/Berlin"); observe_within 10 minutes, settle 0

Desired state and acceptance are frozen into a campaign when it opens.

Answers
    ok (duplicate: it was that already), forbidden, illegal (the target or its class is retired, or
    an authority other than to promote could cover its place, REPOSITORY#REF)

Errors
    KN101, KN102, KN103, KN104, KN105, KN106, KN111, KN112

Writes
    ledger.target, ledger.config_event$doc$;

grant execute on function kernel.define_target(text, text, jsonb, jsonb, jsonb, jsonb)
    to fencepost_admin;

commit;

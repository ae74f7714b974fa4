-- Deploy fencepost:policy/value to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create or replace function ledger.policy_keys(p_policy jsonb, p_known text[])
    returns void
    language plpgsql
    immutable
    set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_unknown text;
begin
    select string_agg(quote_ident(k.key), ', ' order by k.key) into v_unknown
    from jsonb_object_keys(p_policy) as k (key)
    where k.key <> all (p_known);

    if v_unknown is not null then
        raise exception 'unknown key: %', left(v_unknown, 200)
            using errcode = 'KN105',
                  detail  = 'No key is ignored: one that is unknown may be a slip.',
                  hint    = format('The keys are %s.', array_to_string(p_known, ', '));
    end if;
end
$fn$;

comment on function ledger.policy_keys(jsonb, text[]) is
$doc$Raises KN105 unknown_policy_key where the object p_policy has a key not in p_known.$doc$;

create or replace function ledger.policy_span(
    p_policy  jsonb,
    p_key     text,
    p_default interval,
    p_min     interval,
    p_max     interval
)
    returns interval
    language plpgsql
    stable
    set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_value   interval;
    v_seconds numeric;
begin
    if not p_policy ? p_key then
        return make_interval(secs => extract(epoch from p_default)::double precision);
    end if;
    if jsonb_typeof(p_policy -> p_key) <> 'string' then
        raise exception 'policy % is not a duration', p_key
            using errcode = 'KN102',
                  detail  = format('It is of type %s.', jsonb_typeof(p_policy -> p_key)),
                  hint    = 'Write a duration as text, "15 minutes".';
    end if;
    begin
        v_value := (p_policy ->> p_key)::interval;
    exception
        when invalid_datetime_format or datetime_field_overflow or interval_field_overflow then
            raise exception 'policy % is not a duration', p_key
                using errcode = 'KN102',
                      detail  = format('It is %s.', left((p_policy -> p_key)::text, 200)),
                      hint    = 'Write a duration as text, "15 minutes".';
    end;

    -- Compared in seconds, as they are kept: as intervals '1 year' is 360 days, and lasts for 365.
    v_seconds := extract(epoch from v_value);
    if v_seconds < extract(epoch from p_min) or v_seconds > extract(epoch from p_max) then
        raise exception 'policy % is out of range', p_key
            using errcode = 'KN104',
                  detail  = format('It lasts from %s to %s.', p_min, p_max),
                  hint    = 'Choose a duration within these bounds.';
    end if;
    return make_interval(secs => v_seconds::double precision);
end
$fn$;

comment on function ledger.policy_span(jsonb, text, interval, interval, interval) is
$doc$The duration under p_key of a policy, or p_default where the key is missing; in seconds, so
that adding it to a time does not depend on a calendar.

Errors
    KN102 argument_malformed, KN104 argument_out_of_range (outside p_min to p_max)$doc$;

create or replace function ledger.policy_number(
    p_policy     jsonb,
    p_key        text,
    p_default    numeric,
    p_min        numeric,
    p_max        numeric,
    p_is_integer boolean
)
    returns numeric
    language plpgsql
    immutable
    set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_value numeric;
begin
    if not p_policy ? p_key then
        return p_default;
    end if;
    if jsonb_typeof(p_policy -> p_key) <> 'number' then
        raise exception 'policy % is not a number', p_key
            using errcode = 'KN102',
                  detail  = format('It is of type %s.', jsonb_typeof(p_policy -> p_key)),
                  hint    = format('Write a number, %s.', coalesce(p_default, p_min));
    end if;
    v_value := (p_policy ->> p_key)::numeric;
    if v_value < p_min or v_value > p_max or (p_is_integer and v_value <> trunc(v_value)) then
        raise exception 'policy % is out of range', p_key
            using errcode = 'KN104',
                  detail  = format('It is %s from %s to %s.',
                                   case when p_is_integer then 'a whole number' else 'a number' end,
                                   p_min, p_max),
                  hint    = 'Choose a number within these bounds.';
    end if;
    return v_value;
end
$fn$;

comment on function ledger.policy_number(jsonb, text, numeric, numeric, numeric, boolean) is
$doc$The number under p_key of a policy, or p_default where the key is missing.

Errors
    KN102 argument_malformed, KN104 argument_out_of_range$doc$;

create or replace function ledger.policy_flag(p_policy jsonb, p_key text, p_default boolean)
    returns boolean
    language plpgsql
    immutable
    set search_path = pg_catalog, pg_temp
as $fn$
begin
    if not p_policy ? p_key then
        return p_default;
    end if;
    if jsonb_typeof(p_policy -> p_key) <> 'boolean' then
        raise exception 'policy % is not true or false', p_key
            using errcode = 'KN102',
                  detail  = format('It is of type %s.', jsonb_typeof(p_policy -> p_key)),
                  hint    = 'Write true or false, without quotes.';
    end if;
    return (p_policy ->> p_key)::boolean;
end
$fn$;

comment on function ledger.policy_flag(jsonb, text, boolean) is
$doc$The flag under p_key of a policy, or p_default where the key is missing.

Errors
    KN102 argument_malformed$doc$;

commit;

-- Deploy fencepost:operation/list_operations to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create or replace function kernel.list_operations(
    p_class     text,
    p_state     text        default null,
    p_after_key text        default null,
    p_after_at  timestamptz default null,
    p_limit     integer     default 100
)
    returns setof kernel.operation
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
    perform ledger.enter();
    perform ledger.require_class(p_class);
    if p_state not in ('pending', 'completed', 'failed', 'unknown', 'released') then
        raise exception 'there is no such state of an operation'
            using errcode = 'KN102',
                  detail  = format('p_state is "%s".', left(p_state, 63)),
                  hint    = 'Say pending, completed, failed, unknown or released.';
    end if;
    perform ledger.require_text('p_after_key', p_after_key, 512);
    -- A key alone would begin the pages of a state again and again.
    if (p_after_at is not null) <> (p_state is not null and p_after_key is not null) then
        raise exception 'a page by age goes on from a time and a key'
            using errcode = 'KN101',
                  detail  = format('p_state is %s, p_after_key %s, p_after_at %s.',
                                   case when p_state is null then 'null' else 'given' end,
                                   case when p_after_key is null then 'null' else 'given' end,
                                   case when p_after_at is null then 'null' else 'given' end),
                  hint    = 'Pass p_state, and updated_at and operation_key of the last row.';
    end if;
    perform ledger.require('p_limit', p_limit is not null);
    if p_limit not between 1 and 1000 then
        raise exception 'a limit of % is out of range', p_limit
            using errcode = 'KN104',
                  detail  = 'A page has 1 to 1000 operations.',
                  hint    = 'Ask for the next page with the key of the last row.';
    end if;
    if not (ledger.does_operations(p_class) or ledger.session_is('admin')) then
        return next ledger.as_operation(ledger.forbid('list_operations', p_class));
        return;
    end if;
    perform ledger.known_class(p_class);

    if p_state is null then
        return query
        select (ledger.done_with(o, false)).*
        from ledger.operation as o
        where o.class = p_class and o.operation_key > coalesce(p_after_key, '')
        order by o.operation_key
        limit p_limit;
    else
        return query
        select (ledger.done_with(o, false)).*
        from ledger.operation as o
        where o.class = p_class
          and o.state = p_state
          and (o.updated_at, o.operation_key)
              > (coalesce(p_after_at, '-infinity'), coalesce(p_after_key, ''))
        order by o.updated_at, o.operation_key
        limit p_limit;
    end if;
end
$fn$;

comment on function kernel.list_operations(text, text, text, timestamptz, integer) is
$doc$A page of a class's operations: by key, or of one state by age.

Parameters
    p_class      the class
    p_state      pending, completed, failed, unknown or released: by updated_at, oldest first; null:
                 all, by key
    p_after_key  the operation_key of the last row of the page before; null for the first page
    p_after_at   with p_state, the updated_at of that row
    p_limit      how many rows at most, 1 to 1000

Keys are compared byte by byte, whatever the database's collation.

Answers
    ok, forbidden

Errors
    KN101, KN102, KN103, KN104 (p_limit), KN106, KN111, KN112$doc$;

grant execute on function kernel.list_operations(text, text, text, timestamptz, integer)
    to fencepost_worker, fencepost_verifier, fencepost_admin;

commit;

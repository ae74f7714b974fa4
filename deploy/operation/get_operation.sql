-- Deploy fencepost:operation/get_operation to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create or replace function kernel.get_operation(p_class text, p_operation_key text)
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
    perform ledger.require_operation(p_class, p_operation_key);
    if not (ledger.does_operations(p_class) or ledger.session_is('admin')) then
        return next ledger.as_operation(ledger.forbid('get_operation', p_class));
        return;
    end if;
    perform ledger.known_class(p_class);

    return query
    select (ledger.done_with(o, false)).*
    from ledger.operation as o
    where o.class = p_class and o.operation_key = p_operation_key;
end
$fn$;

comment on function kernel.get_operation(text, text) is
$doc$An operation as it stands, with the fence that a reconciler needs; no row where there is none.

Parameters
    p_class          the class
    p_operation_key  its key

Answers
    ok, forbidden

Errors
    KN101, KN102, KN103, KN106, KN111, KN112$doc$;

grant execute on function kernel.get_operation(text, text)
    to fencepost_worker, fencepost_verifier, fencepost_admin;

commit;

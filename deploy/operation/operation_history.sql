-- Deploy fencepost:operation/operation_history to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create or replace function kernel.operation_history(p_class text, p_operation_key text)
    returns setof kernel.operation_step
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
        return;
    end if;
    perform ledger.known_class(p_class);

    return query
    select e.event_no, e.incarnation, e.revision, e.event, e.from_state, e.to_state,
           e.by_principal, e.reason, e.diagnostic, e.is_late, e.at
    from ledger.operation_event as e
    where e.class = p_class and e.operation_key = p_operation_key
    order by e.event_no;
end
$fn$;

comment on function kernel.operation_history(text, text) is
$doc$What happened to an operation, oldest first; no row to who is not enrolled for it, nor where
there is none.

Parameters
    p_class          the class
    p_operation_key  its key

Errors
    KN101, KN102, KN103, KN106, KN111, KN112$doc$;

grant execute on function kernel.operation_history(text, text)
    to fencepost_worker, fencepost_verifier, fencepost_admin;

commit;

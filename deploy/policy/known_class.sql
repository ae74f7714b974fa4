-- Deploy fencepost:policy/known_class to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create or replace function ledger.known_class(p_class text)
    returns ledger.class
    language plpgsql
    stable
    set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_class ledger.class;
begin
    select c.* into v_class from ledger.class as c where c.class = p_class;
    if not found then
        raise exception 'there is no class %', p_class
            using errcode = 'KN106',
                  detail  = 'Names are compared letter by letter; a retired class stays known.',
                  hint    = 'Define it with kernel.define_class.';
    end if;
    return v_class;
end
$fn$;

comment on function ledger.known_class(text) is
$doc$The class p_class and its policy as it stands; raises KN106 unknown_class.$doc$;

create or replace function ledger.hold_class(p_class text)
    returns ledger.class
    language plpgsql
    volatile
    set search_path = pg_catalog, pg_temp
as $fn$
declare
    v_class ledger.class;
begin
    -- Shared by all who claim: it keeps out only who changes the class for update, such as
    -- kernel.define_class, which must not set seats while a claim that did not see them goes on.
    -- It is no queue: while many claim all the time, who wants to change the class pauses it first.
    select c.* into v_class
    from ledger.class as c
    where c.class = p_class
    for key share;
    if not found then
        v_class := ledger.known_class(p_class);
    end if;
    return v_class;
end
$fn$;

comment on function ledger.hold_class(text) is
$doc$The class p_class and its policy, which nobody sets anew until the transaction ends. The first
lock of the one order: class, target, seat, campaign, attempt, bundle.

Errors
    KN106 unknown_class$doc$;

commit;

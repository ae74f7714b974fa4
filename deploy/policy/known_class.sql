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
            using errcode = 'KN106', hint = 'Define it with kernel.define_class.';
    end if;
    return v_class;
end
$fn$;

comment on function ledger.known_class(text) is
$doc$The class p_class and its policy as it stands; raises KN106 unknown_class.$doc$;

commit;

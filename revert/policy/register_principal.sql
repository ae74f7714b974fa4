-- Revert fencepost:policy/register_principal from pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

drop function kernel.register_principal(text, text);

commit;

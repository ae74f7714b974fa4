-- Revert fencepost:people/open_campaign from pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

drop function kernel.open_campaign(text, text, uuid, text);

commit;

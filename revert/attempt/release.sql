-- Revert fencepost:attempt/release from pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

drop function kernel.release(text, bigint, bigint, uuid, text);

commit;

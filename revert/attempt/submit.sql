-- Revert fencepost:attempt/submit from pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

drop function kernel.submit(text, bigint, bigint, uuid, text, text, jsonb, text, bytea);

commit;

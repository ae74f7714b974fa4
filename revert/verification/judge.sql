-- Revert fencepost:verification/judge from pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

drop function kernel.judge(
    text, bigint, bigint, uuid, text, bytea, text, text, integer, text, text, bytea
);

commit;

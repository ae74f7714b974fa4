-- Revert fencepost:verification/judge_bar from pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

drop function ledger.judge_bar(text, bigint, integer, boolean);

commit;

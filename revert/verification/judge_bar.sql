-- Revert fencepost:verification/judge_bar from pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

drop function ledger.has_judge(ledger.campaign);
drop function ledger.judge_bar(text, bigint, integer, boolean);
drop function ledger.bar_of(oid, text, bigint, integer, boolean);

commit;

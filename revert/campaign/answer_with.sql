-- Revert fencepost:campaign/answer_with from pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

drop function ledger.campaign_of(text, bigint);
drop function ledger.answer_with(ledger.campaign, boolean, boolean, text);

commit;

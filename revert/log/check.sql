-- Revert fencepost:log/check from pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

drop function kernel."check"(text);
drop function ledger.check_operations(text);
drop function ledger.check_attempts(text);
drop function ledger.check_events(text);
drop function ledger.check_campaigns(text);
drop type kernel.finding;

commit;

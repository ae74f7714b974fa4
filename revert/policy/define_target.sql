-- Revert fencepost:policy/define_target from pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

drop function kernel.define_target(text, text, jsonb, jsonb, jsonb, jsonb);
drop function ledger.checked_time_of_day(jsonb);
drop function ledger.checked_acceptance(jsonb);

commit;

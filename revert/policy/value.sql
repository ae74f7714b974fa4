-- Revert fencepost:policy/value from pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

drop function ledger.policy_flag(jsonb, text, boolean);
drop function ledger.policy_number(jsonb, text, numeric, numeric, numeric, boolean);
drop function ledger.policy_span(jsonb, text, interval, interval, interval);
drop function ledger.policy_keys(jsonb, text[]);

commit;

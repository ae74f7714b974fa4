-- Revert fencepost:watch/health from pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

drop function kernel.health();
drop function ledger.server_health(
    numeric, numeric, numeric, numeric, numeric, numeric, numeric, text
);
drop function ledger.class_health(ledger.class, timestamptz);
drop type kernel.health;

commit;

-- Revert fencepost:lease/seating from pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

drop function ledger.set_seats(text, text, integer);
drop function ledger.free_seat(text, bigint);
drop function ledger.lock_seat(text, bigint, bigint);
drop function ledger.sit(ledger.class, text, integer, bigint);
drop function ledger.take_seat(ledger.class, text);

commit;

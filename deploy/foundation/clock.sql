-- Deploy fencepost:foundation/clock to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create or replace function ledger.clock()
    returns timestamptz
    language sql
    volatile
    set search_path = pg_catalog, pg_temp
as $fn$
    select pg_catalog.clock_timestamp();
$fn$;

comment on function ledger.clock() is
$doc$The server's time, and the only place it is read; callers read it after the row lock is held.

Not now() or statement_timestamp(): both stand still within a transaction, so an old transaction
could revive a lease that has run out. Tests replace this function inside a transaction that they
roll back.$doc$;

commit;

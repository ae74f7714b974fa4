-- Verify fencepost:foundation/clock on pg

begin;

\set function ledger.clock
\set arguments ''
\set returns 'timestamp with time zone'
\set volatility volatile
\ir ../_support/assert_helper.psql

do $verify$
begin
    assert ledger.clock() > now(), 'the clock moves on within a transaction';
end
$verify$;

rollback;

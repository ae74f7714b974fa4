-- Verify fencepost:foundation/origin on pg

begin;

\set relation ledger.origin
select $list$
    is_origin   boolean                  not null default true
    ledger_uuid uuid                     not null default gen_random_uuid()
    deployed_at timestamp with time zone not null default clock_timestamp()
    deployed_by name                     not null default session_user
$list$ as columns, $list$
    origin_is_one_row
    origin_pk
$list$ as constraints, '' as indexes
\gset
\ir ../_support/assert_table.psql

\set relation ledger.origin
select $list$
    origin_10_not_by_hand after any write by hand: tg__not_by_hand
    origin_20_no_truncate before truncate, each statement: tg__not_by_hand
$list$ as triggers \gset
\ir ../_support/assert_triggers.psql

do $verify$
begin
    assert (select count(*) from ledger.origin) = 1, 'a ledger has one origin';
end
$verify$;

rollback;

-- Verify fencepost:recovery/reaper_pass on pg

begin;

\set relation ledger.reaper_pass
select $list$
    class        text                     not null
    principal    name                     not null
    passed_at    timestamp with time zone not null
    reaped_count bigint                   not null
    locked_count integer                  not null
$list$ as columns, $list$
    reaper_pass_pk
$list$ as constraints, '' as indexes
\gset
\ir ../_support/assert_table.psql

\set relation ledger.reaper_pass
select $list$
    reaper_pass_10_not_by_hand after any write by hand: tg__not_by_hand
    reaper_pass_20_no_truncate before truncate, each statement: tg__not_by_hand
$list$ as triggers \gset
\ir ../_support/assert_triggers.psql

rollback;

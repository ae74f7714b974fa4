-- Verify fencepost:lease/seat on pg

begin;

\set relation ledger.seat
select $list$
    class       text    not null
    kind        text    not null
    seat_no     integer not null
    campaign_id bigint
    is_surplus  boolean not null default false
$list$ as columns, $list$
    seat_campaign_uq
    seat_class_fk
    seat_is_surplus_only_while_held
    seat_kind_is_known
    seat_pk
$list$ as constraints, '' as indexes
\gset
\ir ../_support/assert_table.psql

\set relation ledger.seat
select $list$
    seat_10_not_by_hand after any write by hand: tg__not_by_hand
    seat_20_no_truncate before truncate, each statement: tg__not_by_hand
$list$ as triggers \gset
\ir ../_support/assert_triggers.psql

rollback;

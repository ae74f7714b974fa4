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
\set triggers ''
\ir ../_support/assert_triggers.psql

\set function ledger.take_seat
select $list$
    p_class ledger.class
    p_kind  text
$list$ as arguments \gset
\set returns integer
\set volatility volatile
\ir ../_support/assert_helper.psql

\set function ledger.sit
select $list$
    p_class       ledger.class
    p_kind        text
    p_seat_no     integer
    p_campaign_id bigint
$list$ as arguments \gset
\set returns void
\set volatility volatile
\ir ../_support/assert_helper.psql

\set function ledger.lock_seat
select $list$
    p_class       text
    p_campaign_id bigint
    p_generation  bigint
$list$ as arguments \gset
\set returns void
\set volatility volatile
\ir ../_support/assert_helper.psql

\set function ledger.free_seat
select $list$
    p_class       text
    p_campaign_id bigint
$list$ as arguments \gset
\set returns void
\set volatility volatile
\ir ../_support/assert_helper.psql

\set function ledger.set_seats
select $list$
    p_class text
    p_kind  text
    p_seats integer
$list$ as arguments \gset
\set returns void
\set volatility volatile
\ir ../_support/assert_helper.psql

rollback;

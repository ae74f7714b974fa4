-- Verify fencepost:lease/seating on pg

begin;

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

-- Verify fencepost:foundation/refuse on pg

begin;

\set function ledger.refuse
select $list$
    p_function           text
    p_outcome            text
    p_class              text
    p_message            text
    p_campaign_id        bigint default null::bigint
    p_named_generation   bigint default null::bigint
    p_present_generation bigint default null::bigint
    p_state              text   default null::text
$list$ as arguments \gset
\set returns kernel.receipt
\set volatility volatile
\ir ../_support/assert_helper.psql

rollback;

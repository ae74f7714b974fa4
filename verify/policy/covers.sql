-- Verify fencepost:policy/covers on pg

begin;

\set function ledger.covers
select $list$
    p_pattern     text
    p_target      text
    p_campaign_id bigint  default null::bigint
    p_attempt_no  integer default null::integer
    p_repository  text    default null::text
$list$ as arguments \gset
\set returns boolean
\set volatility immutable
\ir ../_support/assert_helper.psql

\set function ledger.could_cover
select $list$
    p_pattern    text
    p_target     text
    p_repository text
$list$ as arguments \gset
\set returns boolean
\set volatility immutable
\ir ../_support/assert_helper.psql

\set function ledger.authority_over
select $list$
    p_class       text
    p_duty        text
    p_kind        text
    p_target      text
    p_campaign_id bigint  default null::bigint
    p_attempt_no  integer default null::integer
    p_repository  text    default null::text
$list$ as arguments \gset
\set returns ledger.authority
\set volatility stable
\ir ../_support/assert_helper.psql

rollback;
